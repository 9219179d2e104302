#include "compiler/codegen/cuda/ThreadScores.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/VectorMath.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Carried;

SmallVector<Value *> ThreadScores::placeOf(ArrayRef<Value *> row, Value *key, Value *feature) {
  SmallVector<Value *> place(row.drop_back());
  if (group > 1)
    place.back() = f.b.CreateUDiv(place.back(), f.b.getInt64(group));
  place.append({key, feature});
  return place;
}

Value *ThreadScores::dot(mlir::Value ofQuery, mlir::AffineMap queryMap, ArrayRef<Value *> row, mlir::Value ofKey,
                         mlir::AffineMap keyMap, Value *key, mlir::AffineExpr size) {
  Ir &b = f.b;
  auto add = [&](Value *feature, ArrayRef<Value *> sum) -> Carried {
    SmallVector<Value *> place(row);
    place.push_back(feature);
    Value *x = widen(b, readAt(f, ofQuery, queryMap, place), type);
    Value *y = widen(b, readAt(f, ofKey, keyMap, placeOf(row, key, feature)), type);
    return {multiplyAdd(b, x, y, sum.front())};
  };
  Value *zero = Constant::getNullValue(type);
  return kernel::forEach(b, b.getInt64(0), kernel::emitSize(f, size), 1, {zero}, add).front();
}

Value *ThreadScores::addMask(Value *score, ArrayRef<Value *> row, Value *key) {
  Ir &b = f.b;
  Value *none = ConstantFP::getInfinity(type, /*Negative=*/true);
  if (isCausal)
    score = b.CreateSelect(b.CreateICmpSLE(key, row.back()), score, none);
  if (!mask)
    return score;
  SmallVector<Value *> place(row);
  place.push_back(key);
  Value *read = readAt(f, mask, *maskMap, place);
  if (read->getType()->isIntegerTy(1))
    return b.CreateSelect(read, score, none);
  return b.CreateFAdd(score, widen(b, read, type));
}

Value *ThreadScores::at(ArrayRef<Value *> row, Value *key) {
  Value *product = dot(q, qMap, row, k, kMap, key, features);
  return addMask(f.b.CreateFMul(product, ConstantFP::get(type, scale)), row, key);
}

Value *ThreadScores::exponential(Value *x) {
  return type->isFloatTy() ? kernel::emitFlushedExp(f.b, x) : kernel::emitElementary(f.b, "math.exp", {x});
}

} // namespace ptc::cuda
