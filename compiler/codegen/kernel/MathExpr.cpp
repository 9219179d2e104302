#include "compiler/codegen/kernel/MathExpr.h"

#include "compiler/codegen/kernel/Emit.h"

#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

#include <cmath>
#include <vector>

using namespace llvm;

namespace ptc::kernel {

/// Whether the kernel's machine has vector registers of so many bits (KernelEmitter says it).
static bool hasRegisters(Ir &b, unsigned bits) {
  unsigned most = 0;
  b.GetInsertBlock()->getParent()->getFnAttribute("prefer-vector-width").getValueAsString().getAsInteger(10, most);
  return most >= bits;
}

bool fillsAvx512(Real x) {
  auto *vector = dyn_cast<FixedVectorType>(x.v->getType());
  constexpr unsigned kRegisterBits = 512;
  return vector && vector->getPrimitiveSizeInBits() == kRegisterBits && hasRegisters(*x.b, kRegisterBits);
}

/// Adding 1.5 * 2^(mantissa bits) leaves the integer in the low bits.
Nearest nearest(Real x) {
  Real magic = x.number(isDouble(x) ? 0x1.8p52 : 0x1.8p23);
  Real shifted = x + magic;
  return {fillsAvx512(x) ? roundEven(x) : shifted - magic, bitsOf(shifted) - bitsOf(magic)};
}

/// The polynomials' coefficients, [degree + 1][intervals], by interpolation at Chebyshev's nodes; of |x| scale - i,
/// from -1/2 to 1/2, on interval i.
static std::vector<std::vector<float>> interpolate(const OddTable &table) {
  std::vector<std::vector<float>> coefficients(table.degree + 1, std::vector<float>(table.intervals));
  for (unsigned i = 0; i < table.intervals; ++i) {
    // Of f(x) / x around 0, where errors are to be as small as f.
    unsigned count = i == 0 ? table.degree : table.degree + 1;
    std::vector<double> nodes(count), values(count);
    for (unsigned k = 0; k < count; ++k) {
      double cosine = std::cos((2 * k + 1) * M_PI / (2 * count)), node = i == 0 ? (1 + cosine) / 4 : cosine / 2;
      double value = table.f((i + node) / table.scale);
      // Rises to 1, from what is less than that by less than an ulp: to what errors of the sum leave 1 rounded, as
      // 1 - f is 0 for all numbers beyond, however large the factor is that it meets.
      if (i + 1 == table.intervals)
        value += (1 + 0x1p-25 - table.f(table.end())) * (node + 0.5);
      nodes[k] = node;
      values[k] = i == 0 ? value / node : value;
    }
    for (unsigned k = 1; k < count; ++k) // Newton's divided differences
      for (unsigned j = count - 1; j >= k; --j)
        values[j] = (values[j] - values[j - 1]) / (nodes[j] - nodes[j - k]);
    std::vector<double> powers = {values.back()};
    for (unsigned k = count - 1; k-- > 0;) { // times (x - node), plus values[k]
      powers.push_back(powers.back());
      for (unsigned j = powers.size() - 2; j > 0; --j)
        powers[j] = powers[j - 1] - nodes[k] * powers[j];
      powers[0] = values[k] - nodes[k] * powers[0];
    }
    for (unsigned k = 0; k < count; ++k)
      coefficients[k + table.degree + 1 - count][i] = powers[k];
  }
  return coefficients;
}

Real lookUp(Real x, const OddTable &table) {
  constexpr unsigned kLanes = 16;
  Ir &b = *x.b;
  Real most = x.number(std::nextafter(float(table.end()), 0.f)), magnitude = abs(x);
  magnitude = select(magnitude > most, most, magnitude);
  Real number = roundEven(magnitude * table.scale), d = fma(magnitude, table.scale, -number);
  Bits index = bitsOf(number + 0x1p23); // of which the low bits count
  std::vector<std::vector<float>> coefficients = interpolate(table);
  auto coefficient = [&](unsigned k) {
    auto part = [&](unsigned i) {
      return ConstantDataVector::get(b.getContext(), ArrayRef(coefficients[k]).slice(i * kLanes, kLanes));
    };
    if (table.intervals == kLanes)
      return x.with(b.CreateIntrinsic(Intrinsic::x86_avx512_permvar_sf_512, {}, {part(0), index.v}));
    return x.with(b.CreateIntrinsic(Intrinsic::x86_avx512_vpermi2var_ps_512, {}, {part(0), index.v, part(1)}));
  };
  Real sum = coefficient(table.degree);
  for (unsigned k = table.degree - 1; k > 1; --k)
    sum = fma(sum, d, coefficient(k));
  // The two largest terms are rounded last, so that errors are those of f's slope and of one sum.
  return withSignOf(fma(coefficient(1), d, fma(sum * d, d, coefficient(0))), x);
}

/// AVX-512 has an instruction; else two steps, as 2^n itself may be out of range.
Real scaleByPower(Real x, Nearest n) {
  if (fillsAvx512(x)) {
    constexpr unsigned kRoundAsSet = 4;
    auto scale = isDouble(x) ? Intrinsic::x86_avx512_mask_scalef_pd_512 : Intrinsic::x86_avx512_mask_scalef_ps_512;
    unsigned lanes = cast<FixedVectorType>(x.v->getType())->getNumElements();
    Value *all = Constant::getAllOnesValue(x.b->getIntNTy(lanes));
    return x.with(x.b->CreateIntrinsic(scale, {}, {x.v, n.number.v, x.v, all, x.b->getInt32(kRoundAsSet)}));
  }
  int64_t mantissaBits = isDouble(x) ? 52 : 23, bias = isDouble(x) ? 1023 : 127;
  auto power = [&](Bits k) { return fromBits((k + bias) << mantissaBits, x); };
  Bits half = n.integer >> 1;
  return x * power(half) * power(n.integer - half);
}

Decomposed decompose(Real x) {
  int64_t mantissaBits = isDouble(x) ? 52 : 23;
  int64_t rootHalf = isDouble(x) ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Bits bits = bitsOf(x);
  Bits exponent = (bits - rootHalf) >> mantissaBits;
  return {fromBits(bits - (exponent << mantissaBits), x), exponent};
}

bool isForGpu(Ir &b) { return b.GetInsertBlock()->getModule()->getTargetTriple().isNVPTX(); }

static FunctionCallee declareLibm(Module &module, StringRef libm, Type *scalar, unsigned arity) {
  return module.getOrInsertFunction(libm, FunctionType::get(scalar, SmallVector<Type *>(arity, scalar), false));
}

/// void name(T *result, const T *x, const T *y, i64 count), which calls libm's function for each element. It keeps all
/// registers: around a call that hardly ever happens, code is as if there was none.
static Function *getLaneLoop(Module &module, StringRef libm, Type *scalar, unsigned arity) {
  std::string name = ("ptc_lanes_" + libm).str();
  if (Function *known = module.getFunction(name))
    return known;
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::getUnqual(context), *i64 = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, pointer, pointer, i64}, false);
  auto *function = Function::Create(type, Function::InternalLinkage, name, module);
  function->setCallingConv(CallingConv::PreserveAll);
  function->setDoesNotThrow();
  function->addFnAttr(Attribute::NoInline);
  Ir b(BasicBlock::Create(context, "entry", function));
  FunctionCallee callee = declareLibm(module, libm, scalar, arity);
  emitLoop(b, b.getInt64(0), function->getArg(3), 1, [&](Value *i) {
    SmallVector<Value *> operands;
    for (unsigned k = 0; k < arity; ++k)
      operands.push_back(b.CreateLoad(scalar, emitAddress(b, scalar, function->getArg(1 + k), i)));
    CallInst *call = b.CreateCall(callee, operands);
    call->setDoesNotThrow();
    b.CreateStore(call, emitAddress(b, scalar, function->getArg(0), i));
  });
  b.CreateRetVoid();
  return function;
}

