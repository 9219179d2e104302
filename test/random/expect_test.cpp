//===- expect_test.cpp - what runs of the reference span ------------------===//

#include "test/random/Expect.h"

#include "dialects/prims/PrimsDialect.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace ptc::test;
using ptc::prims::Tensor;

namespace {
/// What a program may answer to its inputs, by as many runs of as much noise as Save.cpp takes.
struct Expected {
  Expected(const char *text, std::vector<Tensor> inputs, bool isForGpu) {
    context.loadDialect<ptc::prims::PrimsDialect, mlir::func::FuncDialect>();
    Case program;
    program.module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    REQUIRE(program.module);
    for (auto [input, type] : llvm::zip(inputs, program.forward().getArgumentTypes()))
      input.element = llvm::cast<mlir::RankedTensorType>(type).getElementType();
    auto expectation = expect(program, inputs, /*runs=*/300, /*scale=*/4, /*seed=*/300, isForGpu);
    REQUIRE(bool(expectation));
    span = expectation->results.front();
  }
  bool allows(double value) const {
    Tensor answer = span.low;
    answer.reals = {value};
    return span.compare(answer).empty();
  }

  mlir::MLIRContext context;
  Span span;
};
} // namespace

TEST_CASE("the bits of what is computed may end in any way") {
  Tensor x, ends;
  x.shape = ends.shape = {8};
  x.reals.assign(8, 169.48715);
  ends.integers = {0, 1, 2, 3, 4, 5, 6, 7};
  Expected expected(R"(func.func @forward(%x: tensor<8xf32>, %ends: tensor<8xi32>) -> tensor<8xi1> {
    %y = prims.acosh %x : (tensor<8xf32>) -> tensor<8xf32>
    %bits = prims.bitcast %y {dtype = i32} : (tensor<8xf32>) -> tensor<8xi32>
    %seven = prims.full {sizes = array<i64: 8>, value = 7 : i32} : () -> tensor<8xi32>
    %end = prims.and %bits, %seven : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %0 = prims.eq %end, %ends : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    return %0 : tensor<8xi1>
  })",
                    {x, ends}, /*isForGpu=*/false);
  CHECK(expected.span.low.integers == std::vector<int64_t>(8, 0));
  CHECK(expected.span.high.integers == std::vector<int64_t>(8, 1));
}

/// `answer` is what the GPU's library makes of x (its bitcode as x86 code), `beyond` far more than its error.
static void checkNearZero(const char *function, double x, double answer, double beyond) {
  std::string text = R"(func.func @forward(%x: tensor<1xf64>) -> tensor<1xf64> {
    %0 = prims.special %x {function = "NAME"} : (tensor<1xf64>) -> tensor<1xf64>
    return %0 : tensor<1xf64>
  })";
  text.replace(text.find("NAME"), 4, function);
  Tensor input;
  input.shape = {1};
  input.reals = {x};
  Expected onGpu(text.c_str(), {input}, /*isForGpu=*/true), onCpu(text.c_str(), {input}, /*isForGpu=*/false);
  CHECK(onGpu.allows(answer));
  CHECK_FALSE(onGpu.allows(answer + beyond));
  CHECK_FALSE(onCpu.allows(answer));
}

TEST_CASE("on a GPU a special function near its zero is as inexact as its terms") {
  checkNearZero("digamma", 1.4616321682398001, 2.2519124827672862e-08, 1e-13);
  checkNearZero("digamma", -11.714123678268958, 0.00015061312032793595, 1e-13);
  checkNearZero("lgamma", -2.457022977854506, 2.6680322811611923e-06, 1e-13);
  checkNearZero("lgamma", -3.955292248187238, -4.2209093771061745e-05, 1e-13);
}

/// Whether lgamma of what `text` makes of %x, as %y, may be infinite: of the number, and of 1,000 and -1,000 in turns.
static bool mayBeInfinite(const char *text, double number) {
  Tensor x;
  x.shape = {257};
  for (int i = 0; i < 256; ++i)
    x.reals.push_back(i % 2 ? -1000 : 1000);
  x.reals.push_back(number);
  std::string program = "func.func @forward(%x: tensor<257xf32>) -> tensor<1xf32> {" + std::string(text) + R"(
    %0 = prims.special %y {function = "lgamma"} : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  })";
  return Expected(program.c_str(), {x}, /*isForGpu=*/false).allows(std::numeric_limits<double>::infinity());
}

TEST_CASE("what is rounded may be a function's pole where its bound reaches beyond") {
  const char *sum = R"(
    %sum = prims.reduce %x {dims = array<i64: 0>, kind = "sum"} : (tensor<257xf32>) -> tensor<f32>
    %y = prims.reshape %sum {sizes = array<i64: 1>} : (tensor<f32>) -> tensor<1xf32>)";
  CHECK(mayBeInfinite(sum, -2.9999998));
  CHECK_FALSE(mayBeInfinite(sum, -2.5));
  const char *element = R"(
    %y = prims.slice %x {limits = array<i64: 257>, starts = array<i64: 256>, strides = array<i64: 1>}
      : (tensor<257xf32>) -> tensor<1xf32>)";
  CHECK_FALSE(mayBeInfinite(element, -2.9999998));
}
