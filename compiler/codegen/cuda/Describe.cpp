#include "compiler/codegen/cuda/Describe.h"

#include "compiler/codegen/kernel/WriteModule.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Reasons.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc::cuda {

static std::string toText(mlir::AffineExpr size, mlir::Operation *op) { return toString(size, getSymbols(op)); }

static std::string joinReasons(ArrayRef<std::string> reasons) {
  return join(make_filter_range(reasons, [](const std::string &reason) { return !reason.empty(); }), "; ");
}

//===----------------------------------------------------------------------===//
// Loop nests
//===----------------------------------------------------------------------===//

/// The form, as the field calls it, and which part of the points a thread or a block has.
static std::string nameOf(const GridPlan &plan) {
  bool scans = any_of(plan.stages, [](const kernel::Stage &stage) { return stage.isScan; });
  bool reduces = any_of(plan.stages, [](const kernel::Stage &stage) { return stage.isReduction; });
  if (plan.isFlat)
    return scans ? "scan, a thread a row" : reduces ? "reduction, a thread a result" : "flat map, a thread a point";
  std::string whole = plan.outer.empty() ? ", one block" : plan.rows > 1 ? ", a warp a row" : ", a block a row";
  return (scans ? "scan" : reduces ? "reduction of rows" : "map of rows") + whole;
}

static std::string describeStages(const GridPlan &plan) {
  if (plan.stages.size() == 1)
    return "";
  return formatv("{0} stages share {1}", plan.stages.size(),
                 plan.isFlat          ? "a thread's points"
                 : plan.outer.empty() ? "the block"
                 : plan.rows > 1      ? "a warp's row"
                                      : "a block's row");
}

/// How many neighbours a thread takes at once.
static std::string describeWidths(const GridPlan &plan) {
  unsigned width = plan.width;
  for (unsigned one : plan.widths)
    width = std::max(width, one);
  return width > 1 ? formatv("up to {0} neighbours at a time", width).str() : "neighbours one by one";
}

static std::string describeLocals(const GridPlan &plan) {
  if (plan.locals.empty())
    return "";
  return formatv("{0} bytes of a row stay in {1}", toText(plan.localBytes, plan.kernel),
                 plan.hasSharedLocals() ? "shared memory" : "the workspace");
}

Algorithm describe(const GridPlan &plan) {
  std::vector<std::string> sizes;
  for (const kernel::Loop &loop : plan.loops)
    sizes.push_back(toText(loop.size, plan.kernel));
  std::string outer = sizes.empty() ? "" : join(sizes, " x ") + (plan.isFlat ? " points" : " rows");
  return {nameOf(plan), joinReasons({outer, describeStages(plan), describeWidths(plan), describeLocals(plan)}), {}};
}

Algorithm describe(loop::KernelOp kernel, const TilePlan &plan) {
  std::string sizes = toText(plan.read.size, kernel) + " x " + toText(plan.store.size, kernel);
  std::string why =
      formatv("tiles of {0} by {1} are read along one loop and stored along the other", plan.readSide, plan.storeSide);
  return {"map through shared memory, a block a tile", joinReasons({sizes, why}), {}};
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

/// Functions that use a value, by instructions and by constants of it.
static void findFunctions(const Value &value, DenseSet<const Function *> &functions) {
  for (const User *user : value.users())
    if (auto *instruction = dyn_cast<Instruction>(user))
      functions.insert(instruction->getFunction());
    else
      findFunctions(*user, functions);
}

/// By function, the bytes of a block.
static StringMap<int64_t> measureSharedMemory(const Module &module) {
  StringMap<int64_t> bytes;
  for (const GlobalVariable &memory : module.globals()) {
    if (memory.getAddressSpace() != NVPTXAS::ADDRESS_SPACE_SHARED)
      continue;
    DenseSet<const Function *> functions;
    findFunctions(memory, functions);
    for (const Function *function : functions)
      bytes[function->getName()] += module.getDataLayout().getTypeAllocSize(memory.getValueType());
  }
  return bytes;
}

Algorithm describe(loop::KernelOp kernel, const KernelPlan &plan, const Target &target) {
  LLVMContext context;
  Module module("kernel", context);
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  kernel::setUpModule(module, *machine);
  NvvmBuilder gpu;
  emitKernel(module, gpu, kernel, plan, "kernel");
  StringMap<int64_t> shared = measureSharedMemory(module);

  Algorithm algorithm = plan.algorithm;
  std::vector<std::string> reasons = loop::getReasons(&kernel.getBody().front().front());
  reasons.push_back(algorithm.because);
  algorithm.because = joinReasons(reasons);
  for (auto [i, grid] : enumerate(plan.grids))
    algorithm.grids.push_back(
        {grid.blocks, grid.threads, grid.sharedBytes + shared.lookup(getGridSymbol("kernel", i))});
  return algorithm;
}

} // namespace ptc::cuda