/// A GPU's calls may use what registers they like, and a thread's own memory is far away.
static Value *callForEachLane(Ir &b, StringRef libm, ArrayRef<Value *> operands) {
  Type *type = operands[0]->getType();
  FunctionCallee callee = declareLibm(*b.GetInsertBlock()->getModule(), libm, type->getScalarType(), operands.size());
  auto call = [&](ArrayRef<Value *> scalars) {
    CallInst *result = b.CreateCall(callee, scalars);
    result->setDoesNotThrow();
    return result;
  };
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return call(operands);
  Value *result = PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    SmallVector<Value *> scalars;
    for (Value *operand : operands)
      scalars.push_back(b.CreateExtractElement(operand, lane));
    result = b.CreateInsertElement(result, call(scalars), lane);
  }
  return result;
}

Value *callLibm(Ir &b, StringRef name, ArrayRef<Value *> operands) {
  Type *type = operands[0]->getType(), *scalar = type->getScalarType();
  std::string symbol = (name + (scalar->isFloatTy() ? "f" : "")).str();
  if (isForGpu(b))
    return callForEachLane(b, symbol, operands);
  Function *loop = getLaneLoop(*b.GetInsertBlock()->getModule(), symbol, scalar, operands.size());
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Ir atEntry(&entry, entry.begin());
  auto slot = [&] { return atEntry.CreateAlloca(type); };
  SmallVector<Value *> arguments = {slot()};
  for (Value *operand : operands) {
    arguments.push_back(slot());
    b.CreateStore(operand, arguments.back());
  }
  if (operands.size() == 1)
    arguments.push_back(arguments.back());
  auto *vector = dyn_cast<FixedVectorType>(type);
  arguments.push_back(b.getInt64(vector ? vector->getNumElements() : 1));
  b.CreateCall(loop, arguments)->setCallingConv(CallingConv::PreserveAll);
  return b.CreateLoad(type, arguments.front());
}

