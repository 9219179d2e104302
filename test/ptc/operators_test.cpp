// Every row of the decomposition table with the arguments that `ptc ops` makes up for it: what does not fit is refused.
#include "compiler/Pipeline.h"
#include "compiler/explain/Operators.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

TEST_CASE("every operator can be described, most by an example") {
  mlir::DialectRegistry registry;
  ptc::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  int supported = 0, shown = 0;
  for (llvm::StringRef name : ptc::aten::allNames()) {
    ptc::OperatorReport report = ptc::describeOperator(*ptc::aten::lookup(name), context);
    bool isRow = report.support.isSupported && report.support.through.empty();
    supported += isRow;
    shown += !report.dtypes.empty();
    CHECK((report.support.isSupported || !report.support.reason.empty()));
    CHECK((isRow || report.dtypes.empty()));
  }
  CHECK(supported > 900);
  CHECK(shown > supported * 9 / 10);
}
