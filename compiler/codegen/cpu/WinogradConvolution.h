//===- WinogradConvolution.h - loop.convolution by minimal filtering ------===//
#pragma once

#include "compiler/codegen/cpu/KernelFrame.h"
#include "compiler/codegen/cpu/WinogradPlan.h"

namespace ptc::cpu {

void emitWinograd(KernelFrame &frame, loop::ConvolutionOp op, const WinogradPlan &plan);

} // namespace ptc::cpu
