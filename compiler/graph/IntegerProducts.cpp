#include "compiler/graph/IntegerProducts.h"

#include "compiler/graph/ConstantValues.h"
#include "compiler/graph/FloatProducts.h"
#include "compiler/graph/decompose/Builder.h"
#include "compiler/support/FunctionPass.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace ptc {

using decompose::B;
using decompose::T;

namespace {

/// Fewer outputs fill no panel of a kernel; fewer terms cost less than what is done to their sum.
constexpr int64_t kLeastOutputs = 16, kLeastTerms = 16;
/// One instruction adds up the products of so many channels.
constexpr int64_t kGroup = 4;
/// What is added to a signed byte to make it an unsigned one.
constexpr int64_t kShift = 128;

/// A tensor as bytes: (bytes - zero - point) * scale.
struct Quantized {
  Value bytes;
  SmallVector<Operation *> moves; ///< transposes and reshapes, the innermost first, from `bytes` to the tensor
  int64_t zero = 0;
  Value point; ///< null, or a whole number that each call has its own of
  bool isScaled = false;
  double scale = 1;
  Value scales;           ///< null, or one for each index of a dimension
  int64_t scaledDim = -1; ///< of the tensor; none where `scales` is null

  bool isSigned() const { return !elementType().isUnsignedInteger(); }
  int64_t zeroOfUnsigned() const { return zero + (isSigned() ? kShift : 0); }
  Type elementType() const { return llvm::cast<RankedTensorType>(bytes.getType()).getElementType(); }
};

class Products {
public:
  Products(func::FuncOp function, const WeightStore &weights) : function(function), weights(weights) {}
  void run(ByteProducts kind);

private:
  std::optional<double> getNumber(Value value) const;
  std::optional<Quantized> match(Value value) const;
  std::optional<Quantized> matchConvert(prims::ConvertOp op) const;
  std::optional<Quantized> matchSub(prims::SubOp op) const;
  std::optional<Quantized> matchMul(prims::MulOp op) const;
  std::optional<Quantized> matchMove(Operation *op) const;
  bool treat(prims::ConvolutionOp op);
  bool treat(prims::ContractOp op);
  bool multiplyBytes(Operation *product);
  Value getUnsigned(Value bytes);

  func::FuncOp function;
  const WeightStore &weights;
  DenseMap<Value, Value> unsignedOf; ///< of a signed tensor, what it is plus 128
};

} // namespace

static bool isByte(Value value) { return llvm::cast<RankedTensorType>(value.getType()).getElementType().isInteger(8); }

/// One byte as int32.
static bool isByteNumber(Value value) {
  auto wide = value.getDefiningOp<prims::ConvertOp>();
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return wide && type.getRank() == 0 && type.getElementType().isInteger(32) && isByte(wide.getX());
}

/// The number that every element is. Zero points may be weights, one an output: zeros, of symmetric weights.
std::optional<double> Products::getNumber(Value value) const {
  Value spread = value;
  while (llvm::isa_and_present<prims::BroadcastInDimOp, prims::ConvertOp, prims::ReshapeOp>(spread.getDefiningOp()))
    spread = spread.getDefiningOp()->getOperand(0);
  if (StringRef key = getWeightKey(spread); !key.empty()) {
    const Weight *weight = weights.find(key);
    bool isZero = weight && llvm::all_of(weight->bytes, [](char byte) { return byte == 0; });
    return isZero ? std::optional<double>(0) : std::nullopt;
  }
  auto full = value.getDefiningOp<prims::FullOp>();
  if (!full)
    return std::nullopt;
  if (auto real = llvm::dyn_cast<FloatAttr>(full.getValue()))
    return real.getValueAsDouble();
  auto integer = llvm::dyn_cast<IntegerAttr>(full.getValue());
  return integer ? std::optional<double>(integer.getValue().getSExtValue()) : std::nullopt;
}

