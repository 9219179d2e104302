//===- Elementwise.cpp - arithmetic, comparisons, activations, casts -------------===//

#include "compiler/import/onnx/Quantization.h"
#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// The second operand: up to opset 6 its dimensions may be aligned with those from `axis` on.
Value second(Builder &b, const Node &n) {
  Value y = n[1];
  if (n.opset >= 7 || !n.integer("broadcast", 0) || !n.hasAttribute("axis"))
    return y;
  int64_t rank = b.rank(n[0]), axis = n.integer("axis", 0);
  Shape sizes = b.shape(y);
  for (axis = axis < 0 ? axis + rank : axis; axis + int64_t(sizes.size()) < rank;)
    sizes.push_back(b.constant(1));
  return b.reshape(y, sizes);
}

/// An ATen operator of the same operands, by name.
void same(Table &t, llvm::StringRef name, const char *aten) {
  t.row(name, [aten](Builder &b, const Node &n) {
    std::vector<Arg> args;
    for (unsigned i = 0; i < n.count(); ++i)
      args.push_back(i == 1 ? second(b, n) : n[i]);
    return b.call(aten, args);
  });
}

/// Sum, Max, …: of one tensor or more.
void variadic(Table &t, llvm::StringRef name, const char *aten) {
  t.row(name, [aten](Builder &b, const Node &n) {
    Value result = n[0];
    for (unsigned i = 1; i < n.count(); ++i)
      result = b.call(aten, {result, n[i]});
    return result;
  });
}

Value power(Builder &b, const Value &x, const Value &y) {
  Type element = b.element(x);
  if (auto known = b.knownReals(y); known && known->size() == 1 && b.rank(y) <= b.rank(x)) {
    bool isWhole = known->front() == std::floor(known->front()) && std::abs(known->front()) < 0x1p31;
    if (isa<FloatType>(element))
      return b.call("pow.Tensor_Scalar", {x, known->front()});
    if (isWhole && known->front() >= 0)
      return b.call("pow.Tensor_Scalar", {x, int64_t(known->front())});
  }
  if (b.isFloat(x) || !b.isFloat(y))
    return b.call("pow.Tensor_Tensor", {x, b.to(y, element)});
  return b.to(b.call("pow.Tensor_Tensor", {b.to(x, b.element(y)), y}), element);
}

Value modulo(Builder &b, const Node &n) {
  if (n.integer("fmod", 0))
    return b.call("fmod.Tensor", {n[0], n[1]});
  return b.call("remainder.Tensor", {n[0], n[1]});
}

Value divide(Builder &b, const Node &n) {
  if (b.isFloat(n[0]))
    return n[0] / second(b, n);
  return b.call("div.Tensor_mode", {n[0], second(b, n), named("rounding_mode", "trunc")});
}

/// Of one operand, and numbers that are attributes.
Value clip(Builder &b, const Node &n) {
  Value x = n[0];
  if (n.opset < 11)
    return b.clamp(x, n.real("min", -3.402823466e38), n.real("max", 3.402823466e38));
  if (n.has(1))
    x = b.call("maximum.default", {x, n[1]});
  return n.has(2) ? b.call("minimum.default", {x, n[2]}) : x;
}

/// Before opset 13 all dimensions from `axis` on are one.
Value alongAxis(Builder &b, const Node &n, llvm::function_ref<Value(const Value &, int64_t)> compute) {
  Value x = n[0];
  int64_t rank = b.rank(x), axis = n.integer("axis", n.opset < 13 ? 1 : -1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank || (axis == rank && (n.opset >= 13 || rank == 0)))
    return b.fail("there is no dimension " + llvm::Twine(axis) + " among " + llvm::Twine(rank));
  if (n.opset >= 13 || axis == rank - 1)
    return compute(x, axis);
  Shape sizes = b.shape(x);
  auto all = llvm::ArrayRef(sizes);
  Value flat = b.reshape(x, {product(all.take_front(axis), b.context), product(all.drop_front(axis), b.context)});
  return b.reshape(compute(flat, 1), sizes);
}

Value hardmax(Builder &b, const Value &x, int64_t axis) {
  Value place = b.call("argmax.default", {x, axis, true});
  Value index = b.along(b.iota(b.size(x, axis), b.i64()), axis, b.rank(x));
  return b.to(b.call("eq.Tensor", {index, place}), b.element(x));
}

