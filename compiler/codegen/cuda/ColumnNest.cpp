#include "compiler/codegen/cuda/ColumnNest.h"

#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Reductions.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::Carried;
using kernel::emitSize;
using kernel::forEach;
using kernel::Lanes;
using kernel::Running;

std::optional<ColumnPlan> planColumns(const GridPlan &grid) {
  constexpr int64_t kFewRows = 64;
  constexpr unsigned kThreads = 256, kMostOps = 64, kTogether = 4;
  if (grid.stages.size() != 1 || !grid.isFlat || !reducesColumns(grid, grid.stages.front()))
    return std::nullopt;
  const kernel::Stage &stage = grid.stages.front();
  mlir::AffineExpr rows = product(ShapeRef(stage.domain).drop_front(stage.resultRank), grid.context());
  if (getConstant(rows).value_or(kFewRows) < kFewRows)
    return std::nullopt;
  size_t ops = 0;
  for (mlir::Operation *member : stage.members) {
    ops += member->getRegion(0).front().getOperations().size();
    if (isa<loop::MapOp>(member) && any_of(member->getResults(), kernel::isYielded))
      return std::nullopt;
  }
  ColumnPlan plan{stage, grid.loops, chooseWidth(grid, stage, grid.loops.back()), kWarp, 0, 0, {}};
  mlir::AffineExpr vectors = plan.loops.back().size.floorDiv(plan.width);
  while (plan.across > 1 && getConstant(vectors) && plan.across / 2 >= *getConstant(vectors))
    plan.across /= 2;
  plan.groups = kThreads / plan.across;
  plan.together = ops > kMostOps ? 1 : kTogether;
  plan.blocks = vectors.ceilDiv(plan.across);
  for (const kernel::Loop &loop : ArrayRef(plan.loops).drop_back())
    plan.blocks = plan.blocks * loop.size;
  return plan;
}

namespace {
class ColumnEmitter {
public:
  ColumnEmitter(GpuFrame &frame, const ColumnPlan &plan)
      : f(frame), b(frame.b), plan(plan), reductions(frame.b, plan.stage), width(plan.width) {}
  void emit();

private:
  Carried reduceRows();
  Carried reduceRow(Value *row, ArrayRef<Value *> carried);
  Carried combineGroups(Carried mine);
  void finish(ArrayRef<Value *> carried);

  GpuFrame &f;
  Ir &b;
  const ColumnPlan &plan;
  kernel::Reductions reductions;
  unsigned width; ///< the plan's
  SmallVector<Lanes> dims;
  Value *lane, *group; ///< of the thread
  Value *first;        ///< its first result, along the last loop
};
} // namespace

void ColumnEmitter::emit() {
  dims.assign(plan.stage.domain.size(), {b.getInt64(0), nullptr});
  Value *thread = f.gpu.threadIndex(b), *across = b.getInt64(plan.across);
  lane = b.CreateURem(thread, across);
  group = b.CreateUDiv(thread, across);
  Shape sizes;
  for (const kernel::Loop &loop : plan.loops)
    sizes.push_back(loop.size);
  sizes.back() = sizes.back().floorDiv(plan.width).ceilDiv(plan.across);
  SmallVector<Value *> place = kernel::delinearize(f, f.gpu.blockIndex(b), sizes);
  for (auto [loop, index] : zip(ArrayRef(plan.loops).drop_back(), place))
    dims[loop.dim] = {index, nullptr};
  Value *vector = b.CreateAdd(b.CreateMul(place.back(), across), lane);
  first = b.CreateMul(vector, b.getInt64(plan.width));
  const kernel::Loop &last = plan.loops.back();
  // Threads past the end add up the last results in vain, so that all come to the barriers.
  Value *size = emitSize(f, last.size), *most = b.CreateSub(size, b.getInt64(width));
  dims[last.dim] = kernel::LaneBuilder(b, width).aligned(b.CreateBinaryIntrinsic(Intrinsic::smin, first, most));
  Carried all = combineGroups(reduceRows());
  Value *isFirst = b.CreateICmpEQ(group, b.getInt64(0));
  kernel::emitIf(b, b.CreateAnd(isFirst, b.CreateICmpSLT(first, size)), [&] { finish(all); });
}

