//===- Describe.h - plans in words ----------------------------------------===//
//
// What `ptc explain` says of a kernel's algorithm. Names are the field's. A reason is the sizes first, then what passes
// have noted (dialects/loop/Reasons.h), then what the plan decided.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/amx/MatrixUnit.h"
#include "compiler/codegen/cpu/attention/AttentionGradientPlan.h"
#include "compiler/codegen/cpu/conv/FusedConvolution.h"
#include "compiler/codegen/cpu/nest/NestPlan.h"

namespace ptc::cpu {

/// With "; " between them; empty ones are left out.
std::string joinReasons(llvm::ArrayRef<std::string> reasons);

Algorithm describe(loop::ContractOp op, const ContractionPlan &plan);
/// `onUnit`: what the matrix unit multiplies; null: it runs elsewhere. `because`: why so.
Algorithm describe(loop::ConvolutionOp op, const ConvolutionPlan &plan, std::optional<matrixunit::Numbers> onUnit,
                   llvm::StringRef because);
Algorithm describeWinograd(loop::ConvolutionOp op);
Algorithm describe(loop::AttentionOp op, const AttentionPlan &plan);
Algorithm describe(loop::AttentionGradientOp op, const AttentionGradientPlan &plan);
Algorithm describe(const loop::FusedConvolution &fused, const FusedConvolutionPlan &plan);
Algorithm describe(loop::KernelOp kernel, const NestPlan &plan);

} // namespace ptc::cpu
