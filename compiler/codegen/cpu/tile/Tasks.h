//===- Tasks.h - rules by which kernels of products are cut ---------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"

#include "mlir/IR/Operation.h"

namespace ptc::cpu {

/// A task should be long against handing it out, and a call have enough of them to balance threads. Both depend on
/// shapes (and what was measured) alone, so that results do not depend on the number of threads.
struct TaskRules {
  int64_t flops;  ///< of a task, at least
  int64_t wanted; ///< tasks of a kernel

  static TaskRules of(mlir::Operation *op);
};

/// How many bands the rows (of a matrix, or pixels) of a kernel are cut into before its columns are. Tasks run band by
/// band, and threads take neighbouring tasks: a thread then reads what it wrote in the kernel before, as other layers
/// cut their rows alike, and not what another core has written. Each band reads all weights, which enough rows hide.
/// Weights that are larger than the rows themselves and than half of L2 are better read once: then there is one band.
int64_t rowBands(mlir::Operation *op, int64_t rows, int64_t rowBytes, int64_t weightBytes);

/// The most rows, or pixels, of a tile whose lines of the first operand stay in L1 over all of k: those a multiple of
/// 4 KiB apart share one set, and the second operand needs one of its ways.
int64_t mostRowsInCache(int64_t rowBytes, unsigned l1Ways);

/// How many products of neighbouring k one instruction adds to an accumulator. Bytes come packed in groups.
unsigned groupOf(const Target &target, mlir::Type element);

} // namespace ptc::cpu
