#include "compiler/schedule/Fuse.h"

#include "compiler/schedule/Epilogues.h"
#include "compiler/schedule/GatheredContractions.h"
#include "compiler/schedule/Groups.h"
#include "compiler/schedule/Inline.h"
#include "compiler/schedule/OperandViews.h"
#include "compiler/schedule/RoundResults.h"
#include "compiler/schedule/SplitReductions.h"
#include "dialects/control/Control.h"
#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc::schedule {

/// Who reads by way of them has been put into another kernel.
static void eraseBarriers(Block &block) {
  for (auto barrier : llvm::make_early_inc_range(block.getOps<control::FusionBarrierOp>())) {
    barrier.getResult().replaceAllUsesWith(barrier.getX());
    barrier.erase();
  }
}

static void fuse(Block &block, ArrayRef<Symbol> symbols, bool isPlain, const Limits &limits, unsigned &number) {
  inlineProducers(block, symbols, InlineMode::Views, limits);
  if (limits.exchangesHeads)
    exchangeHeads(block, symbols);
  foldOperandViews(block, symbols);
  if (!isPlain) {
    reduceGatheredContractions(block, symbols);
    inlineProducers(block, symbols, InlineMode::Values, limits);
    fuseEpilogues(block, symbols, limits);
    roundResults(block, symbols);
    if (limits.splitsReductions)
      splitReductions(block, symbols, limits);
  }
  std::vector<Group> groups = groupMembers(block, symbols, isPlain, limits);
  eraseBarriers(block);
  createKernels(block, groups, number);
}

namespace {
struct FusePass : PassWrapper<FusePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FusePass)

  FusePass(const Limits &limits, bool isPlain) : limits(limits), isPlain(isPlain) {}

  StringRef getArgument() const final { return "fuse"; }
  StringRef getDescription() const final { return "Fuse loops into kernels"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<loop::LoopDialect>(); }

  void runOnOperation() final {
    SmallVector<Symbol> symbols = getSymbols(getOperation());
    unsigned number = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      fuse(function.getBody().front(), symbols, isPlain, limits, number);
  }

private:
  Limits limits;
  bool isPlain;
};
} // namespace

} // namespace ptc::schedule

std::unique_ptr<mlir::Pass> ptc::createFusePass(const schedule::Limits &limits, bool isPlain) {
  return std::make_unique<schedule::FusePass>(limits, isPlain);
}
