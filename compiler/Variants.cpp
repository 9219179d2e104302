#include "compiler/Variants.h"

#include "compiler/TuningSession.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;

namespace ptc {

LogicalResult lowerForTargets(Pipeline &pipeline, ModuleOp module, const Targets &targets,
                              llvm::function_ref<LogicalResult()> planMemory, TuningSession *session,
                              Diagnostics &diagnostics, std::vector<Variant> &variants) {
  if (failed(pipeline.lowerModel(module)) || failed(planMemory()) ||
      failed(pipeline.lowerForDevice(module, targets.front()->device)))
    return failure();
  for (const auto &target : targets) {
    auto isAlike = [&](const Variant &other) { return !session && other.target->loopKey == target->loopKey; };
    auto alike = llvm::find_if(variants, isAlike);
    if (alike != variants.end()) {
      variants.push_back({target.get(), alike->module, nullptr});
      continue;
    }
    std::unique_ptr<OwningOpRef<ModuleOp>> owned;
    if (targets.size() > 1)
      owned = std::make_unique<OwningOpRef<ModuleOp>>(module.clone());
    variants.push_back({target.get(), owned ? **owned : module, std::move(owned)});
    ModuleOp copy = variants.back().module;
    if (session)
      if (llvm::Error error = session->run(pipeline, copy, *target))
        return diagnostics.report(std::move(error)), failure();
    if (failed(pipeline.lowerForTarget(copy, *target)))
      return failure();
  }
  return success();
}

} // namespace ptc
