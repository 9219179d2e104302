#include "compiler/graph/LowerComplex.h"

#include "compiler/graph/ComplexFunctions.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/control/Control.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ptc {

using decompose::B;
using decompose::Complex;
using decompose::T;

namespace {

bool isComplex(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && prims::isComplex(tensor.getElementType());
}

Type partType(Type type) { return cast<ComplexType>(cast<RankedTensorType>(type).getElementType()).getElementType(); }

/// [S..., 2] of real numbers.
RankedTensorType interleaved(Type type) {
  Shape sizes = getShape(type);
  sizes.push_back(getAffineConstantExpr(2, type.getContext()));
  return makeTensorType(sizes, partType(type));
}

/// What is done to each part by itself: moving elements, and linear functions.
const llvm::StringSet<> kPartwise = {
    "prims.broadcast_in_dim", "prims.reshape", "prims.transpose", "prims.slice", "prims.pad", "prims.concatenate",
    "prims.reverse",          "prims.gather",  "prims.scatter",   "prims.select", "prims.neg", "prims.add",
    "prims.sub",              "prims.reduce",  "prims.scan",      "prims.reduce_window"};
const llvm::StringSet<> kBilinear = {"prims.mul", "prims.contract", "prims.convolution"};

class Lowering {
public:
  explicit Lowering(func::FuncOp function) : function(function) { scope.symbols = getSymbols(function); }

  LogicalResult run();

private:
  void splitArguments();
  void joinResults();
  LogicalResult lower(Operation *op);
  std::optional<Complex> lowerComplex(B &b, Operation *op);
  T lowerReal(B &b, Operation *op);
  /// The operation with one part of each complex operand, `pick` says which of the i-th.
  T withParts(B &b, Operation *op, llvm::function_ref<T(unsigned)> pick);
  Complex partwise(B &b, Operation *op);
  Complex bilinear(B &b, Operation *op);
  Complex running(B &b, Complex x, int64_t dim);
  void lowerExternal(B &b, control::ExternalOp op);

  Complex parts(B &b, Value value) {
    auto [re, im] = split.lookup(value);
    return {b.operand(re), b.operand(im)};
  }
  void set(Value value, Complex z) { split[value] = {z.re.tensor(), z.im.tensor()}; }
  /// The complex tensor whose parts lie in pairs.
  void setPairs(B &b, Value value, Value pairs) {
    T tensor = b.operand(pairs);
    set(value, {b.select(tensor, -1, b.size(0)), b.select(tensor, -1, b.size(1))});
  }
  Value joined(B &b, Value value) {
    Complex z = parts(b, value);
    return b.stack({z.re, z.im}, -1).tensor();
  }

  func::FuncOp function;
  decompose::Scope scope;
  llvm::DenseMap<Value, std::pair<Value, Value>> split;
};

} // namespace

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

void Lowering::splitArguments() {
  Block &body = function.front();
  OpBuilder builder(&body, body.begin());
  for (BlockArgument argument : body.getArguments()) {
    if (!isComplex(argument.getType()))
      continue;
    argument.setType(interleaved(argument.getType()));
    function.setArgAttr(argument.getArgNumber(), "ptc.complex", builder.getUnitAttr());
    B b(builder, &body.front(), scope);
    setPairs(b, argument, argument);
  }
}

