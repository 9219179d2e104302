//===- WinogradConvolution.h - loop.convolution by minimal filtering ------===//
#pragma once

#include "compiler/codegen/cpu/conv/WinogradPlan.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

namespace ptc::cpu {

void emitWinograd(CpuFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan);

} // namespace ptc::cpu
