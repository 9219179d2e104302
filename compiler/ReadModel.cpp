#include "compiler/ReadModel.h"

#include "compiler/graph/Decompose.h"
#include "compiler/graph/train/LossFile.h"
#include "compiler/graph/train/SetMode.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Times.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace ptc {

llvm::Expected<ImportedModel> readModel(const Options &options, MLIRContext &context, Times &times, bool isForReport) {
  Times::Span span(times, "import");
  setActivity("the import");
  auto model = importModel(options.model,
                           {options.weights, findResultTypes, options.graph, options.constantInitializers,
                            options.fallback || isForReport, options.train.isOn, options.train.freeze},
                           context);
  if (!model)
    return model;
  auto forward = model->module->lookupSymbol<func::FuncOp>("forward");
  if (std::string warning = options.train.isOn || !forward ? "" : warnOfTrainingMode(forward); !warning.empty())
    model->warnings.push_back(std::move(warning));
  if (options.train.isOn && isLossFile(options.train.loss)) {
    auto loss = importModel(options.train.loss, {"", findResultTypes}, context);
    if (!loss)
      return loss.takeError();
    if (llvm::Error error = takeLoss(*model->module, model->weights, *loss->module, std::move(loss->weights)))
      return std::move(error);
  }
  return model;
}

} // namespace ptc
