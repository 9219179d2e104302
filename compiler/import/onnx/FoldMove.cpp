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

class Mover {
public:
  Mover(Builder &b, StringRef type, const Node &node)
      : b(b), type(type), node(node), x(*node[0].literal), rank(x.sizes.size()), count(x.elements.size()) {}

  std::optional<Value> squeeze() const;
  std::optional<Value> reshape() const;
  std::optional<Value> gather() const;
  std::optional<Value> slice() const;
  std::optional<Value> concat() const;
  std::optional<Value> expand() const;
  /// The same elements in other sizes.
  std::optional<Value> resized(llvm::SmallVector<int64_t> sizes) const {
    return b.literal(Literal{x.element, std::move(sizes), x.elements});
  }

private:
  std::optional<Value> moved(llvm::SmallVector<int64_t> sizes, const std::vector<int64_t> &places) const;

  Builder &b;
  StringRef type;
  const Node &node;
  const Literal &x;
  int64_t rank, count;
};

} // namespace

/// The elements at these places.
std::optional<Value> Mover::moved(llvm::SmallVector<int64_t> sizes, const std::vector<int64_t> &places) const {
  Literal result{x.element, std::move(sizes), {}};
  for (int64_t place : places) {
    if (place < 0 || place >= count)
      return std::nullopt;
    result.elements.push_back(x.elements[place]);
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

std::optional<Value> Mover::gather() const {
  auto indices = node.has(1) ? b.knownInts(node.input(1)) : std::nullopt;
  int64_t axis = node.integer("axis", 0);
  if (!indices || rank != 1 || (axis != 0 && axis != -1))
    return std::nullopt;
  std::vector<int64_t> places;
  for (int64_t index : *indices)
    places.push_back(index < 0 ? index + count : index);
  return moved(node[1].literal->sizes, places);
}

std::optional<Value> Mover::slice() const {
  bool isOld = node.opset < 10;
  auto get = [&](const char *name, unsigned i) {
    return isOld ? node.ints(name) : node.has(i) ? b.knownInts(node.input(i)) : std::nullopt;
  };
  auto starts = get("starts", 1), ends = get("ends", 2), steps = get("steps", 4);
  if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || (node.has(4) && (!steps || steps->size() != 1)))
    return std::nullopt;
  int64_t step = steps ? steps->front() : 1;
  if (step == 0)
    return std::nullopt;
  auto bound = [&](int64_t at, int64_t low, int64_t high) {
    return std::clamp<int64_t>(at < 0 ? at + count : at, low, high);
  };
  int64_t start = bound(starts->front(), 0, step > 0 ? count : count - 1);
  int64_t end = bound(std::max<int64_t>(ends->front(), INT64_MIN / 2), step > 0 ? 0 : -1, count);
  std::vector<int64_t> places;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step)
    places.push_back(i);
  int64_t length = places.size();
  return moved({length}, places);
}

std::optional<Value> Mover::concat() const {
  Literal result{x.element, {0}, {}};
  for (const Value &input : node.all()) {
    if (input.literal->sizes.size() != 1 || input.literal->element != x.element)
      return std::nullopt;
    llvm::append_range(result.elements, input.literal->elements);
  }
  result.sizes[0] = result.elements.size();
  return result.sizes[0] <= kLargestLiteral ? std::optional(b.literal(std::move(result))) : std::nullopt;
}

std::optional<Value> Mover::expand() const {
  auto wanted = node.has(1) ? b.knownInts(node.input(1)) : std::nullopt;
  if (!wanted || count != 1)
    return std::nullopt;
  Ints sizes = *wanted;
  for (int64_t &size : sizes)
    if (size < 0)
      return std::nullopt;
  while (int64_t(sizes.size()) < rank)
    sizes.insert(sizes.begin(), 1);
  int64_t length = countOf(sizes);
  return length <= kLargestLiteral ? moved(sizes, std::vector<int64_t>(length, 0)) : std::nullopt;
}

bool isMove(StringRef type) {
  return llvm::is_contained(
      {"Identity", "Squeeze", "Unsqueeze", "Flatten", "Reshape", "Gather", "Slice", "Concat", "Expand", "Tile"}, type);
}

std::optional<Value> foldMove(Builder &b, StringRef type, const Node &node) {
  Mover mover(b, type, node);
  bool isVector = node[0].literal->sizes.size() == 1;
  if (type == "Identity")
    return node[0];
  if (type == "Squeeze" || type == "Unsqueeze")
    return mover.squeeze();
  if (type == "Flatten" && isVector)
    return mover.resized({1, int64_t(node[0].literal->elements.size())});
  if (type == "Reshape")
    return mover.reshape();
  if (type == "Gather")
    return mover.gather();
  if (type == "Slice" && isVector)
    return mover.slice();
  if (type == "Concat" && isVector)
    return mover.concat();
  if (type == "Expand" || type == "Tile")
    return mover.expand();
  return std::nullopt;
}

} // namespace ptc::import::onnx
