//===- Builder.h - B: what decompositions are written with ----------------===//
//
// Methods take tensors and numbers (T), broadcast and promote as PyTorch does
// and create prims. Dimensions may be negative; sizes may be symbolic.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Promote.h"
#include "compiler/graph/decompose/Value.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/Twine.h"

#include <functional>
#include <string>

namespace ptc::decompose {

using Dims = List<int64_t>;
using DimsRef = ListRef<int64_t>;

/// A symbol that takes its value from a 0-d i64 tensor while the program runs.
struct DefinedSize {
  unsigned symbol;
  mlir::Value value;
  mlir::AffineExpr most; ///< What it never exceeds, from sizes known before; null: there is no such bound.
  mlir::Location where;  ///< The operation that decides it.
};

/// What the decompositions of one function share.
struct Scope {
  llvm::SmallVector<Symbol> symbols;
  size_t known = 0; ///< How many of them the graph has; rows make the others.
  /// 0-d tensors that stand for Python numbers.
  llvm::DenseSet<mlir::Value> wrapped;
  /// Sizes that data decide.
  llvm::SmallVector<DefinedSize> defined;
  /// The state of the random operators, and how often they have drawn.
  std::function<mlir::Value()> randomState;
  int64_t draws = 0;
  /// Whether derivatives are asked for: rows say what theirs are (withGradient).
  bool isTraining = false;
  /// Whether attention gives what its fused derivative needs.
  bool savesLogSumExp = false;
};

class B {
public:
  /// Builds at `op`, the aten operation that is being decomposed. Without `hasShapes` the shapes of its results are not
  /// known, and a row that asks for them fails.
  B(mlir::OpBuilder &builder, mlir::Operation *op, Scope &scope, bool hasShapes = true)
      : builder(builder), op(op), scope(scope), hasShapes(hasShapes) {}

  T operand(mlir::Value value) { return T(*this, value, scope.wrapped.contains(value)); }
  void markWrapped(T x) { scope.wrapped.insert(x.tensor()); }

  /// The row cannot do what it is asked for; `hint` says what. Returns nothing.
  T unsupported(const llvm::Twine &hint);
  /// The graph gives the row what PyTorch would have refused.
  void misfits(const Misfit &misfit);
  bool hasFailed() const { return failed; }
  bool hasMisfit() const { return isMisfit; }
  const std::string &getHint() const { return hint; }