std::optional<Quantized> Products::matchConvert(prims::ConvertOp op) const {
  Type to = llvm::cast<RankedTensorType>(op.getType()).getElementType();
  if (!to.isF32() && !to.isInteger(32) && !to.isInteger(64))
    return std::nullopt;
  if (!isByte(op.getX())) {
    auto inner = match(op.getX());
    return inner && !inner->isScaled ? inner : std::nullopt;
  }
  return Quantized{op.getX(), {}};
}

std::optional<Quantized> Products::matchSub(prims::SubOp op) const {
  auto zero = getNumber(op.getRhs());
  auto inner = match(op.getLhs());
  auto spread = op.getRhs().getDefiningOp<prims::BroadcastInDimOp>();
  if (!zero && inner && !inner->isScaled && !inner->point && spread && isByteNumber(spread.getX())) {
    inner->point = spread.getX();
    return inner;
  }
  if (!zero || !inner || inner->isScaled || *zero != std::nearbyint(*zero) || std::fabs(*zero) > 2 * kShift)
    return std::nullopt;
  inner->zero += int64_t(*zero);
  return inner;
}

std::optional<Quantized> Products::matchMul(prims::MulOp op) const {
  for (auto [x, factor] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    auto number = getNumber(factor);
    auto spread = factor.getDefiningOp<prims::BroadcastInDimOp>();
    bool isVector = spread && llvm::cast<RankedTensorType>(spread.getX().getType()).getRank() == 1;
    bool isScale = number ? std::isfinite(*number) : isVector;
    auto inner = isScale ? match(x) : std::nullopt;
    if (!inner || inner->isScaled || !llvm::cast<RankedTensorType>(op.getType()).getElementType().isF32())
      continue;
    inner->isScaled = true;
    inner->scale = number.value_or(1);
    if (!number) {
      inner->scales = spread.getX();
      inner->scaledDim = spread.getDims()[0];
    }
    return inner;
  }
  return std::nullopt;
}

std::optional<Quantized> Products::matchMove(Operation *op) const {
  auto inner = match(op->getOperand(0));
  if (!inner)
    return std::nullopt;
  inner->moves.push_back(op);
  if (!inner->scales)
    return inner;
  auto transpose = llvm::dyn_cast<prims::TransposeOp>(op);
  if (!transpose)
    return std::nullopt;
  inner->scaledDim = llvm::find(transpose.getPermutation(), inner->scaledDim) - transpose.getPermutation().begin();
  return inner;
}

std::optional<Quantized> Products::match(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? llvm::TypeSwitch<Operation *, std::optional<Quantized>>(op)
                  .Case([&](prims::ConvertOp op) { return matchConvert(op); })
                  .Case([&](prims::SubOp op) { return matchSub(op); })
                  .Case([&](prims::MulOp op) { return matchMul(op); })
                  .Case<prims::TransposeOp, prims::ReshapeOp>([&](auto op) { return matchMove(op); })
                  .Default([](Operation *) { return std::nullopt; })
            : std::nullopt;
}

/// Both operands are bytes with or without scales, the activation of one scale and the weight of one, or of one an
/// output; the weight's numbers q - zero are signed bytes whatever q is.
static bool areFit(const Quantized &x, const Quantized &w, int64_t outputDim, Type result) {
  bool isReal = result.isF32();
  int64_t zero = x.zeroOfUnsigned(), centre = w.isSigned() ? 0 : kShift;
  return zero >= 0 && zero < 2 * kShift && (isReal || result.isInteger(32)) && x.isScaled == isReal &&
         w.isScaled == isReal && !x.scales && !w.point && w.zero == centre && !getWeightKey(w.bytes).empty() &&
         (!w.scales || w.scaledDim == outputDim);
}

static bool isWorthwhile(int64_t outputs, int64_t terms) {
  return outputs >= kLeastOutputs && terms >= kLeastTerms && terms <= kMostByteProducts;
}

