#include "compiler/graph/ConstantView.h"

#include "dialects/core/TensorBytes.h"
#include "dialects/prims/reference/Tensor.h"

#include <cstring>

using namespace mlir;

namespace ptc {

ConstantView ConstantView::ofBytes(RankedTensorType type, const char *data) {
  ConstantView view{type, data, 0, {}, nullptr};
  auto strides = prims::stridesOf(type.getShape());
  view.strides.assign(strides.begin(), strides.end());
  return view;
}

ConstantView ConstantView::ofBytes(RankedTensorType type, std::vector<char> bytes) {
  auto owner = std::make_shared<const std::vector<char>>(std::move(bytes));
  ConstantView view = ofBytes(type, owner->data());
  view.owner = std::move(owner);
  return view;
}

bool ConstantView::isContiguous() const {
  int64_t expected = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    if (type.getDimSize(i) != 1 && strides[i] != expected)
      return false;
    expected *= type.getDimSize(i);
  }
  return true;
}

void collapseDims(SmallVectorImpl<int64_t> &shape, ArrayRef<SmallVectorImpl<int64_t> *> strides) {
  auto erase = [&](size_t i) {
    shape.erase(shape.begin() + i);
    for (auto *list : strides)
      list->erase(list->begin() + i);
  };
  for (size_t i = shape.size(); i-- > 0;) {
    bool joins = i + 1 < shape.size() && llvm::all_of(strides, [&](auto *list) {
                   return (*list)[i] == (*list)[i + 1] * shape[i + 1];
                 });
    if (shape[i] == 1) {
      erase(i);
    } else if (joins) {
      shape[i + 1] *= shape[i];
      erase(i);
    }
  }
}

namespace {

/// A copy through strides. The result's last dimension and the one along which
/// the source is contiguous are walked in tiles, so that both sides use whole
/// cache lines.
template <typename T> class StridedCopy {
public:
  StridedCopy(const ConstantView &view, char *to)
      : from(view.data + view.offset * sizeof(T)), to(to), shape(view.type.getShape()), strides(view.strides) {
    collapseDims(shape, {&strides});
    rowStrides = prims::stridesOf(shape);
    last = shape.size() - 1;
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] > 1 && strides[i] == 1)
        contiguous = i;
  }

  void run() {
    if (shape.empty())
      return copy(0, 0, 1, 0);
    SmallVector<int64_t> outer(shape);
    outer[last] = 1;
    if (contiguous >= 0)
      outer[contiguous] = 1;
    for (prims::IndexCounter i(outer); i; ++i) {
      int64_t source = 0, target = 0;
      for (size_t d = 0; d < outer.size(); ++d) {
        source += (*i)[d] * strides[d];
        target += (*i)[d] * rowStrides[d];
      }
      if (contiguous < 0 || contiguous == int64_t(last))
        copy(source, target, shape[last], strides[last]);
      else
        copyTiles(source, target);
    }
  }

private:
  static constexpr int64_t kTile = 32;

  void copy(int64_t source, int64_t target, int64_t count, int64_t stride) {
    for (int64_t k = 0; k < count; ++k)
      std::memcpy(to + (target + k) * sizeof(T), from + (source + k * stride) * sizeof(T), sizeof(T));
  }

  void copyTiles(int64_t source, int64_t target) {
    int64_t rows = shape[contiguous], columns = shape[last];
    for (int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (int64_t c0 = 0; c0 < columns; c0 += kTile)
        for (int64_t r = r0, end = std::min(rows, r0 + kTile); r < end; ++r)
          copy(source + r + c0 * strides[last], target + r * rowStrides[contiguous] + c0,
               std::min(kTile, columns - c0), strides[last]);
  }

  const char *from;
  char *to;
  SmallVector<int64_t> shape, strides;
  prims::Sizes rowStrides;
  size_t last = 0;
  int64_t contiguous = -1;
};

struct Bytes16 {
  char bytes[16];
};

} // namespace

std::vector<char> ConstantView::materialize() const {
  int64_t width = getElementBytes(type.getElementType()), count = type.getNumElements();
  std::vector<char> bytes(count * width);
  if (count == 0)
    return bytes;
  if (isContiguous()) {
    std::memcpy(bytes.data(), data + offset * width, bytes.size());
    return bytes;
  }
  switch (width) {
  case 1:
    StridedCopy<uint8_t>(*this, bytes.data()).run();
    break;
  case 2:
    StridedCopy<uint16_t>(*this, bytes.data()).run();
    break;
  case 4:
    StridedCopy<uint32_t>(*this, bytes.data()).run();
    break;
  case 8:
    StridedCopy<uint64_t>(*this, bytes.data()).run();
    break;
  default:
    StridedCopy<Bytes16>(*this, bytes.data()).run();
    break;
  }
  return bytes;
}

} // namespace ptc
