#include "compiler/codegen/cuda/ThreadCode.h"

#include "compiler/codegen/kernel/BodyOps.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::Lanes;

SmallVector<Lanes> asLanes(ArrayRef<Value *> values) {
  return to_vector(map_range(values, [](Value *value) { return Lanes{value, nullptr}; }));
}

bool hasUnsignedBits(mlir::Value tensor) {
  mlir::Type element = elementOf(tensor);
  return element.isUnsignedInteger() || element.isInteger(1);
}

Value *widen(Ir &b, Value *value, Type *accumulator, bool isUnsigned) {
  if (value->getType() == accumulator)
    return value;
  if (!value->getType()->isIntegerTy())
    return kernel::emitFloatCast(b, value, accumulator);
  if (accumulator->isIntegerTy())
    return b.CreateIntCast(value, accumulator, !isUnsigned);
  return isUnsigned ? b.CreateUIToFP(value, accumulator) : b.CreateSIToFP(value, accumulator);
}

Value *multiplyAdd(Ir &b, Value *x, Value *y, Value *sum) {
  if (sum->getType()->isIntegerTy())
    return b.CreateAdd(b.CreateMul(x, y), sum);
  return b.CreateIntrinsic(Intrinsic::fma, {sum->getType()}, {x, y, sum});
}

void emitEpilogue(GpuFrame &f, mlir::Operation *op, ArrayRef<Value *> indices, Value *sum) {
  BodyEmitter body(f, 1);
  SmallVector<Lanes> arguments = asLanes(indices);
  arguments.push_back({sum, nullptr});
  SmallVector<Lanes> values = body.emit(op->getRegion(0), arguments);
  for (auto [result, value] : zip_equal(loop::getYieldedResults(op), values))
    if (f.pointers.contains(result))
      body.store(result, asLanes(indices), value);
}

Value *readAt(GpuFrame &f, mlir::Value tensor, mlir::AffineMap map, ArrayRef<Value *> indices) {
  BodyEmitter body(f, 1);
  SmallVector<Lanes> dims = asLanes(indices), at;
  for (mlir::AffineExpr index : map.getResults())
    at.push_back(body.lanes.affine(index, dims, f.symbols));
  return body.load(tensor, at).value;
}

} // namespace ptc::cuda
