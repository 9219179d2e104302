//===- Statistics.cpp -----------------------------------------------------===//

#include "compiler/graph/decompose/Statistics.h"

namespace ptc::decompose {

Moments variance(B &b, T x, DimsRef dims, double correction, bool keepdim) {
  T n(b.count(x, dims));
  T mean = b.mean(x, dims, true);
  T squares = b.sum(b.square(x - mean), dims, keepdim);
  T divisor = correction == 0 ? n
              : n.symbolic()  ? b.maximum(b.tensor(n, x.dtype()) - correction, 0.0)
                              : T(std::max(n.real() - correction, 0.0));
  if (!keepdim)
    mean = b.reshape(mean, squares.sizes());
  return {mean, squares / divisor};
}

T softmax(B &b, T x, int64_t dim) {
  T exponential = b.exp(x - b.max(x, {dim}, true));
  return exponential / b.sum(exponential, {dim}, true);
}

T logSoftmax(B &b, T x, int64_t dim) {
  T shifted = x - b.max(x, {dim}, true);
  return shifted - b.log(b.sum(b.exp(shifted), {dim}, true));
}

} // namespace ptc::decompose
