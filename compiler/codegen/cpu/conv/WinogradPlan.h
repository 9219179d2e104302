//===- WinogradPlan.h - how a loop.convolution by minimal filtering runs --===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/pack/Winograd.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"

namespace ptc::cpu {

/// Tiles of m x m outputs, counted over all frames of all images (one frame each, in two dimensions), are cut into
/// blocks, by the sizes of the call where these are dynamic. A task transforms the inputs of its block to scratch,
/// [point][tile][input], unless the thread's last task has done so; then for each of its panels it multiplies them by
/// the transformed weights, point by point, and turns the products, [point][tile][output], into outputs. A tile that is
/// computed directly has its inputs in scratch as they are, (m + 2)^2 like the points, and its outputs in place of its
/// first products.
struct WinogradPlan {
  const Winograd *winograd;
  bool hasFrames;                        ///< three dimensions
  mlir::AffineExpr depth, height, width; ///< of x
  mlir::AffineExpr outputDepth, outputHeight, outputWidth;
  int64_t channels, outputs;
  int64_t low[3];                                 ///< in depth, height and width
  int64_t frames, inputs;                         ///< that an output is made of; times channels
  mlir::AffineExpr tilesDown, tilesAcross, tiles; ///< of a frame in each direction; of all images
  /// Fewer tiles are computed faster by the direct form.
  int64_t leastTiles = 0;
  unsigned lanes;
  int64_t panel, panels;        ///< output channels of a panel
  int64_t tileRows, blockTiles; ///< tiles in a register tile, in a block
  int64_t restRows;             ///< in a register tile of what is left of a block's
  mlir::AffineExpr blocks;
  int64_t panelsPerTask, panelBlocks;
  int64_t groupPanels; ///< neighbouring panelBlocks that all blocks pass through before others

  mlir::AffineExpr tasks() const { return blocks * panelBlocks; }
  /// In scratch the channels of a frame, and of a tile's frames, are whole vectors.
  int64_t frameFloats() const { return llvm::alignTo(channels, lanes); }
  int64_t tileFloats() const { return frames * frameFloats(); }
  /// A line more than a point needs: the points of a tile, written together, do not fall on one set of the cache.
  int64_t inputFloats() const { return blockTiles * tileFloats() + 16; } ///< of a point
  int64_t productFloats() const { return blockTiles * panel + 16; }      ///< of a point
  /// 2 x 2 outputs of a tile.
  int64_t squares() const { return winograd->m * winograd->m / 4; }
  /// Sums of squares of the tile's inputs at hand: in the middle of each 2 x 2 outputs, and of the rest.
  int64_t squaresFloats() const { return (squares() + 1) * lanes; }
  /// Behind all that, i32: whether a tile of the block is computed directly.
  int64_t scratchBytes() const {
    return 4 * (winograd->points() * (inputFloats() + productFloats()) + squaresFloats() + blockTiles);
  }
};

WinogradPlan planWinograd(loop::ConvolutionOp op, const Target &target);

} // namespace ptc::cpu
