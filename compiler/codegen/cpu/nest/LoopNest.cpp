#include "compiler/codegen/cpu/nest/LoopNest.h"

#include "compiler/codegen/cpu/nest/StageEmitter.h"
#include "compiler/codegen/cpu/nest/TransposedNest.h"
#include "compiler/codegen/cpu/tile/TwoForms.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

class NestEmitter {
public:
  NestEmitter(CpuFrame &frame, const NestPlan &plan) : f(frame), b(frame.b), plan(plan) {}
  void emit();

private:
  void emitTask(Value *task);
  void findTask(Value *task);
  void emitOuter(unsigned level);
  void emitStretch(unsigned level, int64_t first, int64_t end);
  void runStages(unsigned width, Value *mask);
  void placeLocals();
  void emitTasks();
  Value *isStreamed();

  CpuFrame &f;
  Ir &b;
  const NestPlan &plan;
  bool streaming = false;
  /// Of each outer loop in the task; no end: the task is at index `begin`.
  struct Bounds {
    Value *begin, *end;
  };
  SmallVector<Bounds> bounds;
  SmallVector<Lanes> dims; ///< index of each dimension, of the outer ones as far as loops are open
};

} // namespace

void NestEmitter::emit() {
  size_t rank = 0;
  for (const Stage &stage : plan.stages)
    rank = std::max(rank, stage.domain.size());
  dims.assign(rank, {b.getInt64(0), nullptr});
  placeLocals();
  if (plan.streamed.empty()) {
    emitTasks();
    return;
  }
  Value *streams = isStreamed();
  emitIf(b, b.CreateNot(streams), [&] { emitTasks(); });
  emitIf(b, streams, [&] {
    streaming = true;
    emitTasks();
    b.CreateIntrinsic(Intrinsic::x86_sse_sfence, {}); // before anyone is told that the results are there
  });
}

void NestEmitter::emitTasks() {
  emitLoop(b, f.begin, f.end, 1, [&](Value *task) { emitTask(task); });
}

/// Whether all results are large, and aligned as stores past the caches have to be.
Value *NestEmitter::isStreamed() {
  Value *elements = emitSize(f, plan.outer.front().size), *all = b.getTrue();
  for (mlir::Value result : plan.streamed) {
    int64_t bytes = divideCeil(loop::getScalarType(result).getIntOrFloatBitWidth(), 8);
    Value *isLarge = b.CreateICmpSGE(elements, b.getInt64(kStreamedBytes / bytes));
    Value *misaligned = b.CreateAnd(b.CreatePtrToInt(f.pointers[result], b.getInt64Ty()), 63);
    all = b.CreateAnd(all, b.CreateAnd(isLarge, b.CreateICmpEQ(misaligned, b.getInt64(0))));
  }
  return all;
}

/// Rows in scratch: `width` rows side by side where the lanes are different rows.
void NestEmitter::placeLocals() {
  for (auto [tensor, offset] : plan.locals) {
    f.pointers[tensor] = emitAddress(b, b.getInt8Ty(), f.scratch, emitSize(f, offset));
    Shape sizes = getShape(tensor);
    TensorLayout layout;
    layout.strides.resize(sizes.size());
    int64_t lanes = plan.lanesAlongOuter ? plan.width : 1;
    mlir::AffineExpr stride = getAffineConstantExpr(lanes, tensor.getContext());
    for (unsigned i = sizes.size(); i-- > 0; stride = stride * sizes[i])
      layout.strides[i] = i < plan.outerRank ? getAffineConstantExpr(0, tensor.getContext()) : stride;
    if (plan.lanesAlongOuter)
      layout.strides[plan.outer.back().dim] = getAffineConstantExpr(1, tensor.getContext());
    f.layouts[tensor] = layout;
  }
}

void NestEmitter::emitTask(Value *task) {
  bounds.clear();
  for (const Loop &loop : plan.outer)
    bounds.push_back({b.getInt64(0), emitSize(f, loop.size)});
  bool isOnlyBlock = plan.blockLoop == 0 && getConstant(plan.tasks) && *getConstant(plan.tasks) <= 1;
  if (!plan.outer.empty() && !isOnlyBlock)
    findTask(task);
  emitOuter(0);
}

