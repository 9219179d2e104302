//===- Scatter.cpp - values combined into computed places -----------------===//
//
// In row-major order of the updates, as the operation is defined: where two
// updates meet, the later one counts.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Accumulator.h"
#include "compiler/codegen/cpu/BodyEmitter.h"
#include "compiler/codegen/cpu/BodyOps.h"
#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Loops.h"
#include "compiler/codegen/cpu/MicroTile.h"
#include "compiler/codegen/cpu/TileEpilogue.h"

using namespace llvm;

namespace ptc::cpu {

static void copyInit(KernelFrame &frame, loop::ScatterOp op) {
  auto type = cast<mlir::RankedTensorType>(op.getInit().getType());
  int64_t bytes = divideCeil(type.getElementTypeBitWidth(), 8);
  Value *size = emitSize(frame, product(getShape(type), op.getContext()) * bytes);
  frame.b.CreateMemCpy(frame.pointers[op.getResult()], Align(1), frame.pointers[op.getInit()], Align(1), size);
}

static void emitUpdate(KernelFrame &frame, loop::ScatterOp op, ArrayRef<Lanes> indices) {
  Ir &b = frame.b;
  BodyEmitter body(frame, 1);
  SmallVector<Lanes> yielded = body.emit(op.getBody(), indices);
  Lanes value = yielded.front();
  ArrayRef<Lanes> place = ArrayRef(yielded).drop_front();
  if (op.getCombine() != "set") {
    Type *type = value.value->getType();
    bool isHalf = type->isHalfTy() || type->isBFloatTy();
    Type *wide = isHalf ? b.getFloatTy() : type;
    Running old{emitFloatCast(b, body.load(op.getResult(), place).value, wide), nullptr};
    Running added{emitFloatCast(b, value.value, wide), nullptr};
    value.value = emitFloatCast(b, Combiner(op.getCombine(), wide).combine(b, old, added).value, type);
  }
  body.store(op.getResult(), place, value);
}

static void emitUpdates(KernelFrame &frame, loop::ScatterOp op, ShapeRef sizes, SmallVector<Lanes> &indices) {
  if (indices.size() == sizes.size()) {
    emitUpdate(frame, op, indices);
    return;
  }
  forEach(frame.b, frame.b.getInt64(0), emitSize(frame, sizes[indices.size()]), 1, [&](Value *i) {
    indices.push_back({i, nullptr});
    emitUpdates(frame, op, sizes, indices);
    indices.pop_back();
  });
}

KernelPlan planScatter(loop::KernelOp kernel) {
  auto op = cast<loop::ScatterOp>(kernel.getBody().front().front());
  bool isInPlace = !kernel.getInPlace().empty() && kernel.getInPlace().front() >= 0;
  mlir::MLIRContext *context = kernel.getContext();
  return {getAffineConstantExpr(1, context), getAffineConstantExpr(0, context), [=](KernelFrame &frame) {
            loop::ScatterOp scatter = op;
            frame.alias[scatter.getInit()] = frame.alias[scatter.getResult()];
            emitIf(frame.b, frame.b.CreateICmpSLT(frame.begin, frame.end), [&] {
              if (!isInPlace)
                copyInit(frame, scatter);
              SmallVector<Lanes> indices;
              emitUpdates(frame, scatter, loop::getDomain(scatter), indices);
            });
          }};
}

} // namespace ptc::cpu
