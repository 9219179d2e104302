//===- PrimsDialect.h - the dialect and what all prims share --------------===//
#pragma once

#include "dialects/prims/Elements.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Error.h"

namespace mlir {
class ImplicitLocOpBuilder;
} // namespace mlir

namespace ptc::prims {

class Cotangents;
class Evaluation;

/// All operands and the result have one shape, and result[i] depends on the
/// operands' elements i alone.
template <typename ConcreteType>
class IsElementwise : public mlir::OpTrait::TraitBase<ConcreteType, IsElementwise> {};

inline bool isElementwise(mlir::Operation *op) { return op->hasTrait<IsElementwise>(); }

} // namespace ptc::prims

#include "dialects/prims/PrimInterface.h.inc"
#include "dialects/prims/PrimsDialect.h.inc"
