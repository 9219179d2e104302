#include "compiler/codegen/cpu/tile/TwoForms.h"

#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

using namespace llvm;

namespace ptc::cpu {

void emitTwoForms(CpuFrame &frame, const TwoForms &forms, function_ref<void()> many, function_ref<void()> few) {
  Ir &b = frame.b;
  Value *isMany = b.CreateICmpSGE(emitSize(frame, forms.count), b.getInt64(forms.least));
  Value *begin = frame.begin, *end = frame.end;
  emitIf(b, isMany, [&] {
    Value *tasks = emitSize(frame, forms.manyTasks), *all = emitSize(frame, forms.fewTasks);
    auto share = [&](Value *place) { return b.CreateUDiv(b.CreateMul(place, tasks), all); };
    frame.begin = share(begin);
    frame.end = share(end);
    many();
  });
  frame.begin = begin;
  frame.end = end;
  emitIf(b, b.CreateNot(isMany), few);
}

} // namespace ptc::cpu
