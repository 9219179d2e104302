//===- Loop.h - what the machine iterates over ----------------------------===//
//
// The operations of Loop.td, and what every reader of them needs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/loop/LoopDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/loop/Loop.h.inc"

namespace ptc::loop {

/// The type of an element inside a body: ui8 is read as signless i8, all other
/// element types stand for themselves.
mlir::Type getScalarType(mlir::Type element);
inline mlir::Type getScalarType(mlir::Value tensor) {
  return getScalarType(llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType());
}

/// Whether this is an operation that a kernel runs: map, reduce, scan,
/// scatter, sort or a template.
bool isMember(mlir::Operation *op);
/// Whether this is contract, convolution, attention or its derivative.
bool isTemplate(mlir::Operation *op);

/// All dimensions that a member iterates over, outermost first: the result's
/// shape, then what a reduction or a contraction sums over.
Shape getDomain(mlir::Operation *member);

/// (b..., h, i, e) of attention, in whichever order its results have h and i.
Shape getHeadsFirst(AttentionOp op);

/// Whether the convolution is grouped, each group with as many outputs as inputs, a power of two (1: depthwise):
/// vectors along the channels of x, w and the result then hold the same groups. Where groups are narrower than a
/// vector, PackWeights packs w as the weights of one group. (Of other groups, each is a convolution by itself.)
bool isGrouped(ConvolutionOp op);

/// A product and the grouped convolution that alone reads it, in one kernel (KernelOp).
struct FusedConvolution {
  ContractOp product;
  ConvolutionOp convolution;
};
std::optional<FusedConvolution> getFusedConvolution(KernelOp kernel);
/// Whether these two can be one kernel: of f32, the pixels (whose number is static) of any number of images by packed
/// weights, then a grouped convolution over their two dimensions, channels last.
bool canFuseConvolution(ContractOp product, ConvolutionOp convolution);

/// The region that yields the result's elements: a map's body, a reduction's
/// finish (null when it has none), a template's epilogue; null for others.
mlir::Region *getResultRegion(mlir::Operation *member);
/// The results that it yields, which have the domain's shape: all but attention's log-sum-exp.
mlir::ResultRange getYieldedResults(mlir::Operation *member);

/// The kernel as text, without its name: what is alike prints alike.
std::string getContent(KernelOp kernel);
/// Its name without the number that tells it from others of this model, which an edit elsewhere changes.
llvm::StringRef getPlainName(KernelOp kernel);

} // namespace ptc::loop
