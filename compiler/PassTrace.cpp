#include "compiler/PassTrace.h"

#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "compiler/support/Times.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;

namespace ptc {

namespace {
class PassTrace : public PassInstrumentation {
public:
  PassTrace(const Options &options, Times &times, int &count) : options(options), times(times), count(count) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (isAdaptor(pass))
      return;
    activity = "pass " + getName(pass);
    setActivity(activity.c_str());
    before = op->clone();
    setReproducer([this, pass](llvm::raw_ostream &out) { printReproducer(pass, *before, out); });
    span.emplace(times, getName(pass));
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (isAdaptor(pass))
      return;
    span.reset();
    if (!options.dumpDir.empty())
      dump(pass, op);
    setActivity("the pass manager");
    setReproducer(nullptr);
    before = nullptr;
  }

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    if (isAdaptor(pass))
      return;
    // Whether it is a defect is found out when nothing of this is left.
    std::string text;
    llvm::raw_string_ostream stream(text);
    printReproducer(pass, *before, stream);
    runAfterPass(pass, op);
    setReproducer([text = std::move(text)](llvm::raw_ostream &out) { out << text; });
  }

private:
  /// What MLIR inserts to descend into functions is no pass of ours.
  static bool isAdaptor(Pass *pass) { return pass->getName().contains("OpToOpPassAdaptor"); }

  static std::string getName(Pass *pass) {
    llvm::StringRef argument = pass->getArgument();
    return (argument.empty() ? pass->getName() : argument).str();
  }

  void dump(Pass *pass, Operation *op) {
    std::string path = fmt::format("{}/{:02}-{}.mlir", options.dumpDir, ++count, getName(pass));
    std::error_code error = llvm::sys::fs::create_directories(options.dumpDir);
    llvm::raw_fd_ostream stream(path, error);
    if (error) {
      printWarning(path + ": " + error.message());
      return;
    }
    while (op->getParentOp())
      op = op->getParentOp();
    op->print(stream, OpPrintingFlags().assumeVerified());
    stream << '\n';
  }

  /// In the form of MLIR's own reproducers.
  static void printReproducer(Pass *pass, Operation *op, llvm::raw_ostream &out) {
    std::string pipeline;
    llvm::raw_string_ostream stream(pipeline);
    stream << op->getName() << '(';
    pass->printAsTextualPipeline(stream);
    stream << ')';
    AsmState state(op, OpPrintingFlags().enableDebugInfo(/*enable=*/true, /*prettyForm=*/false).assumeVerified());
    state.attachResourcePrinter("mlir_reproducer", [&](Operation *, AsmResourceBuilder &builder) {
      builder.buildString("pipeline", pipeline);
      builder.buildBool("disable_threading", true);
      builder.buildBool("verify_each", true);
    });
    op->print(out, state);
    out << '\n';
  }

  const Options &options;
  Times &times;
  int &count;
  std::string activity;
  OwningOpRef<Operation *> before; ///< what the running pass was given
  std::optional<Times::Span> span;
};
} // namespace

void tracePasses(PassManager &manager, const Options &options, Times &times, int &count) {
  manager.addInstrumentation(std::make_unique<PassTrace>(options, times, count));
}

} // namespace ptc