Real unlessRare(Truth rare, StringRef libm, Real x, function_ref<Real()> fast) {
  Ir &b = *x.b;
  Function *function = b.GetInsertBlock()->getParent();
  Real common = fast();
  Value *any = rare.v->getType()->isVectorTy() ? b.CreateOrReduce(rare.v) : rare.v;
  BasicBlock *before = b.GetInsertBlock();
  BasicBlock *slow = BasicBlock::Create(b.getContext(), "rare", function);
  BasicBlock *exit = BasicBlock::Create(b.getContext(), "common", function);
  b.CreateCondBr(any, slow, exit);
  b.SetInsertPoint(slow);
  Value *exact = callLibm(b, libm, {x.v});
  b.CreateBr(exit);
  b.SetInsertPoint(exit);
  PHINode *phi = b.CreatePHI(x.v->getType(), 2);
  phi->addIncoming(common.v, before);
  phi->addIncoming(exact, slow);
  return x.with(phi);
}

/// Taylor: (ln 2 / 2)^12 / 12! < 1e-14.
Real exp2Approximate(Real x) {
  Nearest n = nearest(x);
  Real r = (x - n.number) * M_LN2;
  Real sum = r.number(1.0 / 39916800);
  for (double factorial : {3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
    sum = fma(sum, r, 1 / factorial);
  return scaleByPower(sum, n);
}

/// log m = 2 atanh((m - 1) / (m + 1)), by its series: |s| < 0.172, s^18 / 19 < 1e-15.
Real log2Approximate(Real x) {
  Decomposed d = decompose(x);
  Real s = (d.mantissa - 1.0) / (d.mantissa + 1.0);
  Real z = s * s;
  Real series = polynomial(z, {1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1.});
  return fma(s * (2 * M_LOG2E), series, toReal(d.exponent, x));
}

/// Minimax on [0, tan(pi/8)]; larger arguments by atan x = pi/4 + atan((x-1)/(x+1)) = pi/2 - atan(1/x).
Real atanApproximate(Real x) {
  Real a = abs(x);
  Truth large = a > 2.414213562373095, medium = a > 0.4142135623730950;
  Real numerator = select(large, -1.0, select(medium, a - 1.0, a));
  Real denominator = select(large, a, select(medium, a + 1.0, a.number(1.0)));
  Real base = select(large, M_PI_2, select(medium, M_PI_4, a.number(0.0)));
  Real t = numerator / denominator;
  Real z = t * t;
  Real series = polynomial(z, {0.0307113549531057267, -0.0587786921636076058, 0.0756464349489786825,
                               -0.0907852889996998483, 0.111103960860151442, -0.142856909078876316,
                               0.199999996153247043, -0.333333333308892428, 0.999999999999974392});
  return withSignOf(fma(t, series, base), x);
}

} // namespace ptc::kernel
