// The MLIR test driver: every dialect and every pass of ptc, beside MLIR's own clean-up passes.
#include "compiler/Pipeline.h"
#include "compiler/Targets.h"
#include "compiler/import/Import.h"
#include "compiler/support/Options.h"
#include "tools/ptc-opt/TestFail.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace ptc;
namespace cl = llvm::cl;

/// The first of the machines that options.march names.
static llvm::Expected<std::unique_ptr<const Target>> getTarget(const Options &options) {
  llvm::Expected<Targets> targets = parseTargets(options);
  if (!targets)
    return targets.takeError();
  return std::move(targets->front());
}

/// The weights that the module in the file `path` names.
static llvm::Expected<WeightStore> readWeights(const std::string &path, const std::string &weights,
                                               const mlir::DialectRegistry &registry) {
  mlir::MLIRContext context(registry);
  llvm::Expected<ImportedModel> model = importModel(path, {weights}, context);
  if (!model)
    return model.takeError();
  return std::move(model->weights);
}

int main(int argc, char **argv) {
  cl::opt<std::string> march("march", cl::desc("Machine that the passes are for"), cl::init("x86-64-v3"));
  cl::opt<std::string> weightsFile("weights", cl::desc("Safetensors of the weights that the input names"));
  mlir::DialectRegistry registry;
  registerDialects(registry);

  Options options;
  options.march = march;
  WeightStore weights;
  PassesEnvironment environment{weights, options, llvm::cantFail(getTarget(options))};
  registerPasses(environment);
  registerTestFailPass();
  mlir::registerTransformsPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "ptc's pass driver\n", registry);

  auto set = [](auto &place, auto value) {
    if (!value) {
      llvm::errs() << "ptc-opt: " << llvm::toString(value.takeError()) << '\n';
      return false;
    }
    place = std::move(*value);
    return true;
  };
  options.march = march;
  if (!set(environment.target, getTarget(options)) ||
      (!weightsFile.empty() && !set(weights, readWeights(input, weightsFile, registry))))
    return 1;
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