/// The groups take rows in turns.
Carried ColumnEmitter::reduceRows() {
  ShapeRef sizes = ShapeRef(plan.stage.domain).drop_front(plan.stage.resultRank);
  mlir::AffineExpr rows = product(sizes, plan.blocks.getContext());
  int64_t step = plan.groups * plan.together;
  Value *end = emitSize(f, rows.floorDiv(step) * step);
  Carried mine =
      forEach(b, group, end, step, reductions.identities(b, width), [&](Value *row, ArrayRef<Value *> values) {
        Carried next(values);
        for (unsigned i = 0; i < plan.together; ++i)
          next = reduceRow(b.CreateAdd(row, b.getInt64(i * plan.groups)), next);
        return next;
      });
  if (auto constant = getConstant(rows); constant && *constant % step == 0)
    return mine;
  return forEach(b, b.CreateAdd(end, group), emitSize(f, rows), plan.groups, mine,
                 [&](Value *row, ArrayRef<Value *> values) { return reduceRow(row, values); });
}

Carried ColumnEmitter::reduceRow(Value *row, ArrayRef<Value *> carried) {
  const kernel::Stage &stage = plan.stage;
  SmallVector<Value *> indices = kernel::delinearize(f, row, ShapeRef(stage.domain).drop_front(stage.resultRank));
  for (auto [i, index] : enumerate(indices))
    dims[stage.resultRank + i] = {index, nullptr};
  BodyEmitter body(f, width);
  SmallVector<Running> running = reductions.unpack(carried), next;
  for (mlir::Operation *member : stage.members) {
    SmallVector<Lanes> values = body.emit(member->getRegion(0), dims);
    if (isa<loop::MapOp>(member)) {
      for (auto [result, value] : zip_equal(member->getResults(), values))
        body.registers[result] = value;
      continue;
    }
    for (const Lanes &value : values) {
      const kernel::Reduced &r = reductions.all()[next.size()];
      next.push_back(r.combiner.combine(b, running[next.size()], r.runningOf(body.lanes, value, dims, f.symbols)));
    }
  }
  return kernel::Reductions::pack(next);
}

/// What all groups have, in the first one's threads.
Carried ColumnEmitter::combineGroups(Carried mine) {
  SmallVector<Type *> types; // in memory
  SmallVector<Value *> bases;
  for (Value *value : mine) {
    types.push_back(kernel::packed(b, {value}).value->getType());
    bases.push_back(f.gpu.shared(b, types.back(), plan.threads()));
  }
  auto alignOf = [](Type *type) {
    return Align(std::min<uint64_t>(kVectorBytes, divideCeil(type->getPrimitiveSizeInBits(), 8)));
  };
  auto addressOf = [&](unsigned i, Value *of) {
    Value *place = b.CreateAdd(b.CreateMul(of, b.getInt64(plan.across)), lane);
    return kernel::emitAddress(b, types[i], bases[i], place);
  };
  auto put = [&](ArrayRef<Value *> values) {
    for (auto [i, value] : enumerate(values))
      b.CreateAlignedStore(kernel::packed(b, {value}).value, addressOf(i, group), alignOf(types[i]));
  };
  auto take = [&](Value *of) {
    Carried values;
    for (auto [i, value] : enumerate(mine)) {
      Value *loaded = b.CreateAlignedLoad(types[i], addressOf(i, of), alignOf(types[i]));
      values.push_back(kernel::unpacked(b, loaded, value->getType()->getScalarType()).value);
    }
    return values;
  };
  put(mine);
  for (unsigned half = plan.groups / 2; half > 0; half /= 2) {
    f.gpu.barrier(b);
    kernel::emitIf(b, b.CreateICmpULT(group, b.getInt64(half)),
                   [&] { put(reductions.combine(b, take(group), take(b.CreateAdd(group, b.getInt64(half))))); });
  }
  return take(group);
}

void ColumnEmitter::finish(ArrayRef<Value *> carried) {
  BodyEmitter body(f, width);
  ArrayRef<Lanes> indices = ArrayRef(dims).take_front(plan.stage.resultRank);
  SmallVector<Running> running = reductions.unpack(carried);
  unsigned next = 0;
  for (mlir::Operation *member : plan.stage.members) {
    auto reduce = dyn_cast<loop::ReduceOp>(member);
    if (!reduce)
      continue;
    SmallVector<Lanes> values;
    for (unsigned i = 0; i < reduce.getKinds().size(); ++i, ++next)
      values.push_back({reductions.all()[next].finished(b, running[next]), nullptr});
    if (mlir::Region *region = loop::getResultRegion(member)) {
      SmallVector<Lanes> arguments(indices);
      append_range(arguments, values);
      values = body.emit(*region, arguments);
    }
    for (auto [result, value] : zip_equal(member->getResults(), values)) {
      body.registers[result] = value;
      if (f.pointers.contains(result))
        body.store(result, indices, value);
    }
  }
}

void emitColumns(GpuFrame &frame, const ColumnPlan &plan) { ColumnEmitter(frame, plan).emit(); }

} // namespace ptc::cuda
