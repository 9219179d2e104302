#include "compiler/codegen/cpu/nest/TransposedNest.h"

#include "compiler/codegen/cpu/tile/CpuFrame.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

class TransposedEmitter {
public:
  TransposedEmitter(CpuFrame &frame, const NestPlan &plan, ArrayRef<Lanes> dims)
      : f(frame), b(frame.b), plan(plan), stage(plan.stages.front()), dims(dims), width(plan.width),
        store(plan.outer[plan.outer.size() - 2]), read(plan.outer.back()) {
    BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
    Ir atEntry(&entry, entry.begin());
    for (mlir::Operation *member : stage.members)
      for (mlir::Value result : member->getResults())
        if (f.pointers.contains(result)) {
          auto *values = FixedVectorType::get(valueType(b.getContext(), loop::getScalarType(result)), width);
          Type *row = values->getScalarSizeInBits() == 32 ? values : values->getWithNewType(b.getInt32Ty());
          stored.push_back({result, values, row, atEntry.CreateAlloca(ArrayType::get(row, width))});
        }
  }

  void emit(Value *begin, Value *end);

private:
  void computeRow(Value *i, Value *mask);
  void storeColumns(Value *first, Value *mask, const VectorStep &step);

  /// A result, and where a tile of it lies before it is transposed: row by row, vectors along the loop of reads.
  /// Halves are the low bits of whole lanes, whose shuffles every vector unit has.
  struct Stored {
    mlir::Value result;
    FixedVectorType *values;
    Type *row;
    Value *tile;

    Value *widen(Ir &b, Value *value) const {
      return row == values ? value : b.CreateZExt(b.CreateBitCast(value, values->getWithNewType(b.getInt16Ty())), row);
    }
    Value *narrow(Ir &b, Value *lanes) const {
      return row == values ? lanes
                           : b.CreateBitCast(b.CreateTrunc(lanes, values->getWithNewType(b.getInt16Ty())), values);
    }
  };

  CpuFrame &f;
  Ir &b;
  const NestPlan &plan;
  const Stage &stage;
  SmallVector<Lanes> dims;
  unsigned width;
  const Loop &store, &read;
  SmallVector<Stored, 2> stored;
};

} // namespace

void TransposedEmitter::emit(Value *begin, Value *end) {
  auto hasTail = [&](const Loop &loop) { return getConstant(loop.size).value_or(1) % width != 0; };
  Value *reads = emitSize(f, read.size), *most = b.getInt64(width);
  forEach(b, begin, end, width, [&](Value *first) {
    Value *left = b.CreateSub(end, first), *mask = nullptr, *rows = most;
    if (hasTail(store)) {
      mask = emitLanesBelow(b, width, left);
      rows = b.CreateBinaryIntrinsic(Intrinsic::smin, left, most);
    }
    emitVectorLoop(b, b.getInt64(0), reads, width, hasTail(read), {},
                   [&](const VectorStep &step, ArrayRef<Value *>) -> Carried {
                     forEach(b, b.getInt64(0), rows, 1, [&](Value *i) {
                       dims[store.dim] = {b.CreateAdd(first, i), nullptr};
                       dims[read.dim] = LaneBuilder(b, width).consecutive(step.index);
                       computeRow(i, step.mask);
                     });
                     storeColumns(first, mask, step);
                     return {};
                   });
  });
}

void TransposedEmitter::computeRow(Value *i, Value *mask) {
  BodyEmitter body(f, width, mask);
  for (mlir::Operation *member : stage.members) {
    SmallVector<Lanes> values = body.emit(member->getRegion(0), ArrayRef(dims).take_front(stage.domain.size()));
    for (auto [result, value] : zip_equal(member->getResults(), values))
      body.registers[result] = value;
  }
  for (const Stored &to : stored)
    b.CreateStore(to.widen(b, body.lanes.vector(body.registers[to.result])), emitAddress(b, to.row, to.tile, i));
}

/// `mask`: of the lanes along the loop of stores.
void TransposedEmitter::storeColumns(Value *first, Value *mask, const VectorStep &step) {
  BodyEmitter body(f, width, mask);
  Value *reads = emitSize(f, read.size);
  for (const Stored &from : stored) {
    SmallVector<Value *> tile;
    for (unsigned i = 0; i < width; ++i)
      tile.push_back(b.CreateLoad(from.row, emitAddress(b, from.row, from.tile, b.getInt64(i))));
    emitTranspose(b, tile);
    dims[store.dim] = LaneBuilder(b, width).consecutive(first);
    for (unsigned i = 0; i < width; ++i) {
      Value *index = b.CreateAdd(step.index, b.getInt64(i));
      auto storeColumn = [&] {
        dims[read.dim] = {index, nullptr};
        body.store(from.result, ArrayRef(dims).take_front(stage.domain.size()), {from.narrow(b, tile[i]), nullptr});
      };
      if (step.mask)
        emitIf(b, b.CreateICmpSLT(index, reads), storeColumn);
      else
        storeColumn();
    }
  }
}

void emitTransposed(CpuFrame &frame, const NestPlan &plan, ArrayRef<Lanes> dims, Value *begin, Value *end) {
  TransposedEmitter(frame, plan, dims).emit(begin, end);
}

} // namespace ptc::cpu
