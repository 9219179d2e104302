#include "compiler/codegen/cuda/Matrix.h"

#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/MatrixCall.h"

using namespace llvm;

namespace ptc::cuda {

static void emitMatrix(GpuFrame &f, const kernel::MatrixCall &call) {
  Ir &b = f.b;
  Value *matrix = b.CreateAdd(b.CreateMul(f.gpu.blockIndex(b), b.getInt64(f.threads)), f.gpu.threadIndex(b));
  kernel::emitIf(b, b.CreateICmpSLT(matrix, kernel::emitSize(f, call.batch)), [&] {
    Value *scratch = ConstantPointerNull::get(b.getPtrTy()); // of no bytes
    if (f.workspace)
      scratch = b.CreateGEP(b.getInt8Ty(), f.workspace, b.CreateMul(matrix, kernel::emitSize(f, call.scratchBytes)));
    call.emit(f, call.emitTables(f, scratch), matrix);
  });
}

/// Threads of a block: few, as each is long, and its memory not its neighbours'.
KernelPlan planMatrix(loop::KernelOp kernel) {
  constexpr unsigned kThreads = kWarp;
  auto call = std::make_shared<kernel::MatrixCall>(kernel);
  KernelPlan plan;
  plan.grids.push_back(
      {call->batch.ceilDiv(kThreads), kThreads, [call](GpuFrame &frame) { emitMatrix(frame, *call); }});
  if (call->scratchBytes != getAffineConstantExpr(0, kernel.getContext()))
    plan.workspaceBytes = call->scratchBytes * call->batch;
  auto op = cast<loop::MatrixOp>(kernel.getBody().front().front());
  plan.algorithm = {op.getAlgorithm().str(), call->describe(kernel, "thread")};
  return plan;
}

} // namespace ptc::cuda