/// Whether it trains, and the ratio, may be data.
Values dropout(Builder &b, const Node &n) {
  auto trains = n.opset >= 12 && n.has(2) ? b.knownBool(n[2]) : std::optional(false);
  Shape sizes = b.shape(n[0]);
  if (trains == false)
    return {n[0], n.wants(1) ? b.full(sizes, 1, b.boolean()) : b.none()};
  Value ratio = b.to(n.has(1) ? b.reshape(n[1], {}) : b.number(0.5, b.f32()), b.f32());
  if (!trains)
    ratio = b.where(b.reshape(n[2], {}), ratio, b.full({}, 0, b.f32()));
  Value random = b.call("rand.default", {sizes, named("dtype", b.f32())}, makeTensorType(sizes, b.f32()));
  Value mask = b.call("ge.Tensor", {random, ratio});
  Value scale = b.to(b.call("reciprocal.default", {1.0 - ratio}), b.element(n[0]));
  return {n[0] * b.to(mask, b.element(n[0])) * scale, mask};
}

Value isInfinite(Builder &b, const Node &n) {
  bool low = n.integer("detect_negative", 1), high = n.integer("detect_positive", 1);
  if (low && high)
    return b.call("isinf.default", {n[0]});
  if (!low && !high)
    return b.full(b.shape(n[0]), 0, b.boolean());
  return b.call("eq.Scalar", {n[0], low ? -INFINITY : INFINITY});
}

Value shrink(Builder &b, const Node &n) {
  double lambda = n.real("lambd", 0.5), bias = n.real("bias", 0);
  Value x = n[0], zero = x * 0;
  Value low = b.call("lt.Scalar", {x, -lambda}), high = b.call("gt.Scalar", {x, lambda});
  return b.to(b.where(low, x + bias, b.where(high, x - bias, zero)), b.element(x));
}

/// Up to opset 6 the slopes are one a channel.
Value prelu(Builder &b, const Node &n) {
  Value x = n[0];
  if (n.opset < 7 && b.rank(x) > 1 && b.rank(n[1]) == 1)
    return b.where(b.call("ge.Scalar", {x, 0}), x, x * b.along(n[1], 1, b.rank(x)));
  return b.where(b.call("ge.Scalar", {x, 0}), x, x * n[1]);
}

Value gelu(Builder &b, const Node &n) {
  bool isTanh = n.text("approximate", "none") == "tanh";
  return b.call("gelu.default", {n[0], named("approximate", isTanh ? "tanh" : "none")});
}

void addActivations(Table &t) {
  t.row("Elu", [](Builder &b, const Node &n) { return b.call("elu.default", {n[0], n.real("alpha", 1)}); });
  t.row("Celu", [](Builder &b, const Node &n) { return b.call("celu.default", {n[0], n.real("alpha", 1)}); });
  t.row("Selu", [](Builder &b, const Node &n) {
    double alpha = n.real("alpha", 1.67326319217681884765625), gamma = n.real("gamma", 1.05070102214813232421875);
    return b.call("elu.default", {n[0], alpha, gamma});
  });
  t.row("LeakyRelu", [](Builder &b, const Node &n) {
    return b.call("leaky_relu.default", {n[0], n.real("alpha", 0.01f)});
  });
  t.row("ThresholdedRelu", [](Builder &b, const Node &n) {
    return b.call("threshold.default", {n[0], n.real("alpha", 1), 0.0});
  });
  t.row("HardSigmoid", [](Builder &b, const Node &n) {
    return b.clamp(n[0] * n.real("alpha", 0.2f) + n.real("beta", 0.5), 0, 1);
  });
  t.row("Swish", [](Builder &b, const Node &n) {
    return n[0] * b.call("sigmoid.default", {n[0] * n.real("alpha", 1)});
  });
  t.row("SwiGLU", [](Builder &b, const Node &n) {
    return n[0] * b.call("sigmoid.default", {n[0] * n.real("alpha", 1)}) * n[1];
  });
  t.row("Softsign", [](Builder &b, const Node &n) { return n[0] / (b.call("abs.default", {n[0]}) + 1.0); });
  t.row("Gelu", gelu);
  t.row("PRelu", prelu);
  t.row("Shrink", shrink);
  t.row("Softmax", [](Builder &b, const Node &n) {
    return alongAxis(b, n, [&](const Value &x, int64_t axis) { return b.call("softmax.int", {x, axis}); });
  });
  t.row("LogSoftmax", [](Builder &b, const Node &n) {
    return alongAxis(b, n, [&](const Value &x, int64_t axis) { return b.call("log_softmax.int", {x, axis}); });
  });
  t.row("Hardmax", [](Builder &b, const Node &n) {
    return alongAxis(b, n, [&](const Value &x, int64_t axis) { return hardmax(b, x, axis); });
  });
  t.rows("Dropout", dropout);
}

