#include "compiler/codegen/cuda/Templates.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::Carried;
using kernel::emitSize;
using kernel::forEach;
using kernel::Lanes;

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

/// What the sums of a template have: the type of its epilogue's last argument.
static Type *accumulatorOf(Ir &b, mlir::Region &epilogue) {
  return kernel::valueType(b.getContext(), epilogue.front().getArguments().back().getType());
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
  Type *accumulator = accumulatorOf(b, op.getEpilogue());
  bool isUnsigned = cast<mlir::RankedTensorType>(op.getLhs().getType()).getElementType().isUnsignedInteger();
  Shape sizes = *getSizesFromAttr(op.getKSizes());
  atResult(f, op, [&](ArrayRef<Value *> result) {
    SmallVector<Value *> indices(result);
    Value *sum = sumOver(f, sizes, indices, Constant::getNullValue(accumulator), [&](Value *before) {
      Value *x = widen(b, readAt(f, op.getLhs(), op.getLhsMap(), indices), accumulator, isUnsigned);
      Value *y = widen(b, readAt(f, op.getRhs(), op.getRhsMap(), indices), accumulator);
      return multiplyAdd(b, x, y, before);
    });
    emitEpilogue(f, op, result, sum);
  });
}

/// Pixels outside of the input count as zeros: they are not read.
void emitConvolution(GpuFrame &f, loop::ConvolutionOp op) {
  Ir &b = f.b;
  mlir::MLIRContext *context = op.getContext();
  Type *accumulator = accumulatorOf(b, op.getEpilogue());
  Shape xShape = getShape(op.getX()), wShape = getShape(op.getW());
  unsigned rank = op.getKernel().size();
  Shape taps;
  for (int64_t size : op.getKernel())
    taps.push_back(getAffineConstantExpr(size, context));
  taps.push_back(wShape[rank]); // input channels of a group
  atResult(f, op, [&](ArrayRef<Value *> result) {
    Value *output = result.back();
    Value *group = b.getInt64(0);
    if (op.getGroups() > 1)
      group = b.CreateUDiv(output, b.CreateUDiv(emitSize(f, wShape.back()), b.getInt64(op.getGroups())));
    SmallVector<Value *> tap;
    Value *sum = sumOver(f, taps, tap, Constant::getNullValue(accumulator), [&](Value *before) -> Value * {
      BodyEmitter body(f, 1);
      Value *channel = b.CreateAdd(b.CreateMul(group, emitSize(f, wShape[rank])), tap.back());
      Value *isInside = b.getTrue();
      SmallVector<Value *> pixel;
      for (unsigned d = 0; d < rank; ++d) {
        Value *place = b.CreateMul(result[1 + d], b.getInt64(op.getStrides()[d]));
        place = b.CreateAdd(place, b.CreateMul(tap[d], b.getInt64(op.getDilations()[d])));
        place = b.CreateSub(place, b.getInt64(op.getLow()[d]));
        Value *size = emitSize(f, xShape[op.getXChannelsFirst() ? 2 + d : 1 + d]);
        isInside = b.CreateAnd(isInside, b.CreateICmpULT(place, size)); // a negative place is a large one
        pixel.push_back(place);
      }
      SmallVector<Value *> at = {result.front()};
      if (op.getXChannelsFirst())
        at.push_back(channel);
      append_range(at, pixel);
      if (!op.getXChannelsFirst())
        at.push_back(channel);
      Type *element = kernel::valueType(b.getContext(), loop::getScalarType(op.getX()));
      Lanes where{isInside, nullptr}, zero{Constant::getNullValue(element), nullptr};
      Value *x = widen(b, body.load(op.getX(), asLanes(at), &where, &zero).value, accumulator);
      SmallVector<Value *> weight(tap);
      weight.push_back(output);
      Value *y = widen(b, body.load(op.getW(), asLanes(weight)).value, accumulator);
      return multiplyAdd(b, x, y, before);
    });
    emitEpilogue(f, op, result, sum);
  });
}

} // namespace ptc::cuda
