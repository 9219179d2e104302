//===- InferTypes.h - result types that a printed graph leaves out ----------===//
#pragma once

#include "compiler/import/BuildCall.h"

namespace ptc::import {

/// The result's type of a call without annotation: of operators that work
/// element by element, by broadcasting and type promotion. Null for others.
mlir::RankedTensorType inferType(const ResolvedCall &resolved);

} // namespace ptc::import