void Lowering::joinResults() {
  Operation *end = function.front().getTerminator();
  OpBuilder builder(end);
  B b(builder, end, scope);
  for (OpOperand &operand : end->getOpOperands()) {
    if (!split.contains(operand.get()))
      continue;
    operand.set(joined(b, operand.get()));
    function.setResultAttr(operand.getOperandNumber(), "ptc.complex", builder.getUnitAttr());
  }
  function.setType(
      FunctionType::get(function.getContext(), function.front().getArgumentTypes(), end->getOperandTypes()));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

T Lowering::withParts(B &b, Operation *op, llvm::function_ref<T(unsigned)> pick) {
  Operation *copy = op->clone();
  for (OpOperand &operand : copy->getOpOperands())
    if (split.contains(operand.get()))
      operand.set(pick(operand.getOperandNumber()).tensor());
  copy->getResult(0).setType(makeTensorType(getShape(op->getResult(0)), partType(op->getResult(0).getType())));
  op->getBlock()->getOperations().insert(op->getIterator(), copy);
  return b.operand(copy->getResult(0));
}

Complex Lowering::partwise(B &b, Operation *op) {
  auto of = [&](bool isImaginary) {
    return withParts(b, op, [&](unsigned i) {
      Complex z = parts(b, op->getOperand(i));
      return isImaginary ? z.im : z.re;
    });
  };
  return {of(false), of(true)};
}

Complex Lowering::bilinear(B &b, Operation *op) {
  auto of = [&](bool first, bool second) {
    return withParts(b, op, [&](unsigned i) {
      Complex z = parts(b, op->getOperand(i));
      return (i ? second : first) ? z.im : z.re;
    });
  };
  return {of(false, false) - of(true, true), of(false, true) + of(true, false)};
}

/// Products of 2, 4, 8, ... neighbours meet; where nobody says how many there are, one follows the other.
Complex Lowering::running(B &b, Complex x, int64_t dim) {
  int64_t most = b.range(x.re.size(dim)).max;
  if (most > INT32_MAX) {
    T pairs = b.stack({b.moveDim(x.re, dim, -1), b.moveDim(x.im, dim, -1)}, -1);
    T products = b.matrix("complex_cumprod", {pairs})[0];
    auto part = [&](int64_t i) { return b.moveDim(b.select(products, -1, b.size(i)), -1, dim); };
    return {part(0), part(1)};
  }
  auto shifted = [&](T part, int64_t reach, double neutral) {
    return b.padDim(part, dim, b.size(reach), b.size(-reach), neutral);
  };
  for (int64_t reach = 1; reach < most; reach *= 2)
    x = mul(x, {shifted(x.re, reach, 1.0), shifted(x.im, reach, 0.0)});
  return x;
}

static Complex literal(B &b, Operation *op) {
  if (auto full = dyn_cast<prims::FullOp>(op)) {
    auto value = cast<ArrayAttr>(full.getValue());
    auto part = [&](unsigned i) {
      double number = cast<FloatAttr>(value[i]).getValueAsDouble();
      return b.full(getShape(full.getResult()), number, partType(full.getType()));
    };
    return {part(0), part(1)};
  }
  auto constant = cast<prims::ConstantOp>(op);
  SmallVector<double> re, im;
  for (auto z : cast<DenseElementsAttr>(constant.getValue()).getValues<std::complex<APFloat>>()) {
    auto number = [](APFloat x) {
      bool loses;
      x.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      return x.convertToDouble();
    };
    re.push_back(number(z.real()));
    im.push_back(number(z.imag()));
  }
  Shape sizes = getShape(constant.getResult());
  Type type = partType(constant.getType());
  return {b.reshape(b.constant(re, type), sizes), b.reshape(b.constant(im, type), sizes)};
}

std::optional<Complex> Lowering::lowerComplex(B &b, Operation *op) {
  StringRef name = op->getName().getStringRef();
  auto kind = op->getAttrOfType<StringAttr>(isa<prims::ScatterOp>(op) ? "combine" : "kind");
  bool isProduct = kind && kind.getValue() == "prod";
  if (kPartwise.contains(name) && (!kind || kind.getValue() == "sum" || kind.getValue() == "set"))
    return partwise(b, op);
  if (kBilinear.contains(name))
    return bilinear(b, op);
  if (isa<prims::FullOp, prims::ConstantOp>(op))
    return literal(b, op);
  if (auto made = dyn_cast<prims::ComplexOp>(op))
    return Complex{b.operand(made.getLhs()), b.operand(made.getRhs())};
  if (auto convert = dyn_cast<prims::ConvertOp>(op)) {
    Type part = partType(convert.getType());
    if (!split.contains(convert.getX())) {
      T re = b.to(b.operand(convert.getX()), part);
      return Complex{re, b.full(re.sizes(), 0, part)};
    }
    Complex z = parts(b, convert.getX());
    return Complex{b.to(z.re, part), b.to(z.im, part)};
  }
  if (auto scan = dyn_cast<prims::ScanOp>(op); scan && isProduct)
    return running(b, parts(b, scan.getX()), scan.getDim());
  if (auto reduce = dyn_cast<prims::ReduceOp>(op); reduce && isProduct) {
    Complex z = parts(b, reduce.getX());
    for (int64_t dim : llvm::reverse(reduce.getDims())) {
      AffineExpr n = z.re.size(dim);
      if (getConstant(n) == 0) { // 1
        Shape sizes = z.re.sizes();
        sizes.erase(sizes.begin() + dim);
        z = {b.full(sizes, 1.0, z.re.dtype()), b.full(sizes, 0.0, z.re.dtype())};
        continue;
      }
      if (b.range(n).min < 1) { // the product of none is 1
        z = {b.padDim(z.re, dim, b.size(1), b.size(0), 1.0), b.padDim(z.im, dim, b.size(1), b.size(0), 0.0)};
        n = n + 1;
      }
      z = running(b, z, dim);
      z = {b.select(z.re, dim, n - 1), b.select(z.im, dim, n - 1)};
    }
    return z;
  }
  SmallVector<Complex, 2> operands;
  for (Value operand : op->getOperands())
    operands.push_back(parts(b, operand));
  return decompose::applyComplex(b, name.drop_front(StringRef("prims.").size()), operands);
}

/// What is real of complex operands.
T Lowering::lowerReal(B &b, Operation *op) {
  Complex x = parts(b, op->getOperand(0)), y = op->getNumOperands() > 1 ? parts(b, op->getOperand(1)) : x;
  if (isa<prims::RealOp>(op))
    return x.re;
  if (isa<prims::ImagOp>(op))
    return x.im;
  if (isa<prims::AbsOp>(op))
    return magnitude(b, x);
  if (isa<prims::EqOp>(op))
    return (x.re == y.re) & (x.im == y.im);
  if (isa<prims::NeOp>(op))
    return (x.re != y.re) | (x.im != y.im);
  if (isa<prims::IsNanOp>(op))
    return b.isNan(x.re) | b.isNan(x.im);
  if (isa<prims::IsFiniteOp>(op))
    return b.isFinite(x.re) & b.isFinite(x.im);
  if (auto convert = dyn_cast<prims::ConvertOp>(op))
    return prims::isBool(convert.getDtype()) ? (x.re != 0) | (x.im != 0) : b.to(x.re, convert.getDtype());
  return T();
}

/// The caller's function sees complex tensors: pairs, as they lie in memory.
void Lowering::lowerExternal(B &b, control::ExternalOp op) {
  SmallVector<Value> inputs;
  SmallVector<Type> seen;
  for (Value input : op.getInputs()) {
    bool isSplit = split.contains(input);
    inputs.push_back(isSplit ? joined(b, input) : input);
    // An argument of the function has the type of its pairs by now.
    Value re = isSplit ? split.lookup(input).first : input;
    seen.push_back(isSplit ? makeTensorType(getShape(re), ComplexType::get(getElementTypeOrSelf(re))) : re.getType());
  }
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(isComplex(type) ? Type(interleaved(type)) : type);
  OpBuilder builder(op);
  auto lowered = control::ExternalOp::create(builder, op->getLoc(), types, op.getCalleeAttr(), op.getCallAttr(), inputs,
                                             TypeAttr::get(builder.getFunctionType(seen, op->getResultTypes())));
  lowered->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [old, made] : llvm::zip(op->getResults(), lowered->getResults()))
    if (isComplex(old.getType()))
      setPairs(b, old, made);
    else
      old.replaceAllUsesWith(made);
}

