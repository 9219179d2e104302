#include "compiler/codegen/kernel/Stages.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace ptc::kernel {

unsigned scanDim(const Stage &stage) { return cast<loop::ScanOp>(stage.members.front()).getDim(); }

/// Reads the element that the member computes at this very point.
static bool isAtCurrentPoint(loop::ReadOp read, mlir::Region &region) {
  if (!read.getMap().isIdentity() || read.getIndices().size() > region.getNumArguments())
    return false;
  for (auto [i, index] : enumerate(read.getIndices()))
    if (index != region.getArgument(i))
      return false;
  return true;
}

/// Whether `op` can run in the loops of `stage`.
static bool fits(const Stage &stage, mlir::Operation *op) {
  if (!isa<loop::MapOp, loop::ReduceOp>(op) || stage.isScan)
    return false;
  Shape domain = loop::getDomain(op);
  auto same = [](auto pair) { return isEqual(std::get<0>(pair), std::get<1>(pair)); };
  if (domain.size() != stage.domain.size() || !all_of(zip(domain, stage.domain), same))
    return false;
  bool isReduction = isa<loop::ReduceOp>(op);
  if (isReduction && stage.isReduction && getShape(op->getResult(0)).size() != stage.resultRank)
    return false;
  bool fits = true;
  for (mlir::Region &region : op->getRegions())
    region.walk([&](loop::ReadOp read) {
      mlir::Operation *producer = read.getTensor().getDefiningOp();
      if (!is_contained(stage.members, producer))
        return;
      bool isFinish = region.getRegionNumber() > 0;
      fits &= isa<loop::MapOp>(producer) && !isFinish && isAtCurrentPoint(read, region);
    });
  return fits;
}

bool isYielded(mlir::Value tensor) {
  return any_of(tensor.getUsers(), [](mlir::Operation *user) {
    return isa<loop::YieldOp>(user) && isa<loop::KernelOp>(user->getParentOp());
  });
}

/// Row-major; a tensor of one outer iteration stays in place for all of them.
static Shape stridesOf(mlir::Value tensor, unsigned outer) {
  Shape strides = rowMajorStrides(tensor);
  if (tensor.getDefiningOp() && !isYielded(tensor))
    std::fill_n(strides.begin(), std::min<size_t>(outer, strides.size()),
                getAffineConstantExpr(0, tensor.getContext()));
  return strides;
}

static void addMember(Stage &stage, mlir::Operation *op, unsigned outer) {
  stage.members.push_back(op);
  stage.isScan = isa<loop::ScanOp>(op);
  if (isa<loop::ReduceOp>(op)) {
    stage.isReduction = true;
    stage.resultRank = getShape(op->getResult(0)).size();
  } else if (!stage.isReduction) {
    stage.resultRank = stage.domain.size();
  }
  auto strides = [&](mlir::Value tensor) { return stridesOf(tensor, outer); };
  for (mlir::Region &region : op->getRegions())
    if (!region.empty())
      addReads(stage.accesses, region, strides);
  for (mlir::Value result : op->getResults())
    if (!result.use_empty())
      addStore(stage.accesses, result, strides);
}

std::vector<Stage> makeStages(loop::KernelOp kernel) {
  std::vector<Stage> stages;
  for (mlir::Operation &op : kernel.getBody().front().without_terminator()) {
    if (stages.empty() || !fits(stages.back(), &op))
      stages.emplace_back(loop::getDomain(&op));
    addMember(stages.back(), &op, kernel.getOuter());
  }
  return stages;
}

SmallVector<mlir::Value> localTensors(loop::KernelOp kernel, ArrayRef<Stage> stages) {
  SmallVector<mlir::Value> locals;
  for (const Stage &stage : stages)
    for (mlir::Operation *member : stage.members)
      for (mlir::Value result : member->getResults()) {
        bool isRow = getShape(result).size() > kernel.getOuter();
        bool isReadLater = any_of(result.getUsers(), [&](mlir::Operation *user) {
          return isa<loop::ReadOp>(user) && !is_contained(stage.members, user->getParentOp());
        });
        if (isRow && isReadLater && !isYielded(result))
          locals.push_back(result);
      }
  return locals;
}

} // namespace ptc::kernel
