#include "compiler/codegen/cuda/Templates.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Carried;
using kernel::emitSize;
using kernel::forEach;

mlir::AffineExpr countTemplateBlocks(mlir::Operation *op) {
  return product(getShape(op->getResult(0)), op->getContext()).ceilDiv(kTemplateThreads);
}

/// body(indices) for the element of the results that is the thread's, if there is one.
static void atResult(GpuFrame &f, mlir::Operation *op, function_ref<void(ArrayRef<Value *>)> body) {
  Ir &b = f.b;
  Shape domain = getShape(op->getResult(0));
  Value *block = b.CreateMul(f.gpu.blockIndex(b), b.getInt64(kTemplateThreads));
  Value *point = b.CreateAdd(block, f.gpu.threadIndex(b));
  Value *points = emitSize(f, product(domain, op->getContext()));
  kernel::emitIf(b, b.CreateICmpSLT(point, points), [&] { body(kernel::delinearize(f, point, domain)); });
}

/// Loops over `sizes`, all indices of which are behind `indices`, around `sum = body(indices, sum)`.
static Value *sumOver(GpuFrame &f, ShapeRef sizes, SmallVector<Value *> &indices, Value *sum,
                      function_ref<Value *(Value *)> body) {
  if (sizes.empty())
    return body(sum);
  return forEach(f.b, f.b.getInt64(0), emitSize(f, sizes.front()), 1, {sum},
                 [&](Value *i, ArrayRef<Value *> carried) -> Carried {
                   indices.push_back(i);
                   Value *next = sumOver(f, sizes.drop_front(), indices, carried.front(), body);
                   indices.pop_back();
                   return {next};
                 })
      .front();
}

void emitContraction(GpuFrame &f, loop::ContractOp op) {
  Ir &b = f.b;
  Type *accumulator = kernel::valueType(b.getContext(), op.getEpilogue().front().getArguments().back().getType());
  Shape sizes = *getSizesFromAttr(op.getKSizes());
  atResult(f, op, [&](ArrayRef<Value *> result) {
    SmallVector<Value *> indices(result);
    auto read = [&](mlir::Value tensor, mlir::AffineMap map) {
      return widen(b, readAt(f, tensor, map, indices), accumulator, hasUnsignedBits(tensor));
    };
    Value *sum = sumOver(f, sizes, indices, Constant::getNullValue(accumulator), [&](Value *before) {
      Value *x = read(op.getLhs(), op.getLhsMap()), *y = read(op.getRhs(), op.getRhsMap());
      return multiplyAdd(b, x, y, before);
    });
    emitEpilogue(f, op, result, sum);
  });
}

} // namespace ptc::cuda
