//===- TiledProduct.h - products by tiles ---------------------------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/cuda/Product.h"
#include "compiler/codegen/cuda/Target.h"

#include <memory>

namespace ptc::cuda {

/// Whether elements and sums are of types that this kernel and that of SkinnyProduct.h have.
bool isTiledType(const Product &product);

/// A block for each tile of the results, on tensor cores where there are such for the operands' type; the depth is cut
/// where tiles alone would not fill a GPU.
KernelPlan planTiledProduct(std::shared_ptr<const Product> product, const Target &target);

} // namespace ptc::cuda
