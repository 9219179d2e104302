#include "compiler/codegen/kernel/VectorMath.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace ptc::kernel {

static constexpr Elementary kElementaries[] = {
    {"math.exp", exp, nullptr, "exp"},       {"math.exp2", exp2, nullptr, "exp2"},
    {"math.expm1", expm1, nullptr, "expm1"}, {"math.log", log, nullptr, "log"},
    {"math.log2", log2, nullptr, "log2"},    {"math.log10", log10, nullptr, "log10"},
    {"math.log1p", log1p, nullptr, "log1p"}, {"math.powf", nullptr, pow, "pow"},
    {"math.cbrt", cbrt, nullptr, "cbrt"},    {"math.sin", sin, nullptr, "sin"},
    {"math.cos", cos, nullptr, "cos"},       {"math.tan", tan, nullptr, "tan"},
    {"math.asin", asin, nullptr, "asin"},    {"math.acos", acos, nullptr, "acos"},
    {"math.atan", atan, nullptr, "atan"},    {"loop.atan2", nullptr, atan2, "atan2"},
    {"math.sinh", sinh, nullptr, "sinh"},    {"math.cosh", cosh, nullptr, "cosh"},
    {"math.tanh", tanh, nullptr, "tanh"},    {"math.asinh", asinh, nullptr, "asinh"},
    {"math.acosh", acosh, nullptr, "acosh"}, {"math.atanh", atanh, nullptr, "atanh"},
    {"math.erf", erf, nullptr, "erf"},       {"math.erfc", erfc, nullptr, "erfc"},
};

ArrayRef<Elementary> getElementaries() { return kElementaries; }

Value *emitElementary(Ir &b, StringRef operation, ArrayRef<Value *> x) {
  const Elementary &function = *find_if(kElementaries, [&](const Elementary &e) { return e.operation == operation; });
  Real first{&b, x[0]};
  if (isDouble(first))
    return callLibm(b, function.libm, x);
  return (function.unary ? function.unary(first) : function.binary(first, {&b, x[1]})).v;
}

Value *emitFlushedExp(Ir &b, Value *x) {
  Real number{&b, x};
  return isDouble(number) ? emitElementary(b, "math.exp", {x}) : flushedExp(number).v;
}

} // namespace ptc::kernel
