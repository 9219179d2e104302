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
