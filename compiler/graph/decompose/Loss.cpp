#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Loss.h"
#include "compiler/graph/decompose/Norm.h"
#include "compiler/graph/decompose/Statistics.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

static void addRegression(Table &t) {
  t.pointwise("mse_loss", [](B &b, T x, T y, int64_t r) { return reduced(b, b.square(x - y), r); });
  t.pointwise("l1_loss", [](B &b, T x, T y, int64_t r) { return reduced(b, b.abs(x - y), r); });
  t.pointwise("smooth_l1_loss", [](B &b, T x, T y, int64_t r, double beta) {
    T distance = b.abs(x - y);
    if (beta == 0)
      return reduced(b, distance, r);
    return reduced(b, b.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta), r);
  });
  t.pointwise("huber_loss", [](B &b, T x, T y, int64_t r, double delta) {
    T distance = b.abs(x - y);
    return reduced(b, b.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta)), r);
  });
  t.pointwise("poisson_nll_loss", [](B &b, T x, T y, bool logInput, bool full, double eps, int64_t r) {
    T loss = logInput ? b.exp(x) - y * x : x - y * b.log(x + eps);
    if (full) {
      T stirling = y * b.log(y) - y + 0.5 * b.log(2 * M_PI * y);
      loss = loss + b.where(y <= 1.0, 0.0, stirling);
    }
    return reduced(b, loss, r);
  });
}

static void addBinaryClassification(Table &t) {
  // The logarithms are bounded, as PyTorch's, so that 0 * log(0) is 0.
  t.pointwise("binary_cross_entropy", [](B &b, T x, T y, OptT weight, int64_t r) {
    T loss = (y - 1.0) * b.maximum(b.log1p(-x), -100.0) - y * b.maximum(b.log(x), -100.0);
    // PyTorch's binary_cross_entropy_backward and binary_cross_entropy_target_backward.
    loss = b.withGradient(loss, {x, y}, [&](T grad) {
      return TList{grad * (x - y) / b.maximum((1.0 - x) * x, 1e-12), grad * (b.log(1.0 - x) - b.log(x))};
    });
    return reduced(b, weight ? loss * *weight : loss, r);
  });
  t.pointwise("binary_cross_entropy_with_logits", [](B &b, T x, T y, OptT weight, OptT positive, int64_t r) {
    T logSigmoid = b.step(b.minimum(x, 0.0) - b.log1p(b.exp(-b.abs(x))));
    if (positive)
      logSigmoid = b.step(b.step(b.step(b.step(*positive - 1.0) * y) + 1.0) * logSigmoid);
    T loss = b.step(b.step(b.step(1.0 - y) * x) - logSigmoid);
    return reduced(b, weight ? b.step(loss * *weight) : loss, r);
  });
  t.pointwise("kl_div", [](B &b, T x, T y, int64_t r, bool logTarget) {
    if (logTarget)
      return reduced(b, b.exp(y) * (y - x), r);
    return reduced(b, b.where(y == 0.0, 0.0, y * b.log(y)) - y * x, r);
  });
  t.pointwise("soft_margin_loss", [](B &b, T x, T y, int64_t r) {
    return reduced(b, b.step(b.log1p(b.step(b.exp(b.step(-(y * x)))))), r);
  });
  t.pointwise("hinge_embedding_loss", [](B &b, T x, T y, double margin, int64_t r) {
    T apart = b.where(y == 1, 0.0, b.clamp(margin - x, T(0.0), {})), together = b.where(y == -1, 0.0, x);
    return reduced(b, apart + together, r);
  });
  t.pointwise("margin_ranking_loss", [](B &b, T x1, T x2, T y, double margin, int64_t r) {
    return reduced(b, b.clamp(-y * (x1 - x2) + margin, T(0.0), {}), r);
  });
  t.opmath("cosine_embedding_loss", [](B &b, T x1, T x2, T y, double margin, int64_t r) {
    constexpr double kEpsilon = 1e-12;
    x1 = isBool(x1.dtype()) ? b.to(x1, b.i64()) : x1; // sums count
    x2 = isBool(x2.dtype()) ? b.to(x2, b.i64()) : x2;
    T dot = b.sum(x1 * x2, {-1});
    T lengths = (b.sum(b.square(x1), {-1}) + kEpsilon) * (b.sum(b.square(x2), {-1}) + kEpsilon);
    T cosine = dot / b.sqrt(lengths);
    T loss = b.where(y == 1, 1.0 - cosine, 0.0) + b.where(y == -1, b.clamp(cosine - margin, T(0.0), {}), 0.0);
    return reduced(b, loss, r);
  });
  t.opmath("triplet_margin_loss",
           [](B &b, T anchor, T near, T far, double margin, double p, double eps, bool swap, int64_t r) {
             auto distance = [&](T x, T y) { return norm(b, x - y + eps, p, {-1}, false); };
             T apart = distance(anchor, far);
             apart = swap ? b.minimum(apart, distance(near, far)) : apart;
             return reduced(b, b.clamp(distance(anchor, near) - apart + margin, T(0.0), {}), r);
           });
}

