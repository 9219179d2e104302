//===- Normalization.cpp - batch, layer, group, instance, rms -------------===//
//
// Statistics and arithmetic of half types are in f32.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Statistics.h"
#include "compiler/graph/decompose/Table.h"

#include <numeric>

namespace ptc::decompose {

/// A vector over channels, dimension 1 of x.
static T perChannel(B &b, T x, T vector) {
  Shape sizes(x.rank(), b.size(1));
  sizes[1] = vector.size(0);
  return b.broadcastInDim(vector, sizes, {1});
}

/// x * scale + shift with both known from the frozen statistics: constant
/// folding computes them, and folds them into a convolution before.
static T normaliseFrozen(B &b, T x, OptT weight, OptT bias, T mean, T variance, double eps) {
  T scale = b.reciprocal(b.sqrt(variance + eps));
  if (weight)
    scale = scale * *weight;
  T shift = -(mean * scale);
  if (bias)
    shift = shift + *bias;
  return x * perChannel(b, x, scale) + perChannel(b, x, shift);
}

/// Running statistics are there together.
static void checkStatistics(const OptT &mean, const OptT &variance, bool areNeeded) {
  if (bool(mean) != bool(variance) || (areNeeded && !mean))
    throwMisfit("the running mean and variance are missing, or one of them");
}

struct BatchNorm {
  T y, mean, invStd, runningMean, runningVariance;
};

/// With the batch's own statistics; running ones move by `momentum`.
static BatchNorm normaliseBatch(B &b, T x, OptT weight, OptT bias, OptT runningMean, OptT runningVariance,
                                double momentum, double eps) {
  if (x.rank() < 2) { // allowed where there is no element
    T none = b.full(x.sizes(), 0, x.dtype());
    return {x, none, none, runningMean.value_or(T()), runningVariance.value_or(T())};
  }
  Dims dims = b.dims(x, {});
  dims.erase(dims.begin() + 1);
  Moments m = variance(b, x, dims, 0, false);
  BatchNorm result;
  result.mean = m.mean;
  result.invStd = b.reciprocal(b.sqrt(m.variance + eps));
  T y = (x - perChannel(b, x, m.mean)) * perChannel(b, x, result.invStd);
  y = weight ? y * perChannel(b, x, *weight) : y;
  result.y = bias ? y + perChannel(b, x, *bias) : y;
  if (runningMean) {
    T n(b.count(x, dims));
    T unbiased =
        n.symbolic() ? m.variance * n / (b.tensor(n, x.dtype()) - 1.0) : m.variance * (n.real() / (n.real() - 1));
    result.runningMean = m.mean * momentum + *runningMean * (1 - momentum);
    result.runningVariance = unbiased * momentum + *runningVariance * (1 - momentum);
  }
  return result;
}

static BatchNorm batchNorm(B &b, T x, OptT weight, OptT bias, OptT mean, OptT variance, bool training, double momentum,
                           double eps) {
  checkStatistics(mean, variance, /*areNeeded=*/false);
  if (training || !mean)
    return normaliseBatch(b, x, weight, bias, mean, variance, momentum, eps);
  BatchNorm result;
  result.y = normaliseFrozen(b, x, weight, bias, *mean, *variance, eps);
  // PyTorch saves no statistics then: tensors without elements.
  if (b.hasDeclared(1) && getConstant(b.declared(1)[0]) == 0)
    result.mean = result.invStd = b.full(b.declared(1), 0, b.declaredType(1));
  result.runningMean = *mean;
  result.runningVariance = *variance;
  return result;
}

static void addBatchNorm(Table &t) {
  t.opmath("batch_norm", [](B &b, T x, OptT weight, OptT bias, OptT mean, OptT variance, bool training,
                            double momentum, double eps) {
    return batchNorm(b, x, weight, bias, mean, variance, training, momentum, eps).y;
  });
  t.opmath("native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional",
           [](B &b, T x, OptT weight, OptT bias, OptT mean, OptT variance, bool training, double momentum, double eps) {
             BatchNorm r = batchNorm(b, x, weight, bias, mean, variance, training, momentum, eps);
             return TList{r.y, r.mean, r.invStd, r.runningMean, r.runningVariance};
           });
  t.opmath("_native_batch_norm_legit.no_stats",
           [](B &b, T x, OptT weight, OptT bias, bool, double momentum, double eps) {
             BatchNorm r = normaliseBatch(b, x, weight, bias, {}, {}, momentum, eps);
             return TList{r.y, r.mean, r.invStd};
           });
  t.opmath("_native_batch_norm_legit_no_training _batch_norm_no_update",
           [](B &b, T x, OptT weight, OptT bias, OptT mean, OptT variance, double momentum, double eps) {
             BatchNorm r = batchNorm(b, x, weight, bias, mean, variance, false, momentum, eps);
             return TList{r.y, r.mean, r.invStd};
           });
  t.opmath("_batch_norm_with_update_functional",
           [](B &b, T x, OptT weight, OptT bias, T mean, T variance, double momentum, double eps) {
             BatchNorm r = normaliseBatch(b, x, weight, bias, mean, variance, momentum, eps);
             T reserve = b.hasDeclared(3) ? b.full(b.declared(3), 0, b.declaredType(3)) : T();
             return TList{r.y, r.mean, r.invStd, reserve, r.runningMean, r.runningVariance};
           });
  t.opmath("instance_norm",
           [](B &b, T x, OptT weight, OptT bias, OptT mean, OptT variance, bool useInput, double, double eps) {
             checkStatistics(mean, variance, /*areNeeded=*/!useInput);
             if (!useInput)
               return normaliseFrozen(b, x, weight, bias, *mean, *variance, eps);
             Dims spatial(x.rank() - 2);
             std::iota(spatial.begin(), spatial.end(), 2);
             Moments m = ptc::decompose::variance(b, x, spatial, 0, true);
             T y = (x - m.mean) * b.rsqrt(m.variance + eps);
             y = weight ? y * perChannel(b, x, *weight) : y;
             return bias ? y + perChannel(b, x, *bias) : y;
           });
}

static Dims lastDims(T x, size_t count) {
  Dims dims(count);
  std::iota(dims.begin(), dims.end(), x.rank() - int64_t(count));
  return dims;
}

/// The elements of rows that begin a group of `lanes`, and zeros for the others. Rows are along the last dimensions.
static T firstLane(B &b, T x, DimsRef dims, int64_t lanes) {
  T place;
  int64_t stride = 1;
  for (int64_t d : llvm::reverse(dims)) {
    Shape line(x.rank(), b.size(1));
    line[d] = x.size(d);
    if (stride % lanes) {
      T part = b.iota(line, d, b.i32()) * (stride % lanes);
      place = place ? place + part : part;
    }
    stride *= *getConstant(x.size(d));
  }
  return b.where(b.bitAnd(place, lanes - 1) == 0, x, 0.0);
}

/// Of rows. PyTorch's running variance is no number where the square of the mean is infinite: of the first of the lanes
/// of 32 bytes that it adds up side by side, if the row is whole vectors; of all, if it is less than one
/// (docs/precision.md). No square of a float16 is infinite in float32.
static T inverseDeviation(B &b, T x, DimsRef dims, const Moments &m, double eps) {
  auto count = getConstant(b.count(x, dims));
  auto type = llvm::dyn_cast<mlir::FloatType>(b.declaredType()), sums = llvm::dyn_cast<mlir::FloatType>(x.dtype());
  // Other types are refused elsewhere.
  int64_t vector = 256 / (type ? type.getWidth() : 32), lanes = 256 / (sums ? sums.getWidth() : 32);
  bool isWhole = count && *count >= vector && *count % vector == 0, isTail = count && *count > vector && !isWhole;
  if (isTail || (type && type.isF16()))
    return b.rsqrt(m.variance + eps);
  T mean = isWhole ? b.sum(firstLane(b, x, dims, lanes), dims, true) * (double(lanes) / double(*count)) : m.mean;
  return b.rsqrt(m.variance + b.square(mean) * 0.0 + eps);
}

static TList layerNorm(B &b, T x, size_t normalised, OptT weight, OptT bias, double eps) {
  Dims dims = lastDims(x, normalised);
  Moments m = variance(b, x, dims, 0, true);
  T invStd = inverseDeviation(b, x, dims, m, eps);
  T y = (x - m.mean) * invStd;
  y = weight ? y * *weight : y;
  return {bias ? y + *bias : y, m.mean, invStd};
}

// Channels are split into groups, so that a group is a run of dimensions.
static TList groupNorm(B &b, T x, OptT weight, OptT bias, int64_t groups, double eps) {
  Shape grouped = x.sizes(), stats{x.size(0), b.size(groups)}, affine(x.rank() + 1, b.size(1));
  grouped[1] = x.size(1).floorDiv(groups);
  affine[1] = b.size(groups), affine[2] = grouped[1];
  grouped.insert(grouped.begin() + 1, b.size(groups));
  T y = b.reshape(x, grouped);
  Dims dims = lastDims(y, y.rank() - 2);
  Moments m = variance(b, y, dims, 0, true);
  T invStd = inverseDeviation(b, y, dims, m, eps);
  y = (y - m.mean) * invStd;
  y = weight ? y * b.reshape(*weight, affine) : y;
  y = bias ? y + b.reshape(*bias, affine) : y;
  return {b.reshape(y, x.sizes()), b.reshape(m.mean, stats), b.reshape(invStd, stats)};
}

static TList rmsNorm(B &b, T x, size_t normalised, OptT weight, std::optional<double> eps) {
  double small = eps ? *eps : epsilon(x.dtype()); // of the type it is computed in: a half type's is float32's
  T scale = b.rsqrt(b.mean(b.square(x), lastDims(x, normalised), true) + small);
  T y = x * scale;
  return {weight ? y * *weight : y, scale};
}

static void addOthers(Table &t) {
  t.opmath("layer_norm", [](B &b, T x, Ints shape, OptT weight, OptT bias, double eps) {
    return layerNorm(b, x, shape.size(), weight, bias, eps)[0];
  });
  t.opmath("native_layer_norm", [](B &b, T x, Ints shape, OptT weight, OptT bias, double eps) {
    return layerNorm(b, x, shape.size(), weight, bias, eps);
  });
  t.opmath("group_norm", [](B &b, T x, int64_t groups, OptT weight, OptT bias, double eps) {
    return groupNorm(b, x, weight, bias, groups, eps)[0];
  });
  t.opmath("native_group_norm", [](B &b, T x, OptT weight, OptT bias, Any, Any, Any, int64_t groups, double eps) {
    return groupNorm(b, x, weight, bias, groups, eps);
  });
  t.opmath("rms_norm", [](B &b, T x, Ints shape, OptT weight, std::optional<double> eps) {
    return rmsNorm(b, x, shape.size(), weight, eps)[0];
  });
  t.opmath("_fused_rms_norm", [](B &b, T x, Ints shape, OptT weight, std::optional<double> eps) {
    return rmsNorm(b, x, shape.size(), weight, eps);
  });
}

void addNormalization(Table &t) {
  addBatchNorm(t);
  addOthers(t);
}

} // namespace ptc::decompose
