#include "compiler/codegen/cuda/Nest.h"

#include "compiler/codegen/cuda/BlockReduce.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Reductions.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::Carried;
using kernel::Combiner;
using kernel::emitSize;
using kernel::forEach;
using kernel::Lanes;
using kernel::Running;
using kernel::Stage;

namespace {

/// The stages of one outer point.
class NestEmitter {
public:
  NestEmitter(GpuFrame &frame, const GridPlan &plan);
  void emit();

private:
  void placeLocals(Value *point, Value *row);
  void emitRowOfWarp(Value *block, Value *number, Value *points);
  void emitPoint(Value *point);
  void emitPoints(Value *point);
  SmallVector<unsigned> loopDims() const;
  void emitStage(const Stage &stage, unsigned vector);
  void emitParallel(const Stage &stage, ArrayRef<unsigned> parallel, unsigned vector);
  void emitPointsOfWarps(const Stage &stage, ArrayRef<unsigned> parallel);
  void emitOnePoint(const Stage &stage);
  void emitScan(const Stage &stage);
  Carried reduceAlone(const Stage &stage, unsigned dim, ArrayRef<Value *> carried);
  Carried reduceTogether(const Stage &stage, unsigned vector);
  Carried emitMembers(const Stage &stage, ArrayRef<Value *> carried);
  void finish(const Stage &stage, ArrayRef<Value *> carried);
  void finishMember(const Stage &stage, mlir::Operation *member, ArrayRef<Value *> combined);
  void setResult(BodyEmitter &body, mlir::Value tensor, unsigned rank, const Lanes &value);
  /// Until all threads that share the point have come here.
  void waitForSharers() { isWarps ? f.gpu.warpBarrier(b) : f.gpu.barrier(b); }

  SmallVector<unsigned> parallelDims(const Stage &stage) const;
  Shape sizesOf(const Stage &stage, ArrayRef<unsigned> dimensions) const;
  void takeTogether(unsigned dim, unsigned vector);
  void setDims(ArrayRef<unsigned> dimensions, ArrayRef<Value *> indices);
  /// body(i) for i of [0, count): alone, or with the other threads that share the point, each its own.
  Carried share(Value *count, ArrayRef<Value *> carried, function_ref<Carried(Value *, ArrayRef<Value *>)> body);
  Carried identities() { return reductions.identities(b, width); }

  GpuFrame &f;
  Ir &b;
  const GridPlan &plan;
  unsigned width = 1;                     ///< lanes that are neighbouring points
  Value *thread = nullptr;                ///< of those that share the point; null: the thread works alone
  unsigned sharers;                       ///< how many those are
  bool isWarps;                           ///< they are a warp, of which the block has others with points of their own
  SmallVector<Lanes> dims;                ///< index of each dimension
  kernel::Reductions reductions;          ///< of the stage
  bool isOneOfRow = false;                ///< all threads that share the point are at it: one of them stores
  DenseSet<mlir::Value> inPlace;          ///< results that are stored where the kernel reads an operand
  DenseMap<mlir::Value, Lanes> registers; ///< results that are one element of the outer point
};

} // namespace

NestEmitter::NestEmitter(GpuFrame &frame, const GridPlan &plan)
    : f(frame), b(frame.b), plan(plan), sharers(plan.sharers()), isWarps(plan.rows > 1) {
  loop::KernelOp kernel = plan.kernel;
  mlir::Operation *yield = kernel.getBody().front().getTerminator();
  for (auto [result, operand] : zip(yield->getOperands(), kernel.getInPlace()))
    if (operand >= 0)
      inPlace.insert(result);
}

void NestEmitter::emit() {
  size_t rank = 0;
  for (const Stage &stage : plan.stages)
    rank = std::max(rank, stage.domain.size());
  dims.assign(rank, {b.getInt64(0), nullptr});
  Value *block = f.gpu.blockIndex(b), *number = f.gpu.threadIndex(b);
  if (!plan.isFlat && plan.rows == 1) {
    thread = number;
    placeLocals(block, b.getInt64(0));
    return emitPoint(block);
  }
  Value *points = emitSize(f, product(plan.loopSizes(), plan.context()));
  if (!plan.isFlat)
    return emitRowOfWarp(block, number, points);
  Value *point = b.CreateAdd(b.CreateMul(block, b.getInt64(plan.threads)), number);
  kernel::emitIf(b, b.CreateICmpSLT(point, points), [&] {
    if (plan.width > 1)
      emitPoints(point);
    else
      emitPoint(point);
  });
}

