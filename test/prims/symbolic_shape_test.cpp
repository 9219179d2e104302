//===- symbolic_shape_test.cpp - sizes as expressions ---------------------===//

#include "dialects/core/SymbolicShape.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

using namespace ptc;

TEST_CASE("equal sizes give one type") {
  mlir::MLIRContext context;
  auto s0 = mlir::getAffineSymbolExpr(0, &context);
  mlir::Type f32 = mlir::Float32Type::get(&context);
  CHECK(makeTensorType({s0 + s0, s0}, f32) == makeTensorType({s0 * 2, s0}, f32));
  CHECK(makeTensorType({s0 - s0 + 3}, f32) == mlir::RankedTensorType::get({3}, f32));
}

TEST_CASE("the shape of a type comes back") {
  mlir::MLIRContext context;
  auto s1 = mlir::getAffineSymbolExpr(1, &context);
  Shape shape{s1 * 2 + 1, mlir::getAffineConstantExpr(8, &context)};
  CHECK(getShape(makeTensorType(shape, mlir::Float32Type::get(&context))) == shape);
}

TEST_CASE("expressions have values and ranges") {
  mlir::MLIRContext context;
  auto s0 = mlir::getAffineSymbolExpr(0, &context);
  CHECK(evaluate((s0 * 3 + 1).floorDiv(2), {5}) == 8);
  Symbol symbol;
  symbol.min = 2;
  symbol.max = 10;
  Range range = getRange(s0 * 4 - 1, symbol);
  CHECK(range.min == 7);
  CHECK(range.max == 39);
}
