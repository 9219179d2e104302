//===- Convolution.h - loop.convolution as register-tiled code ------------===//
#pragma once

#include "compiler/codegen/cpu/conv/ConvolutionPlan.h"
#include "compiler/codegen/cpu/conv/ConvolutionWalk.h"
#include "compiler/codegen/cpu/conv/SplitConvolution.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

/// Emits the tasks frame.begin ... frame.end of the plan: products of pixels
/// and panels of output channels; on the matrix unit by `split`, if there is one.
void emitConvolution(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan,
                     const std::optional<SplitConvolutionPlan> &split);

/// The same for one channel a group: vectors lie along the channels.
void emitGroupedConvolution(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan);

/// One task of it.
void emitGroupedTask(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan, const ConvolutionTask &task);

/// The same for a few outputs (plan.isDot): vectors lie along the input channels.
void emitDotConvolution(CpuFrame &frame, loop::ConvolutionOp op, const ConvolutionPlan &plan);

} // namespace ptc::cpu
