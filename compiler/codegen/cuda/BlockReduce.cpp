#include "compiler/codegen/cuda/BlockReduce.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Combiner;
using kernel::Running;

namespace {
/// A column of shared memory for each value, and for its place if it has one.
struct Columns {
  Type *type;
  Value *values, *places;
};
} // namespace

SmallVector<Running> reduceBlock(GpuFrame &frame, ArrayRef<Combiner> combiners, ArrayRef<Running> running) {
  Ir &b = frame.b;
  assert(isPowerOf2_32(frame.threads) && "a tree has two halves");
  Value *thread = frame.gpu.threadIndex(b);
  // Memory holds no single bits.
  auto inMemory = [&](Type *type) -> Type * { return type->isIntegerTy(1) ? b.getInt8Ty() : type; };
  SmallVector<Columns> columns;
  for (const Running &one : running)
    columns.push_back({one.value->getType(), frame.gpu.shared(b, inMemory(one.value->getType()), frame.threads),
                       one.place ? frame.gpu.shared(b, b.getInt64Ty(), frame.threads) : nullptr});
  auto load = [&](const Columns &column, Value *at) {
    Type *type = inMemory(column.type);
    Value *value = b.CreateLoad(type, kernel::emitAddress(b, type, column.values, at));
    Running one{type == column.type ? value : b.CreateTrunc(value, column.type)};
    if (column.places)
      one.place = b.CreateLoad(b.getInt64Ty(), kernel::emitAddress(b, b.getInt64Ty(), column.places, at));
    return one;
  };
  auto store = [&](const Columns &column, const Running &one) {
    Type *type = inMemory(column.type);
    Value *value = type == column.type ? one.value : b.CreateZExt(one.value, type);
    b.CreateStore(value, kernel::emitAddress(b, type, column.values, thread));
    if (column.places)
      b.CreateStore(one.place, kernel::emitAddress(b, b.getInt64Ty(), column.places, thread));
  };
  for (auto [column, one] : zip_equal(columns, running))
    store(column, one);
  frame.gpu.barrier(b);
  for (unsigned half = frame.threads / 2; half > 0; half /= 2) {
    kernel::emitIf(b, b.CreateICmpULT(thread, b.getInt64(half)), [&] {
      Value *other = b.CreateAdd(thread, b.getInt64(half));
      for (auto [column, combiner] : zip_equal(columns, combiners))
        store(column, combiner.combine(b, load(column, thread), load(column, other)));
    });
    frame.gpu.barrier(b);
  }
  SmallVector<Running> results;
  for (const Columns &column : columns)
    results.push_back(load(column, b.getInt64(0)));
  return results;
}

} // namespace ptc::cuda
