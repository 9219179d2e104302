//===- ConvolutionWalk.h - over the tiles and taps of a convolution -------===//
#pragma once

#include "compiler/codegen/cpu/conv/ConvolutionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Taps [begin, end) of one kernel dimension: those that reach the input.
struct TapRange {
  llvm::Value *begin, *end;
};

/// What one task computes: rows of an image (counted over the outer spatial dimensions) and panels of a group, the last
/// ones excluded. `firstOfBand`: row of the band that the task belongs to (ConvolutionPlan::blocksPerBand).
struct ConvolutionTask {
  llvm::Value *image, *group, *firstRow, *lastRow, *firstPanel, *lastPanel, *firstOfBand;
};

/// One row of output pixels.
struct PixelRow {
  llvm::Value *index;                     ///< counted from the first of the band
  llvm::Value *image;                     ///< index in the batch
  llvm::SmallVector<llvm::Value *> outer; ///< spatial indices but the last
  llvm::SmallVector<TapRange> taps;       ///< of the outer spatial dimensions
};

/// A pixel that has neighbours anywhere: what it reads under the kernel's first tap.
struct SpreadPixel {
  llvm::SmallVector<llvm::Value *> places; ///< along the spatial dimensions of the input, or outside of it
  llvm::Value *image;
  llvm::Value *input; ///< the same place, counted over all pixels of all images
};

/// A tile of a row. `active` as in PixelTiles. A `bounded` tile is one pixel
/// whose taps along the last dimension are checked when it runs. A spread tile (`spread` is not empty) has `count`
/// pixels, of any rows and images: all taps are checked for each.
struct PixelTile {
  llvm::Value *first;
  unsigned rows;
  llvm::ArrayRef<llvm::SmallVector<bool>> active;
  bool bounded;
  llvm::Value *count = nullptr;
  llvm::ArrayRef<SpreadPixel> spread = {};
  llvm::Value *indices = nullptr; ///< in memory: those of a spread tile's output pixels
  /// Null, or whether some taps of the tile lie beyond the ends of its row (i1): it is to read a copy with zeros there.
  llvm::Value *isBorder = nullptr;
};

/// `count` pixels from `first` on, counted over all rows and images; `index` is the first tile's among the band's.
struct PixelRun {
  llvm::Value *index, *first, *count;
};

class ConvolutionWalk {
public:
  ConvolutionWalk(CpuFrame &frame, const ConvolutionPlan &plan) : f(frame), plan(plan) {}

  /// The frame's tasks.
  void forEachTask(llvm::function_ref<void(const ConvolutionTask &)> body);

  void forEachRow(const ConvolutionTask &task, llvm::function_ref<void(const PixelRow &)> body);

  /// The tiles of any row.
  void forEachTile(llvm::function_ref<void(const PixelTile &)> body);

  /// The tiles of a task of a flat plan. Of the row of a spread tile all outer taps are to be tried.
  using FlatBody = llvm::function_ref<void(const PixelRow &, const PixelTile &)>;
  void forEachFlatTile(const ConvolutionTask &task, FlatBody body);
  /// The tiles of any run of pixels, where the plan is flat.
  void forEachTileOf(const PixelRun &run, FlatBody body);

  /// Taps of dimension `dim` that reach the input from output index `place`.
  TapRange tapRange(unsigned dim, llvm::Value *place);

  /// Runs body for each tap of the outer dimensions that reaches the input, with
  /// the flattened index of the tap and the row-major place of the input row (counted in rows).
  llvm::SmallVector<llvm::Value *>
  forEachOuterTap(const PixelRow &row, llvm::ArrayRef<llvm::Value *> carried,
                  llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *tap, llvm::Value *inputRow,
                                                                      llvm::ArrayRef<llvm::Value *>)>
                      body);

  /// How far from the first tap's a tap's input lies, along the spatial dimensions (`outerTap` is the tap of the outer
  /// ones, flattened).
  llvm::SmallVector<llvm::Value *> tapPlace(llvm::Value *outerTap, llvm::Value *tap);
  /// The same, counted over all pixels.
  llvm::Value *tapOffset(llvm::ArrayRef<llvm::Value *> tapPlace);
  /// Whether the tap reaches the pixel, along as many of the first dimensions as `tapPlace` has.
  llvm::Value *isReached(const SpreadPixel &pixel, llvm::ArrayRef<llvm::Value *> tapPlace);

  /// Index along the last input dimension that tap `tap` reads for `pixel`.
  llvm::Value *inputPixel(llvm::Value *pixel, llvm::Value *tap);

  /// Indices (image, spatial...) of the output's pixel `i` of a tile.
  llvm::SmallVector<llvm::Value *> outputPixel(const PixelRow &row, const PixelTile &pixels, llvm::Value *i);

private:
  /// One tile, of at most `most` pixels.
  void emitSpread(const PixelRun &run, unsigned most, FlatBody body);
  /// Pixels of a row that all taps along it reach.
  TapRange findInner();
  llvm::SmallVector<llvm::Value *>
  nest(const PixelRow &row, unsigned dim, llvm::Value *tap, llvm::Value *inputRow,
       llvm::ArrayRef<llvm::Value *> carried,
       llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *, llvm::Value *, llvm::ArrayRef<llvm::Value *>)>
           body);

  CpuFrame &f;
  const ConvolutionPlan &plan;
};

} // namespace ptc::cpu
