//===- Expect.h - what a compiled program may answer ----------------------===//
//
// The reference evaluates a program several times: once as it is, and then with
// noise on every inexact result, as large as rounding errors may be there (of
// sums, in proportion to the sum of magnitudes). What the runs span is what a
// correct program may answer. Cancellation, comparisons of nearly equal values,
// conversions to integers and sorts need no rules of their own: where noise
// changes their outcome, runs disagree.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/random/Case.h"

namespace ptc::test {

/// What the runs said about the elements of one tensor.
struct Span {
  /// What an element was in some run.
  enum Class : uint8_t { kNan = 1, kInfinity = 2, kMinusInfinity = 4, kFinite = 8, kZero = 16, kMinusZero = 32 };

  prims::Tensor low, high;
  std::vector<uint8_t> classes;

  void include(const prims::Tensor &run);
  /// The first element that no run explains, as text; empty when there is none.
  std::string compare(const prims::Tensor &answer) const;
};

struct Expectation {
  std::vector<Span> results;
  std::vector<prims::Tensor> first; ///< of the run without noise
};

/// `runs` with noise `scale` times as large as expected on a CPU, or on a GPU; from a seed. An error is one of the
/// program (an index out of range).
llvm::Expected<Expectation> expect(const Case &program, const Tensors &inputs, int runs, double scale, uint64_t seed,
                                   bool isForGpu = false);

/// All values of the run without noise: operations' results, in order.
using ValueReader = llvm::function_ref<void(mlir::Value, const prims::Tensor &)>;
llvm::Error forEachValue(const Case &program, const Tensors &inputs, ValueReader read);

} // namespace ptc::test
