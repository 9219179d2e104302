#include "compiler/graph/FunctionalizeViews.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using llvm::StringRef;
using ptc::aten::AtenOp;
using ptc::aten::Call;

namespace ptc {

//===----------------------------------------------------------------------===//
// What aliases
//===----------------------------------------------------------------------===//

static bool isOneOf(StringRef name, ArrayRef<StringRef> names) { return llvm::is_contained(names, name); }

static bool isReshape(StringRef base) { return isOneOf(base, {"reshape", "reshape_as", "flatten", "ravel"}); }

/// Views by implementation only: their schemas do not say so.
static bool isUndeclaredAlias(const AtenOp &op) {
  StringRef base = op.schema().baseName();
  if (isOneOf(base, {"atleast_1d", "atleast_2d", "atleast_3d", "data"}))
    return op->getNumOperands() == 1;
  if (isOneOf(base, {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"}))
    return !op.boolean("train") || op.real("p") == 0;
  if (base == "type_as")
    return op.result().getType() == op->getOperand(0).getType();
  if (base == "conj_physical")
    return !isa<ComplexType>(getElementTypeOrSelf(op.result().getType()));
  return false;
}

/// Whether it depends on strides and sizes if the result is a copy.
static bool mayCopy(const AtenOp &op) {
  StringRef format = op.hasArgument("memory_format") ? op.string("memory_format") : StringRef();
  bool isPlain = format.empty() || format.contains("preserve") || format.contains("contiguous");
  return isReshape(op.schema().baseName()) || (op.schema().baseName() == "contiguous" && isPlain);
}

static bool isAliasWith(const AtenOp &op, ShapeRef sizes, ShapeRef strides, ShapeRef resultSizes) {
  return isReshape(op.schema().baseName()) ? viewStrides(sizes, strides, resultSizes, op->getContext()).has_value()
                                           : isContiguous(sizes, strides);
}

bool isAliasOfFirstOperand(const AtenOp &op, const Strides &strides) {
  if (op->getNumOperands() == 0)
    return false;
  if (!op.schema().isView())
    return isUndeclaredAlias(op);
  Value self = op->getOperand(0);
  StringRef base = op.schema().baseName();
  if (mayCopy(op))
    return strides.isKnown(self) && isAliasWith(op, getShape(self), strides.of(self), getShape(op.result()));
  if (base == "contiguous")
    return strides.isChannelsLast(self);
  if (base != "to")
    return true;
  StringRef format = op.hasArgument("memory_format") ? op.string("memory_format") : StringRef();
  bool keepsOrder =
      format.empty() || format.contains("preserve") || strides.isChannelsLast(self) == format.contains("channels_last");
  return keepsOrder && !op.boolean("copy") && op.result().getType() == self.getType();
}

AliasSizes findAliasSizes(const AtenOp &op, const Strides &strides, ArrayRef<Symbol> symbols) {
  AliasSizes found;
  if (op->getNumOperands() == 0 || !mayCopy(op))
    return found;
  MLIRContext *context = op->getContext();
  Value self = op->getOperand(0);
  Shape sizes = getShape(self), steps = strides.of(self), resultSizes = getShape(op.result());
  if (!strides.isKnown(self)) {
    found.hasOthers = true;
    return found;
  }
  auto isAliasAt = [&](SmallVector<int64_t> values) {
    evaluateExtrema(symbols, values);
    auto at = [&](ShapeRef shape) {
      return makeShape(llvm::map_to_vector(shape, [&](AffineExpr e) { return evaluate(e, values); }), context);
    };
    return isAliasWith(op, at(sizes), at(steps), at(resultSizes));
  };
  SmallVector<int64_t> usual = usualSizes(symbols), ones = usual;
  SmallVector<unsigned> open;
  AffineExpr count = getAffineConstantExpr(1, context);
  for (auto [i, symbol] : llvm::enumerate(symbols))
    if (!symbol.extremum &&
        llvm::any_of(llvm::concat<AffineExpr>(sizes, steps), [&](AffineExpr e) { return dependsOn(e, i, symbols); }))
      open.push_back(i);
  auto isPossible = [&](unsigned i, int64_t value) {
    return symbols[i].min <= value && (symbols[i].max == Symbol::kUnbounded || value <= symbols[i].max);
  };
  for (unsigned i : open) {
    auto with = [&](int64_t value) {
      SmallVector<int64_t> values = usual;
      values[i] = value;
      return isPossible(i, value) && isAliasAt(values);
    };
    if (with(1))
      found.ones.push_back(getAffineSymbolExpr(i, context));
    if (isPossible(i, 1)) {
      ones[i] = 1;
      count = count * getAffineSymbolExpr(i, context);
    }
    found.hasOthers |= llvm::any_of(llvm::seq<int64_t>(2, 9), with);
    for (unsigned j : open)
      found.hasOthers |= j != i && with(usual[j]);
  }
  if (found.ones.empty() && isAliasAt(ones))
    found.ones.push_back(count);
  return found;
}

bool hasDisjointResults(const AtenOp &view) { return view.schema().returns[0].isList; }

bool isGeometric(const AtenOp &view) {
  return !isOneOf(view.schema().baseName(), {"conj", "_conj", "_neg_view", "mH", "adjoint", "matrix_H", "real", "imag",
                                             "view_as_real", "view_as_complex"}) &&
         view.name() != "view.dtype";
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

namespace {
/// What an inverse works on.
struct Write {
  OpBuilder &b;
  Location loc;
  const AtenOp &view;
  unsigned result;
  Value base, updated;

  Value create(const Call &call) const { return call.create(b, loc, base.getType())->getResult(0); }
  Value create(const Call &call, Type type) const { return call.create(b, loc, type)->getResult(0); }
  int64_t rank() const { return getShape(base).size(); }
};
using Inverse = Value (*)(const Write &);
struct Row {
  StringRef name; ///< "slice.Tensor", or a base name that covers all overloads.
  Inverse inverse;
};
} // namespace

static Value asItIs(const Write &w) { return w.updated; }

static Value reshapeBack(const Write &w) {
  if (w.updated.getType() == w.base.getType())
    return w.updated;
  return w.create(Call("view.default").set("self", w.updated).set("size", getShape(w.base), w.b.getContext()));
}

/// transpose, t, conj: doing it twice does nothing.
static Value again(const Write &w) {
  return w.create(Call(w.view.schema()).copyArguments(w.view).set("self", w.updated));
}

static Value permuteBack(const Write &w) {
  SmallVector<int64_t> dims = w.view.integers("dims"), inverse(dims.size());
  for (auto [to, from] : llvm::enumerate(dims))
    inverse[from < 0 ? from + w.rank() : from] = to;
  return w.create(Call("permute.default").set("self", w.updated).set("dims", w.b.getDenseI64ArrayAttr(inverse)));
}

static Value moveBack(const Write &w) {
  return w.create(Call(w.view.schema())
                      .set("self", w.updated)
                      .set("source", w.view.attribute("destination"))
                      .set("destination", w.view.attribute("source")));
}

/// base[..., start:end:step, ...] = updated
static Value sliceScatter(const Write &w, int64_t dim, AffineExpr start, AffineExpr end) {
  return w.create(Call("slice_scatter.default")
                      .set("self", w.base)
                      .set("src", w.updated)
                      .set("dim", w.b.getI64IntegerAttr(dim))
                      .set("start", start)
                      .set("end", end));
}

static Value selectScatter(const Write &w, int64_t dim, Attribute index) {
  return w.create(Call("select_scatter.default")
                      .set("self", w.base)
                      .set("src", w.updated)
                      .set("dim", w.b.getI64IntegerAttr(dim))
                      .set("index", index));
}

static Value slice(const Write &w) {
  return w.create(
      Call("slice_scatter.default").copyArguments(w.view).set("self", w.base).set("src", w.updated));
}

static Value narrow(const Write &w) {
  int64_t dim = w.view.integer("dim");
  AffineExpr start = w.view.symInt("start");
  if (auto value = getConstant(start); value && *value < 0)
    start = getShape(w.base)[dim < 0 ? dim + w.rank() : dim] + *value;
  return sliceScatter(w, dim, start, start + w.view.symInt("length"));
}

static Value select(const Write &w) {
  return selectScatter(w, w.view.integer("dim"), w.view.attribute("index"));
}

static Value unbind(const Write &w) {
  return selectScatter(w, w.view.integer("dim"), w.b.getI64IntegerAttr(w.result));
}

/// Size of one part along the split dimension. The type of a part that nobody
/// uses may be `none`: exports do not keep it. Null when nothing tells.
static AffineExpr sizeOfPart(const AtenOp &view, unsigned part, int64_t axis) {
  if (isa<RankedTensorType>(view.result(part).getType()))
    return getShape(view.result(part))[axis];
  if (view.name() == "split_with_sizes.default" || view.name() == "split.sizes") {
    Shape sizes = view.symInts(view.name() == "split.sizes" ? "split_size" : "split_sizes");
    return part < sizes.size() ? sizes[part] : AffineExpr();
  }
  if (view.name() == "split.Tensor") // All but the last, which no other part needs.
    return view.symInt("split_size");
  if (view.name() == "chunk.default")
    return (getShape(view->getOperand(0))[axis] + (view.integer("chunks") - 1)).floorDiv(view.integer("chunks"));
  return {};
}

static int64_t splitAxis(const AtenOp &view) {
  StringRef base = view.schema().baseName();
  int64_t rank = getShape(view->getOperand(0)).size();
  int64_t dim = base == "vsplit"   ? 0
                : base == "dsplit" ? 2
                : base == "hsplit" ? (rank == 1 ? 0 : 1)
                                   : view.integer("dim");
  return dim < 0 ? dim + rank : dim;
}

/// split, chunk, tensor_split, hsplit, …: the result's place follows from the
/// sizes of those before it.
static Value split(const Write &w) {
  int64_t axis = splitAxis(w.view);
  AffineExpr start = getAffineConstantExpr(0, w.b.getContext());
  for (unsigned i = 0; i < w.result; ++i)
    start = start + sizeOfPart(w.view, i, axis);
  return sliceScatter(w, axis, start, start + getShape(w.updated)[axis]);
}

static Value diagonal(const Write &w) {
  return w.create(Call("diagonal_scatter.default")
                      .set("self", w.base)
                      .set("src", w.updated)
                      .set("offset", w.view.symInt("offset"))
                      .set("dim1", w.view.symInt("dim1"))
                      .set("dim2", w.view.symInt("dim2")));
}

static Value bitsBack(const Write &w) {
  Type element = getElementTypeOrSelf(w.base.getType());
  return w.create(Call("view.dtype").set("self", w.updated).set("dtype", TypeAttr::get(element)));
}

static Value toComplex(const Write &w) { return w.create(Call("view_as_complex.default").set("self", w.updated)); }
static Value toReal(const Write &w) { return w.create(Call("view_as_real.default").set("self", w.updated)); }

/// A part of a complex number is written, the other stays.
static Value part(const Write &w) {
  if (w.updated.getType() == w.base.getType())
    return w.updated; // real() of a real tensor.
  bool isReal = w.view.schema().baseName() == "real";
  Value other = w.create(Call(isReal ? "imag.default" : "real.default").set("self", w.base), w.updated.getType());
  return w.create(Call("complex.default")
                      .set("real", isReal ? w.updated : other)
                      .set("imag", isReal ? other : w.updated));
}

// A view without a row is undone through positions (FunctionalizeAliases.cpp);
// expand is here because it mostly adds dimensions of size 1 only.
static const Row kInverses[] = {
    {"alias", asItIs},         {"detach", asItIs},      {"contiguous", asItIs},
    {"to", asItIs},            {"lift_fresh", asItIs},  {"positive", asItIs},
    {"resolve_conj", asItIs},  {"resolve_neg", asItIs}, {"data", asItIs},
    {"dropout", asItIs},       {"type_as", asItIs},     {"feature_dropout", asItIs},
    {"alpha_dropout", asItIs}, {"pin_memory", asItIs},  {"feature_alpha_dropout", asItIs},
    {"conj_physical", asItIs}, {"view.dtype", bitsBack}, // Before the other view.
    {"view", reshapeBack},     {"reshape", reshapeBack},   {"_reshape_alias", reshapeBack},
    {"flatten", reshapeBack},  {"unflatten", reshapeBack}, {"reshape_as", reshapeBack},
    {"view_as", reshapeBack},  {"squeeze", reshapeBack},   {"unsqueeze", reshapeBack},
    {"ravel", reshapeBack},    {"atleast_1d", reshapeBack}, {"atleast_2d", reshapeBack},
    {"expand", reshapeBack},   {"expand_as", reshapeBack}, {"atleast_3d", reshapeBack},
    {"broadcast_to", reshapeBack},
    {"transpose", again},      {"swapaxes", again},     {"swapdims", again},
    {"t", again},              {"numpy_T", again},      {"mT", again},
    {"mH", again},             {"matrix_H", again},     {"adjoint", again},
    {"conj", again},           {"_conj", again},        {"_neg_view", again},
    {"permute", permuteBack},  {"movedim", moveBack},   {"moveaxis", moveBack},
    {"slice.Tensor", slice},   {"narrow.default", narrow}, {"select.int", select},
    {"unbind.int", unbind},    {"split", split},        {"split_with_sizes", split},
    {"chunk", split},          {"tensor_split", split}, {"hsplit", split},
    {"vsplit", split},         {"dsplit", split},       {"diagonal.default", diagonal},
    {"linalg_diagonal.default", diagonal},
    {"view_as_real", toComplex}, {"view_as_complex", toReal}, {"real", part}, {"imag", part},
};

static Inverse findInverse(const AtenOp &view) {
  for (const Row &row : kInverses)
    if (row.name == view.name() || row.name == view.schema().baseName())
      return row.inverse;
  return nullptr;
}

bool isIdentityView(const AtenOp &view) { return findInverse(view) == asItIs; }

bool hasInverse(const AtenOp &view) {
  Inverse inverse = findInverse(view);
  if (inverse == split)
    return llvm::all_of(llvm::seq(view->getNumResults()),
                        [&](unsigned i) { return bool(sizeOfPart(view, i, splitAxis(view))); });
  if (inverse != reshapeBack)
    return inverse;
  // Not so when expand shows an element several times.
  MLIRContext *context = view->getContext();
  return isEqual(product(getShape(view->getOperand(0)), context), product(getShape(view.result()), context));
}

Value invertView(OpBuilder &builder, Location loc, const AtenOp &view, unsigned result, Value base, Value updated) {
  Inverse inverse = findInverse(view);
  assert(inverse && "asked to undo a view that has no inverse");
  return inverse({builder, loc, view, result, base, updated});
}

} // namespace ptc
