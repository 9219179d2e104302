#include "compiler/codegen/cuda/BlockReduce.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Combiner;
using kernel::Running;

/// Any scalar, 32 bits at a time.
static Value *shuffle(GpuFrame &frame, Value *value, unsigned mask) {
  if (!value)
    return nullptr;
  Ir &b = frame.b;
  Type *type = value->getType();
  unsigned bits = type->getPrimitiveSizeInBits();
  Value *integer = b.CreateBitCast(value, b.getIntNTy(bits));
  if (bits <= 32) {
    Value *moved = frame.gpu.shuffle(b, b.CreateZExt(integer, b.getInt32Ty()), mask);
    return b.CreateBitCast(b.CreateTrunc(moved, integer->getType()), type);
  }
  Value *low = frame.gpu.shuffle(b, b.CreateTrunc(integer, b.getInt32Ty()), mask);
  Value *high = frame.gpu.shuffle(b, b.CreateTrunc(b.CreateLShr(integer, 32), b.getInt32Ty()), mask);
  Value *joined =
      b.CreateOr(b.CreateShl(b.CreateZExt(high, integer->getType()), 32), b.CreateZExt(low, integer->getType()));
  return b.CreateBitCast(joined, type);
}

namespace {
/// An element of shared memory for each warp. Memory holds no single bits.
class WarpResults {
public:
  WarpResults(GpuFrame &frame, Type *type)
      : b(frame.b), type(type), memory(type->isIntegerTy(1) ? b.getInt8Ty() : type),
        base(frame.gpu.shared(b, memory, frame.threads / kWarp)) {}

  void store(Value *warp, Value *value) {
    b.CreateStore(memory == type ? value : b.CreateZExt(value, memory), kernel::emitAddress(b, memory, base, warp));
  }
  Value *load(unsigned warp) {
    Value *value = b.CreateLoad(memory, kernel::emitAddress(b, memory, base, b.getInt64(warp)));
    return memory == type ? value : b.CreateTrunc(value, type);
  }

private:
  Ir &b;
  Type *type, *memory;
  Value *base;
};
} // namespace

static Running reduceInWarp(GpuFrame &frame, const Combiner &combiner, Running running) {
  for (unsigned mask = kWarp / 2; mask > 0; mask /= 2)
    running =
        combiner.combine(frame.b, running, {shuffle(frame, running.value, mask), shuffle(frame, running.place, mask)});
  return running;
}

/// In a warp by shuffles, then over the warps in order; every thread does the second alone, which takes one barrier.
static Running reduceInBlock(GpuFrame &frame, const Combiner &combiner, Running running) {
  Ir &b = frame.b;
  running = reduceInWarp(frame, combiner, running);
  WarpResults values(frame, running.value->getType());
  std::optional<WarpResults> places;
  if (running.place)
    places.emplace(frame, running.place->getType());
  Value *thread = frame.gpu.threadIndex(b), *warp = b.CreateUDiv(thread, b.getInt64(kWarp));
  kernel::emitIf(b, b.CreateICmpEQ(b.CreateURem(thread, b.getInt64(kWarp)), b.getInt64(0)), [&] {
    values.store(warp, running.value);
    if (places)
      places->store(warp, running.place);
  });
  frame.gpu.barrier(b);
  auto load = [&](unsigned i) { return Running{values.load(i), places ? places->load(i) : nullptr}; };
  Running result = load(0);
  for (unsigned i = 1; i < frame.threads / kWarp; ++i)
    result = combiner.combine(b, result, load(i));
  return result;
}

static SmallVector<Running> reduceAll(GpuFrame &frame, ArrayRef<Combiner> combiners, ArrayRef<Running> running,
                                      Running (*reduce)(GpuFrame &, const Combiner &, Running)) {
  SmallVector<Running> results;
  for (auto [combiner, one] : zip_equal(combiners, running))
    results.push_back(reduce(frame, combiner, one));
  return results;
}

SmallVector<Running> reduceBlock(GpuFrame &frame, ArrayRef<Combiner> combiners, ArrayRef<Running> running) {
  assert(frame.threads % kWarp == 0 && "whole warps");
  return reduceAll(frame, combiners, running, reduceInBlock);
}

SmallVector<Running> reduceWarp(GpuFrame &frame, ArrayRef<Combiner> combiners, ArrayRef<Running> running) {
  return reduceAll(frame, combiners, running, reduceInWarp);
}

} // namespace ptc::cuda
