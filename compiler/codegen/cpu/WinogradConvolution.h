//===- WinogradConvolution.h - loop.convolution by minimal filtering ------===//
#pragma once

#include "compiler/codegen/cpu/CpuFrame.h"
#include "compiler/codegen/cpu/WinogradPlan.h"

namespace ptc::cpu {

void emitWinograd(CpuFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan);

} // namespace ptc::cpu
