//===- reference_test.cpp - the evaluator on small programs ---------------===//

#include "dialects/prims/PrimsDialect.h"
#include "dialects/prims/reference/Evaluate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace ptc::prims;

/// The first result of @f in `text` for f32 inputs.
static Tensor run(const char *text, std::vector<Tensor> inputs) {
  mlir::MLIRContext context;
  context.loadDialect<PrimsDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  for (Tensor &input : inputs)
    input.element = mlir::Float32Type::get(&context);
  auto symbols = bindSymbols(function, inputs);
  REQUIRE(bool(symbols));
  auto noWeights = [](llvm::StringRef, mlir::RankedTensorType) -> llvm::Expected<Tensor> {
    return llvm::createStringError("no weights");
  };
  auto results = evaluate(function, inputs, noWeights, *symbols);
  REQUIRE(bool(results));
  return results->front();
}

static Tensor reals(llvm::ArrayRef<int64_t> shape, std::vector<double> values) {
  Tensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.reals = std::move(values);
  return tensor;
}

TEST_CASE("contract multiplies matrices, the right one transposed") {
  Tensor y = run(
      R"(func.func @f(%x: tensor<2x3xf32> {ptc.input = "x"}, %w: tensor<2x3xf32> {ptc.input = "w"}) -> tensor<2x2xf32> {
    %0 = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>,
      rhs_contract = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  })",
      {reals({2, 3}, {1, 2, 3, 4, 5, 6}), reals({2, 3}, {1, 0, 1, 0, 1, 0})});
  CHECK(y.reals == std::vector<double>{4, 2, 10, 5});
}

TEST_CASE("a symbolic size is what the input says") {
  Tensor y = run(R"(#s = affine_map<()[s0] -> (s0)>
  module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = -1 : i64}]} {
  func.func @f(%x: tensor<?xf32, #s> {ptc.input = "x"}) -> tensor<?xf32, #s> {
    %0 = prims.scan %x {kind = "sum", dim = 0 : i64} : (tensor<?xf32, #s>) -> tensor<?xf32, #s>
    return %0 : tensor<?xf32, #s>
  }})", {reals({4}, {1, 2, 3, 4})});
  CHECK(y.reals == std::vector<double>{1, 3, 6, 10});
}

TEST_CASE("a transposed convolution is one over inserted zeros") {
  Tensor y = run(
      R"(func.func @f(%x: tensor<1x1x2xf32> {ptc.input = "x"}, %w: tensor<1x1x2xf32> {ptc.input = "w"})
      -> tensor<1x1x4xf32> {
    %0 = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>,
      dilations = array<i64: 1>, input_dilations = array<i64: 2>, groups = 1 : i64, channels_last = false}
      : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
    return %0 : tensor<1x1x4xf32>
  })",
      {reals({1, 1, 2}, {3, 5}), reals({1, 1, 2}, {1, 10})});
  CHECK(y.reals == std::vector<double>{30, 3, 50, 5});
}

TEST_CASE("NaN is the greatest") {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor y = run(R"(func.func @f(%x: tensor<3xf32> {ptc.input = "x"}) -> tensor<f32> {
    %0 = prims.reduce %x {kind = "max", dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  })", {reals({3}, {1, nan, 2})});
  CHECK(std::isnan(y.reals[0]));
}

TEST_CASE("what no i32 holds becomes the least of them, as in kernels") {
  Tensor y = run(R"(func.func @f(%x: tensor<3xf32> {ptc.input = "x"}) -> tensor<3xi32> {
    %0 = prims.convert %x {dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  })", {reals({3}, {3e9, -7.5, std::numeric_limits<double>::quiet_NaN()})});
  CHECK(y.integers == std::vector<int64_t>{INT32_MIN, -7, INT32_MIN});
}

TEST_CASE("an unsigned number shifted by its width is zero") {
  Tensor y = run(R"(func.func @f(%x: tensor<2xf32> {ptc.input = "x"}) -> tensor<2xui8> {
    %0 = prims.convert %x {dtype = ui8} : (tensor<2xf32>) -> tensor<2xui8>
    %1 = prims.full {value = 8 : ui8, sizes = array<i64: 2>} : () -> tensor<2xui8>
    %2 = prims.shr %0, %1 : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
    return %2 : tensor<2xui8>
  })", {reals({2}, {200, 3})});
  CHECK(y.integers == std::vector<int64_t>{0, 0});
}

TEST_CASE("erfinv near the ends") {
  Tensor y = run(R"(func.func @f(%x: tensor<3xf32> {ptc.input = "x"}) -> tensor<3xf32> {
    %0 = prims.erfinv %x : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  })", {reals({3}, {0.25, -0.75, 0.999})});
  CHECK(y.reals[0] == Approx(0.22531205501217808).epsilon(1e-14));
  CHECK(y.reals[1] == Approx(-0.8134198475976184).epsilon(1e-12));
  CHECK(y.reals[2] == Approx(2.326753765513525).epsilon(1e-12));
}

TEST_CASE("bools are contracted by or") {
  Tensor y = run(R"(func.func @f(%x: tensor<2xf32> {ptc.input = "x"}) -> tensor<i1> {
    %0 = prims.convert %x {dtype = i1} : (tensor<2xf32>) -> tensor<2xi1>
    %1 = prims.contract %0, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>,
      rhs_contract = array<i64: 0>} : (tensor<2xi1>, tensor<2xi1>) -> tensor<i1>
    return %1 : tensor<i1>
  })", {reals({2}, {1, 1})});
  CHECK(y.integers == std::vector<int64_t>{1});
}

TEST_CASE("a key behind the query is excluded whatever the mask says") {
  Tensor y = run(
      R"(func.func @f(%x: tensor<1x1x2x1xf32> {ptc.input = "x"}, %m: tensor<1x1x2x2xf32> {ptc.input = "m"})
      -> tensor<1x1x2x1xf32> {
    %0 = prims.attention %x, %x, %x, %m {causal = true, scale = 1.0 : f64}
      : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x1xf32>
    return %0 : tensor<1x1x2x1xf32>
  })",
      {reals({1, 1, 2, 1}, {3, 3}), reals({1, 1, 2, 2}, {0, std::numeric_limits<double>::infinity(), 0, 0})});
  CHECK(y.reals == std::vector<double>{3, 3});
}

TEST_CASE("a row without a score above -inf is NaN where it is asked for") {
  Tensor y = run(
      R"(func.func @f(%x: tensor<1x1x2x1xf32> {ptc.input = "x"}, %m: tensor<1x1x2x2xf32> {ptc.input = "m"})
      -> tensor<1x1x2x1xf32> {
    %0 = prims.attention %x, %x, %x, %m {causal = false, scale = 1.0 : f64, empty_is_nan}
      : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x1xf32>
    return %0 : tensor<1x1x2x1xf32>
  })",
      {reals({1, 1, 2, 1}, {3, 3}), reals({1, 1, 2, 2}, {-HUGE_VAL, -HUGE_VAL, 0, -HUGE_VAL})});
  CHECK(std::isnan(y.reals[0]));
  CHECK(y.reals[1] == 3);
}
