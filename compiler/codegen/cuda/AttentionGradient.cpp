#include "compiler/codegen/cuda/AttentionGradient.h"

#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/cuda/ThreadScores.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Carried;
using kernel::emitSize;
using kernel::forEach;

constexpr unsigned kThreads = 128;

/// All of a result's sizes but the features.
static Shape getRows(mlir::Value result) {
  Shape rows = getShape(result);
  rows.pop_back();
  return rows;
}

/// How many features of a row each thread adds up: every kThreads-th.
static unsigned countSums(mlir::Value result) { return divideCeil(*getConstant(getShape(result).back()), kThreads); }

namespace {
class GradientEmitter {
public:
  GradientEmitter(GpuFrame &frame, loop::AttentionGradientOp op)
      : f(frame), b(frame.b), op(op), type(kernel::valueType(b.getContext(), elementOf(op.getDq()))),
        scores(frame, op, type, getShape(op.getDq()).back()), thread(f.gpu.threadIndex(b)),
        weightsOfBlock(f.gpu.shared(b, type, kThreads)), scoresOfBlock(f.gpu.shared(b, type, kThreads)) {}

  void emitQuery();
  void emitKey();

private:
  /// Of a query and a key: the weight, and scale * weight * (derivative by the weight - delta).
  struct Pair {
    Value *weight, *score;
  };
  Pair emitPair(ArrayRef<Value *> row, Value *key);
  Carried forPairs(Value *first, Value *end, Carried sums, function_ref<Pair(Value *)> pairAt,
                   function_ref<Carried(Value *, Pair, ArrayRef<Value *>)> add);

  Value *ofRow(mlir::Value tensor, ArrayRef<Value *> row);
  Value *featureAt(unsigned i) { return b.CreateAdd(thread, b.getInt64(i * kThreads)); }
  /// sums += factor * a row of a tensor; `result` has as many features.
  void addRow(MutableArrayRef<Value *> sums, mlir::Value result, Value *factor, mlir::Value tensor, mlir::AffineMap map,
              function_ref<SmallVector<Value *>(Value *)> placeOf);
  /// The sums become the block's row of a result.
  void store(mlir::Value result, ArrayRef<Value *> sums);
  Carried zeros(unsigned count) { return Carried(count, Constant::getNullValue(type)); }

  GpuFrame &f;
  Ir &b;
  loop::AttentionGradientOp op;
  Type *type; ///< of scores and sums
  ThreadScores scores;
  Value *thread, *weightsOfBlock, *scoresOfBlock;
};
} // namespace

/// An element of a tensor of all rows of queries.
Value *GradientEmitter::ofRow(mlir::Value tensor, ArrayRef<Value *> row) {
  unsigned rank = getShape(tensor).size();
  return readAt(f, tensor, mlir::AffineMap::getMultiDimIdentityMap(rank, op.getContext()), row);
}

/// What is excluded gives nothing, also where a row without weights has a delta that is not a number.
GradientEmitter::Pair GradientEmitter::emitPair(ArrayRef<Value *> row, Value *key) {
  Value *zero = Constant::getNullValue(type);
  Value *weight = scores.exponential(b.CreateFSub(scores.at(row, key), ofRow(op.getLogsumexp(), row)));
  Value *derivative =
      scores.dot(op.getGrad(), op.getGradMap(), row, op.getV(), op.getVMap(), key, getShape(op.getDv()).back());
  Value *scaled = b.CreateFMul(weight, ConstantFP::get(type, op.getScale().convertToDouble()));
  Value *score = b.CreateFMul(scaled, b.CreateFSub(derivative, ofRow(op.getDelta(), row)));
  return {weight, b.CreateSelect(b.CreateFCmpOEQ(weight, zero), zero, score)};
}

/// Of the pairs [first, end) each thread computes one at a time; then all threads add all of these to their sums.
Carried GradientEmitter::forPairs(Value *first, Value *end, Carried sums, function_ref<Pair(Value *)> pairAt,
                                  function_ref<Carried(Value *, Pair, ArrayRef<Value *>)> add) {
  auto inBlock = [&](Value *shared, Value *i) { return kernel::emitAddress(b, type, shared, i); };
  return forEach(b, first, end, kThreads, sums, [&](Value *begin, ArrayRef<Value *> carried) -> Carried {
    Value *last = b.CreateSub(end, b.getInt64(1));
    Pair mine = pairAt(b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateAdd(begin, thread), last));
    b.CreateStore(mine.weight, inBlock(weightsOfBlock, thread));
    b.CreateStore(mine.score, inBlock(scoresOfBlock, thread));
    f.gpu.barrier(b);
    Value *count = b.CreateBinaryIntrinsic(Intrinsic::smin, b.CreateSub(end, begin), b.getInt64(kThreads));
    Carried added = forEach(b, b.getInt64(0), count, 1, carried, [&](Value *i, ArrayRef<Value *> sums) {
      Pair pair{b.CreateLoad(type, inBlock(weightsOfBlock, i)), b.CreateLoad(type, inBlock(scoresOfBlock, i))};
      return add(b.CreateAdd(begin, i), pair, sums);
    });
    f.gpu.barrier(b);
    return added;
  });
}

