//===- Scatter.cpp - values combined into computed places -----------------===//
//
// In row-major order of the updates, as the operation is defined: where two
// updates meet, the later one counts. A dimension of the updates that is a
// dimension of the result as it stands ("kept": the batch or the features of an
// index_add) cannot make two updates meet: tasks and lanes divide those.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Describe.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/kernel/Accumulator.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "dialects/core/TensorBytes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

struct ScatterPlan {
  loop::ScatterOp op;
  Shape updates, result;
  /// The dimension of the updates that each dimension of the result is, if any.
  SmallVector<std::optional<unsigned>> keptAs;
  /// Kept dimensions: one index of each is a task's.
  SmallVector<unsigned> taskDims;
  /// Innermost of both and kept: cut into blocks of `block`, walked by vectors of `width`; 1: not so.
  unsigned width = 1;
  int64_t block = 1;
  bool isInPlace;

  unsigned lastUpdate() const { return updates.size() - 1; }
  mlir::AffineExpr blocks() const { return updates.back().ceilDiv(block); }
  mlir::AffineExpr tasks() const {
    mlir::AffineExpr count = getAffineConstantExpr(1, op->getContext());
    for (unsigned dim : taskDims)
      count = count * updates[dim];
    return width > 1 ? count * blocks() : count;
  }
};

/// The part of a dimension that a task has.
struct Range {
  Value *begin, *end;
};

class ScatterEmitter {
public:
  ScatterEmitter(CpuFrame &frame, const ScatterPlan &plan) : f(frame), b(frame.b), plan(plan), op(plan.op) {}
  void emitTask(Value *task);

private:
  void emitCopy(SmallVector<Lanes> &indices);
  void emitUpdates(SmallVector<Lanes> &indices);
  void emitUpdate(ArrayRef<Lanes> indices, unsigned width, Value *mask);
  void forRange(Range range, bool isLast, SmallVector<Lanes> &indices, function_ref<void(unsigned, Value *)> body);

  CpuFrame &f;
  Ir &b;
  const ScatterPlan &plan;
  loop::ScatterOp op;
  SmallVector<Range> ranges; ///< of the updates' dimensions
};

} // namespace

/// Pushes the index, or for the innermost loop the lanes, of each step.
void ScatterEmitter::forRange(Range range, bool isLast, SmallVector<Lanes> &indices,
                              function_ref<void(unsigned, Value *)> body) {
  auto step = [&](Lanes index, unsigned width, Value *mask) {
    indices.push_back(index);
    body(width, mask);
    indices.pop_back();
  };
  if (!isLast || plan.width == 1) {
    forEach(b, range.begin, range.end, 1, [&](Value *i) { step({i, nullptr}, 1, nullptr); });
    return;
  }
  auto size = getConstant(plan.updates.back());
  bool hasTail = !size || *size % plan.width || plan.block % plan.width;
  emitVectorLoop(b, range.begin, range.end, plan.width, hasTail, {}, [&](const VectorStep &at, ArrayRef<Value *>) {
    step(LaneBuilder(b, plan.width).consecutive(at.index), plan.width, at.mask);
    return Carried();
  });
}

/// The task's part of init.
void ScatterEmitter::emitCopy(SmallVector<Lanes> &indices) {
  unsigned dim = indices.size(), rank = plan.result.size();
  Range range = {b.getInt64(0), nullptr};
  if (dim < rank)
    range = plan.keptAs[dim] ? ranges[*plan.keptAs[dim]] : Range{b.getInt64(0), emitSize(f, plan.result[dim])};
  auto copy = [&](unsigned width, Value *mask) {
    BodyEmitter body(f, width, mask);
    body.store(op.getResult(), indices, body.load(op.getInit(), indices));
  };
  if (rank == 0) {
    copy(1, nullptr);
    return;
  }
  forRange(range, dim + 1 == rank, indices, [&](unsigned width, Value *mask) {
    if (dim + 1 == rank)
      copy(width, mask);
    else
      emitCopy(indices);
  });
}

void ScatterEmitter::emitUpdates(SmallVector<Lanes> &indices) {
  unsigned dim = indices.size();
  if (plan.updates.empty()) {
    emitUpdate({}, 1, nullptr);
    return;
  }
  forRange(ranges[dim], dim == plan.lastUpdate(), indices, [&](unsigned width, Value *mask) {
    if (dim == plan.lastUpdate())
      emitUpdate(indices, width, mask);
    else
      emitUpdates(indices);
  });
}

void ScatterEmitter::emitUpdate(ArrayRef<Lanes> indices, unsigned width, Value *mask) {
  BodyEmitter body(f, width, mask);
  SmallVector<Lanes> yielded = body.emit(op.getBody(), indices);
  Lanes value = yielded.front();
  ArrayRef<Lanes> place = ArrayRef(yielded).drop_front();
  if (op.getCombine() != "set") {
    Value *added = body.lanes.vector(value);
    Type *type = added->getType(), *scalar = type->getScalarType();
    bool isHalf = scalar->isHalfTy() || scalar->isBFloatTy();
    Type *wide = isHalf ? b.getFloatTy() : scalar, *wideLanes = type->getWithNewType(wide);
    Running old{emitFloatCast(b, body.lanes.vector(body.load(op.getResult(), place)), wideLanes), nullptr};
    Running now{emitFloatCast(b, added, wideLanes), nullptr};
    value = {emitFloatCast(b, Combiner(op.getCombine(), wide).combine(b, old, now).value, type), nullptr};
  }
  body.store(op.getResult(), place, value);
}

