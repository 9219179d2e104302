#include "compiler/codegen/kernel/BodyEmitter.h"

#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/KernelFunction.h"
#include "compiler/codegen/kernel/ScalarType.h"
#include "dialects/core/Polynomial.h"
#include "dialects/loop/Faults.h"
#include "dialects/loop/StridedAccess.h"

using namespace llvm;

namespace ptc::kernel {

Type *valueType(LLVMContext &context, mlir::Type type) {
  if (type.isInteger(1))
    return Type::getInt1Ty(context);
  return type.isIndex() ? Type::getInt64Ty(context) : memoryType(context, type);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Memory BodyEmitter::memoryOf(mlir::Value tensor) {
  Value *base = frame.pointers.lookup(tensor);
  assert(base && "tensor without a buffer");
  Type *element = memoryType(lanes.b.getContext(), tensor.getType());
  if (element->isHalfTy() || element->isBFloatTy())
    element = lanes.b.getInt16Ty();
  return {element, base, frame.alias.lookup(tensor), frame.layouts.contains(tensor) ? 1 : frame.alignment};
}

/// Quotients and remainders that cancel, as a view of merged dimensions has them, would hide that the place is linear.
Lanes BodyEmitter::emitPlace(mlir::AffineExpr place, ArrayRef<Lanes> dims) {
  bool divides = false;
  place.walk([&](mlir::AffineExpr e) {
    divides |= e.getKind() == mlir::AffineExprKind::Mod || e.getKind() == mlir::AffineExprKind::FloorDiv;
  });
  if (divides)
    place = simplifySum(place);
  return lanes.affine(place, dims, frame.symbols);
}

Lanes BodyEmitter::placeOf(mlir::Value tensor, ArrayRef<mlir::AffineExpr> indices, ArrayRef<Lanes> dims) {
  mlir::MLIRContext *context = tensor.getContext();
  auto layout = frame.layouts.find(tensor);
  mlir::AffineExpr place = getAffineConstantExpr(0, context);
  if (layout == frame.layouts.end()) {
    mlir::AffineExpr stride = getAffineConstantExpr(1, context);
    Shape shape = getShape(tensor);
    for (unsigned i = shape.size(); i-- > 0; stride = stride * shape[i])
      place = place + indices[i] * stride;
    return emitPlace(place, dims);
  }
  for (auto [index, stride] : zip_equal(indices, layout->second.strides))
    place = place + index * stride;
  Lanes result = emitPlace(place, dims);
  return layout->second.offset ? lanes.add(result, {layout->second.offset}) : result;
}

Lanes packed(Ir &b, const Lanes &lanes) {
  Type *type = lanes.value->getType(), *scalar = type->getScalarType();
  if (scalar->isIntegerTy(1))
    return {b.CreateZExt(lanes.value, type->getWithNewType(b.getInt8Ty())), nullptr};
  if (scalar->isHalfTy() || scalar->isBFloatTy())
    return {b.CreateBitCast(lanes.value, type->getWithNewType(b.getInt16Ty())), nullptr};
  return lanes;
}

Lanes unpacked(Ir &b, Value *value, Type *scalar) {
  if (scalar->isIntegerTy(1))
    return {b.CreateICmpNE(value, Constant::getNullValue(value->getType())), nullptr};
  return {b.CreateBitCast(value, value->getType()->getWithNewType(scalar)), nullptr};
}

Lanes BodyEmitter::loadAt(mlir::Value tensor, const Lanes &place, const Lanes *where, const Lanes *otherwise) {
  Ir &b = lanes.b;
  Type *scalar = valueType(b.getContext(), loop::getScalarType(tensor));
  Lanes other = otherwise ? packed(b, *otherwise) : Lanes();
  Value *loaded = lanes.load(memoryOf(tensor), place, where, otherwise ? &other : nullptr).value;
  return unpacked(b, loaded, scalar);
}

static SmallVector<mlir::AffineExpr> dimensions(mlir::MLIRContext *context, size_t count) {
  SmallVector<mlir::AffineExpr> dims;
  for (size_t i = 0; i < count; ++i)
    dims.push_back(getAffineDimExpr(i, context));
  return dims;
}

Lanes BodyEmitter::load(mlir::Value tensor, ArrayRef<Lanes> indices, const Lanes *where, const Lanes *otherwise) {
  return loadAt(tensor, placeOf(tensor, dimensions(tensor.getContext(), indices.size()), indices), where, otherwise);
}

void BodyEmitter::store(mlir::Value tensor, ArrayRef<Lanes> indices, const Lanes &value) {
  Memory memory = memoryOf(tensor);
  memory.streaming = streaming;
  lanes.store(memory, placeOf(tensor, dimensions(tensor.getContext(), indices.size()), indices),
              packed(lanes.b, value));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

SmallVector<Lanes> BodyEmitter::emit(mlir::Region &region, ArrayRef<Lanes> arguments) {
  mlir::Block &block = region.front();
  for (auto [argument, value] : zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (mlir::Operation &op : block.without_terminator())
    emitOp(op);
  SmallVector<Lanes> yielded;
  for (mlir::Value value : block.getTerminator()->getOperands())
    yielded.push_back(values.lookup(value));
  return yielded;
}

/// An index as an expression of others that are no affine maps themselves: what is composed can be simplified.
static mlir::AffineExpr composeIndex(mlir::Value index, SmallVector<mlir::Value> &bases) {
  if (auto op = index.getDefiningOp<loop::IndexOp>()) {
    SmallVector<mlir::AffineExpr> operands;
    for (mlir::Value operand : op.getIndices())
      operands.push_back(composeIndex(operand, bases));
    return op.getMap().getResult(0).replaceDims(operands);
  }
  auto known = find(bases, index);
  if (known == bases.end()) {
    bases.push_back(index);
    known = std::prev(bases.end());
  }
  return getAffineDimExpr(known - bases.begin(), index.getContext());
}

Lanes BodyEmitter::emitRead(loop::ReadOp op) {
  Lanes where, otherwise;
  bool isConditional = bool(op.getWhere());
  if (isConditional) {
    where = values.lookup(op.getWhere()), otherwise = values.lookup(op.getOtherwise());
    if (auto *known = dyn_cast<ConstantInt>(where.value)) {
      if (known->isZero())
        return otherwise;
      isConditional = false;
    }
  }
  if (auto known = registers.find(op.getTensor()); known != registers.end()) {
    if (!isConditional)
      return known->second;
    return {lanes.b.CreateSelect(lanes.vector(where), lanes.vector(known->second), lanes.vector(otherwise)), nullptr};
  }
  SmallVector<mlir::Value> bases;
  SmallVector<mlir::AffineExpr> operands, map;
  for (mlir::Value index : op.getIndices())
    operands.push_back(composeIndex(index, bases));
  for (mlir::AffineExpr result : op.getMap().getResults())
    map.push_back(result.replaceDims(operands));
  SmallVector<Lanes> indices;
  for (mlir::Value base : bases)
    indices.push_back(values.lookup(base));
  Lanes place = placeOf(op.getTensor(), map, indices);
  return isConditional ? loadAt(op.getTensor(), place, &where, &otherwise)
                       : loadAt(op.getTensor(), place, nullptr, nullptr);
}

/// Out of range is noted once the kernel is done with it: the value is clamped,
/// so that the code around needs no way out.
Lanes BodyEmitter::emitCheckedIndex(loop::CheckedIndexOp op) {
  Ir &b = lanes.b;
  Lanes value = values.lookup(op.getValue());
  Value *index = value.isUniform() ? value.value : lanes.vector(value);
  index = b.CreateSExtOrTrunc(index, index->getType()->getWithNewType(b.getInt64Ty()));
  auto splat = [&](Value *scalar) {
    return index->getType()->isVectorTy() ? b.CreateVectorSplat(lanes.width, scalar) : scalar;
  };
  Value *size = splat(lanes.affine(getSizeFromAttr(op.getSize()), {}, frame.symbols).value);
  if (loop::mayFault(op)) {
    Value *isOutside = b.CreateICmpUGE(index, size);
    if (lanes.mask && isOutside->getType()->isVectorTy())
      isOutside = b.CreateAnd(isOutside, lanes.mask);
    Value *isAnyOutside = isOutside->getType()->isVectorTy() ? b.CreateOrReduce(isOutside) : isOutside;
    emitIf(b, isAnyOutside, [&] { noteFault(frame, op, index, isOutside); });
  }
  Value *zero = splat(b.getInt64(0)), *last = b.CreateSub(size, splat(b.getInt64(1)));
  return {b.CreateBinaryIntrinsic(Intrinsic::smax, b.CreateBinaryIntrinsic(Intrinsic::smin, index, last), zero)};
}

/// Sums and products of indices stay linear in the lane.
bool BodyEmitter::emitIndexArith(mlir::Operation &op) {
  if (op.getNumResults() != 1 || op.getNumOperands() != 2 || !op.getResult(0).getType().isIndex())
    return false;
  Lanes x = values.lookup(op.getOperand(0)), y = values.lookup(op.getOperand(1));
  Lanes &result = values[op.getResult(0)];
  StringRef name = op.getName().getStringRef();
  if (name == "arith.addi")
    result = lanes.add(x, y);
  else if (name == "arith.subi")
    result = lanes.sub(x, y);
  else if (name == "arith.muli")
    result = lanes.mul(x, y);
  else
    return false;
  return true;
}

std::optional<ConstantRange> BodyEmitter::rangeOf(const Lanes &value) const {
  if (value.isVector())
    return std::nullopt;
  if (auto *constant = dyn_cast<ConstantInt>(value.value); constant && value.isUniform())
    return ConstantRange(constant->getValue());
  auto known = frame.ranges.find(value.value);
  return known == frame.ranges.end() ? std::nullopt : std::optional(known->second);
}

/// Neighbours that begin at a multiple of their number are all less than such a multiple, or none of them is: the first
/// one tells.
std::optional<Lanes> BodyEmitter::compareFirst(CmpInst::Predicate predicate, const Lanes &x, const Lanes &y) const {
  using P = CmpInst::Predicate;
  if (x.isUniform() && !y.isUniform())
    return compareFirst(CmpInst::getSwappedPredicate(predicate), y, x);
  auto *bound = dyn_cast<ConstantInt>(y.value);
  unsigned zeros = Log2_32_Ceil(lanes.width);
  if (x.constantStride() != 1 || !bound || x.zeros < zeros || bound->getValue().countr_zero() < zeros ||
      !is_contained({P::ICMP_SLT, P::ICMP_SGE, P::ICMP_ULT, P::ICMP_UGE}, predicate))
    return std::nullopt;
  return Lanes{lanes.b.CreateICmp(predicate, x.value, bound)};
}

/// What the ranges of indices say, or neighbours have alike: comparisons of them, and what hangs on those alone.
std::optional<Lanes> BodyEmitter::decide(mlir::Operation &op) {
  auto at = [&](unsigned i) { return values.lookup(op.getOperand(i)); };
  if (auto comparison = getComparison(op)) {
    auto x = rangeOf(at(0)), y = rangeOf(at(1));
    if (x && y && x->getBitWidth() == y->getBitWidth())
      for (bool answer : {true, false})
        if (x->icmp(answer ? *comparison : CmpInst::getInversePredicate(*comparison), *y))
          return Lanes{lanes.b.getInt1(answer)};
    return compareFirst(*comparison, at(0), at(1));
  }
  StringRef name = op.getName().getStringRef();
  if (name == "arith.select") {
    if (auto *condition = dyn_cast<ConstantInt>(at(0).value))
      return at(condition->isOne() ? 1 : 2);
    return std::nullopt;
  }
  bool isAnd = name == "arith.andi";
  if (!(isAnd || name == "arith.ori") || !op.getResult(0).getType().isInteger(1))
    return std::nullopt;
  for (unsigned i : {0, 1})
    if (auto *known = dyn_cast<ConstantInt>(at(i).value))
      return at(known->isOne() == isAnd ? 1 - i : i);
  return std::nullopt;
}

void BodyEmitter::emitOp(mlir::Operation &op) {
  Ir &b = lanes.b;
  if (op.getName().getStringRef() == "arith.constant") {
    values[op.getResult(0)] = {emitConstant(b.getContext(), op.getAttr("value"))};
    return;
  }
  if (auto read = dyn_cast<loop::ReadOp>(op)) {
    auto known = reads.find(read);
    Lanes value = known != reads.end() ? known->second : emitRead(read);
    values[read] = value;
    return;
  }
  if (auto index = dyn_cast<loop::IndexOp>(op)) {
    SmallVector<Lanes> indices;
    for (mlir::Value operand : index.getIndices())
      indices.push_back(values.lookup(operand));
    values[index] = lanes.affine(index.getMap().getResult(0), indices, frame.symbols);
    return;
  }
  if (auto checked = dyn_cast<loop::CheckedIndexOp>(op)) {
    Lanes value = emitCheckedIndex(checked);
    values[checked] = value;
    return;
  }
  if (emitIndexArith(op))
    return;
  if (auto decided = decide(op)) {
    values[op.getResult(0)] = *decided;
    return;
  }
  // What is the same in all lanes is computed once.
  bool isUniform = all_of(op.getOperands(), [&](mlir::Value v) { return values.lookup(v).isUniform(); });
  SmallVector<Value *> operands;
  for (mlir::Value operand : op.getOperands()) {
    Lanes value = values.lookup(operand);
    operands.push_back(isUniform ? value.value : lanes.vector(value));
  }
  SmallVector<Value *, 2> results = emitScalarOp(b, op, operands);
  for (auto [result, value] : zip_equal(op.getResults(), results))
    values[result] = {value};
}

} // namespace ptc::kernel