void NestEmitter::emitRowOfWarp(Value *block, Value *number, Value *points) {
  Value *warp = b.CreateTrunc(b.CreateUDiv(number, b.getInt64(kWarp)), b.getInt32Ty());
  Value *row = b.CreateZExt(f.gpu.uniform(b, warp), b.getInt64Ty());
  Value *point = b.CreateAdd(b.CreateMul(block, b.getInt64(plan.rows)), row);
  thread = b.CreateURem(number, b.getInt64(kWarp));
  kernel::emitIf(b, b.CreateICmpSLT(point, points), [&] {
    placeLocals(point, row);
    emitPoint(point);
  });
}

void NestEmitter::emitPoints(Value *point) {
  setDims(loopDims(), kernel::delinearize(f, point, plan.loopSizes()));
  unsigned dim = plan.loops.back().dim;
  const Stage &stage = plan.stages.front();
  Value *first = b.CreateMul(dims[dim].value, b.getInt64(plan.width));
  width = plan.width;
  dims[dim] = kernel::LaneBuilder(b, width).aligned(first);
  emitStage(stage, 1);
}

SmallVector<unsigned> NestEmitter::loopDims() const {
  return to_vector(map_range(plan.loops, [](const kernel::Loop &loop) { return loop.dim; }));
}

/// Row-major rows in shared memory, or in the point's part of the workspace; what is an outer dimension has one
/// element.
void NestEmitter::placeLocals(Value *point, Value *row) {
  if (plan.locals.empty())
    return;
  bool isShared = plan.hasSharedLocals();
  Value *memory = f.workspace;
  if (isShared) // LLVM does not see how it is aligned through a cast to a pointer to any memory
    memory = f.gpu.shared(b, b.getInt8Ty(), plan.rows * *getConstant(plan.localBytes))->stripPointerCasts();
  Value *base = b.CreateMul(isShared ? row : point, emitSize(f, plan.localBytes));
  for (const GridPlan::Local &local : plan.locals) {
    Value *place = b.CreateAdd(base, emitSize(f, local.offset));
    f.pointers[local.tensor] = kernel::emitAddress(b, b.getInt8Ty(), memory, place);
    Shape sizes = getShape(local.tensor);
    kernel::TensorLayout layout;
    layout.strides = kernel::rowMajorStrides(local.tensor);
    for (unsigned dim : plan.outer)
      layout.strides[dim] = getAffineConstantExpr(0, local.tensor.getContext());
    f.layouts[local.tensor] = layout;
  }
}

