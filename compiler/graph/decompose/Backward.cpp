//===- Backward.cpp - derivatives that stand in exported graphs -----------===//

#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

void addBackward(Table &t) {
  t.opmath("_softmax_backward_data", [](B &b, T grad, T y, int64_t dim, Dtype) {
    T scaled = grad * y;
    return scaled - y * b.sum(scaled, {dim}, true);
  });
  t.opmath("_log_softmax_backward_data", [](B &b, T grad, T y, int64_t dim, Dtype) {
    return grad - b.exp(y) * b.sum(grad, {dim}, true);
  });
  t.opmath("native_dropout_backward", [](B &b, T grad, T mask, double scale) {
    return grad * b.to(mask, grad.dtype()) * scale;
  });
  t.pointwise("sigmoid_backward", [](B &, T grad, T y) { return grad * (1.0 - y) * y; });
  t.pointwise("tanh_backward", [](B &b, T grad, T y) { return grad * (1.0 - b.square(y)); });
  t.pointwise("threshold_backward", [](B &b, T grad, T x, T threshold) { return b.where(x <= threshold, 0, grad); });
}

} // namespace ptc::decompose
