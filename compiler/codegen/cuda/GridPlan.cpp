#include "compiler/codegen/cuda/GridPlan.h"

#include "dialects/core/SymbolicShape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Stage;

constexpr unsigned kThreads = 256, kMostThreads = 1024;

/// Points of a stage beside the outer ones.
static mlir::AffineExpr innerPoints(const GridPlan &plan, const Stage &stage, mlir::MLIRContext *context) {
  mlir::AffineExpr points = getAffineConstantExpr(1, context);
  for (unsigned dim = 0; dim < stage.domain.size(); ++dim)
    if (!plan.isOuter(dim))
      points = points * stage.domain[dim];
  return points;
}

/// Reads of neighbouring outer points are neighbours in memory, and those of the reduction are not: as where rows are
/// added up.
static bool reducesColumns(const GridPlan &plan, const Stage &stage) {
  if (plan.outer.empty() || !stage.isReduction)
    return false;
  auto isOne = [](mlir::AffineExpr stride) { return getConstant(stride) == 1; };
  return any_of(stage.accesses.accesses, [&](const kernel::Access &access) {
    if (access.isStore || !access.strided)
      return false;
    return isOne(access.strided->strides[plan.outer.back()]) && !isOne(access.strided->strides.back());
  });
}

/// What a thread does alone must be little, or each thread's own work: a scan, or a reduction along columns.
static bool isFlat(const GridPlan &plan) {
  constexpr int64_t kFewPoints = 16;
  bool isOneStage = plan.stages.size() == 1;
  for (const Stage &stage : plan.stages) {
    auto points = getConstant(innerPoints(plan, stage, plan.context()));
    bool isFew = points && *points <= kFewPoints;
    if (!isFew && !(isOneStage && (stage.isScan || reducesColumns(plan, stage))))
      return false;
  }
  return plan.locals.empty();
}

static void placeLocals(GridPlan &plan) {
  constexpr int64_t kAlignment = 16;
  mlir::MLIRContext *context = plan.context();
  plan.localBytes = getAffineConstantExpr(0, context);
  for (mlir::Value tensor : kernel::localTensors(plan.kernel, plan.stages)) {
    Shape sizes = getShape(tensor);
    int64_t element = divideCeil(loop::getScalarType(tensor).getIntOrFloatBitWidth(), 8);
    mlir::AffineExpr bytes = product(ShapeRef(sizes).drop_front(plan.outer.size()), context) * element;
    plan.locals.push_back({tensor, plan.localBytes});
    plan.localBytes = plan.localBytes + bytes.ceilDiv(kAlignment) * kAlignment;
  }
}

GridPlan planGrid(loop::KernelOp kernel) {
  GridPlan plan;
  plan.kernel = kernel;
  plan.stages = kernel::makeStages(kernel);
  const Stage &first = plan.stages.front();
  bool isOneStage = plan.stages.size() == 1;
  for (unsigned dim = 0; dim < first.domain.size(); ++dim) {
    bool isReduced = first.isScan ? dim == kernel::scanDim(first) : dim >= first.resultRank;
    if (isOneStage ? !isReduced : dim < kernel.getOuter()) {
      plan.outer.push_back(dim);
      plan.outerSizes.push_back(first.domain[dim]);
    }
  }
  mlir::AffineExpr points = plan.blocks = product(plan.outerSizes, kernel.getContext());
  placeLocals(plan);
  plan.isFlat = isFlat(plan);
  plan.threads = kThreads;
  if (plan.isFlat)
    plan.blocks = points.ceilDiv(kThreads);
  else if (plan.outer.empty())
    plan.threads = kMostThreads;
  return plan;
}

} // namespace ptc::cuda
