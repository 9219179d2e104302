//===- ArgumentAttr.h - arguments that are no tensors, as attributes ------===//
//
//   int, SymInt       2 : i64, or affine_map<()[s0] -> (s0 * 2)> when symbolic
//   int[], SymInt[]   array<i64: 1, 2>, or affine_map<()[s0] -> (s0, 2)>
//   float, float[]    1.0 : f64, array<f64: 1.0>
//   bool, bool[]      true, array<i1: true>
//   Scalar            int, float or bool; complex is array<f64: re, im>
//   Scalar[]          [1 : i64, 2.0 : f64]
//   ScalarType        f32, the element type
//   str, device, layout, memory format, generator: a string
//   None              unit, where the default is something else
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/aten/Schema.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"

#include <optional>

namespace ptc::aten {

/// A PyTorch Scalar: a number that is not a tensor.
struct Scalar {
  enum Kind { Bool, Int, Float, Complex } kind = Int;
  mlir::AffineExpr integer;       ///< Bool (0 or 1) and Int; may be symbolic.
  double real = 0, imaginary = 0; ///< Float and Complex; real also of a constant Int or Bool.
};
std::optional<Scalar> parseScalar(mlir::Attribute attribute);

/// Whether the attribute can stand for the argument; a unit attribute is None.
bool accepts(const Argument &argument, mlir::Attribute attribute);

/// "a list of integers such as array<i64: 1, 2>", for messages.
std::string describe(const Argument &argument);

/// The argument's own form of what PyTorch accepts in its place: 1 for an
/// `int[2]` is array<i64: 1, 1>, 1 for a `float` is 1.0. Others unchanged.
mlir::Attribute normalise(const Argument &argument, mlir::Attribute attribute);

/// The attribute for the default as the schema writes it; null for None.
mlir::Attribute parseDefault(const Argument &argument, mlir::MLIRContext *context);

/// The element type that PyTorch calls "float32", "long" or "Half"; null when unknown.
mlir::Type parseScalarType(llvm::StringRef name, mlir::MLIRContext *context);

} // namespace ptc::aten
