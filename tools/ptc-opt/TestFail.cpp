#include "tools/ptc-opt/TestFail.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>

using namespace mlir;

namespace ptc {

namespace {
struct TestFailPass : PassWrapper<TestFailPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestFailPass)
  TestFailPass() = default;
  TestFailPass(const TestFailPass &other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const override { return "ptc-test-fail"; }
  llvm::StringRef getDescription() const override { return "fails in a way that no pass should"; }

  void runOnOperation() override {
    // What is left behind is not what a reproducer is to hold.
    getOperation()->setAttr("test.changed", UnitAttr::get(&getContext()));
    if (how == "signal")
      std::raise(SIGSEGV);
    if (how == "fatal")
      llvm::report_fatal_error("a test");
    signalPassFailure();
  }

  Option<std::string> how{*this, "how", llvm::cl::desc("silently, signal or fatal"), llvm::cl::init("silently")};
};
} // namespace

void registerTestFailPass() { PassRegistration<TestFailPass>(); }

} // namespace ptc
