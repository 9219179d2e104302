//===- SkinnyMma.h - products of few rows on tensor cores -----------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/cuda/Product.h"

#include <memory>
#include <optional>

namespace ptc::cuda {

/// What planSkinnyProduct makes of 16-bit floats that are summed up in f32 and whose depth lies together: `few` (1 to
/// 8) rows of the lhs, or else of the rhs, by all of the other operand. Nothing for other products.
std::optional<KernelPlan> planSkinnyMma(std::shared_ptr<const Product> product, bool isLhsFew, unsigned few);

} // namespace ptc::cuda
