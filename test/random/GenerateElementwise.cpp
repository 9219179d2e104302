//===- GenerateElementwise.cpp - steps of the elementwise prims -----------===//

#include "test/random/Generator.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;

namespace ptc::test {

/// An elementwise prim without attributes, by its name.
Value Generator::elementwise(StringRef name, ValueRange operands) {
  OperationState state(b.getLoc(), ("prims." + name).str());
  state.addOperands(operands);
  SmallVector<Type> types;
  auto *infer = state.name.getInterface<InferTypeOpInterface>();
  if (failed(infer->inferReturnTypes(b.getContext(), b.getLoc(), operands, {}, OpaqueProperties(nullptr), {}, types)))
    return {};
  state.addTypes(types);
  return b.create(state)->getResult(0);
}

/// x brought to where the function has something to say; not always.
Value Generator::tame(StringRef function, Value x) {
  if (r.chance(15))
    return x;
  auto is = [&](std::initializer_list<StringRef> names) { return llvm::is_contained(names, function); };
  if (is({"log", "log2", "log10", "sqrt", "rsqrt", "pow"}))
    return elementwise("abs", x);
  if (is({"log1p", "acosh"}))
    return elementwise("add", {elementwise("abs", x), full(getShape(x), elementOf(x), 1)});
  if (is({"asin", "acos", "atanh", "erfinv"}))
    return elementwise(r.chance(50) ? "sin" : "tanh", x);
  if (is({"exp", "exp2", "expm1", "sinh", "cosh"}) && r.chance(60))
    return elementwise("minimum", {x, full(getShape(x), elementOf(x), 4)});
  return x;
}

bool Generator::unaryFloat() {
  static constexpr StringRef kNames[] = {
      "abs",   "neg",    "sign",       "exp",       "exp2",  "expm1", "log",  "log1p", "log2", "log10",
      "sqrt",  "rsqrt",  "reciprocal", "sin",       "cos",   "tan",   "asin", "acos",  "atan", "sinh",
      "cosh",  "tanh",   "asinh",      "acosh",     "atanh", "erf",   "erfc", "floor", "ceil", "trunc",
      "round", "erfinv", "is_nan",     "is_finite", "tanh",  "exp",   "neg",  "abs"};
  Value x = pickFloat();
  if (!x)
    return false;
  StringRef name = r.pick(kNames);
  add(elementwise(name, tame(name, x)));
  return true;
}

bool Generator::unaryInteger() {
  Value x = pickInteger();
  if (!x)
    return false;
  add(elementwise(r.pick({StringRef("abs"), StringRef("neg"), StringRef("sign"), StringRef("not"), StringRef("is_nan"),
                          StringRef("is_finite")}),
                  x));
  return true;
}

bool Generator::binary() {
  static constexpr StringRef kCommon[] = {"add", "sub", "mul", "add",     "sub",    "mul",
                                          "div", "rem", "pow", "maximum", "minimum"};
  static constexpr StringRef kFloat[] = {"atan2", "next_after", "copy_sign"},
                             kBits[] = {"and", "or", "xor", "shl", "shr"};
  Value x = pick([](Value) { return true; });
  Value y = like(x);
  bool isFloat = prims::isFloat(elementOf(x)), isBool = prims::isBool(elementOf(x));
  StringRef name = !r.chance(25) ? r.pick(kCommon) : isFloat ? r.pick(kFloat) : r.pick(kBits);
  if (isBool && llvm::is_contained({"div", "rem", "pow", "shl", "shr"}, name))
    return false;
  if (r.chance(30))
    std::swap(x, y);
  if (!isFloat && (name == "div" || name == "rem")) // no division by zero
    y = elementwise("or", {y, full(getShape(y), elementOf(y), 1)});
  if (isFloat && name == "pow")
    x = tame(name, x), y = r.chance(50) ? full(getShape(x), elementOf(x), r.pick({2.0, 0.5, 3.0, -1.0, 0.0, 1.5})) : y;
  add(elementwise(name, {x, y}));
  return true;
}

bool Generator::comparison() {
  Value x = pick([](Value) { return true; });
  add(elementwise(
      r.pick({StringRef("eq"), StringRef("ne"), StringRef("lt"), StringRef("le"), StringRef("gt"), StringRef("ge")}),
      {x, like(x)}));
  return true;
}

bool Generator::select() {
  Value x = pick([](Value) { return true; });
  add(elementwise("select", {like(getShape(x), b.getI1Type()), x, like(x)}));
  return true;
}

bool Generator::conversion() {
  Value x = pick([](Value) { return true; });
  if (!r.chance(12)) {
    add(convert(x, randomElement()));
    return true;
  }
  Type f32 = b.getF32Type(), f64 = b.getF64Type(), f16 = b.getF16Type(), bf16 = b.getBF16Type();
  SmallVector<Type> wide[] = {{f32, b.getI32Type()},
                              {f64, b.getI64Type()},
                              {f16, bf16, b.getIntegerType(16)},
                              {b.getI8Type(), b.getIntegerType(8, false)}};
  for (auto &group : wide)
    if (llvm::is_contained(group, elementOf(x))) {
      add(prims::BitcastOp::create(b, x, r.pick(group)));
      return true;
    }
  return false;
}

bool Generator::special() {
  static constexpr StringRef kUnary[] = {"bessel_j0", "modified_bessel_i0", "digamma", "erfcx",
                                         "lgamma",    "log_ndtr",           "ndtri"};
  if (Value x = r.chance(70) ? pickFloat() : Value()) {
    add(prims::SpecialOp::create(b, ValueRange(x), r.pick(kUnary)));
    return true;
  }
  Value x = pick([](Value x) { return prims::isInteger(elementOf(x)); });
  if (!x)
    return false;
  add(prims::SpecialOp::create(b, ValueRange({x, like(x)}), StringRef("gcd")));
  return true;
}

} // namespace ptc::test
