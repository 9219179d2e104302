//===- ViewShapes.h - shapes that follow from arguments alone --------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"
#include "dialects/aten/AtenOp.h"

namespace ptc::decompose {

/// What a view's row takes from the declared types, computed from the operand and the arguments alone; and what a
/// recurrent network answers, which may have too many steps for its row. Nothing for other operators; a Misfit where
/// the arguments do not fit the operand.
std::optional<llvm::SmallVector<Shape>> findViewShapes(B &b, const aten::AtenOp &op);

} // namespace ptc::decompose
