#include "dialects/prims/Term.h"

#include "dialects/prims/Prims.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ptc::prims {

/// A number as the element type has it.
static Attribute makeNumber(double number, Type element) {
  if (auto type = llvm::dyn_cast<ComplexType>(element)) {
    Attribute parts[] = {FloatAttr::get(type.getElementType(), number), FloatAttr::get(type.getElementType(), 0)};
    return ArrayAttr::get(element.getContext(), parts);
  }
  if (isFloat(element))
    return FloatAttr::get(element, number);
  return IntegerAttr::get(element, int64_t(number));
}

Term Term::full(double number, ShapeRef sizes, Type element) const {
  return make<FullOp>(makeNumber(number, element), this->sizes(sizes));
}

Term Term::places(int64_t dim) const { return make<IotaOp>(dim, sizes(shape()), Type(at->builder.getI64Type())); }

static SmallVector<Value> valuesOf(ArrayRef<Term> terms) {
  return llvm::map_to_vector(terms, [](const Term &term) { return term.value(); });
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

template <class Op> static Term unary(Term x) { return x.make<Op>(x.value()); }
template <class Op> static Term binary(Term x, Term y) { return x.make<Op>(x.value(), y.value()); }

Term operator+(Term x, Term y) { return binary<AddOp>(x, y); }
Term operator-(Term x, Term y) { return binary<SubOp>(x, y); }
Term operator*(Term x, Term y) { return binary<MulOp>(x, y); }
Term operator/(Term x, Term y) { return binary<DivOp>(x, y); }

/// A function of a tensor and a number. That of a 16-bit tensor is computed in float, as PyTorch's are: ln 2 rounded to
/// bfloat16 is wrong by 0.25 %.
template <class F> static Term withNumber(Term x, double y, F function) {
  Type element = x.element();
  auto type = dyn_cast<FloatType>(element);
  if (!type || type.getWidth() != 16 || FloatAttr::get(type, y).getValueAsDouble() == y)
    return function(x, x.full(y));
  Term wide = convert(x, Float32Type::get(type.getContext()));
  return convert(function(wide, wide.full(y)), element);
}

Term operator+(Term x, double y) { return withNumber(x, y, binary<AddOp>); }
Term operator-(Term x, double y) { return withNumber(x, y, binary<SubOp>); }
Term operator*(Term x, double y) { return withNumber(x, y, binary<MulOp>); }
Term operator/(Term x, double y) { return withNumber(x, y, binary<DivOp>); }
Term operator+(double x, Term y) { return y + x; }
Term operator-(double x, Term y) {
  return withNumber(y, x, [](Term tensor, Term number) { return number - tensor; });
}
Term operator*(double x, Term y) { return y * x; }
Term operator/(double x, Term y) {
  return withNumber(y, x, [](Term tensor, Term number) { return number / tensor; });
}
Term operator-(Term x) { return unary<NegOp>(x); }
Term operator==(Term x, Term y) { return binary<EqOp>(x, y); }
Term operator<(Term x, Term y) { return binary<LtOp>(x, y); }
Term operator>(Term x, Term y) { return binary<GtOp>(x, y); }
Term operator>=(Term x, Term y) { return binary<GeOp>(x, y); }
Term operator==(Term x, double y) { return x == x.full(y); }
Term operator>=(Term x, double y) { return x >= x.full(y); }
Term operator&(Term x, Term y) { return binary<AndOp>(x, y); }
Term operator|(Term x, Term y) { return binary<OrOp>(x, y); }

Term exp(Term x) { return x.make<ExpOp>(x.value(), /*flush=*/false); }
Term log(Term x) { return unary<LogOp>(x); }
Term sqrt(Term x) { return unary<SqrtOp>(x); }
Term rsqrt(Term x) { return unary<RsqrtOp>(x); }
Term reciprocal(Term x) { return unary<ReciprocalOp>(x); }
Term pow(Term x, Term y) { return binary<PowOp>(x, y); }
Term sin(Term x) { return unary<SinOp>(x); }
Term cos(Term x) { return unary<CosOp>(x); }
Term sinh(Term x) { return unary<SinhOp>(x); }
Term cosh(Term x) { return unary<CoshOp>(x); }
Term abs(Term x) { return unary<AbsOp>(x); }
Term sign(Term x) { return unary<SignOp>(x); }
Term trunc(Term x) { return unary<TruncOp>(x); }
Term isNan(Term x) { return unary<IsNanOp>(x); }
Term maximum(Term x, Term y) { return binary<MaximumOp>(x, y); }
Term copySign(Term x, Term y) { return binary<CopySignOp>(x, y); }
Term special(StringRef function, Term x) { return x.make<SpecialOp>(ValueRange(x.value()), function); }
Term special(StringRef function, Term x, Term y) {
  return x.make<SpecialOp>(ValueRange({x.value(), y.value()}), function);
}
Term select(Term pred, Term onTrue, Term onFalse) {
  return pred.make<SelectOp>(pred.value(), onTrue.value(), onFalse.value());
}
Term convert(Term x, Type dtype) { return x.element() == dtype ? x : x.make<ConvertOp>(x.value(), dtype); }
Term complex(Term re, Term im) { return binary<ComplexOp>(re, im); }
Term real(Term x) { return unary<RealOp>(x); }
Term imag(Term x) { return unary<ImagOp>(x); }
Term conj(Term x) { return x.isComplex() ? complex(real(x), -imag(x)) : x; }

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

Term broadcast(Term x, ShapeRef sizes, DimsRef dims) {
  return x.make<BroadcastInDimOp>(x.value(), x.sizes(sizes), dims);
}
Term spread(Term x, DimsRef dims, Term like) { return broadcast(x, like.shape(), otherDims(like.rank(), dims)); }
Term reshape(Term x, ShapeRef sizes) { return x.make<ReshapeOp>(x.value(), x.sizes(sizes)); }
Term transpose(Term x, DimsRef permutation) { return x.make<TransposeOp>(x.value(), permutation); }
Term reverse(Term x, DimsRef dims) { return x.make<ReverseOp>(x.value(), dims); }

Term pad(Term x, ShapeRef low, ShapeRef high, DimsRef interior, double value) {
  Term element = x.full(value, {});
  return x.make<PadOp>(x.value(), element.value(), x.sizes(low), x.sizes(high), interior);
}

Term slice(Term x, ShapeRef starts, ShapeRef limits, DimsRef strides) {
  return x.make<SliceOp>(x.value(), x.sizes(starts), x.sizes(limits), strides);
}

Term slice(Term x, int64_t dim, AffineExpr start, AffineExpr limit) {
  Shape starts(x.rank(), x.size(0)), limits = x.shape();
  starts[dim] = start;
  limits[dim] = limit;
  return slice(x, starts, limits, Dims(x.rank(), 1));
}

Term concatenate(ArrayRef<Term> inputs, int64_t dim) {
  return inputs.front().make<ConcatenateOp>(valuesOf(inputs), dim);
}

//===----------------------------------------------------------------------===//
// Reductions, scans, indexing, products
//===----------------------------------------------------------------------===//

Term reduce(StringRef kind, Term x, DimsRef dims) { return dims.empty() ? x : x.make<ReduceOp>(x.value(), kind, dims); }
Term scan(StringRef kind, Term x, int64_t dim) { return x.make<ScanOp>(x.value(), kind, dim); }
Term gather(Term x, ArrayRef<Term> indices, DimsRef dims) {
  return x.make<GatherOp>(x.value(), valuesOf(indices), dims);
}
Term scatter(Term x, Term updates, ArrayRef<Term> indices, DimsRef dims, StringRef combine) {
  return x.make<ScatterOp>(x.value(), updates.value(), valuesOf(indices), dims, combine);
}
Term contract(Term lhs, Term rhs, DimsRef lhsBatch, DimsRef rhsBatch, DimsRef lhsContract, DimsRef rhsContract) {
  return lhs.make<ContractOp>(lhs.value(), rhs.value(), lhsBatch, rhsBatch, lhsContract, rhsContract);
}

Dims allDims(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }

Dims otherDims(int64_t rank, DimsRef dims) {
  Dims others;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(dims, d))
      others.push_back(d);
  return others;
}

Dims inverse(DimsRef permutation) {
  Dims result(permutation.size());
  for (auto [i, dim] : llvm::enumerate(permutation))
    result[dim] = i;
  return result;
}

} // namespace ptc::prims
