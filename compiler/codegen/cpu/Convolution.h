//===- Convolution.h - loop.convolution as register-tiled code ------------===//
#pragma once

#include "compiler/codegen/cpu/ConvolutionPlan.h"
#include "compiler/codegen/cpu/KernelFrame.h"

namespace ptc::cpu {

/// Emits the tasks frame.begin ... frame.end of the plan: products of pixels
/// and panels of output channels.
void emitConvolution(KernelFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan);

/// The same for one channel a group: vectors lie along the channels.
void emitDepthwiseConvolution(KernelFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan);

} // namespace ptc::cpu
