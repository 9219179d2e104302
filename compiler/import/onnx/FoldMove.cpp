#include "compiler/import/onnx/FoldMove.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

int64_t countOf(IntsRef sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count = std::min<int64_t>(count * std::min<int64_t>(size, kLargestLiteral + 1), kLargestLiteral + 1);
  return count;
}

namespace {

using PlaceOf = llvm::function_ref<int64_t(IntsRef index)>;

class Mover {
public:
  Mover(Builder &b, StringRef type, const Node &node)
      : b(b), type(type), node(node), x(*node[0].literal), rank(x.sizes.size()), count(x.elements.size()) {
    strides.assign(rank, 1);
    for (int64_t d = rank - 2; d >= 0; --d)
      strides[d] = strides[d + 1] * x.sizes[d + 1];
  }

  std::optional<Value> squeeze() const;
  std::optional<Value> flatten() const;
  std::optional<Value> reshape() const;
  std::optional<Value> transpose() const;
  std::optional<Value> gather() const;
  std::optional<Value> slice() const;
  std::optional<Value> concat() const;
  std::optional<Value> expand() const;
  std::optional<Value> tile() const;

private:
  /// The same elements in other sizes.
  std::optional<Value> resized(Ints sizes) const { return b.literal(Literal{x.element, std::move(sizes), x.elements}); }
  /// Elements of x at these places.
  std::optional<Value> moved(Ints sizes, PlaceOf placeOf) const;

  Builder &b;
  StringRef type;
  const Node &node;
  const Literal &x;
  int64_t rank, count;
  Ints strides;
};

} // namespace

std::optional<Value> Mover::moved(Ints sizes, PlaceOf placeOf) const {
  int64_t length = countOf(sizes);
  if (length > kLargestLiteral)
    return std::nullopt;
  Literal result{x.element, sizes, {}};
  Ints index(sizes.size(), 0);
  for (int64_t i = 0; i < length; ++i) {
    int64_t place = placeOf(index);
    if (place < 0 || place >= count)
      return std::nullopt;
    result.elements.push_back(x.elements[place]);
    for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];)
      index[d] = 0;
  }
  return b.literal(std::move(result));
}

std::optional<Value> Mover::squeeze() const {
  auto axes = node.has(1) ? b.knownInts(node.input(1)) : node.ints("axes");
  if (node.has(1) && !axes)
    return std::nullopt;
  Ints sizes(x.sizes.begin(), x.sizes.end());
  int64_t full = type == "Squeeze" ? rank : rank + (axes ? axes->size() : 0);
  Ints sorted = axes ? b.dims(*axes, full) : Ints();
  llvm::sort(sorted);
  if (b.hasFailed())
    return std::nullopt;
  if (type == "Unsqueeze")
    for (int64_t axis : sorted)
      sizes.insert(sizes.begin() + axis, 1);
  else if (!axes)
    llvm::erase(sizes, 1);
  else
    for (int64_t axis : llvm::reverse(sorted)) {
      if (sizes[axis] != 1)
        return std::nullopt;
      sizes.erase(sizes.begin() + axis);
    }
  return resized(sizes);
}

std::optional<Value> Mover::flatten() const {
  int64_t axis = node.integer("axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    return std::nullopt;
  IntsRef sizes = x.sizes;
  return resized({countOf(sizes.take_front(axis)), countOf(sizes.drop_front(axis))});
}

std::optional<Value> Mover::reshape() const {
  auto wanted = node.has(1) ? b.knownInts(node.input(1)) : std::nullopt;
  if (!wanted || node.integer("allowzero", 0))
    return std::nullopt;
  Ints sizes = *wanted;
  int64_t known = 1, open = -1;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size == 0 && int64_t(i) < rank)
      size = x.sizes[i];
    if (size == -1)
      open = i;
    else
      known *= size;
  }
  if (open >= 0 && known > 0)
    sizes[open] = count / known;
  return countOf(sizes) == count ? resized(sizes) : std::nullopt;
}

std::optional<Value> Mover::transpose() const {
  Ints order;
  for (int64_t d = rank; d-- > 0;)
    order.push_back(d);
  order = b.dims(node.ints("perm").value_or(order), rank);
  if (b.hasFailed() || int64_t(order.size()) != rank)
    return std::nullopt;
  Ints sizes;
  for (int64_t d : order)
    sizes.push_back(x.sizes[d]);
  return moved(sizes, [&](IntsRef index) {
    int64_t place = 0;
    for (auto [at, d] : llvm::zip(index, order))
      place += at * strides[d];
    return place;
  });
}

