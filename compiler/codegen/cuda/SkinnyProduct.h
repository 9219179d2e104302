//===- SkinnyProduct.h - products with few rows or few columns ------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/cuda/Product.h"

#include <memory>
#include <optional>

namespace ptc::cuda {

/// Where an operand has a known number of rows of at most 8, time goes by in reading the other one: each of its
/// elements is read once, 16 bytes at a time, and multiplied by what it meets of the few. Nothing for other products.
std::optional<KernelPlan> planSkinnyProduct(std::shared_ptr<const Product> product);

} // namespace ptc::cuda
