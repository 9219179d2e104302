//===- ConvolutionPlan.h - how a convolution is cut into tiles and tasks --===//
//
// Direct convolution on channels-last tensors: a tile is a run of output
// pixels along the last spatial dimension times one panel of output channels,
// and the reduction runs over kernel taps and input channels. Taps that fall
// outside the input are left out, not multiplied by zeros: along the outer
// spatial dimensions by the bounds of the tap loops, along the last one by
// tiles that know at compile time which of their pixels a tap reaches.
//
// Where the length of a row is dynamic, tiles are runs of pixels counted over
// all rows and images (isFlat): most lie within a row, and all taps along it
// reach. What a tile at the border of a row reads is copied to scratch, with
// zeros around it. Of tiles that go beyond a row each pixel has its place of its
// own, and what a tap does not reach is zero. So narrow images fill their tiles,
// too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"

#include "llvm/Support/MathExtras.h"

namespace ptc::cpu {

/// A run of tiles of `rows` pixels each: `count` of them from pixel `first` on.
/// `active[kw][i]`: whether tap kw reaches pixel i; empty when all do.
struct PixelTiles {
  int64_t first, rows, count;
  llvm::SmallVector<llvm::SmallVector<bool>> active;
};

struct ConvolutionPlan {
  /// Sizes of [N, spatial..., channels] of input and output, and of the kernel.
  Shape input, output;
  llvm::SmallVector<int64_t> kernel, strides, low, dilations;
  int64_t groups;
  int64_t groupInputs, groupOutputs; ///< channels of one group
  bool isGrouped;                    ///< groups of one channel, or of a few, side by side in a vector (loop::isGrouped)
  bool isDot;           ///< so few outputs that vectors lie along the input channels: w is [O, kernel..., C]
  bool isChannelsFirst; ///< the input; `input` is [N, spatial..., channels] all the same

  int64_t firstWeight = 0; ///< elements of w before its panels: those of minimal filtering

  unsigned width;   ///< lanes of a vector
  unsigned panel;   ///< output channels of a panel
  unsigned group;   ///< input channels of one step, which lie side by side in each column of w
  int64_t panels;   ///< of a group
  int64_t tileRows; ///< pixels a tile has at most
  /// The tiles of one row of pixels; empty when the row's length is dynamic.
  llvm::SmallVector<PixelTiles> tiles;
  bool isFlat = false; ///< what is said of rows below is true of tiles, which are counted over all images

  int64_t rowsPerTask; ///< rows of pixels
  /// Neighbouring blocks of so many rows: their tasks of one panel follow each other, and find its weights in L2.
  int64_t blocksPerBand;
  int64_t panelsPerTask;
  int64_t panelsPerBlock; ///< of a grouped convolution: whose inputs under the kernel stay in L2 from row to row
  mlir::AffineExpr rows;  ///< of pixels in an image: product of the outer spatial sizes
  mlir::AffineExpr rowBlocks;
  int64_t panelBlocks;
  mlir::AffineExpr tasks;

  /// In scratch: what a tap does not reach, where channels lie side by side; else what lies under the kernel at each
  /// pixel of a spread tile.
  int64_t spreadBytes = 0;
  /// Behind it: what a tile at the border of a row reads, [outer taps][pixels][channels], or [outer taps][channels] and
  /// whole vectors of pixels where channels come first; 0 where such tiles are spread.
  int64_t borderBytes = 0;

  /// Elements of a tile's copy that one outer tap reads.
  int64_t borderRow() const {
    return groupInputs * (isChannelsFirst ? llvm::alignTo(tileInputs(), width) : tileInputs());
  }
  int64_t scratchBytes() const { return spreadBytes + borderBytes; }
  int64_t channels() const { return groups * groupInputs; } ///< of the input
  unsigned spatialRank() const { return kernel.size(); }
  int64_t taps() const { return llvm::product_of(kernel); }
  /// Pixels of an input row that a whole tile reads.
  int64_t tileInputs() const { return (tileRows - 1) * strides.back() + (kernel.back() - 1) * dilations.back() + 1; }
  int64_t outerTaps() const { return llvm::product_of(llvm::ArrayRef(kernel).drop_back()); }
  /// Input pixels side by side under the kernel, in whole vectors.
  int64_t run() const { return llvm::alignTo((kernel.back() - 1) * dilations.back() + 1, width); }
};

/// Tasks of so many rows with all channels, of a grouped convolution.
void cutIntoBands(ConvolutionPlan &plan, int64_t rowsPerTask);

ConvolutionPlan planConvolution(loop::ConvolutionOp op, const Target &target);

} // namespace ptc::cpu
