//===- NestPlan.h - loops, lanes and tasks of a kernel --------------------===//
//
// Decides for a kernel of maps, reductions and scans how its iteration domains
// become loops:
//
//   for each task                        blocks of the outer loops
//     for the rest of the outer loops    all members read each other only inside
//       for each stage                   members that run as one loop
//         parallel loops, reduction loops
//
// Neighbouring dimensions become one loop where every access walks them as one.
// The lanes of a vector lie along one loop, the one that the accesses prefer: an
// outer loop (then all stages run for `width` points at once), or for each
// stage one of its own. Where reads prefer one outer loop and stores another, both have theirs: if a call tells
// how long one of the two is, it takes that form only where tiles are full, and another one where they would not be.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/kernel/Stages.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"

#include <limits>
#include <memory>
#include <vector>

namespace ptc::cpu {

using namespace kernel;

/// Estimates for one iteration of the outer loops, in vector accesses: with lanes along each stage's own loops (or
/// nowhere), along an outer loop, or transposed in registers. Infinite where there is no such loop.
struct LaneCosts {
  double own = 0, outer = std::numeric_limits<double>::infinity(), transposed = outer;
};

struct NestPlan {
  unsigned outerRank;
  llvm::SmallVector<Loop> outer;
  bool lanesAlongOuter = false; ///< along the last of them
  unsigned width = 1;           ///< lanes of the outer loop
  /// Tiles of results, of the last two outer loops, are transposed: stores lie along the first of them
  /// (TransposedNest.h).
  bool transposes = false;
  std::vector<Stage> stages;

  LaneCosts costs; ///< that decided where the lanes lie

  /// A task is a block of `block` iterations of outer[blockLoop], for all of the loops after it.
  unsigned blockLoop = 0;
  int64_t block = 1;
  mlir::AffineExpr tasks;

  /// Tensors that only live within one iteration of the outer loops, by their offset in scratch (bytes).
  llvm::SmallVector<std::pair<mlir::Value, mlir::AffineExpr>> locals;
  mlir::AffineExpr scratchBytes;

  /// Results so large that storing them past the caches saves reading them first (see LoopNest.cpp).
  llvm::SmallVector<mlir::Value> streamed;

  /// The form of calls with `least` or more of `size`; all else is said of calls with fewer. Null where there is one.
  std::shared_ptr<const NestPlan> many;
  mlir::AffineExpr size;
  int64_t least = 0;
};

/// A result of this size is streamed: more than what caches hold of it for its reader.
constexpr int64_t kStreamedBytes = 24 << 20;

/// A kernel whose members are maps, reductions and scans.
NestPlan planNest(loop::KernelOp kernel, const Target &target);

/// A size for comparisons: symbols count as if they were typical.
double estimate(mlir::AffineExpr size);

} // namespace ptc::cpu
