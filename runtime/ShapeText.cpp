#include "runtime/ShapeText.h"
#include "runtime/Bind.h"
#include "runtime/Strided.h"

#include <algorithm>

namespace ptc::runtime {
namespace {

/// Of which all orders are tried.
constexpr int32_t kMostPermuted = 6;

/// `order[i]`: which dimension of `shape` is taken for dimension i.
bool fits(const TensorEntry &entry, const int64_t *shape, const int32_t *order) {
  for (int32_t d = 0; d < entry.rank; ++d)
    if (!isWithin(shape[order[d]], entry.dims[d].min, entry.dims[d].max))
      return false;
  return true;
}

/// Whether the order brings the last dimension to place `batch`, or the one at this place to the end, and leaves the
/// others as they are: images of several dimensions with their channels elsewhere.
bool movesChannels(const int32_t *order, int32_t rank, int32_t batch, bool fromLast) {
  int32_t from = fromLast ? rank - 1 : batch, to = fromLast ? batch : rank - 1, next = 0;
  if (rank - 1 - batch < 2)
    return false;
  for (int32_t d = 0; d < rank; ++d) {
    next += next == from;
    if (order[d] != (d == to ? from : next++))
      return false;
  }
  return true;
}

const char *nameOrder(const int32_t *order, int32_t rank) {
  for (int32_t batch : {0, 1}) {
    if (movesChannels(order, rank, batch, true))
      return "channels last";
    if (movesChannels(order, rank, batch, false))
      return "channels first";
  }
  return "transposed";
}

/// The first order of the dimensions in which the tensor fits, if its own is not one.
void addOrder(const TensorEntry &entry, const int64_t *shape, Error &error) {
  int32_t order[kMostPermuted] = {0, 1, 2, 3, 4, 5}, rank = entry.rank;
  if (fits(entry, shape, order))
    return;
  while (std::next_permutation(order, order + rank))
    if (fits(entry, shape, order)) {
      error.append(" (%s? transpose(", nameOrder(order, rank));
      for (int32_t d = 0; d < rank; ++d)
        error.append(d == 0 ? "%d" : ", %d", order[d]);
      error.append(") fits)");
      return;
    }
}

} // namespace

ptc_status addShapes(const TensorEntry &entry, const DLTensor &tensor, Error &error) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank || (tensor.ndim > 0 && !tensor.shape))
    return error.status;
  error.append("; its shape is [");
  for (int32_t d = 0; d < tensor.ndim; ++d)
    error.append(d == 0 ? "%lld" : ", %lld", static_cast<long long>(tensor.shape[d]));
  error.append("], the model's [");
  for (int32_t d = 0; d < entry.rank; ++d)
    error.append(d == 0 ? "%s" : ", %s", entry.dims[d].text);
  error.append("]");
  if (tensor.ndim == entry.rank && entry.rank <= kMostPermuted)
    addOrder(entry, tensor.shape, error);
  return error.status;
}

} // namespace ptc::runtime
