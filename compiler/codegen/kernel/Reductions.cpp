#include "compiler/codegen/kernel/Reductions.h"

#include "compiler/codegen/kernel/BodyOps.h"

using namespace llvm;

namespace ptc::kernel {

static Type *widened(Type *type) {
  return type->isHalfTy() || type->isBFloatTy() ? Type::getFloatTy(type->getContext()) : type;
}

Reductions::Reductions(Ir &b, const Stage &stage) {
  for (mlir::Operation *member : stage.members) {
    SmallVector<StringRef> kinds;
    if (auto reduce = dyn_cast<loop::ReduceOp>(member))
      kinds = to_vector(reduce.getKinds().getAsValueRange<mlir::StringAttr>());
    else if (auto scan = dyn_cast<loop::ScanOp>(member))
      kinds = {scan.getKind()};
    mlir::AffineExpr place = getAffineConstantExpr(0, member->getContext());
    if (stage.isScan) {
      place = getAffineDimExpr(scanDim(stage), member->getContext());
    } else {
      mlir::AffineExpr stride = getAffineConstantExpr(1, member->getContext());
      for (unsigned i = stage.domain.size(); i-- > stage.resultRank; stride = stride * stage.domain[i])
        place = place + getAffineDimExpr(i, member->getContext()) * stride;
    }
    for (auto [i, kind] : enumerate(kinds)) {
      mlir::Value yielded = member->getRegion(0).front().getTerminator()->getOperand(i);
      Type *type = valueType(b.getContext(), yielded.getType());
      reduced.push_back({member, Combiner(kind, widened(type)), type, place});
    }
  }
}

Running Reduced::runningOf(const LaneBuilder &lanes, const Lanes &value, ArrayRef<Lanes> dims,
                           ArrayRef<Value *> symbols) const {
  Value *vector = lanes.vector(value);
  if (type != widened(type))
    vector = emitFloatCast(lanes.b, vector, vector->getType()->getWithNewType(widened(type)));
  if (!combiner.hasPlace())
    return {vector};
  return {vector, lanes.vector(lanes.affine(place, dims, symbols))};
}

Value *Reduced::finished(Ir &b, const Running &running) const {
  if (running.place)
    return running.place;
  Type *wanted = running.value->getType()->getWithNewType(type);
  return wanted == running.value->getType() ? running.value : emitFloatCast(b, running.value, wanted);
}

Carried Reductions::pack(ArrayRef<Running> running) {
  Carried values;
  for (Running one : running) {
    values.push_back(one.value);
    if (one.place)
      values.push_back(one.place);
  }
  return values;
}

SmallVector<Running> Reductions::unpack(ArrayRef<Value *> carried) const {
  SmallVector<Running> running;
  for (const Reduced &r : reduced) {
    Running one{carried.front()};
    carried = carried.drop_front();
    if (r.combiner.hasPlace()) {
      one.place = carried.front();
      carried = carried.drop_front();
    }
    running.push_back(one);
  }
  return running;
}

Carried Reductions::identities(Ir &b, unsigned width) const {
  SmallVector<Running> running;
  for (const Reduced &r : reduced)
    running.push_back(r.combiner.identity(b, width));
  return pack(running);
}

Carried Reductions::combine(Ir &b, ArrayRef<Value *> x, ArrayRef<Value *> y) const {
  SmallVector<Running> sums, xs = unpack(x), ys = unpack(y);
  for (auto [i, r] : enumerate(reduced))
    sums.push_back(r.combiner.combine(b, xs[i], ys[i]));
  return pack(sums);
}

} // namespace ptc::kernel
