#include "compiler/codegen/kernel/Lanes.h"

#include "compiler/codegen/kernel/IndexExpr.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::kernel {

std::optional<int64_t> Lanes::constantStride() const {
  if (isVector())
    return std::nullopt;
  if (!stride)
    return 0;
  auto *constant = dyn_cast<ConstantInt>(stride);
  return constant ? std::optional(constant->getSExtValue()) : std::nullopt;
}

Type *LaneBuilder::type(Type *scalar) const { return width == 1 ? scalar : FixedVectorType::get(scalar, width); }

Value *LaneBuilder::vector(const Lanes &lanes) const {
  if (width == 1 || lanes.isVector())
    return lanes.value;
  Value *splat = b.CreateVectorSplat(width, lanes.value);
  if (!lanes.stride)
    return splat;
  Value *step = b.CreateStepVector(type(lanes.value->getType()));
  return b.CreateAdd(splat, b.CreateMul(step, b.CreateVectorSplat(width, lanes.stride)));
}

Lanes LaneBuilder::consecutive(Value *first) const {
  return {first, width == 1 ? nullptr : static_cast<Value *>(b.getInt64(1))};
}

Lanes LaneBuilder::aligned(Value *first) const {
  Lanes lanes = consecutive(first);
  lanes.zeros = Log2_32(width);
  return lanes;
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

/// A stride of zero is no stride.
static Lanes linear(Value *value, Value *stride, unsigned zeros) {
  if (auto *constant = dyn_cast_or_null<ConstantInt>(stride); constant && constant->isZero())
    stride = nullptr;
  return {value, stride, zeros};
}

static Lanes number(Ir &b, int64_t value) {
  return {b.getInt64(value), nullptr, unsigned(countr_zero(uint64_t(value)))};
}

Lanes LaneBuilder::add(const Lanes &x, const Lanes &y) const {
  if (x.isVector() || y.isVector())
    return {b.CreateAdd(vector(x), vector(y))};
  Value *stride = !x.stride ? y.stride : !y.stride ? x.stride : b.CreateAdd(x.stride, y.stride);
  return linear(b.CreateAdd(x.value, y.value), stride, std::min(x.zeros, y.zeros));
}

Lanes LaneBuilder::sub(const Lanes &x, const Lanes &y) const {
  if (x.isVector() || y.isVector())
    return {b.CreateSub(vector(x), vector(y))};
  Value *stride = !y.stride ? x.stride : !x.stride ? b.CreateNeg(y.stride) : b.CreateSub(x.stride, y.stride);
  return linear(b.CreateSub(x.value, y.value), stride, std::min(x.zeros, y.zeros));
}

Lanes LaneBuilder::mul(const Lanes &x, const Lanes &y) const {
  if (x.isVector() || y.isVector() || (x.stride && y.stride))
    return {b.CreateMul(vector(x), vector(y))};
  const Lanes &factor = x.stride ? y : x, &index = x.stride ? x : y;
  Value *stride = index.stride ? b.CreateMul(index.stride, factor.value) : nullptr;
  return linear(b.CreateMul(x.value, y.value), stride, x.zeros + y.zeros);
}

/// Quotient and remainder of base + l * stride by a constant: the division of
/// base is scalar, that of the lanes' small remainders fits 32 bits, which
/// vector units divide by a constant quickly.
std::optional<std::pair<Lanes, Lanes>> LaneBuilder::divideLinear(const Lanes &x, const Lanes &y) const {
  auto stride = x.constantStride();
  auto *divisor = dyn_cast<ConstantInt>(y.value);
  constexpr int64_t kSmall = 1 << 30;
  if (!stride || *stride <= 0 || !divisor || divisor->getSExtValue() >= kSmall || *stride * width >= kSmall)
    return std::nullopt;
  Lanes base{x.value};
  Lanes quotient = floorDiv(base, y), remainder = mod(base, y);
  Type *small = type(b.getInt32Ty());
  Value *first = b.CreateVectorSplat(width, b.CreateTrunc(remainder.value, b.getInt32Ty()));
  Value *steps = b.CreateMul(b.CreateStepVector(small), ConstantInt::get(small, *stride));
  Value *numerator = b.CreateNUWAdd(first, steps), *by = ConstantInt::get(small, divisor->getSExtValue());
  Type *wide = type(b.getInt64Ty());
  Value *quotients = b.CreateZExt(b.CreateUDiv(numerator, by), wide);
  return std::pair(add(quotient, Lanes{quotients}), Lanes{b.CreateZExt(b.CreateURem(numerator, by), wide)});
}

Lanes LaneBuilder::floorDiv(const Lanes &x, const Lanes &y) const {
  auto *constant = y.isVector() ? nullptr : dyn_cast<ConstantInt>(y.value);
  if (constant && constant->isOne())
    return x;
  if (!x.isUniform() && y.isUniform())
    if (auto both = divideLinear(x, y))
      return both->first;
  bool isScalar = x.isUniform() && y.isUniform();
  Value *numerator = isScalar ? x.value : vector(x), *divisor = isScalar ? y.value : vector(y);
  if (constant && isPowerOf2_64(constant->getZExtValue()))
    return {b.CreateAShr(numerator, Log2_64(constant->getZExtValue()))};
  Value *quotient = b.CreateSDiv(numerator, divisor);
  Value *rest = b.CreateSub(numerator, b.CreateMul(quotient, divisor));
  Value *isNegative = b.CreateICmpSLT(rest, Constant::getNullValue(rest->getType()));
  return {b.CreateAdd(quotient, b.CreateSExt(isNegative, rest->getType()))};
}

Lanes LaneBuilder::mod(const Lanes &x, const Lanes &y) const {
  if (!x.isUniform() && y.isUniform())
    if (auto both = divideLinear(x, y))
      return both->second;
  return sub(x, mul(floorDiv(x, y), y));
}

Lanes LaneBuilder::affine(mlir::AffineExpr expr, ArrayRef<Lanes> dims, ArrayRef<Value *> symbols) const {
  using mlir::AffineExprKind;
  if (auto constant = dyn_cast<mlir::AffineConstantExpr>(expr))
    return number(b, constant.getValue());
  if (auto dim = dyn_cast<mlir::AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(expr))
    return {symbols[symbol.getPosition()]};
  auto binary = cast<mlir::AffineBinaryOpExpr>(expr);
  Lanes x = affine(binary.getLHS(), dims, symbols), y = affine(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(x, y);
  case AffineExprKind::Mul:
    return mul(x, y);
  case AffineExprKind::FloorDiv:
    return floorDiv(x, y);
  case AffineExprKind::Mod:
    return mod(x, y);
  case AffineExprKind::CeilDiv:
    return floorDiv(add(x, sub(y, {b.getInt64(1)})), y);
  default:
    llvm_unreachable("not a binary affine expression");
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Of what is stored past the caches: a line.
constexpr uint64_t kStreamingAlignment = 64;

static Value *address(Ir &b, const Memory &memory, Value *place) {
  return b.CreateInBoundsGEP(memory.element, memory.base, place);
}

static Align alignment(const Memory &memory) { return Align(divideCeil(memory.element->getScalarSizeInBits(), 8)); }

/// Of several elements from `place` on.
static Align alignment(const Memory &memory, const Lanes &place) {
  Align one = alignment(memory);
  constexpr unsigned kMostZeros = 6;
  return std::max(one, std::min(Align(memory.alignment), Align(one.value() << std::min(place.zeros, kMostZeros))));
}

static Instruction *annotate(Value *access, const Memory &memory) {
  auto *instruction = cast<Instruction>(access);
  instruction->setAAMetadata(memory.alias);
  return instruction;
}

/// The number of lanes of a known mask that has the first ones alone, where they are a narrower vector of their own;
/// else 0. An access under a mask costs more, and no load takes what a masked store has just written beside it.
static unsigned countFirstLanes(Value *mask) {
  auto *known = dyn_cast<Constant>(mask);
  if (!known)
    return 0;
  unsigned width = cast<FixedVectorType>(mask->getType())->getNumElements(), count = 0;
  auto has = [&](unsigned i) {
    Constant *lane = known->getAggregateElement(i);
    return lane && lane->isOneValue();
  };
  while (count < width && has(count))
    ++count;
  for (unsigned i = count; i < width; ++i)
    if (Constant *lane = known->getAggregateElement(i); !lane || !lane->isNullValue())
      return 0;
  constexpr unsigned kLeast = 4;
  return count >= kLeast && isPowerOf2_32(count) ? count : 0;
}

/// The lanes from the first on, behind which there are zeros.
static Value *resize(Ir &b, Value *lanes, unsigned count) {
  unsigned given = cast<FixedVectorType>(lanes->getType())->getNumElements();
  SmallVector<int> places;
  for (unsigned i = 0; i < count; ++i)
    places.push_back(std::min(i, given));
  return b.CreateShuffleVector(lanes, Constant::getNullValue(lanes->getType()), places);
}

Value *LaneBuilder::any(const Lanes &condition) const {
  if (!condition.isVector())
    return condition.value;
  return b.CreateOrReduce(mask ? b.CreateAnd(condition.value, mask) : condition.value);
}

/// Loads of places that differ between lanes. `active` (null: all).
Lanes LaneBuilder::loadLanes(const Memory &memory, const Lanes &place, Value *active, Value *otherwise) const {
  Type *vectorType = type(memory.element);
  Align align = alignment(memory);
  auto stride = place.constantStride();
  if (stride == 1) {
    Value *from = address(b, memory, place.value);
    if (!active)
      return {annotate(b.CreateAlignedLoad(vectorType, from, alignment(memory, place)), memory)};
    if (unsigned count = otherwise ? 0 : countFirstLanes(active)) {
      auto *narrow = FixedVectorType::get(memory.element, count);
      return {resize(b, annotate(b.CreateAlignedLoad(narrow, from, align), memory), width)};
    }
    if (!otherwise)
      otherwise = Constant::getNullValue(vectorType);
    return {annotate(b.CreateMaskedLoad(vectorType, from, align, active, otherwise), memory)};
  }
  if (stride == -1 && !active) {
    Value *from = address(b, memory, b.CreateSub(place.value, b.getInt64(width - 1)));
    return {b.CreateVectorReverse(annotate(b.CreateAlignedLoad(vectorType, from, align), memory))};
  }
  // The scalar part goes into the base: what is left for a known stride are
  // small constants, which gathers take as 32-bit offsets.
  Value *base = memory.base, *offsets = place.value;
  if (place.stride) {
    base = address(b, memory, place.value);
    offsets = vector({b.getInt64(0), place.stride});
  }
  Value *addresses = b.CreateInBoundsGEP(memory.element, base, offsets);
  return {annotate(b.CreateMaskedGather(vectorType, addresses, align, active, otherwise), memory)};
}

/// The lane that a uniform value is kept in: a scalar.
static Value *scalarOf(const Lanes &lanes) {
  assert(lanes.isUniform() && "the same in all lanes");
  return lanes.value;
}

Lanes LaneBuilder::load(const Memory &memory, const Lanes &place, const Lanes *where, const Lanes *otherwise) const {
  auto loadScalar = [&] {
    Value *from = address(b, memory, scalarOf(place));
    return Lanes{annotate(b.CreateAlignedLoad(memory.element, from, alignment(memory)), memory)};
  };
  if (!where)
    return place.isUniform() ? loadScalar() : loadLanes(memory, place, mask, nullptr);
  if (where->isVector() && !place.isUniform()) {
    Value *active = mask ? b.CreateAnd(where->value, mask) : where->value;
    return loadLanes(memory, place, active, vector(*otherwise));
  }
  // One condition decides for all lanes: a branch, so that nothing is read in vain.
  Function *function = b.GetInsertBlock()->getParent();
  BasicBlock *before = b.GetInsertBlock();
  Value *needed = any(*where);
  Value *unread = place.isUniform() && (where->isVector() || otherwise->isUniform())
                      ? (otherwise->isUniform() ? otherwise->value : Constant::getNullValue(memory.element))
                      : vector(*otherwise);
  before = b.GetInsertBlock();
  BasicBlock *then = BasicBlock::Create(b.getContext(), "read", function);
  BasicBlock *exit = BasicBlock::Create(b.getContext(), "readend", function);
  b.CreateCondBr(needed, then, exit);
  b.SetInsertPoint(then);
  Lanes loaded = place.isUniform() ? loadScalar() : loadLanes(memory, place, mask, nullptr);
  if (loaded.value->getType() != unread->getType())
    loaded = {vector(loaded)};
  then = b.GetInsertBlock();
  b.CreateBr(exit);
  b.SetInsertPoint(exit);
  PHINode *phi = b.CreatePHI(unread->getType(), 2);
  phi->addIncoming(unread, before);
  phi->addIncoming(loaded.value, then);
  if (!where->isVector())
    return {phi};
  return {b.CreateSelect(where->value, vector({phi}), vector(*otherwise))};
}

void LaneBuilder::store(const Memory &memory, const Lanes &place, const Lanes &value) const {
  Align align = alignment(memory);
  if (place.isUniform()) {
    // A tile whose row has one column: the first lane is the one that counts.
    Value *scalar = value.isVector() ? b.CreateExtractElement(value.value, uint64_t(0)) : scalarOf(value);
    annotate(b.CreateAlignedStore(scalar, address(b, memory, place.value), align), memory);
    return;
  }
  Value *lanes = vector(value);
  if (place.constantStride() == 1) {
    Value *to = address(b, memory, place.value);
    if (unsigned count = mask ? countFirstLanes(mask) : 0) {
      annotate(b.CreateAlignedStore(resize(b, lanes, count), to, align), memory);
      return;
    }
    if (mask) {
      annotate(b.CreateMaskedStore(lanes, to, align, mask), memory);
      return;
    }
    align = memory.streaming ? Align(std::min<uint64_t>(kStreamingAlignment, width * align.value()))
                             : alignment(memory, place);
    Instruction *store = annotate(b.CreateAlignedStore(lanes, to, align), memory);
    if (memory.streaming)
      store->setMetadata(LLVMContext::MD_nontemporal,
                         MDNode::get(b.getContext(), ConstantAsMetadata::get(b.getInt32(1))));
    return;
  }
  Value *base = memory.base, *offsets = place.value;
  if (place.stride) {
    base = address(b, memory, place.value);
    offsets = vector({b.getInt64(0), place.stride});
  }
  Value *addresses = b.CreateInBoundsGEP(memory.element, base, offsets);
  annotate(b.CreateMaskedScatter(lanes, addresses, align, mask), memory);
}

} // namespace ptc::kernel
