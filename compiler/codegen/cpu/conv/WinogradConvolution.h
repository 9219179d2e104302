//===- WinogradConvolution.h - loop.convolution by minimal filtering ------===//
#pragma once

#include "compiler/codegen/cpu/conv/ConvolutionPlan.h"
#include "compiler/codegen/cpu/conv/WinogradPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

void emitWinograd(CpuFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan);

/// Where a call has fewer than plan.leastTiles, by the direct form, whose tasks the frame's are.
void emitWinogradOrDirect(CpuFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan,
                          const ConvolutionPlan &directly);

} // namespace ptc::cpu