void ScatterEmitter::emitTask(Value *task) {
  ranges.clear();
  for (mlir::AffineExpr size : plan.updates)
    ranges.push_back({b.getInt64(0), emitSize(f, size)});
  Value *rest = task;
  if (plan.width > 1) {
    Value *blocks = emitSize(f, plan.blocks()), *length = b.getInt64(plan.block);
    Value *begin = b.CreateMul(b.CreateURem(rest, blocks), length);
    Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(begin, length), ranges.back().end);
    ranges.back() = {begin, end};
    rest = b.CreateUDiv(rest, blocks);
  }
  for (unsigned dim : reverse(plan.taskDims)) {
    Value *index = b.CreateURem(rest, ranges[dim].end);
    rest = b.CreateUDiv(rest, ranges[dim].end);
    ranges[dim] = {index, b.CreateAdd(index, b.getInt64(1))};
  }
  SmallVector<Lanes> indices;
  if (!plan.isInPlace)
    emitCopy(indices);
  emitUpdates(indices);
}

static ScatterPlan makePlan(loop::ScatterOp op, bool isInPlace, unsigned vectorBytes) {
  ScatterPlan plan{op, loop::getDomain(op), getShape(op.getResult()), {}, {}, 1, 1, isInPlace};
  mlir::Operation *yield = op.getBody().front().getTerminator();
  SmallVector<bool> isKept(plan.updates.size());
  for (unsigned i = 0; i < plan.result.size(); ++i) {
    auto argument = dyn_cast<mlir::BlockArgument>(yield->getOperand(1 + i));
    bool keeps = argument && isEqual(plan.updates[argument.getArgNumber()], plan.result[i]) &&
                 !isKept[argument.getArgNumber()];
    plan.keptAs.push_back(keeps ? std::optional(argument.getArgNumber()) : std::nullopt);
    if (keeps)
      isKept[argument.getArgNumber()] = true;
  }
  // A vector has to be worth its mask.
  auto innermost = plan.updates.empty() ? std::nullopt : getConstant(plan.updates.back());
  int64_t bytes = getElementBytes(loop::getScalarType(op.getResult()));
  int64_t lanes = vectorBytes / std::max<int64_t>(bytes, 4);
  bool hasLanes = !plan.result.empty() && !plan.updates.empty() && plan.keptAs.back() == plan.lastUpdate() &&
                  (!innermost || *innermost >= lanes / 2);
  if (hasLanes) {
    // Each block walks all updates: not more of them than threads want.
    constexpr int64_t kBlocks = 8;
    plan.width = lanes;
    plan.block = innermost ? alignTo(divideCeil(*innermost, kBlocks), lanes) : 4 * lanes;
  }
  for (unsigned dim = 0; dim < plan.updates.size(); ++dim)
    if (isKept[dim] && !(hasLanes && dim == plan.lastUpdate()))
      plan.taskDims.push_back(dim);
  return plan;
}

static Algorithm describe(const ScatterPlan &plan) {
  SmallVector<Symbol> symbols = getSymbols(plan.op);
  auto sizes = [&](ArrayRef<unsigned> dims) {
    return join(map_range(dims, [&](unsigned dim) { return toString(plan.updates[dim], symbols); }), "x");
  };
  std::string tasks =
      plan.taskDims.empty() ? "" : "a task for each of " + sizes(plan.taskDims) + " rows that cannot meet";
  std::string lanes =
      plan.width > 1
          ? formatv("vectors of {0} along {1} elements that move together", plan.width, sizes(plan.lastUpdate())).str()
          : "updates one by one, as any two may meet";
  return {plan.isInPlace ? "scatter in place" : "scatter into a copy", joinReasons({tasks, lanes})};
}

KernelPlan planScatter(loop::KernelOp kernel, const Target &target) {
  auto op = cast<loop::ScatterOp>(kernel.getBody().front().front());
  bool isInPlace = !kernel.getInPlace().empty() && kernel.getInPlace().front() >= 0;
  ScatterPlan plan = makePlan(op, isInPlace, target.vectorBytes);
  return {plan.tasks(), getAffineConstantExpr(0, kernel.getContext()),
          [=](CpuFrame &frame) {
            loop::ScatterOp scatter = plan.op;
            frame.alias[scatter.getInit()] = frame.alias[scatter.getResult()];
            ScatterEmitter emitter(frame, plan);
            emitLoop(frame.b, frame.begin, frame.end, 1, [&](Value *task) { emitter.emitTask(task); });
          },
          describe(plan)};
}

} // namespace ptc::cpu