//===----------------------------------------------------------------------===//
// Classes: x [N, C, ...] of log probabilities, target [N, ...]
//===----------------------------------------------------------------------===//

namespace {
/// What each target picks; 0 where it is to be ignored.
struct Picked {
  T loss, weight;
};
} // namespace

static Picked pick(B &b, T x, T target, OptT weight, mlir::AffineExpr ignored) {
  int64_t classes = x.rank() == 1 ? 0 : 1;
  T isCounted = target != T(ignored), place = b.where(isCounted, target, 0);
  T column = b.unsqueeze(place, classes);
  T value = b.squeeze(b.gather(x, elementIndices(b, column, classes), b.dims(x, {})), classes);
  T factor = weight ? b.gather(*weight, {place}, {0}) : b.full(target.sizes(), 1, x.dtype());
  factor = b.where(isCounted, factor, 0);
  return {b.where(isCounted, -value * factor, 0), factor};
}

/// The loss and the sum of the targets' weights.
static TList nll(B &b, T x, T target, OptT weight, int64_t reduction, mlir::AffineExpr ignored) {
  Picked picked = pick(b, x, target, weight, ignored);
  if (reduction == kNone)
    return {picked.loss, b.full({}, 0, x.dtype())};
  T total = b.sum(picked.weight, {}), sum = b.sum(picked.loss, {});
  return {reduction == kMean ? sum / total : sum, total};
}

/// Targets that are probabilities of each class.
static T crossEntropySoft(B &b, T logs, T target, OptT weight, int64_t reduction, double smoothing) {
  int64_t classes = logs.rank() == 1 ? 0 : 1;
  if (smoothing > 0)
    target = target * (1 - smoothing) + smoothing / b.tensor(T(logs.size(classes)), logs.dtype());
  T terms = logs * target;
  if (weight) {
    Shape sizes(logs.rank(), b.size(1));
    sizes[classes] = weight->size(0);
    terms = terms * b.broadcastInDim(*weight, sizes, {classes});
  }
  T loss = -b.sum(terms, {classes});
  return reduction == kMean ? b.sum(loss, {}) / T(b.count(loss, {})) : reduced(b, loss, reduction);
}

static T crossEntropy(B &b, T x, T target, OptT weight, int64_t reduction, mlir::AffineExpr ignored,
                      double smoothing) {
  int64_t classes = x.rank() == 1 ? 0 : 1;
  T logs = logSoftmax(b, x, classes);
  if (isFloat(target.dtype()))
    return crossEntropySoft(b, logs, target, weight, reduction, smoothing);
  Picked picked = pick(b, logs, target, weight, ignored);
  T loss = picked.loss;
  if (smoothing > 0) {
    T all = logs;
    if (weight) {
      Shape sizes(logs.rank(), b.size(1));
      sizes[classes] = weight->size(0);
      all = all * b.broadcastInDim(*weight, sizes, {classes});
    }
    T spread = b.where(target != T(ignored), -b.sum(all, {classes}), 0);
    loss = loss * (1 - smoothing) + spread * (smoothing / b.tensor(T(x.size(classes)), logs.dtype()));
  }
  if (reduction == kMean)
    return b.sum(loss, {}) / b.sum(picked.weight, {});
  return reduced(b, loss, reduction);
}

static void addClassification(Table &t) {
  t.opmath("nll_loss nll_loss2d nll_loss_nd", [](B &b, T x, T target, OptT weight, int64_t reduction, Int ignored) {
    return nll(b, x, target, weight, reduction, ignored)[0];
  });
  t.opmath("nll_loss_forward nll_loss2d_forward",
           [](B &b, T x, T target, OptT weight, int64_t reduction, Int ignored) {
             return nll(b, x, target, weight, reduction, ignored);
           });
  t.opmath("cross_entropy_loss",
           [](B &b, T x, T target, OptT weight, int64_t reduction, Int ignored, double smoothing) {
             return crossEntropy(b, x, target, weight, reduction, ignored, smoothing);
           });
}

void addLoss(Table &t) {
  addRegression(t);
  addBinaryClassification(t);
  addClassification(t);
}

} // namespace ptc::decompose
