#include "compiler/codegen/kernel/Loops.h"

#include "compiler/codegen/kernel/Emit.h"

using namespace llvm;

namespace ptc::kernel {

Carried forEach(Ir &b, Value *begin, Value *end, int64_t step, ArrayRef<Value *> carried,
                function_ref<Carried(Value *, ArrayRef<Value *>)> body) {
  auto *first = dyn_cast<ConstantInt>(begin), *last = dyn_cast<ConstantInt>(end);
  if (first && last) {
    int64_t left = last->getSExtValue() - first->getSExtValue();
    if (left <= 0)
      return Carried(carried);
    if (left <= step)
      return body(begin, carried);
  }
  return emitLoop(b, begin, end, b.getInt64(step), carried, body);
}

void forEach(Ir &b, Value *begin, Value *end, int64_t step, function_ref<void(Value *)> body) {
  forEach(b, begin, end, step, {}, [&](Value *i, ArrayRef<Value *>) -> Carried {
    body(i);
    return {};
  });
}

Value *emitLanesBelow(Ir &b, unsigned width, Value *limit) {
  if (auto *known = dyn_cast<ConstantInt>(limit)) {
    SmallVector<Constant *> lanes;
    for (int64_t i = 0; i < width; ++i)
      lanes.push_back(b.getInt1(i < known->getSExtValue()));
    return ConstantVector::get(lanes);
  }
  // Lanes of 32 bits: half as many registers as of 64.
  Value *most = b.CreateBinaryIntrinsic(Intrinsic::smin, limit, b.getInt64(width));
  Value *count = b.CreateTrunc(b.CreateBinaryIntrinsic(Intrinsic::smax, most, b.getInt64(0)), b.getInt32Ty());
  Type *lanes = FixedVectorType::get(b.getInt32Ty(), width);
  return b.CreateICmpULT(b.CreateStepVector(lanes), b.CreateVectorSplat(width, count));
}

Carried emitVectorLoop(Ir &b, Value *begin, Value *end, unsigned width, bool hasTail, ArrayRef<Value *> carried,
                       function_ref<Carried(const VectorStep &, ArrayRef<Value *>)> body) {
  auto whole = [&](Value *i, ArrayRef<Value *> values) { return body({i, nullptr}, values); };
  if (width == 1)
    return forEach(b, begin, end, 1, carried, whole);
  Value *count = b.CreateSub(end, begin);
  Value *wholeEnd = b.CreateAdd(begin, b.CreateAnd(count, b.getInt64(-int64_t(width))));
  Carried values = forEach(b, begin, hasTail ? wholeEnd : end, width, carried, whole);
  if (!hasTail)
    return values;
  // Fewer than `width` are left: one masked step, or none.
  return forEach(b, wholeEnd, end, width, values, [&](Value *i, ArrayRef<Value *> inner) {
    return body({i, emitLanesBelow(b, width, b.CreateSub(end, i))}, inner);
  });
}

} // namespace ptc::kernel
