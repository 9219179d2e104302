//===- Matrix.cpp - algorithms on matrices: a task is one of the batch ----===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/MatrixCall.h"

using namespace llvm;

namespace ptc::cpu {

KernelPlan planMatrix(loop::KernelOp kernel) {
  auto call = std::make_shared<kernel::MatrixCall>(kernel);
  auto op = cast<loop::MatrixOp>(kernel.getBody().front().front());
  auto emit = [call](CpuFrame &f) {
    auto tables = call->emitTables(f, f.scratch);
    kernel::emitLoop(f.b, f.begin, f.end, 1, [&](Value *task) { call->emit(f, tables, task); });
  };
  return {call->batch, call->scratchBytes, emit, {op.getAlgorithm().str(), call->describe(kernel, "task")}};
}

} // namespace ptc::cpu
