#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// -weight[t] * x[t] for the class t of each element, reduced.
Value negativeLogLikelihood(Builder &b, const Node &n, const Value &x, const Value &target, const Value &weight) {
  int64_t rank = b.rank(x);
  if (rank < 2)
    return b.fail("needs a batch and classes");
  Type element = b.element(x);
  Value classes = b.to(target, b.i64()), ignored = b.none(), place = classes;
  if (n.hasAttribute("ignore_index")) {
    ignored = b.call("eq.Scalar", {classes, n.integer("ignore_index", 0)});
    place = b.where(ignored, b.full({}, 0, b.i64()), classes);
  }
  // A class below zero counts from the end.
  Value count = b.size(b.size(x, 1), b.i64());
  place = b.where(b.call("lt.Scalar", {place, 0}), place + count, place);
  Value index = b.unsqueeze(place, 1);
  Value loss = -b.squeeze(b.call("gather.default", {x, 1, index}), 1);
  Value weights = b.none(), zero = b.full({}, 0, element);
  if (weight) {
    Value flat = b.reshape(place, product(b.shape(place), b.context));
    weights = b.reshape(b.call("index_select.default", {weight, 0, flat}), b.shape(place));
  }
  if (ignored)
    weights = b.where(ignored, zero, weights ? weights : b.full({}, 1, element));
  if (weights)
    loss = loss * weights;
  std::string reduction = n.text("reduction", "mean");
  Ints dims;
  for (int64_t i = 0; i + 1 < rank; ++i)
    dims.push_back(i);
  if (reduction == "none")
    return loss;
  Value total = b.sum(loss, dims, false);
  if (reduction == "sum")
    return total;
  if (!weights)
    return b.call("mean.dim", {loss, dims, false});
  return total / b.sum(b.expand(weights, b.shape(loss)), dims, false);
}

Values crossEntropy(Builder &b, const Node &n) {
  Value logs = b.call("log_softmax.int", {n[0], 1});
  return {negativeLogLikelihood(b, n, logs, n[1], n.input(2)), logs};
}

} // namespace

void addLoss(Table &t) {
  t.row("NegativeLogLikelihoodLoss", [](Builder &b, const Node &n) {
    return negativeLogLikelihood(b, n, n[0], n[1], n.input(2));
  });
  t.rows("SoftmaxCrossEntropyLoss", crossEntropy);
}

} // namespace ptc::import::onnx
