// The decomposition table against the schemas: every row is an operator that
// PyTorch has, and takes its arguments.

#include "compiler/graph/Decompose.h"
#include "compiler/graph/decompose/Table.h"
#include "dialects/aten/Schema.h"

#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

using namespace ptc;
using namespace ptc::decompose;

TEST_CASE("every row names an operator of PyTorch and takes its arguments") {
  for (const auto &entry : table().all()) {
    INFO(entry.first().str());
    const aten::Schema *schema = aten::lookup(entry.first());
    REQUIRE(schema);
    CHECK(entry.second.check(*schema) == "");
  }
}

TEST_CASE("support is a property of the table") {
  CHECK(isSupported("aten.add.Tensor"));
  CHECK(isSupported("aten.relu.default"));
  CHECK_FALSE(isSupported("aten._cdist_backward.default"));
  CHECK_FALSE(isSupported("aten.mystery.default"));
}

TEST_CASE("types promote as in torch.promote_types") {
  mlir::MLIRContext context;
  mlir::Builder b(&context);
  mlir::Type u8 = b.getIntegerType(8, false);
  CHECK(promoteTypes(b.getI1Type(), u8) == u8);
  CHECK(promoteTypes(u8, b.getI8Type()) == b.getI16Type());
  CHECK(promoteTypes(u8, b.getI32Type()) == b.getI32Type());
  CHECK(promoteTypes(b.getI64Type(), b.getF16Type()) == b.getF16Type());
  CHECK(promoteTypes(b.getF16Type(), b.getBF16Type()) == b.getF32Type());
  CHECK(promoteTypes(b.getF32Type(), b.getF64Type()) == b.getF64Type());
}

TEST_CASE("Python numbers promote by category alone") {
  mlir::MLIRContext context;
  mlir::Builder b(&context);
  CHECK(promote({T(1), T(2.5)}, &context) == b.getF32Type());
  CHECK(promote({T(true), T(1)}, &context) == b.getI64Type());
}
