//===- symbolic_shape_test.cpp - sizes as expressions ---------------------===//

#include "dialects/core/Polynomial.h"
#include "dialects/core/SymbolicShape.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

#include <random>

using namespace ptc;

TEST_CASE("equal sizes give one type") {
  mlir::MLIRContext context;
  auto s0 = mlir::getAffineSymbolExpr(0, &context);
  mlir::Type f32 = mlir::Float32Type::get(&context);
  CHECK(makeTensorType({s0 + s0, s0}, f32) == makeTensorType({s0 * 2, s0}, f32));
  CHECK(makeTensorType({s0 - s0 + 3}, f32) == mlir::RankedTensorType::get({3}, f32));
}

TEST_CASE("multiples are so for all values") {
  mlir::MLIRContext context;
  auto s0 = mlir::getAffineSymbolExpr(0, &context);
  struct Case {
    mlir::AffineExpr expr;
    int64_t factor;
    bool isMultiple;
  };
  for (const Case &one :
       {Case{s0 * 6, 3, true}, Case{s0 * 6, 4, false}, Case{s0 * 6 + 4, 2, true}, Case{(s0 * 8).floorDiv(4), 2, true},
        Case{(s0 * 8) % 4, 4, true}, Case{(s0 * 2).ceilDiv(192), 2, false}, Case{(s0 * 4).floorDiv(8), 4, false},
        Case{(s0 * 4).floorDiv(8) * 4, 8, false}}) {
    CHECK(isMultiple(one.expr, one.factor) == one.isMultiple);
    for (int64_t value = 1; one.isMultiple && value < 20; ++value)
      CHECK(evaluate(one.expr, {value}) % one.factor == 0);
  }
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

/// Sums, products, quotients and remainders of symbols 0 to 3.
static mlir::AffineExpr randomExpression(std::mt19937 &random, mlir::MLIRContext &context, int depth) {
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  auto factor = [&](int64_t low) {
    return below(2) ? mlir::getAffineSymbolExpr(unsigned(below(4)), &context)
                    : mlir::getAffineConstantExpr(low + below(6), &context);
  };
  if (depth == 0)
    return factor(1);
  mlir::AffineExpr x = randomExpression(random, context, depth - 1);
  switch (below(6)) {
  case 0:
    return x * factor(-2);
  case 1:
    return x.floorDiv(factor(1));
  case 2:
    return x % factor(1);
  case 3:
    return x - randomExpression(random, context, depth - 1);
  default:
    return x + randomExpression(random, context, depth - 1);
  }
}

TEST_CASE("simplification keeps values, of quotients and remainders by symbols too") {
  mlir::MLIRContext context;
  auto a = mlir::getAffineSymbolExpr(0, &context), b = mlir::getAffineSymbolExpr(1, &context);
  auto c = mlir::getAffineSymbolExpr(2, &context);
  CHECK(evaluate(simplifySum((a % b) * 12 + a.floorDiv(b) * 6 + c), {3, 2, 1}) == 19);
  CHECK(simplifySum(a * b + a.floorDiv(b) - a * b - a.floorDiv(b)) == mlir::getAffineConstantExpr(0, &context));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    mlir::AffineExpr expr = randomExpression(random, context, 5), simple = simplifySum(expr);
    for (int call = 0; call < 4; ++call) {
      int64_t values[4];
      for (int64_t &value : values)
        value = 1 + int64_t(random() % 7);
      CHECK(evaluate(simple, values) == evaluate(expr, values));
    }
  }
}

TEST_CASE("symbols are marked that have bits") {
  mlir::MLIRContext context;
  auto a = mlir::getAffineSymbolExpr(0, &context), c = mlir::getAffineSymbolExpr(2, &context);
  llvm::SmallBitVector symbols(3);
  markSymbols(c * 2 + c.floorDiv(4) + mlir::getAffineSymbolExpr(3, &context), symbols);
  CHECK((!symbols.test(0) && !symbols.test(1) && symbols.test(2)));
  markSymbols(a + 1, symbols);
  CHECK((symbols.test(0) && symbols.count() == 2));
}
