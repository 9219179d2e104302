#include "compiler/codegen/cuda/KernelEmitter.h"

#include "compiler/codegen/cuda/Attention.h"
#include "compiler/codegen/cuda/AttentionGradient.h"
#include "compiler/codegen/cuda/ColumnNest.h"
#include "compiler/codegen/cuda/DecodeAttention.h"
#include "compiler/codegen/cuda/Describe.h"
#include "compiler/codegen/cuda/FlashAttention.h"
#include "compiler/codegen/cuda/MappedAttention.h"
#include "compiler/codegen/cuda/Matrix.h"
#include "compiler/codegen/cuda/Nest.h"
#include "compiler/codegen/cuda/Scatter.h"
#include "compiler/codegen/cuda/SkinnyProduct.h"
#include "compiler/codegen/cuda/Sort.h"
#include "compiler/codegen/cuda/Templates.h"
#include "compiler/codegen/cuda/TileNest.h"
#include "compiler/codegen/cuda/TiledProduct.h"
#include "compiler/codegen/kernel/KernelFunction.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::cuda {

/// Nothing for types and places that have no tiles: a contraction takes the form of Templates.h then.
static std::optional<KernelPlan> planProduct(mlir::Operation *op, const Target &target) {
  std::optional<Product> product = makeProduct(op);
  if (!product || !isTiledType(*product))
    return std::nullopt;
  auto shared = std::make_shared<const Product>(std::move(*product));
  std::optional<KernelPlan> skinny = planSkinnyProduct(shared);
  return skinny ? std::move(skinny) : planTiledProduct(shared, target);
}

static std::optional<KernelPlan> planAttentionOnTensorCores(loop::AttentionOp op, const Target &target) {
  if (op.getWithLogsumexp())
    return std::nullopt;
  if (std::optional<KernelPlan> decode = planDecodeAttention(op))
    return decode;
  if (std::optional<KernelPlan> mapped = planMappedAttention(op, target))
    return mapped;
  return planFlashAttention(op);
}

static Expected<KernelPlan> planTemplate(loop::KernelOp kernel, mlir::Operation *op, const Target &target) {
  KernelPlan plan;
  if (isa<loop::ContractOp, loop::ConvolutionOp>(op))
    if (std::optional<KernelPlan> product = planProduct(op, target))
      return std::move(*product);
  if (auto contract = dyn_cast<loop::ContractOp>(op)) {
    plan.grids.push_back(
        {countTemplateBlocks(op), kTemplateThreads, [contract](GpuFrame &frame) { emitContraction(frame, contract); }});
    plan.algorithm = {"product, a thread a result", "there are no tiles for its types or places"};
    return plan;
  }
  if (auto attention = dyn_cast<loop::AttentionOp>(op)) {
    if (std::optional<KernelPlan> tiles = planAttentionOnTensorCores(attention, target))
      return std::move(*tiles);
    plan.grids.push_back({countAttentionBlocks(attention), kAttentionThreads,
                          [attention](GpuFrame &frame) { emitAttention(frame, attention); }});
    plan.workspaceBytes = getAttentionWorkspace(attention);
    plan.algorithm = {"attention, a block a query",
                      "tensor cores have 16-bit heads of up to 256 features, without log-sum-exp"};
    return plan;
  }
  if (auto gradient = dyn_cast<loop::AttentionGradientOp>(op))
    return planAttentionGradient(gradient);
  return createStringError("kernel " + kernel.getName() + ": no CUDA code for " + op->getName().getStringRef());
}

