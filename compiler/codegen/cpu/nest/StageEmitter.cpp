#include "compiler/codegen/cpu/nest/StageEmitter.h"

#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Reductions.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

class StageEmitter {
public:
  StageEmitter(CpuFrame &frame, const Stage &stage, ArrayRef<Lanes> dims, unsigned width, Value *mask, bool streaming,
               DenseMap<mlir::Value, Lanes> &registers)
      : f(frame), b(frame.b), stage(stage), dims(dims), width(width), mask(mask), streaming(streaming),
        registers(registers), isPoint(stage.parallel.empty()), reductions(frame.b, stage) {}

  void emit() { emitParallel(0); }

private:
  void emitParallel(unsigned level);
  void emitInside();
  void emitScan();
  Carried reduce(unsigned level, ArrayRef<Value *> carried);
  Carried reduceInnermost(Value *begin, Value *end, ArrayRef<Value *> carried);
  Carried emitPoint(ArrayRef<Value *> carried, Value *stepMask);
  void finish(ArrayRef<Value *> carried);
  void finishMember(mlir::Operation *member, ArrayRef<Lanes> combined);
  void setResult(BodyEmitter &body, mlir::Value tensor, ArrayRef<Lanes> indices, const Lanes &value);

  BodyEmitter makeBody(unsigned lanes, Value *lanesMask) {
    BodyEmitter body(f, lanes, lanesMask);
    body.registers = registers;
    body.streaming = streaming;
    return body;
  }
  ArrayRef<Lanes> indices(size_t rank) const { return ArrayRef(dims).take_front(rank); }
  bool lanesReduce() const { return stage.lanes == Stage::AlongReduction; }
  /// Lanes of the running values.
  unsigned runningWidth() const { return lanesReduce() ? stage.width : width; }

  Carried identities() { return reductions.identities(b, runningWidth()); }
  Running runningOf(const kernel::Reduced &reduced, const LaneBuilder &lanes, const Lanes &value) {
    return reduced.runningOf(lanes, value, dims, f.symbols);
  }

  CpuFrame &f;
  Ir &b;
  const Stage &stage;
  SmallVector<Lanes> dims;
  unsigned width;
  Value *mask;
  bool streaming;
  DenseMap<mlir::Value, Lanes> &registers;
  bool isPoint; ///< results of reductions are one element, kept in registers
  kernel::Reductions reductions;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void StageEmitter::emitParallel(unsigned level) {
  if (level == stage.parallel.size()) {
    emitInside();
    return;
  }
  const Loop &loop = stage.parallel[level];
  Value *size = emitSize(f, loop.size);
  if (stage.lanes == Stage::AlongParallel && level + 1 == stage.parallel.size()) {
    auto constant = getConstant(loop.size);
    bool hasTail = !constant || *constant % stage.width;
    width = stage.width;
    emitVectorLoop(b, b.getInt64(0), size, width, hasTail, {},
                   [&](const VectorStep &step, ArrayRef<Value *>) -> Carried {
                     dims[loop.dim] = LaneBuilder(b, width).consecutive(step.index);
                     mask = step.mask;
                     emitInside();
                     return {};
                   });
    return;
  }
  forEach(b, b.getInt64(0), size, 1, [&](Value *i) {
    dims[loop.dim] = {i, nullptr};
    emitParallel(level + 1);
  });
}

void StageEmitter::emitInside() {
  if (stage.isScan) {
    emitScan();
    return;
  }
  Carried carried = reduce(0, identities());
  if (stage.isReduction)
    finish(carried);
}

/// Sums are cut into blocks, added up one after the other: as rounding errors grow with the number of additions in a
/// row.
constexpr int64_t kBlockOfSum = 128;

Carried StageEmitter::reduce(unsigned level, ArrayRef<Value *> carried) {
  if (level == stage.reduction.size())
    return emitPoint(carried, mask);
  const Loop &loop = stage.reduction[level];
  Value *zero = b.getInt64(0), *size = emitSize(f, loop.size);
  bool isInnermost = level + 1 == stage.reduction.size();
  bool isSum = any_of(reductions.all(), [](const kernel::Reduced &r) { return r.combiner.isSum(); });
  double inner = 1; // additions of one iteration
  for (const Loop &other : ArrayRef(stage.reduction).drop_front(level + 1))
    inner *= std::max(1.0, estimate(other.size));
  bool isApart = isSum && inner > kBlockOfSum / 4; // one iteration is a block
  auto run = [&](Value *begin, Value *end, ArrayRef<Value *> values) {
    if (isInnermost)
      return reduceInnermost(begin, end, values);
    return forEach(b, begin, end, 1, values, [&](Value *i, ArrayRef<Value *> values) {
      dims[loop.dim] = {i, nullptr};
      return isApart ? reductions.combine(b, values, reduce(level + 1, identities())) : reduce(level + 1, values);
    });
  };
  int64_t step = isInnermost && lanesReduce() ? stage.width : 1;
  int64_t block = kBlockOfSum * step / (isApart ? 1 : static_cast<int64_t>(inner));
  auto constant = getConstant(loop.size);
  if (!isSum || (constant && *constant <= 2 * block))
    return run(zero, size, carried);
  return forEach(b, zero, size, block, carried, [&](Value *begin, ArrayRef<Value *> values) {
    Value *end = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(begin, b.getInt64(block)), size);
    return reductions.combine(b, values, run(begin, end, identities()));
  });
}

