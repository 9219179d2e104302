#include "compiler/codegen/cuda/Aligned.h"

using namespace llvm;

namespace ptc::cuda {

void ifAligned(GpuFrame &frame, loop::KernelOp kernel, function_ref<void()> then, function_ref<void()> otherwise) {
  Ir &b = frame.b;
  mlir::Block &body = kernel.getBody().front();
  SmallVector<mlir::Value> tensors(body.getArguments());
  append_range(tensors, body.getTerminator()->getOperands());
  Value *bits = b.getInt64(0);
  for (mlir::Value tensor : tensors)
    bits = b.CreateOr(bits, b.CreatePtrToInt(frame.pointers[tensor], b.getInt64Ty()));
  Value *isAligned = b.CreateICmpEQ(b.CreateAnd(bits, kVectorBytes - 1), b.getInt64(0));
  kernel::emitIf(b, isAligned, [&] {
    for (mlir::Value tensor : tensors)
      b.CreateAlignmentAssumption(b.GetInsertBlock()->getDataLayout(), frame.pointers[tensor], kVectorBytes);
    then();
  });
  kernel::emitIf(b, b.CreateNot(isAligned), otherwise);
}

} // namespace ptc::cuda