LogicalResult Lowering::lower(Operation *op) {
  OpBuilder builder(op);
  B b(builder, op, scope);
  if (auto external = dyn_cast<control::ExternalOp>(op))
    return lowerExternal(b, external), success();
  if (op->getNumResults() == 1 && isComplex(op->getResult(0).getType())) {
    if (std::optional<Complex> z = lowerComplex(b, op)) {
      set(op->getResult(0), *z);
      return success();
    }
  } else if (op->getNumResults() == 1) {
    if (T value = lowerReal(b, op)) {
      op->getResult(0).replaceAllUsesWith(value.tensor());
      return success();
    }
  }
  return op->emitError() << op->getName() << " of complex numbers is not supported";
}

LogicalResult Lowering::run() {
  SmallVector<Operation *> operations; // without those that this pass adds
  for (Operation &op : function.front().without_terminator())
    operations.push_back(&op);
  splitArguments();
  SmallVector<Operation *> lowered;
  for (Operation *op : operations) {
    bool takesComplex = llvm::any_of(op->getOperands(), [&](Value value) { return split.contains(value); });
    if (!takesComplex && !llvm::any_of(op->getResultTypes(), isComplex))
      continue;
    if (failed(lower(op)))
      return failure();
    lowered.push_back(op);
  }
  if (!split.empty())
    joinResults();
  for (Operation *op : llvm::reverse(lowered))
    op->erase();
  return success();
}

std::unique_ptr<Pass> createLowerComplexPass() {
  return makeFunctionPass("lower-complex", "complex numbers as pairs of real ones",
                          [](func::FuncOp function) { return Lowering(function).run(); });
}

} // namespace ptc