std::optional<Value> Mover::gather() const {
  auto indices = node.has(1) ? b.knownInts(node.input(1)) : std::nullopt;
  int64_t axis = node.integer("axis", 0);
  axis = axis < 0 ? axis + rank : axis;
  if (!indices || axis < 0 || axis >= rank)
    return std::nullopt;
  IntsRef from = x.sizes, chosen = node[1].literal->sizes;
  Ints sizes(from.take_front(axis));
  llvm::append_range(sizes, chosen);
  llvm::append_range(sizes, from.drop_front(axis + 1));
  return moved(sizes, [&](IntsRef index) -> int64_t {
    int64_t place = 0, which = 0;
    for (int64_t d = 0; d < axis; ++d)
      place += index[d] * strides[d];
    for (auto [at, size] : llvm::zip(index.drop_front(axis), chosen))
      which = which * size + at;
    for (int64_t d = axis + 1; d < rank; ++d)
      place += index[d - 1 + chosen.size()] * strides[d];
    int64_t at = (*indices)[which];
    at = at < 0 ? at + from[axis] : at;
    return at < 0 || at >= from[axis] ? -1 : place + at * strides[axis];
  });
}

std::optional<Value> Mover::slice() const {
  bool isOld = node.opset < 10;
  auto get = [&](const char *name, unsigned i) {
    return isOld ? node.ints(name) : node.has(i) ? b.knownInts(node.input(i)) : std::nullopt;
  };
  auto starts = get("starts", 1), ends = get("ends", 2), axes = get("axes", 3), steps = get("steps", 4);
  if (!starts || !ends || (!isOld && ((node.has(3) && !axes) || (node.has(4) && !steps))))
    return std::nullopt;
  size_t many = starts->size();
  if (ends->size() != many || (axes && axes->size() != many) || (steps && steps->size() != many) ||
      (!axes && int64_t(many) > rank))
    return std::nullopt;
  Ints sizes(x.sizes.begin(), x.sizes.end()), first(rank, 0), by(rank, 1);
  Ints along = axes ? b.dims(*axes, rank) : Ints();
  if (b.hasFailed())
    return std::nullopt;
  for (size_t i = 0; i < many; ++i) {
    int64_t d = axes ? along[i] : int64_t(i), size = x.sizes[d], step = steps ? (*steps)[i] : 1;
    if (step == 0 || size == 0)
      return std::nullopt;
    auto bound = [&](int64_t at, int64_t low, int64_t high) {
      at = std::max<int64_t>(at, INT64_MIN / 2);
      return std::clamp<int64_t>(at < 0 ? at + size : at, low, high);
    };
    first[d] = bound((*starts)[i], 0, step > 0 ? size : size - 1);
    int64_t end = bound((*ends)[i], step > 0 ? 0 : -1, size);
    by[d] = step;
    sizes[d] = std::max<int64_t>(
        step > 0 ? llvm::divideCeilSigned(end - first[d], step) : llvm::divideCeilSigned(first[d] - end, -step), 0);
  }
  return moved(sizes, [&](IntsRef index) {
    int64_t place = 0;
    for (int64_t d = 0; d < rank; ++d)
      place += (first[d] + index[d] * by[d]) * strides[d];
    return place;
  });
}

std::optional<Value> Mover::concat() const {
  int64_t axis = node.integer("axis", 0);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis >= rank)
    return std::nullopt;
  Literal result{x.element, x.sizes, {}};
  result.sizes[axis] = 0;
  for (const Value &input : node.all()) {
    const Literal &part = *input.literal;
    if (int64_t(part.sizes.size()) != rank || part.element != x.element)
      return std::nullopt;
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis && part.sizes[d] != x.sizes[d])
        return std::nullopt;
    result.sizes[axis] += part.sizes[axis];
  }
  if (countOf(result.sizes) > kLargestLiteral)
    return std::nullopt;
  for (int64_t row = 0, rows = countOf(IntsRef(x.sizes).take_front(axis)); row < rows; ++row)
    for (const Value &input : node.all()) {
      llvm::ArrayRef<Expression> elements = input.literal->elements;
      int64_t length = elements.size() / rows;
      llvm::append_range(result.elements, elements.slice(row * length, length));
    }
  return b.literal(std::move(result));
}