  mlir::MLIRContext *context() const { return builder.getContext(); }
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type f64() { return builder.getF64Type(); }
  mlir::Type i64() { return builder.getI64Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type boolean() { return builder.getI1Type(); }

  // Sizes. `declared` is what the exporter found the i-th result to be; it
  // decides where a symbolic size alone would leave two answers.
  mlir::AffineExpr size(int64_t value) { return builder.getAffineConstantExpr(value); }
  Shape declared(unsigned i = 0) const;
  mlir::Type declaredType(unsigned i = 0) const;
  /// False also for a result that nobody uses, which may have no type.
  bool hasDeclared(unsigned i) const;
  bool isUsed(unsigned i) const;
  /// Whether only the caller reads the i-th result.
  bool isOnlyReturned(unsigned i) const;
  unsigned resultCount() const;
  /// PyTorch declares the i-th result with another element type than it gives: the row's is right.
  void keepType(unsigned i) { kept.insert(i); }
  /// What replaces the i-th result: of its type, or a Misfit.
  mlir::Value asDeclared(T computed, unsigned i);
  Range range(mlir::AffineExpr size) const { return getRange(size, scope.symbols); }
  /// Of two sizes; a symbol of its own where neither is always the one.
  mlir::AffineExpr smaller(mlir::AffineExpr a, mlir::AffineExpr b) {
    return makeExtremum(scope.symbols, {false, a, b});
  }
  mlir::AffineExpr larger(mlir::AffineExpr a, mlir::AffineExpr b) { return makeExtremum(scope.symbols, {true, a, b}); }
  /// Says what the size `size` of a result is, where the exporter left it to data: `value`, and `most` at most.
  void define(mlir::AffineExpr size, T value, mlir::AffineExpr most);
  /// As above, for the symbol that the operation binds (`ptc.binds`), whose bound is its range.
  void defineBound(T value);
  /// Makes `least <= most` a condition of calls, where sizes that the symbols allow break it; not in a branch.
  void require(mlir::AffineExpr least, mlir::AffineExpr most);
  void requireEqual(mlir::AffineExpr a, mlir::AffineExpr b) { require(a, b), require(b, a); }
  /// For what there is none of nothing, as extremes: that x has elements along `dims`, or all dimensions.
  void requireElements(T x, DimsRef dims);
  /// As above, along the last `count` dimensions.
  void requireElementsOfLast(T x, int64_t count);
  bool isNoMore(mlir::AffineExpr least, mlir::AffineExpr most) const;
  /// Makes it a condition that a result's size is what the graph says, which nobody has compared with a symbol of rows.
  void requireSaid(mlir::AffineExpr own, mlir::AffineExpr said);
  /// Whether a pass left this note (`ptc.…`) at the operation.
  bool hasNote(llvm::StringRef name) const;
  /// Whether the operation is in a function of control flow.
  bool isBranch() const;
  bool isOne(mlir::AffineExpr size) const { return getConstant(size) == 1; }

  /// x; of complex numbers the row fails, and goes on with the real parts.
  T onlyReal(T x);

  // Numbers and types.
  T to(T x, mlir::Type dtype);
  /// Integers and bools as the default floating type.
  T toFloating(T x);
  /// Half types as f32.
  T toOpmath(T x);
  /// What is left of x in a half type, as f32; in other types just x of that type.
  T rounded(T x, mlir::Type dtype);
  /// As above, in the type of the result: PyTorch computes some operators step by step in half types.
  T step(T x) { return rounded(x, declaredType()); }
  /// The tensor that a number stands for.
  T tensor(T x, mlir::Type dtype, ShapeRef sizes = {});
  mlir::Type promoted(llvm::ArrayRef<T> values) { return promote(values, context()); }

  // Elementwise; those of real functions make integers floating.
  T exp(T x), exp2(T x), expm1(T x), log(T x), log1p(T x), log2(T x), log10(T x), sqrt(T x), rsqrt(T x);
  T reciprocal(T x), sin(T x), cos(T x), tan(T x), asin(T x), acos(T x), atan(T x), sinh(T x), cosh(T x);
  T tanh(T x), asinh(T x), acosh(T x), atanh(T x), erf(T x), erfc(T x), erfinv(T x);
  /// A function of runtime/special/Special.h.
  T special(llvm::StringRef name, T x), special(llvm::StringRef name, T x, T y);
  T abs(T x), neg(T x), sign(T x), floor(T x), ceil(T x), trunc(T x), round(T x), bitNot(T x);
  T isNan(T x), isFinite(T x);
  T sigmoid(T x);
  T logicalNot(T x) { return bitNot(to(x, boolean())); }
  T square(T x) { return x * x; }
  /// The root, whose derivative at 0 is 0: as PyTorch has it of norms and deviations.
  T zeroSafeSqrt(T x);

  T add(T x, T y), sub(T x, T y), mul(T x, T y), pow(T x, T y), atan2(T x, T y);
  T trueDivide(T x, T y), truncDivide(T x, T y), floorDivide(T x, T y);
  T fmod(T x, T y);      ///< Sign of the dividend.
  T remainder(T x, T y); ///< Sign of the divisor, as Python's %.
  T maximum(T x, T y), minimum(T x, T y), nextAfter(T x, T y), copySign(T x, T y);
  T bitAnd(T x, T y), bitOr(T x, T y), bitXor(T x, T y), shiftLeft(T x, T y), shiftRight(T x, T y);
  T eq(T x, T y), ne(T x, T y), lt(T x, T y), le(T x, T y), gt(T x, T y), ge(T x, T y);
  T where(T condition, T onTrue, T onFalse);
  /// min(max(x, low), high); NaN in x stays.
  T clamp(T x, OptT low, OptT high);
  T bitcast(T x, mlir::Type dtype);
  T complex(T re, T im);
  T real(T x), imag(T x), conj(T x); ///< Also of real numbers.

  // Derivatives; outside of training they change nothing.
  bool isTraining() const { return scope.isTraining; }
  /// x, of which no derivative is taken.
  T stopGradient(T x);
  /// y, whose derivative by x is what `derive` makes of y's cotangent: of x's shape, or of one that x broadcasts to.
  T withGradient(T y, T x, llvm::function_ref<T(T grad)> derive);
  /// The same by several, of which those that are no tensors of floating-point or complex numbers get nothing.
  T withGradient(T y, llvm::ArrayRef<T> by, llvm::function_ref<TList(T grad)> derive);

  // Creation.
  T full(ShapeRef sizes, T value, mlir::Type dtype);
  T iota(ShapeRef sizes, int64_t dim, mlir::Type dtype);
  /// [0, n) as i64.
  T range(mlir::AffineExpr n, mlir::Type dtype) { return iota(n, 0, dtype); }
  /// 32 random bits an element, of a draw of their own.
  T randomBits(ShapeRef sizes);
  /// The step of x, if it was made as 0, step, 2 * step, ...
  std::optional<int64_t> stepOf(T x);
  T constant(llvm::ArrayRef<int64_t> values);
  T constant(llvm::ArrayRef<double> values, mlir::Type dtype);

  // Shape.
  Shape broadcastShapes(llvm::ArrayRef<T> values);
  Shape broadcastShapes(ShapeRef a, ShapeRef b);
  /// Right-aligned, as PyTorch's expand; sizes are final.
  T expand(T x, ShapeRef sizes);
  /// Dimension i of x becomes dimension dims[i] of the result.
  T broadcastInDim(T x, ShapeRef sizes, DimsRef dims);
  /// The vector that x repeats along all dimensions but `dim`, if it was made so.
  std::optional<T> withoutRepetition(T x, int64_t dim);
  T reshape(T x, ShapeRef sizes);
  T permute(T x, DimsRef permutation);
  T transpose(T x, int64_t a, int64_t b);
  T moveDim(T x, int64_t from, int64_t to);
  T unsqueeze(T x, int64_t dim);
  T squeeze(T x, int64_t dim);
  T squeeze(T x, DimsRef dims);
  T flatten(T x, int64_t first, int64_t last);
  T slice(T x, int64_t dim, mlir::AffineExpr start, mlir::AffineExpr limit, int64_t step = 1);
  T select(T x, int64_t dim, mlir::AffineExpr index);
  /// Whether only a call tells from which end `index`, a number that the user gives, counts.
  bool mayBeNegative(mlir::AffineExpr index) const;
  T pad(T x, ShapeRef low, ShapeRef high, T value, DimsRef interior = {});
  /// Pads one dimension.
  T padDim(T x, int64_t dim, mlir::AffineExpr low, mlir::AffineExpr high, T value);
  T cat(ListRef<T> inputs, int64_t dim);
  T stack(ListRef<T> inputs, int64_t dim);
  T reverse(T x, DimsRef dims);

  // Reductions; no dims means all. 0-d tensors have one virtual dimension.
  T reduce(llvm::StringRef kind, T x, DimsRef dims, bool keepdim);
  T sum(T x, DimsRef dims, bool keepdim = false) { return reduce("sum", x, dims, keepdim); }
  T mean(T x, DimsRef dims, bool keepdim = false);
  T max(T x, DimsRef dims, bool keepdim = false) { return reduce("max", x, dims, keepdim); }
  T min(T x, DimsRef dims, bool keepdim = false) { return reduce("min", x, dims, keepdim); }
  T any(T x, DimsRef dims, bool keepdim = false) { return reduce("or", to(x, boolean()), dims, keepdim); }
  T all(T x, DimsRef dims, bool keepdim = false) { return reduce("and", to(x, boolean()), dims, keepdim); }
  T argReduce(llvm::StringRef kind, T x, int64_t dim, bool keepdim);
  T scan(llvm::StringRef kind, T x, int64_t dim);
  T argScan(llvm::StringRef kind, T x, int64_t dim);
  T reduceWindow(llvm::StringRef kind, T x, ShapeRef window, DimsRef strides, DimsRef dilations, DimsRef low,
                 DimsRef high);
  T argMaxWindow(T x, ShapeRef window, DimsRef strides, DimsRef dilations, DimsRef low, DimsRef high, int64_t spatial);
  std::pair<T, T> sort(T x, int64_t dim, bool descending);
  std::pair<T, T> topK(T x, mlir::AffineExpr k, int64_t dim, bool largest);
  /// Product of the sizes of `dims` (all when empty).
  mlir::AffineExpr count(T x, DimsRef dims);

  // Indexing. Indices must be in range; `wrap` makes negative ones so.
  T gather(T x, llvm::ArrayRef<T> indices, DimsRef dims);
  T scatter(T x, T updates, ListRef<T> indices, DimsRef dims, llvm::StringRef combine);
  T wrap(T index, mlir::AffineExpr size);

  // Contractions. The results of half types are f32: who goes on with one as an operand rounds it first.
  T contract(T lhs, T rhs, DimsRef lhsBatch, DimsRef rhsBatch, DimsRef lhsContract, DimsRef rhsContract);
  T matmul(T x, T y); ///< As torch.matmul.
  T convolution(T x, T w, DimsRef strides, ShapeRef low, ShapeRef high, DimsRef dilations, DimsRef inputDilations,
                int64_t groups);
  /// An algorithm of runtime/matrix on matrices of one batch.
  TList matrix(llvm::StringRef algorithm, llvm::ArrayRef<T> inputs);
  T attention(T q, T k, T v, OptT mask, double scale, bool causal, bool emptyIsNan);

  /// A dimension counted from 0.
  int64_t dim(T x, int64_t dim) const { return wrapDim(dim, x.rank()); }
  static int64_t wrapDim(int64_t dim, int64_t rank);
  /// All of them when empty, ascending.
  Dims dims(T x, DimsRef dims) const;

private:
  template <class Op> T unary(T x);
  template <class Op> T binary(T x, T y);
  template <class Op> T floatBinary(T x, T y);
  mlir::Location loc() const;
  mlir::RankedTensorType declaredTensor(unsigned i) const;
  /// Creates a prim; throws a Misfit if its operands do not fit.
  template <class Op, class... Arguments> Op create(Arguments &&...arguments);
  mlir::Attribute sizesAttr(ShapeRef sizes) { return makeSizesAttr(sizes, context()); }
  mlir::Value materialise(T x, mlir::Type dtype, ShapeRef sizes);

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  Scope &scope;
  std::string hint;
  llvm::SmallSet<unsigned, 2> kept; ///< Results whose type keepType says.
  bool hasShapes, failed = false, isMisfit = false;
};

} // namespace ptc::decompose
