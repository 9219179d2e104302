//===- Sample.h - reading images at places between their elements ---------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// An image [N, C, (D,) H, W] at whole places, one tensor [n, P...] a spatial dimension; zero outside: [n, P..., C].
/// `of` says which of the N images each of the n reads, as [n] of whole numbers; without it each reads its own.
T samplePixels(B &b, T image, llvm::ArrayRef<T> places, OptT of = {});

/// As above at any places: the elements around one (two in each dimension) by their distance.
T sampleLinear(B &b, T image, llvm::ArrayRef<T> places, OptT of = {});

/// What is read at places, by a weight of each place.
T weightedPixels(B &b, T pixels, T weight);

} // namespace ptc::decompose
