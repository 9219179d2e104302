// The MLIR test driver: every dialect and every pass of ptc, beside MLIR's own clean-up passes.
#include "compiler/Pipeline.h"
#include "tools/ptc-opt/TestFail.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ptc::registerDialects(registry);
  ptc::registerPasses();
  ptc::registerTestFailPass();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "ptc's pass driver\n", registry));
}
