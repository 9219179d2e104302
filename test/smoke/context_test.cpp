#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include <catch2/catch.hpp>

TEST_CASE("the function dialect loads") {
  mlir::MLIRContext context;
  REQUIRE(context.getOrLoadDialect<mlir::func::FuncDialect>() != nullptr);
}
