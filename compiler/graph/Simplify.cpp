#include "compiler/graph/Simplify.h"

#include "compiler/graph/simplify/Rules.h"
#include "dialects/prims/PrimsDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace ptc {

namespace {

class SimplifyPass : public PassWrapper<SimplifyPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyPass)

  StringRef getArgument() const override { return "simplify"; }
  StringRef getDescription() const override { return "fewer and plainer prims"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<prims::PrimsDialect>(); }

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet rules(context);
    simplify::addArithmetic(rules);
    simplify::addStructure(rules);
    simplify::addIndexing(rules);
    simplify::addContraction(rules);
    simplify::addSinkReshape(rules);
    simplify::addSinkBroadcast(rules);
    patterns = FrozenRewritePatternSet(std::move(rules));
    return success();
  }

  void runOnOperation() override;

private:
  FrozenRewritePatternSet patterns;
};

} // namespace

void SimplifyPass::runOnOperation() {
  GreedyRewriteConfig config;
  config.enableConstantCSE(false).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // Operands first: a rule then sees what its operands have become.
  config.setUseTopDownTraversal();
  IRRewriter rewriter(&getContext());
  bool changed = true;
  // Merging equal operations makes operands equal that rules compare.
  for (int round = 0; changed && round < 3; ++round) {
    (void)applyPatternsGreedily(getOperation(), patterns, config);
    DominanceInfo dominance(getOperation());
    changed = false;
    eliminateCommonSubExpressions(rewriter, dominance, getOperation(), &changed);
  }
}

std::unique_ptr<Pass> createSimplifyPass() { return std::make_unique<SimplifyPass>(); }

} // namespace ptc