Expected<KernelPlan> planKernel(loop::KernelOp kernel, const Target &target) {
  if (Error error = kernel::checkBodies(kernel, "CUDA"))
    return error;
  mlir::Operation *first = &kernel.getBody().front().front();
  if (loop::isTemplate(first))
    return planTemplate(kernel, first, target);
  if (isa<loop::ScatterOp>(first))
    return planScatter(kernel);
  if (isa<loop::SortOp>(first))
    return planSort(kernel);
  if (isa<loop::MatrixOp>(first))
    return planMatrix(kernel);
  for (mlir::Operation &member : kernel.getBody().front().without_terminator())
    if (!isa<loop::MapOp, loop::ReduceOp, loop::ScanOp>(member))
      return createStringError("kernel " + kernel.getName() + ": no CUDA code for " + member.getName().getStringRef());
  auto grid = std::make_shared<GridPlan>(planGrid(kernel));
  KernelPlan plan;
  auto tiles = grid->stages.size() == 1 ? planTiles(grid->stages.front(), grid->loops) : std::nullopt;
  if (tiles) {
    plan.grids.push_back({tiles->blocks, tiles->threads, [tiles](GpuFrame &frame) { emitTiles(frame, *tiles); }});
    plan.algorithm = describe(kernel, *tiles);
    return plan;
  }
  if (std::optional<ColumnPlan> columns = planColumns(*grid)) {
    plan.grids.push_back(
        {columns->blocks, columns->threads(), [columns](GpuFrame &frame) { emitColumns(frame, *columns); }});
    plan.algorithm = {"reduction of columns, a block some neighbours", "groups of threads have some of the rows each"};
    return plan;
  }
  plan.grids.push_back({grid->blocks, grid->threads, [grid](GpuFrame &frame) { emitNest(frame, *grid); }});
  if (!grid->locals.empty() && !grid->hasSharedLocals())
    plan.workspaceBytes = grid->workspaceBytes();
  plan.algorithm = describe(*grid);
  return plan;
}

/// No kernel's symbol is another's grid: those end with a number of their own.
std::string getGridSymbol(StringRef symbol, unsigned i) {
  return i == 0 ? symbol.str() : (symbol + "_part" + Twine(i + 1)).str();
}

/// What a kernel reads and nobody writes while it runs stays what it is, across barriers too (ld.global.nc).
static void markInvariant(Function &function, loop::KernelOp kernel) {
  DenseSet<mlir::Value> written; // in place of an operand, which may be passed twice
  for (int64_t operand : kernel.getInPlace())
    if (operand >= 0)
      written.insert(kernel.getInputs()[operand]);
  SmallPtrSet<const Value *, 8> constant;
  for (auto [i, input] : enumerate(kernel.getInputs()))
    if (!written.contains(input))
      constant.insert(function.getArg(i));
  MDNode *empty = MDNode::get(function.getContext(), {});
  for (Instruction &instruction : instructions(function))
    if (auto *load = dyn_cast<LoadInst>(&instruction))
      if (constant.contains(getUnderlyingObject(load->getPointerOperand())))
        load->setMetadata(LLVMContext::MD_invariant_load, empty);
}

static void emitGrid(Module &module, GpuBuilder &gpu, loop::KernelOp kernel, const GridPart &grid, bool hasWorkspace,
                     StringRef symbol) {
  mlir::Block &body = kernel.getBody().front();
  auto results = body.getTerminator()->getOperands();
  unsigned tensors = body.getNumArguments() + results.size(), symbols = getSymbols(kernel).size();
  unsigned pointers = tensors + hasWorkspace + 1;
  Function *function =
      gpu.createKernel(module, symbol, pointers, symbols, grid.maps.size(), grid.threads, grid.resident);
  Ir b(BasicBlock::Create(module.getContext(), "entry", function));
  GpuFrame frame(b, gpu);
  frame.threads = grid.threads;
  unsigned slot = 0;
  for (mlir::Value argument : body.getArguments())
    frame.pointers[argument] = function->getArg(slot++);
  for (mlir::Value result : results)
    frame.pointers[result] = function->getArg(slot++);
  if (hasWorkspace)
    frame.workspace = function->getArg(slot++);
  frame.fault = function->getArg(slot++);
  for (unsigned i = 0; i < tensors + hasWorkspace; ++i) // calls copy a tensor that begins elsewhere
    function->getArg(i)->addAttr(Attribute::getWithAlignment(module.getContext(), Align(kVectorBytes)));
  for (unsigned i = 0; i < symbols; ++i)
    frame.symbols.push_back(function->getArg(slot++));
  for (unsigned i = 0; i < grid.maps.size(); ++i)
    frame.maps.push_back(function->getArg(slot++));
  kernel::numberFaults(frame, kernel);
  kernel::setAlias(frame, kernel);
  kernel::endWhereNothingIsIndexed(frame, kernel);
  grid.emit(frame);
  b.CreateRetVoid();
  markInvariant(*function, kernel);
}

void emitKernel(Module &module, GpuBuilder &gpu, loop::KernelOp kernel, const KernelPlan &plan, StringRef symbol) {
  for (auto [i, grid] : enumerate(plan.grids))
    emitGrid(module, gpu, kernel, grid, bool(plan.workspaceBytes), getGridSymbol(symbol, i));
}

} // namespace ptc::cuda
