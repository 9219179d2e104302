//===- Bf16x3Weights.h - weights as tiles of bf16 -------------------------===//
//
// A float is the exact sum of three numbers of bf16 (compiler/codegen/cpu/amx/MatrixUnit.h says what for). Weights that
// meet few rows lie in the artifact as bf16x3: to split them at each call would take as long as to multiply them.
//
// A panel of 16 columns is [step of 32 k][term: high, middle, low][16 pairs][16 columns][2 k], where the k of a pair
// are 16 apart, with zeros beyond the last k. Weights of bf16 are one term, [step][16 pairs][16 columns][2 k], whose
// pairs are neighbours.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/weights/ByteSource.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace ptc::cpu::bf16x3 {

constexpr int64_t kTerms = 3;    ///< of a float
constexpr int64_t kStep = 32;    ///< k
constexpr int64_t kPairs = 16;   ///< of a step
constexpr int64_t kColumns = 16; ///< of a panel
constexpr int64_t kTermElements = kStep * kColumns;
constexpr int64_t kStepElements = kTerms * kTermElements;

/// From so many operations on a product goes to the unit though its weights are split each time they are used.
constexpr int64_t kLeastFlopsUnsplit = 32 << 20;

/// Terms of rows that stay in L2 beside all else, and rows that are not cut to fit there.
constexpr int64_t kRowBytesInCache = 1280 << 10, kRowsTogether = 128;

/// Numbers below this: their products and sums, of bf16 terms or not, are no infinities.
constexpr float kLargest = 0x1p50f;

/// Whether all of the f32 numbers are below kLargest.
bool areSplittable(llvm::ArrayRef<char> numbers);

/// Of packed weights [panels][k][16], whose unit is a row, by units of a step.
ByteSource split(ByteSource packed, int64_t k);

/// Of packed bf16 weights [panels][ceil(k / 2)][16][2], whose unit is a row of pairs, by units of a step.
ByteSource padSteps(ByteSource packed, int64_t k);

/// Why a product of `rows` by weights [k][columns] takes no less time as bf16x3 than in f32 or than splitting the
/// weights when they are used; empty where bf16x3 pays. The terms are half as much again in the artifact and in memory:
/// large weights stay whole.
std::string findObstacle(int64_t rows, int64_t k, int64_t columns);
/// The same of bf16, against instructions that multiply vectors of pairs.
std::string findObstacleInBf16(int64_t rows, int64_t k, int64_t columns);

} // namespace ptc::cpu::bf16x3
