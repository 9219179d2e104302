//===- FusedConvolution.h - a product by the rows that a convolution needs ===//
//
// A task is a band of rows of the convolution. The rows of the product that it reads are multiplied into the thread's
// scratch, which stays in L2, and read from there. Bands overlap by the taps: what the thread's band above has left is
// kept, so that rows are multiplied twice only where threads meet.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/conv/ConvolutionPlan.h"
#include "compiler/codegen/cpu/gemm/ContractionPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

struct FusedConvolutionPlan {
  ContractionPlan product;     ///< its tiles are of rows of pixels
  ConvolutionPlan convolution; ///< its tasks are bands with all channels
  int64_t width;               ///< pixels of a row of the product
  int64_t rows;                ///< of the product, that scratch holds

  int64_t rowElements() const { return width * convolution.channels(); }
  int64_t rowBytes() const { return rowElements() * sizeof(float); }
  int64_t scratchBytes() const;
};

llvm::Expected<FusedConvolutionPlan> planFusedConvolution(const loop::FusedConvolution &fused, const Target &target);

void emitFusedConvolution(CpuFrame &frame, const loop::FusedConvolution &fused, const FusedConvolutionPlan &plan);

} // namespace ptc::cpu
