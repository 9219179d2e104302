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

/// A tile of a row. `active` as in PixelTiles. A `bounded` tile is one pixel
/// whose taps along the last dimension are checked when it runs; of a clipped one (`count`) that is done for each of
/// its pixels, of which there are `count`.
struct PixelTile {
  llvm::Value *first;
  unsigned rows;
  llvm::ArrayRef<llvm::SmallVector<bool>> active;
  bool bounded;
  llvm::Value *count = nullptr;
};

class ConvolutionWalk {
public:
  ConvolutionWalk(CpuFrame &frame, const ConvolutionPlan &plan) : f(frame), plan(plan) {}

  /// The frame's tasks.
  void forEachTask(llvm::function_ref<void(const ConvolutionTask &)> body);

  void forEachRow(const ConvolutionTask &task, llvm::function_ref<void(const PixelRow &)> body);

  /// The tiles of any row.
  void forEachTile(llvm::function_ref<void(const PixelTile &)> body);

  /// Taps of dimension `dim` that reach the input from output index `place`.
  TapRange tapRange(unsigned dim, llvm::Value *place);

  /// Runs body for each tap of the outer dimensions that reaches the input, with
  /// the flattened index of the tap and the row-major place of the input row (counted in rows).
  llvm::SmallVector<llvm::Value *>
  forEachOuterTap(const PixelRow &row, llvm::ArrayRef<llvm::Value *> carried,
                  llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *tap, llvm::Value *inputRow,
                                                                      llvm::ArrayRef<llvm::Value *>)>
                      body);

  /// Whether the pixel `i` of a clipped tile is one, and tap `tap` reaches it.
  llvm::Value *isReached(const PixelTile &tile, unsigned i, llvm::Value *tap);

  /// Index along the last input dimension that tap `tap` reads for `pixel`.
  llvm::Value *inputPixel(llvm::Value *pixel, llvm::Value *tap);

  /// Indices (image, spatial...) of the output's pixel `i` of a tile.
  llvm::SmallVector<llvm::Value *> outputPixel(const PixelRow &row, const PixelTile &pixels, llvm::Value *i);

private:
  llvm::SmallVector<llvm::Value *>
  nest(const PixelRow &row, unsigned dim, llvm::Value *tap, llvm::Value *inputRow,
       llvm::ArrayRef<llvm::Value *> carried,
       llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *, llvm::Value *, llvm::ArrayRef<llvm::Value *>)>
           body);

  CpuFrame &f;
  const ConvolutionPlan &plan;
};

} // namespace ptc::cpu
