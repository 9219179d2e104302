//===- Random.cpp - random numbers, which are ptc's own: `seed` is of no consequence ------===//

#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

Type typeOr(const Node &n, Type otherwise) {
  Type given = n.elementType("dtype");
  return given ? given : otherwise;
}

Value draw(Builder &b, bool isNormal, ShapeRef sizes, Type element) {
  return b.call(isNormal ? "randn.default" : "rand.default", {Shape(sizes), named("dtype", element)},
                makeTensorType(sizes, element));
}

Value drawn(Builder &b, const Node &n, bool isNormal, ShapeRef sizes, Type element) {
  if (!isa<FloatType>(element))
    return b.fail("random numbers of a type that is not of floating point");
  Value numbers = draw(b, isNormal, sizes, element);
  if (isNormal)
    return numbers * n.real("scale", 1) + n.real("mean", 0);
  double low = n.real("low", 0), high = n.real("high", 1);
  return numbers * (high - low) + low;
}

void distribution(Table &t, const std::string &name, bool isNormal) {
  t.row(name, [=](Builder &b, const Node &n) {
    Ints sizes = n.ints("shape").value_or(Ints());
    return drawn(b, n, isNormal, b.staticShape(sizes), typeOr(n, b.f32()));
  });
  t.row(name + "Like", [=](Builder &b, const Node &n) {
    return drawn(b, n, isNormal, b.shape(n[0]), typeOr(n, b.element(n[0])));
  });
}

} // namespace

void addRandom(Table &t) {
  distribution(t, "RandomNormal", true);
  distribution(t, "RandomUniform", false);
  t.row("Bernoulli", [](Builder &b, const Node &n) {
    Value x = b.toOpmath(n[0]);
    return b.to(b.call("lt.Tensor", {draw(b, false, b.shape(x), b.element(x)), x}), typeOr(n, b.element(n[0])));
  });
  t.row("Multinomial", [](Builder &b, const Node &n) {
    // Of logarithms of probabilities that need not sum to one.
    Value probabilities = b.call("softmax.int", {n[0], -1});
    int64_t count = n.integer("sample_size", 1);
    Value drawn = b.call("multinomial.default", {probabilities, count, true},
                         makeTensorType({b.size(n[0], 0), b.constant(count)}, b.i64()));
    return b.to(drawn, typeOr(n, b.i32()));
  });
}

} // namespace ptc::import::onnx