/// A signed tensor as an unsigned one, which takes its place where it is quantized and read as numbers alone.
Value Products::getUnsigned(Value bytes) {
  Value &known = unsignedOf[bytes];
  if (known)
    return known;
  Operation *maker = bytes.getDefiningOp();
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(bytes);
  decompose::Scope scope;
  scope.symbols = getSymbols(function);
  B b(builder, maker ? maker : &function.front().front(), scope);
  Type byte = IntegerType::get(b.context(), 8, IntegerType::Unsigned);
  auto quantize = llvm::dyn_cast_if_present<prims::ConvertOp>(maker);
  bool isOfReals = quantize && llvm::cast<RankedTensorType>(quantize.getX().getType()).getElementType().isF32();
  if (!isOfReals || !llvm::all_of(bytes.getUsers(), llvm::IsaPred<prims::ConvertOp>))
    return known = b.to(b.to(b.operand(bytes), b.i32()) + kShift, byte).tensor();
  known = b.to(b.to(b.operand(quantize.getX()), b.i32()) + kShift, byte).tensor();
  for (Operation *user : llvm::make_early_inc_range(bytes.getUsers())) {
    auto convert = llvm::cast<prims::ConvertOp>(user);
    builder.setInsertionPoint(convert);
    T wide = b.to(b.to(b.operand(known), b.i32()) - kShift, convert.getDtype());
    convert.getResult().replaceAllUsesWith(wide.tensor());
    convert.erase();
  }
  return known;
}

static T moved(B &b, Value bytes, ArrayRef<Operation *> moves) {
  T x = b.operand(bytes);
  for (Operation *op : moves) {
    auto transpose = llvm::dyn_cast<prims::TransposeOp>(op);
    x = transpose ? b.permute(x, transpose.getPermutation())
                  : b.reshape(x, *getSizesFromAttr(llvm::cast<prims::ReshapeOp>(op).getSizes()));
  }
  return x;
}

/// The weight's numbers.
static T signedBytes(B &b, const Quantized &w) {
  T bytes = moved(b, w.bytes, w.moves);
  return w.isSigned() ? bytes : b.to(b.to(bytes, b.i32()) - kShift, IntegerType::get(b.context(), 8));
}

/// The sums without what the zero points of x add to them, and in x's and w's scales.
static T finish(B &b, T sums, T weight, ArrayRef<int64_t> summed, const Quantized &x, const Quantized &w) {
  if (int64_t zero = x.zeroOfUnsigned())
    sums = sums - b.sum(b.to(weight, b.i32()), summed) * zero;
  if (x.point)
    sums = sums - b.sum(b.to(weight, b.i32()), summed) * b.operand(x.point);
  if (!x.isScaled)
    return b.to(sums, b.i32());
  T real = b.to(sums, b.f32());
  return w.scales ? real * (b.operand(w.scales) * x.scale) : real * double(float(x.scale) * float(w.scale));
}