Value convert(Builder &b, const Node &n, Type to) {
  FloatType float8 = asFloat8(to);
  bool saturates = float8 && b.element(n[0]) != to && n.integer("saturate", 1);
  return saturates ? saturateFloat8(b, n[0], float8) : b.to(n[0], to);
}

} // namespace

void addElementwise(Table &t) {
  for (auto [name, aten] : std::initializer_list<std::pair<const char *, const char *>>{
           {"Abs", "abs.default"},
           {"Acos", "acos.default"},
           {"Acosh", "acosh.default"},
           {"Asin", "asin.default"},
           {"Asinh", "asinh.default"},
           {"Atan", "atan.default"},
           {"Atanh", "atanh.default"},
           {"Ceil", "ceil.default"},
           {"Cos", "cos.default"},
           {"Cosh", "cosh.default"},
           {"Erf", "erf.default"},
           {"Exp", "exp.default"},
           {"Floor", "floor.default"},
           {"HardSwish", "hardswish.default"},
           {"IsNaN", "isnan.default"},
           {"Log", "log.default"},
           {"Mish", "mish.default"},
           {"Neg", "neg.default"},
           {"Not", "logical_not.default"},
           {"Reciprocal", "reciprocal.default"},
           {"Relu", "relu.default"},
           {"Round", "round.default"},
           {"Sigmoid", "sigmoid.default"},
           {"Sign", "sign.default"},
           {"Sin", "sin.default"},
           {"Sinh", "sinh.default"},
           {"Softplus", "softplus.default"},
           {"Sqrt", "sqrt.default"},
           {"Tan", "tan.default"},
           {"Tanh", "tanh.default"},
           {"BitwiseNot", "bitwise_not.default"},
           {"Add", "add.Tensor"},
           {"Sub", "sub.Tensor"},
           {"Mul", "mul.Tensor"},
           {"And", "logical_and.default"},
           {"Or", "logical_or.default"},
           {"Xor", "logical_xor.default"},
           {"BitwiseAnd", "bitwise_and.Tensor"},
           {"BitwiseOr", "bitwise_or.Tensor"},
           {"BitwiseXor", "bitwise_xor.Tensor"},
           {"Equal", "eq.Tensor"},
           {"Less", "lt.Tensor"},
           {"LessOrEqual", "le.Tensor"},
           {"Greater", "gt.Tensor"},
           {"GreaterOrEqual", "ge.Tensor"},
       })
    same(t, name, aten);
  variadic(t, "Sum", "add.Tensor");
  variadic(t, "Max", "maximum.default");
  variadic(t, "Min", "minimum.default");
  t.row("Mean", [](Builder &b, const Node &n) {
    Value total = n[0];
    for (unsigned i = 1; i < n.count(); ++i)
      total = total + n[i];
    return total / double(n.count());
  });
  t.row("Pow", [](Builder &b, const Node &n) { return power(b, n[0], second(b, n)); });
  t.row("Div", divide);
  t.row("Mod", modulo);
  t.row("BitShift", [](Builder &b, const Node &n) {
    bool isLeft = n.text("direction", "") == "LEFT";
    return b.call(isLeft ? "bitwise_left_shift.Tensor" : "bitwise_right_shift.Tensor", {n[0], n[1]});
  });
  t.row("Where", [](Builder &b, const Node &n) { return b.where(n[0], n[1], n[2]); });
  t.row("Clip", clip);
  t.row("IsInf", isInfinite);
  t.row("Identity", [](Builder &b, const Node &n) { return n[0]; });
  t.row("Cast", [](Builder &b, const Node &n) {
    Type to = n.elementType("to");
    return to ? convert(b, n, to) : b.fail("does not say to which type");
  });
  t.row("CastLike", [](Builder &b, const Node &n) { return convert(b, n, b.element(n[1])); });
  t.row("BitCast", [](Builder &b, const Node &n) {
    Type to = n.elementType("to");
    if (!to)
      return b.fail("does not say to which type");
    // A bool is a byte of 0 or 1.
    if (b.isBool(n[0]) || to.isInteger(1))
      return b.to(n[0], to);
    return b.call("view.dtype", {n[0], to}, makeTensorType(b.shape(n[0]), to));
  });
  addActivations(t);
}

} // namespace ptc::import::onnx