void NestEmitter::emitPoint(Value *point) {
  setDims(loopDims(), kernel::delinearize(f, point, plan.loopSizes()));
  for (auto [i, stage] : enumerate(plan.stages)) {
    if (i > 0 && thread) // the stage reads what other threads wrote
      waitForSharers();
    emitStage(stage, thread ? plan.widths[i] : 1);
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<unsigned> NestEmitter::parallelDims(const Stage &stage) const {
  SmallVector<unsigned> dimensions;
  for (unsigned dim = 0; dim < stage.resultRank; ++dim)
    if (!plan.isOuter(dim) && !(stage.isScan && dim == kernel::scanDim(stage)))
      dimensions.push_back(dim);
  return dimensions;
}

Shape NestEmitter::sizesOf(const Stage &stage, ArrayRef<unsigned> dimensions) const {
  Shape sizes;
  for (unsigned dim : dimensions)
    sizes.push_back(stage.domain[dim]);
  return sizes;
}

void NestEmitter::setDims(ArrayRef<unsigned> dimensions, ArrayRef<Value *> indices) {
  for (auto [dim, index] : zip_equal(dimensions, indices))
    dims[dim] = {index, nullptr};
}

Carried NestEmitter::share(Value *count, ArrayRef<Value *> carried,
                           function_ref<Carried(Value *, ArrayRef<Value *>)> body) {
  if (!thread)
    return forEach(b, b.getInt64(0), count, 1, carried, body);
  auto *constant = dyn_cast<ConstantInt>(count);
  int64_t turns = constant && constant->getSExtValue() % sharers == 0 ? constant->getSExtValue() / sharers : 0;
  if (turns == 0 || turns > kFewTurns)
    return forEach(b, thread, count, sharers, carried, body);
  Carried values(carried);
  for (int64_t turn = 0; turn < turns; ++turn)
    values = body(b.CreateAdd(thread, b.getInt64(turn * sharers)), values);
  return values;
}

/// `vector`: points that are taken together of the last dimension that threads share.
void NestEmitter::emitStage(const Stage &stage, unsigned vector) {
  reductions = kernel::Reductions(b, stage);
  SmallVector<unsigned> parallel = parallelDims(stage);
  if (thread && hasWarpsForPoints(plan, stage))
    return emitPointsOfWarps(stage, parallel);
  if (!parallel.empty())
    return emitParallel(stage, parallel, vector);
  if (!thread)
    return emitOnePoint(stage);
  if (stage.isScan) { // one element after the other: nothing to share
    Value *isFirst = b.CreateICmpEQ(thread, b.getInt64(0));
    return kernel::emitIf(b, isFirst, [&] { emitScan(stage); });
  }
  isOneOfRow = true;
  if (stage.isReduction && stage.domain.size() > stage.resultRank)
    finish(stage, reduceTogether(stage, vector));
  else
    emitOnePoint(stage);
  isOneOfRow = false;
}

/// Points of the stage are shared; what is reduced over at each is a thread's own.
void NestEmitter::emitParallel(const Stage &stage, ArrayRef<unsigned> parallel, unsigned vector) {
  Shape sizes = sizesOf(stage, parallel);
  sizes.back() = sizes.back().floorDiv(vector);
  Value *count = emitSize(f, product(sizes, plan.context()));
  share(count, {}, [&](Value *i, ArrayRef<Value *>) -> Carried {
    setDims(parallel, kernel::delinearize(f, i, sizes));
    takeTogether(parallel.back(), vector);
    DenseMap<mlir::Value, Lanes> before = registers; // those of this point are of no other
    emitOnePoint(stage);
    registers = std::move(before);
    width = 1;
    return {};
  });
}

/// The warps take points in turns.
void NestEmitter::emitPointsOfWarps(const Stage &stage, ArrayRef<unsigned> parallel) {
  Shape sizes = sizesOf(stage, parallel);
  Value *count = emitSize(f, product(sizes, plan.context()));
  Value *warp = b.CreateTrunc(b.CreateUDiv(thread, b.getInt64(kWarp)), b.getInt32Ty());
  Value *first = b.CreateZExt(f.gpu.uniform(b, warp), b.getInt64Ty());
  SaveAndRestore lane(thread, b.CreateURem(thread, b.getInt64(kWarp)));
  SaveAndRestore ofWarp(sharers, kWarp);
  SaveAndRestore areWarps(isWarps, true);
  forEach(b, first, count, plan.sharers() / kWarp, {}, [&](Value *i, ArrayRef<Value *>) -> Carried {
    setDims(parallel, kernel::delinearize(f, i, sizes));
    DenseMap<mlir::Value, Lanes> before = registers; // those of this point are of no other
    isOneOfRow = true;
    finish(stage, reduceTogether(stage, 1));
    isOneOfRow = false;
    registers = std::move(before);
    return {};
  });
}

void NestEmitter::emitOnePoint(const Stage &stage) {
  if (stage.isScan)
    return emitScan(stage);
  if (stage.isReduction)
    finish(stage, reduceAlone(stage, stage.resultRank, identities()));
  else
    emitMembers(stage, {});
}

Carried NestEmitter::reduceAlone(const Stage &stage, unsigned dim, ArrayRef<Value *> carried) {
  if (dim == stage.domain.size())
    return emitMembers(stage, carried);
  return forEach(b, b.getInt64(0), emitSize(f, stage.domain[dim]), 1, carried, [&](Value *i, ArrayRef<Value *> values) {
    dims[dim] = {i, nullptr};
    return reduceAlone(stage, dim + 1, values);
  });
}

/// Threads take elements in turns, so that neighbours read neighbours.
Carried NestEmitter::reduceTogether(const Stage &stage, unsigned vector) {
  SmallVector<unsigned> inner;
  for (unsigned dim = stage.resultRank; dim < stage.domain.size(); ++dim)
    inner.push_back(dim);
  Shape sizes = sizesOf(stage, inner);
  sizes.back() = sizes.back().floorDiv(vector);
  Value *count = emitSize(f, product(sizes, plan.context()));
  isOneOfRow = false; // each thread has elements of its own
  width = vector;
  Carried mine = share(count, identities(), [&](Value *i, ArrayRef<Value *> values) {
    setDims(inner, kernel::delinearize(f, i, sizes));
    takeTogether(inner.back(), vector);
    return emitMembers(stage, values);
  });
  width = 1;
  isOneOfRow = true;
  SmallVector<Combiner> combiners;
  SmallVector<Running> running;
  for (auto [r, one] : zip_equal(reductions.all(), reductions.unpack(mine))) {
    combiners.push_back(r.combiner);
    running.push_back(r.combiner.acrossLanes(b, one));
  }
  return kernel::Reductions::pack(isWarps ? reduceWarp(f, combiners, running) : reduceBlock(f, combiners, running));
}

/// From now on the index of a dimension counts vectors of neighbours.
void NestEmitter::takeTogether(unsigned dim, unsigned vector) {
  width = vector;
  if (vector > 1)
    dims[dim] = kernel::LaneBuilder(b, vector).aligned(b.CreateMul(dims[dim].value, b.getInt64(vector)));
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

void NestEmitter::setResult(BodyEmitter &body, mlir::Value tensor, unsigned rank, const Lanes &value) {
  body.registers[tensor] = value;
  if (!f.pointers.contains(tensor))
    return;
  auto store = [&] { body.store(tensor, ArrayRef(dims).take_front(rank), value); };
  if (isOneOfRow && inPlace.contains(tensor)) // all threads have read what lies there
    waitForSharers();
  if (isOneOfRow)
    kernel::emitIf(b, b.CreateICmpEQ(thread, b.getInt64(0)), store);
  else
    store();
}

/// All members at one point: maps store, reductions combine into the running values.
Carried NestEmitter::emitMembers(const Stage &stage, ArrayRef<Value *> carried) {
  BodyEmitter body(f, width);
  body.registers = registers;
  unsigned rank = stage.domain.size();
  SmallVector<Running> running = reductions.unpack(carried), next;
  for (mlir::Operation *member : stage.members) {
    SmallVector<Lanes> values = body.emit(member->getRegion(0), ArrayRef(dims).take_front(rank));
    if (isa<loop::MapOp>(member)) {
      for (auto [result, value] : zip_equal(member->getResults(), values)) {
        setResult(body, result, rank, value);
        if (rank == stage.resultRank) // no loop is around it, though there may be a reduction over nothing
          registers[result] = value;
      }
      continue;
    }
    for (const Lanes &value : values) {
      const kernel::Reduced &r = reductions.all()[next.size()];
      next.push_back(r.combiner.combine(b, running[next.size()], r.runningOf(body.lanes, value, dims, f.symbols)));
    }
  }
  return kernel::Reductions::pack(next);
}

void NestEmitter::finish(const Stage &stage, ArrayRef<Value *> carried) {
  mlir::Operation *member = nullptr;
  SmallVector<Value *> combined;
  for (auto [one, r] : zip_equal(reductions.unpack(carried), reductions.all())) {
    if (member && member != r.member)
      finishMember(stage, member, std::exchange(combined, {}));
    member = r.member;
    combined.push_back(r.finished(b, one));
  }
  finishMember(stage, member, combined);
}

void NestEmitter::finishMember(const Stage &stage, mlir::Operation *member, ArrayRef<Value *> combined) {
  BodyEmitter body(f, 1);
  body.registers = registers;
  SmallVector<Lanes> values, arguments(ArrayRef(dims).take_front(stage.resultRank));
  for (Value *value : combined)
    values.push_back({value, nullptr});
  if (mlir::Region *region = loop::getResultRegion(member)) {
    append_range(arguments, values);
    values = body.emit(*region, arguments);
  }
  for (auto [result, value] : zip_equal(member->getResults(), values)) {
    setResult(body, result, stage.resultRank, value);
    registers[result] = value;
  }
}

void NestEmitter::emitScan(const Stage &stage) {
  auto scan = cast<loop::ScanOp>(stage.members.front());
  const kernel::Reduced &r = reductions.all().front();
  Type *element = kernel::valueType(b.getContext(), loop::getScalarType(scan.getResult()));
  unsigned dim = scan.getDim(), rank = stage.domain.size();
  forEach(b, b.getInt64(0), emitSize(f, stage.domain[dim]), 1, identities(), [&](Value *i, ArrayRef<Value *> carried) {
    dims[dim] = {i, nullptr};
    BodyEmitter body(f, 1);
    body.registers = registers;
    Lanes value = body.emit(scan.getBody(), ArrayRef(dims).take_front(rank)).front();
    Running sum =
        r.combiner.combineLater(b, reductions.unpack(carried).front(), r.runningOf(body.lanes, value, dims, f.symbols));
    Value *stored = sum.place ? sum.place : sum.value;
    if (stored->getType() != element)
      stored = kernel::emitFloatCast(b, stored, element);
    setResult(body, scan.getResult(), rank, {stored, nullptr});
    return kernel::Reductions::pack({sum});
  });
}

void emitNest(GpuFrame &frame, const GridPlan &plan) { NestEmitter(frame, plan).emit(); }

} // namespace ptc::cuda