void GradientEmitter::addRow(MutableArrayRef<Value *> sums, mlir::Value result, Value *factor, mlir::Value tensor,
                             mlir::AffineMap map, function_ref<SmallVector<Value *>(Value *)> placeOf) {
  Value *last = b.getInt64(*getConstant(getShape(result).back()) - 1);
  for (auto [i, sum] : enumerate(sums)) {
    Value *feature = b.CreateBinaryIntrinsic(Intrinsic::smin, featureAt(i), last);
    sum = multiplyAdd(b, factor, widen(b, readAt(f, tensor, map, placeOf(feature)), type), sum);
  }
}

void GradientEmitter::store(mlir::Value result, ArrayRef<Value *> sums) {
  if (!f.pointers.contains(result))
    return;
  Type *element = kernel::valueType(b.getContext(), elementOf(result));
  Value *features = b.getInt64(*getConstant(getShape(result).back()));
  Value *row = b.CreateMul(f.gpu.blockIndex(b), features);
  for (auto [i, sum] : enumerate(sums)) {
    Value *feature = featureAt(i);
    kernel::emitIf(b, b.CreateICmpSLT(feature, features), [&] {
      Value *to = kernel::emitAddress(b, element, f.pointers.lookup(result), b.CreateAdd(row, feature));
      b.CreateStore(kernel::emitFloatCast(b, sum, element), to);
    });
  }
}

/// dq of a query, by the keys of one part.
void GradientEmitter::emitQuery() {
  SmallVector<Value *> row = kernel::delinearize(f, f.gpu.blockIndex(b), getRows(op.getDq()));
  mlir::AffineExpr keys = getRows(op.getDk()).back(), parts = getShape(op.getDq()).front();
  Value *part = row.front(), *keysOfPart = emitSize(f, keys.ceilDiv(parts));
  row.erase(row.begin());
  Value *first = b.CreateMul(part, keysOfPart), *end = b.CreateAdd(first, keysOfPart);
  end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, emitSize(f, keys));
  if (op.getCausal())
    end = b.CreateBinaryIntrinsic(Intrinsic::smin, end, b.CreateAdd(row.back(), b.getInt64(1)));
  auto pairAt = [&](Value *key) { return emitPair(row, key); };
  Carried sums =
      forPairs(first, end, zeros(countSums(op.getDq())), pairAt, [&](Value *key, Pair pair, ArrayRef<Value *> carried) {
        Carried sums(carried);
        addRow(sums, op.getDq(), pair.score, op.getK(), op.getKMap(),
               [&](Value *feature) { return scores.placeOf(row, key, feature); });
        return sums;
      });
  store(op.getDq(), sums);
}

/// dk and dv of a key, by the queries of all heads that its head serves.
void GradientEmitter::emitKey() {
  SmallVector<Value *> row = kernel::delinearize(f, f.gpu.blockIndex(b), getRows(op.getDk()));
  Value *key = row.pop_back_val(), *keyHead = row.pop_back_val();
  Value *first = op.getCausal() ? key : b.getInt64(0), *queries = emitSize(f, getRows(op.getDq()).back());
  unsigned ofKey = countSums(op.getDk());
  Carried sums = zeros(ofKey + countSums(op.getDv()));
  for (int64_t member = 0; member < int64_t(op.getGroup()); ++member) {
    Value *head = b.CreateAdd(b.CreateMul(keyHead, b.getInt64(op.getGroup())), b.getInt64(member));
    auto rowAt = [&](Value *query) {
      SmallVector<Value *> place(row);
      place.append({head, query});
      return place;
    };
    auto pairAt = [&](Value *query) { return emitPair(rowAt(query), key); };
    sums = forPairs(first, queries, sums, pairAt, [&](Value *query, Pair pair, ArrayRef<Value *> carried) {
      Carried sums(carried);
      auto placeOf = [&](Value *feature) {
        SmallVector<Value *> place = rowAt(query);
        place.push_back(feature);
        return place;
      };
      MutableArrayRef<Value *> dk(sums), dv = dk.drop_front(ofKey);
      addRow(dk.take_front(ofKey), op.getDk(), pair.score, op.getQ(), op.getQMap(), placeOf);
      addRow(dv, op.getDv(), pair.weight, op.getGrad(), op.getGradMap(), placeOf);
      return sums;
    });
  }
  store(op.getDk(), ArrayRef(sums).take_front(ofKey));
  store(op.getDv(), ArrayRef(sums).drop_front(ofKey));
}

Expected<KernelPlan> planAttentionGradient(loop::AttentionGradientOp op) {
  for (mlir::Value result : op->getResults())
    if (auto features = getConstant(getShape(result).back()); !features || *features < 1)
      return createStringError("a derivative of attention over a dynamic number of features, or over none");
  KernelPlan plan;
  mlir::MLIRContext *context = op.getContext();
  plan.algorithm = {"derivative of attention, a block a query and a block a key", "weights are computed again"};
  plan.grids.push_back({product(getRows(op.getDq()), context), kThreads,
                        [op](GpuFrame &frame) { GradientEmitter(frame, op).emitQuery(); }});
  plan.grids.push_back({product(getRows(op.getDk()), context), kThreads,
                        [op](GpuFrame &frame) { GradientEmitter(frame, op).emitKey(); }});
  return plan;
}

} // namespace ptc::cuda