Carried StageEmitter::reduceInnermost(Value *begin, Value *end, ArrayRef<Value *> carried) {
  const Loop &loop = stage.reduction.back();
  if (!lanesReduce())
    return forEach(b, begin, end, 1, carried, [&](Value *i, ArrayRef<Value *> values) {
      dims[loop.dim] = {i, nullptr};
      return emitPoint(values, mask);
    });
  auto constant = getConstant(loop.size);
  bool hasTail = !constant || *constant % stage.width;
  return emitVectorLoop(b, begin, end, stage.width, hasTail, carried,
                        [&](const VectorStep &step, ArrayRef<Value *> values) {
                          dims[loop.dim] = LaneBuilder(b, stage.width).consecutive(step.index);
                          return emitPoint(values, step.mask);
                        });
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

void StageEmitter::setResult(BodyEmitter &body, mlir::Value tensor, ArrayRef<Lanes> at, const Lanes &value) {
  body.registers[tensor] = value;
  if (f.pointers.contains(tensor))
    body.store(tensor, at, value);
}

/// All members at one point (of `width` lanes): maps store, reductions combine into the running values.
Carried StageEmitter::emitPoint(ArrayRef<Value *> carried, Value *pointMask) {
  BodyEmitter body = makeBody(lanesReduce() ? stage.width : width, pointMask);
  SmallVector<Running> running = reductions.unpack(carried), next;
  for (mlir::Operation *member : stage.members) {
    SmallVector<Lanes> values = body.emit(member->getRegion(0), indices(stage.domain.size()));
    if (isa<loop::MapOp>(member)) {
      for (auto [result, value] : zip_equal(member->getResults(), values)) {
        setResult(body, result, indices(stage.domain.size()), value);
        if (isPoint && stage.reduction.empty())
          registers[result] = value;
      }
      continue;
    }
    for (const Lanes &value : values) {
      const kernel::Reduced &r = reductions.all()[next.size()];
      Running sum = r.combiner.combine(b, running[next.size()], runningOf(r, body.lanes, value));
      if (lanesReduce() && pointMask)
        sum = Combiner::select(b, pointMask, sum, running[next.size()]);
      next.push_back(sum);
    }
  }
  return kernel::Reductions::pack(next);
}

void StageEmitter::finish(ArrayRef<Value *> carried) {
  SmallVector<Running> running = reductions.unpack(carried);
  mlir::Operation *member = nullptr;
  SmallVector<Lanes> combined;
  for (auto [i, r] : enumerate(reductions.all())) {
    if (member && member != r.member)
      finishMember(member, std::exchange(combined, {}));
    member = r.member;
    Running one = lanesReduce() ? r.combiner.acrossLanes(b, running[i]) : running[i];
    combined.push_back({r.finished(b, one), nullptr});
  }
  finishMember(member, combined);
}

void StageEmitter::finishMember(mlir::Operation *member, ArrayRef<Lanes> combined) {
  BodyEmitter body = makeBody(width, mask);
  SmallVector<Lanes> values(combined);
  if (mlir::Region *region = loop::getResultRegion(member)) {
    SmallVector<Lanes> arguments(indices(stage.resultRank));
    append_range(arguments, combined);
    values = body.emit(*region, arguments);
  }
  for (auto [result, value] : zip_equal(member->getResults(), values)) {
    setResult(body, result, indices(stage.resultRank), value);
    if (isPoint)
      registers[result] = value;
  }
}

/// One after the other; lanes, if any, are neighbouring rows.
void StageEmitter::emitScan() {
  auto scan = cast<loop::ScanOp>(stage.members.front());
  const kernel::Reduced &r = reductions.all().front();
  Type *element = valueType(b.getContext(), loop::getScalarType(scan.getResult()));
  mlir::AffineExpr size = stage.domain[scan.getDim()];
  forEach(b, b.getInt64(0), emitSize(f, size), 1, identities(), [&](Value *i, ArrayRef<Value *> carried) {
    dims[scan.getDim()] = {i, nullptr};
    BodyEmitter body = makeBody(width, mask);
    Lanes value = body.emit(scan.getBody(), indices(stage.domain.size())).front();
    Running sum = r.combiner.combineLater(b, reductions.unpack(carried).front(), runningOf(r, body.lanes, value));
    Value *stored = sum.place ? sum.place : sum.value;
    Type *type = stored->getType()->getWithNewType(element);
    if (type != stored->getType())
      stored = emitFloatCast(b, stored, type);
    setResult(body, scan.getResult(), indices(stage.domain.size()), {stored, nullptr});
    return kernel::Reductions::pack({sum});
  });
}

void emitStage(CpuFrame &frame, const Stage &stage, ArrayRef<Lanes> dims, unsigned width, Value *mask, bool streaming,
               DenseMap<mlir::Value, Lanes> &registers) {
  StageEmitter(frame, stage, dims, width, mask, streaming, registers).emit();
}

} // namespace ptc::cpu
