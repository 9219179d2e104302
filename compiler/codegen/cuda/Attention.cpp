#include "compiler/codegen/cuda/Attention.h"

#include "compiler/codegen/cuda/BlockReduce.h"
#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/cuda/ThreadScores.h"
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
  Shape domain = loop::getHeadsFirst(op);
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
      : f(frame), b(frame.b), op(op), type(kernel::valueType(b.getContext(), getScoreType(op))),
        scores(frame, op, type, getSizeFromAttr(op.getHeadSize())) {}
  void emit();

private:
  void storeLogSumExp(Value *most, Value *sum);
  Value *weightAt(Value *key) { return kernel::emitAddress(b, type, weights, key); }
  Running reduce(StringRef kind, function_ref<Value *(Value *)> valueOf);

  GpuFrame &f;
  Ir &b;
  loop::AttentionOp op;
  Type *type; ///< of scores and sums
  ThreadScores scores;
  SmallVector<Value *> row;
  Value *thread, *keys, *weights;
};
} // namespace

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

/// Of rows with nothing seen +inf, so that their weights are found to be 0.
void AttentionEmitter::storeLogSumExp(Value *most, Value *sum) {
  mlir::Value rows = op.getResults().back();
  if (!op.getWithLogsumexp() || !f.pointers.contains(rows))
    return;
  kernel::emitIf(b, b.CreateICmpEQ(thread, b.getInt64(0)), [&] {
    Value *found = b.CreateFAdd(most, kernel::emitElementary(b, "math.log", {sum}));
    Value *isNone = b.CreateFCmpOEQ(most, ConstantFP::getInfinity(type, /*Negative=*/true));
    Value *isEmpty = b.CreateOr(isNone, b.CreateFCmpOEQ(sum, Constant::getNullValue(type)));
    found = b.CreateSelect(isEmpty, ConstantFP::getInfinity(type), found);
    b.CreateStore(found, kernel::emitAddress(b, type, f.pointers.lookup(rows), f.gpu.blockIndex(b)));
  });
}

void AttentionEmitter::emit() {
  row = kernel::delinearize(f, f.gpu.blockIndex(b), getRows(op));
  thread = f.gpu.threadIndex(b);
  keys = emitSize(f, getSizeFromAttr(op.getKeySize()));
  weights = kernel::emitAddress(b, type, f.workspace, b.CreateMul(f.gpu.blockIndex(b), keys));
  Value *most = reduce("max", [&](Value *key) {
                  Value *score = scores.at(row, key);
                  b.CreateStore(score, weightAt(key));
                  return score;
                }).value;
  if (!op.getEmptyIsNan()) { // where all scores are -inf, their weights are exp(-inf - 0)
    Value *isNone = b.CreateFCmpOEQ(most, ConstantFP::getInfinity(type, /*Negative=*/true));
    most = b.CreateSelect(isNone, Constant::getNullValue(type), most);
  }
  Value *sum = reduce("sum", [&](Value *key) {
                 Value *weight = scores.exponential(b.CreateFSub(b.CreateLoad(type, weightAt(key)), most));
                 b.CreateStore(weight, weightAt(key));
                 return weight;
               }).value;
  storeLogSumExp(most, sum);
  Value *isEmpty =
      op.getEmptyIsNan() ? b.CreateICmpEQ(keys, b.getInt64(0)) : b.CreateFCmpOEQ(sum, Constant::getNullValue(type));
  Value *divisor = b.CreateSelect(isEmpty, ConstantFP::get(type, 1), sum);
  f.gpu.barrier(b); // all weights can be read
  Value *features = emitSize(f, getShape(op->getResult(0)).back());
  forEach(b, thread, features, kAttentionThreads, [&](Value *feature) {
    Value *total = forEach(b, b.getInt64(0), keys, 1, {Constant::getNullValue(type)},
                           [&](Value *key, ArrayRef<Value *> carried) -> Carried {
                             Value *v =
                                 widen(b, readAt(f, op.getV(), op.getVMap(), scores.placeOf(row, key, feature)), type);
                             return {multiplyAdd(b, b.CreateLoad(type, weightAt(key)), v, carried.front())};
                           })
                       .front();
    SmallVector<Value *> result(row);
    if (op.getQueriesFirst())
      std::swap(result[result.size() - 2], result.back());
    result.push_back(feature);
    emitEpilogue(f, op, result, b.CreateFDiv(total, divisor));
  });
}

void emitAttention(GpuFrame &frame, loop::AttentionOp op) { AttentionEmitter(frame, op).emit(); }

} // namespace ptc::cuda
