//===- MicroTile.h - a register tile of products --------------------------===//
//
// The inner loop that contractions, convolutions and attention share: `rows` x
// `vectors` accumulators stay in registers while k runs, and each step adds
//
//   acc[i][j] += splat(a[i, k]) * b[k, j]      (j counts vectors of `width` lanes)
//
// or, where the machine adds up products of neighbouring k in one instruction,
//
//   acc[i][j] += splat(a[i, k]) * b[k, j] + splat(a[i, k + 1]) * b[k + 1, j]  (+ two more, of bytes)
//
// Addresses are affine in i, j and k. Constant strides become displacements of
// one base register, which is why static shapes need no packing of `a`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/kernel/Emit.h"

namespace ptc::cpu {

using namespace kernel;

/// The accumulators of one tile, row by row.
struct Accumulators {
  unsigned rows, vectors;
  llvm::SmallVector<llvm::Value *> values;

  llvm::Value *&at(unsigned row, unsigned vector) { return values[row * vectors + vector]; }
};

/// How a tile is shaped and typed. `element` is what memory holds; products are
/// accumulated in `accumulator` (float for bf16, f16 and f32; of bytes, the first operand's unsigned, i32). A step
/// takes `group` k: 2 is of bf16 only, 4 of bytes. `columns`, where it is not null, is what memory holds of the second
/// operand.
struct TileType {
  unsigned rows, vectors, width;
  llvm::Type *element;
  llvm::Type *accumulator;
  unsigned group = 1;
  llvm::Type *columns = nullptr;

  llvm::Type *vector() const;
};

Accumulators zeroAccumulators(const TileType &tile);

/// One operand: `base` points at its element for row (or vector) 0 and k = 0;
/// the strides count elements. `across[i]` is the place of row i (of vector j).
/// `grouped`, of the second operand: the k of a step lie side by side in each column; those beyond the last are zeros.
struct TileOperand {
  llvm::Value *base;
  llvm::SmallVector<llvm::Value *> across;
  llvm::Value *kStride;
  bool grouped = false;
  /// Null, or what a later tile reads: brought into L2 meanwhile, prefetchBytes a step.
  llvm::Value *prefetched = nullptr;
  int64_t prefetchBytes = 0;
  /// Bytes of a step, where these are contiguous and nobody reads them twice: they come into L1 shortly before.
  int64_t streamedBytes = 0;
  /// Of the first operand: null, or what the next tile reads. It comes into L1 meanwhile, nextBytes a step.
  llvm::Value *next = nullptr;
  int64_t nextBytes = 0;
};

/// A level of cache.
enum class Into { L1, L2 };

/// LLVM moves no load over it, and keeps no loaded value for one behind it.
void emitCompilerFence(Ir &b);

/// Brings the line of address + offset (bytes) into a cache.
void emitPrefetch(Ir &b, llvm::Value *address, int64_t offset, Into cache = Into::L2);

/// How far before its use what is streamed is asked for, in bytes. Two cores of a Xeon read 51 GB/s from 256 to 1024
/// on, 39 without, and 36 to 40 where L2 is asked for what is 4 to 96 KiB away.
constexpr int64_t kStreamDistance = 1024;

/// How much each step of k has to fetch, so that `tiles` tiles bring a whole panel of steps of `stepBytes`; half a line
/// at least, as one prefetch for two steps hides among their loads.
int64_t prefetchBytesOf(int64_t stepBytes, int64_t tiles);

/// What tile number `tile` prefetches of `next` (TileOperand::prefetched), k steps of `stepBytes` that follow the
/// weights at hand, `prefetchBytes` a step: the first tiles bring all of it, in place of the first tile that needs it,
/// which would wait for memory.
llvm::Value *emitPrefetchPlace(Ir &b, llvm::Value *weights, llvm::Value *next, llvm::Value *tile, llvm::Value *k,
                               int64_t stepBytes, int64_t prefetchBytes);

/// The elements of a step: `group` of them, `stride` apart, as a vector (a scalar, if one). Behind the first `left`
/// (null: all are there) are zeros, and nothing is read.
llvm::Value *emitLoadGroup(Ir &b, llvm::Type *element, unsigned group, llvm::Value *address, llvm::Value *stride,
                           llvm::Value *left);

/// Two rows of columns, column by column side by side (`second` null: zeros).
llvm::Value *emitInterleave(Ir &b, llvm::Value *first, llvm::Value *second);

/// Rows become columns, in place: as many vectors as each has lanes, a power of two.
void emitTranspose(Ir &b, llvm::MutableArrayRef<llvm::Value *> rows);

/// A row of constants 0, stride, 2 * stride, ...
llvm::SmallVector<llvm::Value *> strided(Ir &b, unsigned count, int64_t stride);
llvm::SmallVector<llvm::Value *> strided(Ir &b, unsigned count, llvm::Value *stride);

/// Adds the products of k in [0, size). Rows whose bit is unset in `activeRows`
/// (null: all) take no part. `lastMask` (or null) masks the loads of b's last vector.
void emitProducts(Ir &b, const TileType &tile, Accumulators &acc, const TileOperand &lhs, const TileOperand &rhs,
                  llvm::Value *size, llvm::ArrayRef<bool> activeRows = {}, llvm::Value *lastMask = nullptr);

} // namespace ptc::cpu
