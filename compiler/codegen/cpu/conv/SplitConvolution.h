//===- SplitConvolution.h - convolutions on the matrix unit ---------------===//
//
// A task splits its part of an image (with the padding around it) to scratch, pixel by pixel. There the rows of the
// image follow each other, so the output's pixels, counted through all rows of `pitch` pixels, read a tap at as many
// pixels from there: each tap is a product of matrices, whose rows beyond the output's width are left alone. With a
// stride of s, pixels are sorted into s x s planes by the rests of their indices. With three spatial dimensions the
// output's frames (along the first) are cut into tasks one by one, and the frames that one reads lie behind each other.
//
// Where a call tells how many pixels there are, tasks are parts of an image of one size, those at its right and lower
// borders smaller. A call with few pixels is multiplied by vectors.
//
// Pixels of f32 are split into terms, and so are weights, for each task. Those of bf16 and of bytes are copied as they
// are, and the unit reads the weights where they lie: a block of products takes all taps in the unit's registers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "compiler/codegen/cpu/conv/ConvolutionWalk.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

struct SplitConvolutionPlan {
  matrixunit::Numbers numbers;
  int64_t rowsPerTask, columnsPerTask; ///< of output pixels, in a frame
  int64_t panelsPerTask, panelBlocks;  ///< of channels
  mlir::AffineExpr rowBlocks, columnBlocks;
  mlir::AffineExpr rowsEach, columnsEach; ///< of a task in this call, at most as many as above
  int64_t frames;                         ///< of the output
  mlir::AffineExpr height, width;
  mlir::AffineExpr pixelsOfFrame;   ///< of the output
  int64_t leastPixels;              ///< that a frame of the output has on the unit; 0 where all have them
  int64_t vectorBytes;              ///< before all else in scratch: ConvolutionPlan::scratchBytes(), whole lines
  int64_t pitch;                    ///< pixels of a row in a plane, at most
  int64_t planeRows;                ///< rows of pixels in a plane
  int64_t framePixels;              ///< of all planes of a frame
  int64_t pixels;                   ///< of all frames in scratch, and what blocks read beyond them
  int64_t channelSteps, batchSteps; ///< of k in a tap; of those of f32 that are split at a time
  int64_t lhsBytes, rhsBytes, productBytes; ///< in scratch, in this order
  mlir::AffineExpr tasks;

  int64_t products() const { return rowsPerTask * pitch; }
  int64_t scratchBytes() const { return vectorBytes + lhsBytes + rhsBytes + productBytes; }
};

/// Null where the matrix unit does not take the convolution. `because` becomes the reason.
std::optional<SplitConvolutionPlan> planSplit(const ConvolutionPlan &plan, loop::ConvolutionOp op,
                                              std::string &because);

struct SplitConvolutionTask : ConvolutionTask {
  llvm::Value *part;           ///< tells tasks with other pixels apart
  llvm::Value *frame, *begin;  ///< of the output; its first row in the frame
  llvm::Value *left, *columns; ///< its first column, and how many there are
  llvm::Value *pitch;          ///< pixels of a row in a plane
  TapRange frameTaps;          ///< those along the frames that reach the input
};

/// finish(panel, products): output pixel (row, column) of the task is row row * pitch + column of `products`, 32 floats
/// each, of bytes i32. Floats are not finite where an operand is not, whatever f32 products are then.
void emitSplitConvolution(CpuFrame &frame, const ConvolutionPlan &plan, const SplitConvolutionPlan &split,
                          const SplitConvolutionTask &task, llvm::Value *x, llvm::Value *w,
                          llvm::function_ref<void(llvm::Value *panel, llvm::Value *products)> finish);

} // namespace ptc::cpu
