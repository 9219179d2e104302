//===- Classical.cpp - linear models, and what goes before them ---------------------===//
//
// Of the domain ai.onnx.ml, for tensors of numbers; its maps and texts have no
// tensor that they could be. Ensembles of trees are in Trees.cpp.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Classical.h"

#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {

Reals realsOf(const Node &n, llvm::StringRef name) { return n.reals(name).value_or(Reals()); }
Ints intsOf(const Node &n, llvm::StringRef name) { return n.ints(name).value_or(Ints()); }

Value constantOf(Builder &b, llvm::ArrayRef<double> numbers, IntsRef sizes, Type element) {
  Literal literal{element, Ints(sizes), {}};
  for (double number : numbers)
    literal.elements.push_back(roundTo(Expression::makeReal(number), element));
  return b.constantTensor(std::move(literal));
}

Value constantOf(Builder &b, IntsRef numbers, IntsRef sizes) {
  return b.constantTensor(Literal{b.i64(), Ints(sizes), std::vector<Expression>(numbers.begin(), numbers.end())});
}

Value rowsOf(Builder &b, const Value &x, Type element) {
  Value wide = b.to(x, element);
  if (b.rank(wide) == 1)
    return b.unsqueeze(wide, 0);
  return b.rank(wide) == 2 ? wide : b.fail("needs one or two dimensions");
}

Value transform(Builder &b, llvm::StringRef name, const Value &scores) {
  if (name == "NONE")
    return scores;
  if (name == "LOGISTIC")
    return b.call("sigmoid.default", {scores});
  if (name == "SOFTMAX")
    return b.call("softmax.int", {scores, -1});
  return b.fail("post_transform '" + name + "' is not supported");
}

Value labelOf(Builder &b, const Value &scores, IntsRef labels) {
  Value largest = b.call("argmax.default", {scores, 1, false});
  return b.call("index_select.default", {constantOf(b, labels, {int64_t(labels.size())}), 0, largest});
}

Ints readLabels(Builder &b, const Node &n, llvm::StringRef name) {
  Ints labels = intsOf(n, name);
  if (labels.size() < 2)
    b.fail("needs labels of two classes or more, which are integers");
  return labels;
}

namespace {

/// x times the transpose of the coefficients, [scores, features] in one list.
Value linear(Builder &b, const Node &n, int64_t scores) {
  Value x = rowsOf(b, n[0], b.f32());
  Reals coefficients = realsOf(n, "coefficients"), intercepts = realsOf(n, "intercepts");
  int64_t features = b.staticSize(x, 1);
  if (b.hasFailed() || scores <= 0 || int64_t(coefficients.size()) != scores * features ||
      (!intercepts.empty() && int64_t(intercepts.size()) != scores))
    return b.fail("coefficients and intercepts are not those of " + llvm::Twine(scores) + " scores");
  Value y = b.matmul(x, b.permute(constantOf(b, coefficients, {scores, features}, b.f32()), {1, 0}));
  return intercepts.empty() ? y : y + constantOf(b, intercepts, {scores}, b.f32());
}

Values classifyLinearly(Builder &b, const Node &n) {
  Ints labels = readLabels(b, n, "classlabels_ints");
  Value scores = linear(b, n, labels.size());
  return {labelOf(b, scores, labels), transform(b, postTransform(n), scores)};
}

Value scale(Builder &b, const Node &n) {
  Value y = b.to(n[0], b.f32());
  for (auto [name, aten] : {std::pair("offset", "sub.Tensor"), std::pair("scale", "mul.Tensor")})
    if (Reals numbers = realsOf(n, name); !numbers.empty())
      y = b.call(aten, {y, constantOf(b, numbers, {int64_t(numbers.size())}, b.f32())});
  return y;
}

Value normalize(Builder &b, const Node &n) {
  Value x = rowsOf(b, n[0], b.f32());
  std::string name = n.text("norm", "MAX");
  Value norm = name == "MAX"  ? b.amax(x, {1}, true)
               : name == "L1" ? b.sum(b.call("abs.default", {x}), {1}, true)
               : name == "L2" ? b.call("sqrt.default", {b.sum(x * x, {1}, true)})
                              : b.fail("norm '" + name + "' is not known");
  return x / b.where(b.call("eq.Scalar", {norm, 0}), b.full({}, 1, b.f32()), norm);
}

/// Elements of the last dimension, of as many rows as there are others.
Value extract(Builder &b, const Node &n) {
  Shape sizes = b.shape(n[0]);
  if (sizes.empty())
    return b.fail("needs a dimension");
  AffineExpr width = sizes.pop_back_val();
  Value rows = b.reshape(n[0], {product(sizes, b.context), width});
  return b.call("index_select.default", {rows, 1, b.reshape(b.to(n[1], b.i64()), product(b.shape(n[1]), b.context))});
}

} // namespace

void addClassical(Table &t) {
  t.row("ai.onnx.ml.ArrayFeatureExtractor", extract);
  t.row("ai.onnx.ml.Binarizer", [](Builder &b, const Node &n) {
    return b.to(b.call("gt.Scalar", {n[0], n.real("threshold", 0)}), b.element(n[0]));
  });
  t.rows("ai.onnx.ml.LinearClassifier", classifyLinearly);
  t.row("ai.onnx.ml.LinearRegressor", [](Builder &b, const Node &n) {
    return transform(b, postTransform(n), linear(b, n, n.integer("targets", 1)));
  });
  t.row("ai.onnx.ml.Normalizer", normalize);
  t.row("ai.onnx.ml.Scaler", scale);
}

} // namespace ptc::import::onnx
