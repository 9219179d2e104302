#include "compiler/codegen/cuda/Attention.h"

#include "compiler/codegen/cuda/BlockReduce.h"
#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/VectorMath.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::Carried;
using kernel::Combiner;
using kernel::emitSize;
using kernel::forEach;
using kernel::Running;

/// (b..., h, i): all of the domain but the features.
static Shape getRows(loop::AttentionOp op) {
  Shape domain = getShape(op->getResult(0));
  domain.pop_back();
  return domain;
}

static mlir::Type getScoreType(loop::AttentionOp op) {
  return op.getEpilogue().front().getArguments().back().getType();
}

mlir::AffineExpr countAttentionBlocks(loop::AttentionOp op) { return product(getRows(op), op.getContext()); }

mlir::AffineExpr getAttentionWorkspace(loop::AttentionOp op) {
  return countAttentionBlocks(op) * getSizeFromAttr(op.getKeySize()) *
         int64_t(getScoreType(op).getIntOrFloatBitWidth() / 8);
}

namespace {
class AttentionEmitter {
public:
  AttentionEmitter(GpuFrame &frame, loop::AttentionOp op)
      : f(frame), b(frame.b), op(op), type(kernel::valueType(b.getContext(), getScoreType(op))) {}
  void emit();

private:
  Value *emitScore(Value *key);
  Value *addMask(Value *score, Value *key);
  Value *exponential(Value *x);
  Value *weightAt(Value *key) { return kernel::emitAddress(b, type, weights, key); }
  Running reduce(StringRef kind, function_ref<Value *(Value *)> valueOf);
  /// (b..., h div group, key, feature)
  SmallVector<Value *> placeOf(Value *key, Value *feature);

  GpuFrame &f;
  Ir &b;
  loop::AttentionOp op;
  Type *type; ///< of scores and sums
  SmallVector<Value *> row;
  Value *thread, *keys, *weights;
};
} // namespace

SmallVector<Value *> AttentionEmitter::placeOf(Value *key, Value *feature) {
  SmallVector<Value *> place(ArrayRef(row).drop_back());
  if (op.getGroup() > 1)
    place.back() = b.CreateUDiv(place.back(), b.getInt64(op.getGroup()));
  place.append({key, feature});
  return place;
}

Value *AttentionEmitter::addMask(Value *score, Value *key) {
  Value *none = ConstantFP::getInfinity(type, /*Negative=*/true);
  if (op.getCausal())
    score = b.CreateSelect(b.CreateICmpSLE(key, row.back()), score, none);
  if (!op.getMask())
    return score;
  SmallVector<Value *> place(row);
  place.push_back(key);
  Value *mask = readAt(f, op.getMask(), *op.getMaskMap(), place);
  if (mask->getType()->isIntegerTy(1))
    return b.CreateSelect(mask, score, none);
  return b.CreateFAdd(score, widen(b, mask, type));
}

Value *AttentionEmitter::emitScore(Value *key) {
  Value *features = emitSize(f, getSizeFromAttr(op.getHeadSize()));
  Value *dot = forEach(b, b.getInt64(0), features, 1, {Constant::getNullValue(type)},
                       [&](Value *feature, ArrayRef<Value *> sum) -> Carried {
                         SmallVector<Value *> query(row);
                         query.push_back(feature);
                         Value *q = widen(b, readAt(f, op.getQ(), op.getQMap(), query), type);
                         Value *k = widen(b, readAt(f, op.getK(), op.getKMap(), placeOf(key, feature)), type);
                         return {multiplyAdd(b, q, k, sum.front())};
                       })
                   .front();
  Value *scale = ConstantFP::get(type, op.getScale().convertToDouble());
  return addMask(b.CreateFMul(dot, scale), key);
}

Value *AttentionEmitter::exponential(Value *x) {
  return type->isFloatTy() ? kernel::emitFlushedExp(b, x) : kernel::emitElementary(b, "math.exp", {x});
}

/// Over the keys, which the block's threads take in turns.
Running AttentionEmitter::reduce(StringRef kind, function_ref<Value *(Value *)> valueOf) {
  Combiner combiner(kind, type);
  Value *mine = forEach(b, thread, keys, kAttentionThreads, {combiner.identity(b, 1).value},
                        [&](Value *key, ArrayRef<Value *> sum) -> Carried {
                          return {combiner.combine(b, {sum.front()}, {valueOf(key)}).value};
                        })
                    .front();
  return reduceBlock(f, combiner, Running{mine}).front();
}

void AttentionEmitter::emit() {
  row = kernel::delinearize(f, f.gpu.blockIndex(b), getRows(op));
  thread = f.gpu.threadIndex(b);
  keys = emitSize(f, getSizeFromAttr(op.getKeySize()));
  weights = kernel::emitAddress(b, type, f.workspace, b.CreateMul(f.gpu.blockIndex(b), keys));
  Value *most = reduce("max", [&](Value *key) {
                  Value *score = emitScore(key);
                  b.CreateStore(score, weightAt(key));
                  return score;
                }).value;
  if (!op.getEmptyIsNan()) { // where all scores are -inf, their weights are exp(-inf - 0)
    Value *isNone = b.CreateFCmpOEQ(most, ConstantFP::getInfinity(type, /*Negative=*/true));
    most = b.CreateSelect(isNone, Constant::getNullValue(type), most);
  }
  Value *sum = reduce("sum", [&](Value *key) {
                 Value *weight = exponential(b.CreateFSub(b.CreateLoad(type, weightAt(key)), most));
                 b.CreateStore(weight, weightAt(key));
                 return weight;
               }).value;
  Value *isEmpty =
      op.getEmptyIsNan() ? b.CreateICmpEQ(keys, b.getInt64(0)) : b.CreateFCmpOEQ(sum, Constant::getNullValue(type));
  Value *divisor = b.CreateSelect(isEmpty, ConstantFP::get(type, 1), sum);
  f.gpu.barrier(b); // all weights can be read
  Value *features = emitSize(f, getShape(op->getResult(0)).back());
  forEach(b, thread, features, kAttentionThreads, [&](Value *feature) {
    Value *total = forEach(b, b.getInt64(0), keys, 1, {Constant::getNullValue(type)},
                           [&](Value *key, ArrayRef<Value *> carried) -> Carried {
                             Value *v = widen(b, readAt(f, op.getV(), op.getVMap(), placeOf(key, feature)), type);
                             return {multiplyAdd(b, b.CreateLoad(type, weightAt(key)), v, carried.front())};
                           })
                       .front();
    SmallVector<Value *> result(row);
    result.push_back(feature);
    emitEpilogue(f, op, result, b.CreateFDiv(total, divisor));
  });
}

void emitAttention(GpuFrame &frame, loop::AttentionOp op) { AttentionEmitter(frame, op).emit(); }

} // namespace ptc::cuda