/// Sets the bounds of the task's block, and the indices of the loops around it.
void NestEmitter::findTask(Value *task) {
  const Loop &blocked = plan.outer[plan.blockLoop];
  Value *blocks = emitSize(f, blocked.size.ceilDiv(plan.block)), *size = bounds[plan.blockLoop].end;
  Value *block = plan.blockLoop == 0 ? task : b.CreateURem(task, blocks);
  Value *rest = plan.blockLoop == 0 ? task : b.CreateUDiv(task, blocks);
  for (unsigned i = plan.blockLoop; i-- > 0;) {
    Value *outer = bounds[i].end;
    bounds[i] = {i == 0 ? rest : b.CreateURem(rest, outer), nullptr};
    if (i > 0)
      rest = b.CreateUDiv(rest, outer);
  }
  Value *begin = b.CreateMul(block, b.getInt64(plan.block));
  Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(begin, b.getInt64(plan.block)), size);
  if (auto constant = getConstant(blocked.size); constant && *constant % plan.block == 0)
    end = b.CreateAdd(begin, b.getInt64(plan.block));
  bounds[plan.blockLoop] = {begin, end};
}

/// One loop after the other for the stretches between cuts.
void NestEmitter::emitOuter(unsigned level) {
  if (level == plan.outer.size()) {
    runStages(1, nullptr);
    return;
  }
  const Loop &loop = plan.outer[level];
  int64_t first = 0, size = getConstant(loop.size).value_or(INT64_MAX);
  for (unsigned stretch = 0; stretch <= loop.cuts.size(); ++stretch) {
    int64_t end = stretch < loop.cuts.size() ? loop.cuts[stretch] : size;
    emitStretch(level, first, end);
    first = end;
  }
}

void NestEmitter::emitStretch(unsigned level, int64_t first, int64_t end) {
  const Loop &loop = plan.outer[level];
  auto at = [&](const Lanes &index, function_ref<void()> body) {
    dims[loop.dim] = index;
    bool isKnown = !loop.cuts.empty() && !isa<Constant>(index.value);
    if (isKnown)
      f.ranges.insert({index.value, ConstantRange(APInt(64, first), APInt(64, end))});
    body();
    if (isKnown)
      f.ranges.erase(index.value);
  };
  auto [begin, last] = bounds[level];
  if (!last) { // the task is at one index
    if (loop.cuts.empty())
      return at({begin, nullptr}, [&] { emitOuter(level + 1); });
    Value *isHere = b.CreateAnd(b.CreateICmpSGE(begin, b.getInt64(first)), b.CreateICmpSLT(begin, b.getInt64(end)));
    return emitIf(b, isHere, [&] { at({begin, nullptr}, [&] { emitOuter(level + 1); }); });
  }
  if (!loop.cuts.empty()) {
    begin = b.CreateBinaryIntrinsic(Intrinsic::smax, begin, b.getInt64(first));
    last = b.CreateBinaryIntrinsic(Intrinsic::smin, last, b.getInt64(end));
    last = b.CreateBinaryIntrinsic(Intrinsic::smax, last, begin); // the task may have nothing of the stretch
  }
  if (plan.transposes && level + 2 == plan.outer.size())
    return emitTransposed(f, plan, dims, begin, last);
  bool isInnermost = level + 1 == plan.outer.size();
  if (!isInnermost || !plan.lanesAlongOuter) {
    forEach(b, begin, last, 1, [&](Value *i) { at({i, nullptr}, [&] { emitOuter(level + 1); }); });
    return;
  }
  bool hasTail = !getConstant(loop.size) || first % plan.width || end % plan.width;
  emitVectorLoop(b, begin, last, plan.width, hasTail, {},
                 [&](const VectorStep &step, ArrayRef<Value *>) -> SmallVector<Value *> {
                   for (auto [tensor, offset] : plan.locals)
                     f.layouts[tensor].offset = b.CreateNeg(step.index);
                   at(LaneBuilder(b, plan.width).consecutive(step.index), [&] { runStages(plan.width, step.mask); });
                   return {};
                 });
}

void NestEmitter::runStages(unsigned width, Value *mask) {
  DenseMap<mlir::Value, Lanes> registers;
  for (const Stage &stage : plan.stages)
    emitStage(f, stage, dims, width, mask, streaming, registers);
}

void emitNest(CpuFrame &frame, const NestPlan &plan) {
  auto emit = [&](const NestPlan &form) { NestEmitter(frame, form).emit(); };
  if (!plan.many)
    return emit(plan);
  emitTwoForms(
      frame, {plan.size, plan.least, plan.many->tasks, plan.tasks}, [&] { emit(*plan.many); }, [&] { emit(plan); });
}

} // namespace ptc::cpu