bool Products::treat(prims::ConvolutionOp op) {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  auto x = match(op.getX()), w = match(op.getW());
  int64_t last = type.getRank() - 1;
  bool isPlain = op.getChannelsLast() && op.getGroups() == 1 && type.hasStaticShape() && x && !x->point &&
                 llvm::all_of(op.getInputDilations(), [](int64_t d) { return d == 1; });
  if (!isPlain || !w || !areFit(*x, *w, last, llvm::cast<RankedTensorType>(op.getType()).getElementType()) ||
      !isWorthwhile(type.getDimSize(last), type.getNumElements() / std::max<int64_t>(type.getDimSize(last), 1)))
    return false;
  Value bytes = x->isSigned() ? getUnsigned(x->bytes) : x->bytes;
  int64_t zero = x->zeroOfUnsigned(), spatial = last - 1;
  OpBuilder builder(op);
  decompose::Scope scope;
  scope.symbols = getSymbols(function);
  B b(builder, op, scope);
  T image = moved(b, bytes, x->moves), weight = signedBytes(b, *w);
  // Around the image lie zero points; channels are filled up to whole steps, by what weights of 0 do not see.
  SmallVector<int64_t> low(op.getLow()), high(op.getHigh());
  Shape before(last + 1, b.size(0)), after = before;
  auto isZero = [](int64_t padding) { return padding == 0; };
  bool isPadded = zero != 0 && !(llvm::all_of(low, isZero) && llvm::all_of(high, isZero));
  for (int64_t i = 0; isPadded && i < spatial; ++i) {
    before[i + 1] = b.size(std::exchange(low[i], 0));
    after[i + 1] = b.size(std::exchange(high[i], 0));
  }
  int64_t more = -type.getDimSize(last - 1) & (kGroup - 1);
  after[last] = b.size(more);
  if (isPadded || more)
    image = b.pad(image, before, after, T(zero));
  if (more)
    weight = b.padDim(weight, last - 1, b.size(0), b.size(more), T(int64_t(0)));
  auto sums = prims::ConvolutionOp::create(builder, op.getLoc(), b.to(image, b.i32()).tensor(),
                                           b.to(weight, b.i32()).tensor(), op.getStrides(), low, high,
                                           op.getDilations(), op.getInputDilations(), op.getGroups(),
                                           /*channels_last=*/true);
  SmallVector<int64_t> summed = llvm::to_vector(llvm::seq(last));
  T result = finish(b, b.operand(sums.getResult()), weight, summed, *x, *w);
  op.getResult().replaceAllUsesWith(result.tensor());
  op.erase();
  return true;
}

bool Products::treat(prims::ContractOp op) {
  auto type = llvm::cast<RankedTensorType>(op.getRhs().getType());
  if (type.getRank() != 2 || !type.hasStaticShape() || op.getRhsContract().size() != 1 || !op.getRhsBatch().empty())
    return false;
  int64_t k = op.getRhsContract()[0];
  auto x = match(op.getLhs()), w = match(op.getRhs());
  if (!x || !w || !areFit(*x, *w, 1 - k, llvm::cast<RankedTensorType>(op.getType()).getElementType()) ||
      !isWorthwhile(type.getDimSize(1 - k), type.getDimSize(k)))
    return false;
  Value bytes = x->isSigned() ? getUnsigned(x->bytes) : x->bytes;
  OpBuilder builder(op);
  decompose::Scope scope;
  scope.symbols = getSymbols(function);
  B b(builder, op, scope);
  T rows = moved(b, bytes, x->moves), weight = signedBytes(b, *w);
  T sums = b.contract(b.to(rows, b.i32()), b.to(weight, b.i32()), {}, {}, op.getLhsContract(), op.getRhsContract());
  T result = finish(b, sums, weight, {k}, *x, *w);
  op.getResult().replaceAllUsesWith(result.tensor());
  op.erase();
  return true;
}

bool Products::multiplyBytes(Operation *product) {
  auto convolution = llvm::dyn_cast<prims::ConvolutionOp>(product);
  return convolution ? treat(convolution) : treat(llvm::cast<prims::ContractOp>(product));
}

void Products::run(ByteProducts kind) {
  SmallVector<Operation *> products;
  for (Operation &op : function.front())
    if (llvm::isa<prims::ConvolutionOp, prims::ContractOp>(op))
      products.push_back(&op);
  bool changes = false;
  for (Operation *op : products)
    changes |= (kind.bytes && multiplyBytes(op)) || (kind.floats && multiplyInFloat(op));
  if (changes)
    eraseDead(function);
}

std::unique_ptr<Pass> createIntegerProductsPass(const WeightStore &weights, ByteProducts kind) {
  return makeFunctionPass<prims::PrimsDialect>("integer-products", "products of quantized tensors are of bytes",
                                               [&weights, kind](func::FuncOp function) {
                                                 Products(function, weights).run(kind);
                                                 return success();
                                               });
}

} // namespace ptc
