//===- Random.h - random numbers ------------------------------------------===//
//
// Numbers of a floating type are computed from random bits (Builder.h); integers and half types have them in f32 or f64
// until they meet their declared type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// In [0, 1), with as many bits as numbers of the type have.
T uniform(B &b, ShapeRef sizes, mlir::Type type);
/// Of mean 0 and variance 1.
T normal(B &b, ShapeRef sizes, mlir::Type type);
/// True with probability p: a number, or a tensor of `sizes`.
T bernoulli(B &b, ShapeRef sizes, T p);

/// x with elements dropped with probability p and the others scaled, when training; the mask tells which stay.
struct Dropout {
  T result, mask;
};
Dropout dropout(B &b, T x, double p, bool train);

} // namespace ptc::decompose
