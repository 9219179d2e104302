#include "compiler/graph/decompose/ViewShapes.h"

#include "compiler/graph/decompose/Index.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using llvm::StringRef;
using ptc::aten::AtenOp;

namespace ptc::decompose {
namespace {

AffineExpr divideSize(B &b, AffineExpr size, AffineExpr by) {
  auto x = getConstant(size), y = getConstant(by);
  if (x && y && (*y == 0 || *x % *y != 0))
    throwMisfit(llvm::Twine(*x) + " elements do not fill rows of " + llvm::Twine(*y));
  return x && y ? b.size(*x / *y) : size.floorDiv(by);
}

/// The sizes that a view is asked for, one of which may be -1.
Shape resolve(B &b, Shape sizes, AffineExpr elements) {
  AffineExpr known = b.size(1), *open = nullptr;
  for (AffineExpr &size : sizes) {
    if (getConstant(size) == -1)
      open = &size;
    else
      known = known * size;
  }
  auto x = getConstant(elements), y = getConstant(known);
  if (open)
    *open = divideSize(b, elements, known);
  else if (x && y && *x != *y)
    throwMisfit(llvm::Twine(*x) + " elements in a shape of " + llvm::Twine(*y));
  return sizes;
}

Shape flatten(B &b, ShapeRef sizes, int64_t first, int64_t last) {
  if (sizes.empty())
    return {b.size(1)};
  first = B::wrapDim(first, sizes.size()), last = B::wrapDim(last, sizes.size());
  if (last < first)
    throwMisfit("its first dimension comes after its last");
  Shape result(sizes.take_front(first));
  result.push_back(product(sizes.slice(first, last - first + 1), b.context()));
  llvm::append_range(result, sizes.drop_front(last + 1));
  return result;
}

Shape unflatten(B &b, ShapeRef sizes, int64_t dim, Shape parts) {
  dim = B::wrapDim(dim, sizes.size());
  Shape result(sizes.take_front(dim));
  llvm::append_range(result, resolve(b, std::move(parts), sizes[dim]));
  llvm::append_range(result, sizes.drop_front(dim + 1));
  return result;
}

/// A size that is no constant is not 1, as PyTorch has it; the importer makes that a condition.
Shape squeeze(B &b, ShapeRef sizes, std::optional<Dims> dims) {
  if (dims)
    for (int64_t &dim : *dims)
      dim = B::wrapDim(dim, sizes.size());
  Shape result;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (!b.isOne(size) || (dims && !llvm::is_contained(*dims, int64_t(i))))
      result.push_back(size);
  return result;
}

Shape expand(B &b, ShapeRef sizes, Shape wanted) {
  if (wanted.size() < sizes.size())
    throwMisfit("a tensor of rank " + llvm::Twine(sizes.size()) + " is expanded to rank " + llvm::Twine(wanted.size()));
  for (auto [to, from] : llvm::zip(llvm::reverse(wanted), llvm::reverse(sizes))) {
    if (getConstant(to) == -1)
      to = from;
    auto x = getConstant(from), y = getConstant(to);
    if (x && y && *x != 1 && *x != *y)
      throwMisfit("a size of " + llvm::Twine(*x) + " is expanded to " + llvm::Twine(*y));
  }
  return wanted;
}

Shape slice(B &b, Shape sizes, int64_t dim, AffineExpr start, AffineExpr end, int64_t step) {
  dim = B::wrapDim(dim, sizes.size());
  AffineExpr &size = sizes[dim];
  start = start ? normaliseIndex(b, start, size) : b.size(0);
  end = end ? b.smaller(normaliseIndex(b, end, size), size) : size;
  size = b.larger((end - b.smaller(start, size) + (step - 1)).floorDiv(step), b.size(0));
  return sizes;
}

/// Pieces of `part` elements, the last of which may be smaller.
llvm::SmallVector<Shape> split(B &b, ShapeRef sizes, int64_t dim, AffineExpr part, unsigned count) {
  dim = B::wrapDim(dim, sizes.size());
  llvm::SmallVector<Shape> results(count, Shape(sizes));
  for (auto [i, result] : llvm::enumerate(results))
    result[dim] = b.larger(b.smaller(part, sizes[dim] - part * int64_t(i)), b.size(0));
  return results;
}

llvm::SmallVector<Shape> split(ShapeRef sizes, int64_t dim, ShapeRef parts) {
  dim = B::wrapDim(dim, sizes.size());
  llvm::SmallVector<Shape> results(parts.size(), Shape(sizes));
  for (auto [result, part] : llvm::zip(results, parts))
    result[dim] = part;
  return results;
}

int64_t integer(const AtenOp &op, StringRef argument) {
  auto value = op.optionalInt(argument);
  if (!value)
    throwMisfit("its argument '" + argument + "' must be known at compile time");
  return *value;
}

int64_t positive(const AtenOp &op, StringRef argument) {
  int64_t value = integer(op, argument);
  if (value <= 0)
    throwMisfit("its argument '" + argument + "' is " + llvm::Twine(value));
  return value;
}

std::optional<Dims> givenDims(const AtenOp &op) {
  if (!op.hasArgument("dim"))
    return std::nullopt;
  auto dims = op.optionalInts("dim");
  return dims ? std::optional(Dims(dims->begin(), dims->end())) : std::nullopt;
}

} // namespace

/// What all steps of a recurrent network answer, and its last states: as the first ones.
static std::optional<llvm::SmallVector<Shape>> findNetworkShapes(const AtenOp &op) {
  llvm::SmallVector<mlir::Value> states = op.tensors("hx");
  Shape sizes = getShape(op.tensor("input"));
  if (states.empty() || sizes.empty() || getShape(states[0]).empty())
    return std::nullopt;
  sizes.back() = getShape(states[0]).back() * int64_t(op.boolean("bidirectional") ? 2 : 1);
  llvm::SmallVector<Shape> all{sizes};
  for (mlir::Value state : states)
    all.push_back(getShape(state));
  return all;
}

std::optional<llvm::SmallVector<Shape>> findViewShapes(B &b, const AtenOp &op) {
  if (llvm::is_contained({"lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input"}, op.name()))
    return findNetworkShapes(op);
  StringRef name = op.schema().baseName();
  auto is = [&](llvm::ArrayRef<StringRef> names) { return llvm::is_contained(names, name); };
  const aten::Argument *self = op.schema().find("self");
  if (!self || !self->isTensor() || self->isList || !op.tensor("self") || op.name().ends_with(".dtype"))
    return std::nullopt;
  Shape sizes = getShape(op.tensor("self"));
  auto one = [](Shape shape) { return llvm::SmallVector<Shape>{std::move(shape)}; };
  AffineExpr elements = product(sizes, b.context());
  if (is({"view", "view_copy", "_unsafe_view", "_reshape_alias", "_reshape_alias_copy", "_reshape_copy"}))
    return one(resolve(b, op.symInts("size"), elements));
  if (is({"reshape"}))
    return one(resolve(b, op.symInts("shape"), elements));
  if (is({"view_as", "reshape_as", "expand_as"}))
    return one(getShape(op.tensor("other")));
  if (op.name() == "flatten.using_ints")
    return one(flatten(b, sizes, integer(op, "start_dim"), integer(op, "end_dim")));
  if (op.name() == "unflatten.int")
    return one(unflatten(b, sizes, integer(op, "dim"), op.symInts("sizes")));
  if (is({"ravel"}))
    return one({elements});
  if (op.name() == "squeeze.dim" || op.name() == "squeeze_copy.dim")
    return one(squeeze(b, sizes, Dims{integer(op, "dim")}));
  if (is({"squeeze", "squeeze_copy"}))
    return one(squeeze(b, sizes, givenDims(op)));
  if (is({"expand", "expand_copy", "broadcast_to"}))
    return one(expand(b, sizes, op.symInts("size")));
  if (op.name() == "slice.Tensor" || op.name() == "slice_copy.Tensor")
    return one(slice(b, sizes, integer(op, "dim"), op.symInt("start"), op.symInt("end"), positive(op, "step")));
  unsigned count = op->getNumResults();
  if (is({"chunk", "unsafe_chunk"})) {
    int64_t dim = B::wrapDim(integer(op, "dim"), sizes.size());
    return split(b, sizes, dim, sizes[dim].ceilDiv(positive(op, "chunks")), count);
  }
  if (op.name().contains("split") && op.hasArgument("split_size"))
    return op.name().ends_with(".Tensor") ? split(b, sizes, integer(op, "dim"), op.symInt("split_size"), count)
                                          : split(sizes, integer(op, "dim"), op.symInts("split_size"));
  if (op.hasArgument("split_sizes"))
    return split(sizes, integer(op, "dim"), op.symInts("split_sizes"));
  return std::nullopt;
}

} // namespace ptc::decompose