std::optional<Value> Mover::expand() const {
  auto wanted = node.has(1) ? b.knownInts(node.input(1)) : std::nullopt;
  if (!wanted)
    return std::nullopt;
  Ints sizes = *wanted;
  while (int64_t(sizes.size()) < rank)
    sizes.insert(sizes.begin(), 1);
  size_t more = sizes.size() - rank;
  for (int64_t &size : sizes)
    if (size < 0)
      return std::nullopt;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t &size = sizes[more + d];
    if (x.sizes[d] != 1 && size != 1 && size != x.sizes[d])
      return std::nullopt;
    size = x.sizes[d] == 1 ? size : x.sizes[d];
  }
  return moved(sizes, [&](IntsRef index) {
    int64_t place = 0;
    for (int64_t d = 0; d < rank; ++d)
      place += x.sizes[d] == 1 ? 0 : index[more + d] * strides[d];
    return place;
  });
}

std::optional<Value> Mover::tile() const {
  auto repeats = node.has(1) ? b.knownInts(node.input(1)) : std::nullopt;
  if (!repeats || int64_t(repeats->size()) != rank)
    return std::nullopt;
  Ints sizes;
  for (auto [size, times] : llvm::zip(x.sizes, *repeats)) {
    if (times < 0 || times > kLargestLiteral)
      return std::nullopt;
    sizes.push_back(size * times);
  }
  return moved(sizes, [&](IntsRef index) {
    int64_t place = 0;
    for (int64_t d = 0; d < rank; ++d)
      place += index[d] % x.sizes[d] * strides[d];
    return place;
  });
}

bool isMove(StringRef type) {
  return llvm::is_contained({"Identity", "Squeeze", "Unsqueeze", "Flatten", "Reshape", "Transpose", "Gather", "Slice",
                             "Concat", "Expand", "Tile"},
                            type);
}

/// False of a tensor without elements whose other sizes are large: products of them would not be exact.
static bool hasSmallSizes(const Literal &x) {
  Ints sizes(x.sizes.begin(), x.sizes.end());
  for (int64_t &size : sizes)
    size = std::max<int64_t>(size, 1);
  return countOf(sizes) <= kLargestLiteral;
}

std::optional<Values> splitLiteral(Builder &b, const Literal &x, int64_t axis, ShapeRef parts) {
  int64_t rows = countOf(IntsRef(x.sizes).take_front(axis)), row = countOf(IntsRef(x.sizes).drop_front(axis));
  if (!hasSmallSizes(x) || x.elements.empty())
    return std::nullopt;
  int64_t inner = row / x.sizes[axis], start = 0;
  Values results;
  for (AffineExpr part : parts) {
    auto size = getConstant(part);
    if (!size || *size < 0 || *size > x.sizes[axis] - start)
      return std::nullopt;
    Literal result{x.element, x.sizes, {}};
    result.sizes[axis] = *size;
    for (int64_t i = 0; i < rows; ++i)
      llvm::append_range(result.elements, llvm::ArrayRef(x.elements).slice(i * row + start * inner, *size * inner));
    results.push_back(b.literal(std::move(result)));
    start += *size;
  }
  return start == x.sizes[axis] ? std::optional(std::move(results)) : std::nullopt;
}

std::optional<Value> foldMove(Builder &b, StringRef type, const Node &node) {
  for (const Value &input : node.all())
    if (input && !hasSmallSizes(*input.literal))
      return std::nullopt;
  Mover mover(b, type, node);
  if (type == "Identity")
    return node[0];
  if (type == "Squeeze" || type == "Unsqueeze")
    return mover.squeeze();
  if (type == "Flatten")
    return mover.flatten();
  if (type == "Reshape")
    return mover.reshape();
  if (type == "Transpose")
    return mover.transpose();
  if (type == "Gather")
    return mover.gather();
  if (type == "Slice")
    return mover.slice();
  if (type == "Concat")
    return mover.concat();
  if (type == "Expand")
    return mover.expand();
  return mover.tile();
}

} // namespace ptc::import::onnx
