#include "compiler/codegen/cuda/GridPlan.h"

#include "compiler/codegen/cuda/GpuFrame.h"
#include "dialects/core/SymbolicShape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Stage;

constexpr unsigned kThreads = 256, kMostThreads = 1024;
/// Rows that a block has where a warp has each.
constexpr unsigned kRows = 4;
/// For locals: several blocks of a multiprocessor have so much each, beside what reductions take.
constexpr int64_t kMostSharedBytes = 32 << 10;

/// How many points of a stage these dimensions have.
static mlir::AffineExpr countPoints(const GridPlan &plan, const Stage &stage, ArrayRef<unsigned> dims) {
  Shape sizes;
  for (unsigned dim : dims)
    sizes.push_back(stage.domain[dim]);
  return product(sizes, plan.context());
}

/// Points of a stage beside the outer ones.
static mlir::AffineExpr innerPoints(const GridPlan &plan, const Stage &stage) {
  SmallVector<unsigned> inner;
  for (unsigned dim = 0; dim < stage.domain.size(); ++dim)
    if (!plan.isOuter(dim))
      inner.push_back(dim);
  return countPoints(plan, stage, inner);
}

bool reducesColumns(const GridPlan &plan, const Stage &stage) {
  if (plan.outer.empty() || !stage.isReduction)
    return false;
  auto isOne = [](mlir::AffineExpr stride) { return getConstant(stride) == 1; };
  return any_of(stage.accesses.accesses, [&](const kernel::Access &access) {
    if (access.isStore || !access.strided)
      return false;
    return isOne(access.strided->strides[plan.outer.back()]) && !isOne(access.strided->strides.back());
  });
}

bool GridPlan::hasSharedLocals() const {
  auto bytes = getConstant(localBytes);
  return bytes && *bytes * rows <= kMostSharedBytes;
}

Shape GridPlan::loopSizes() const {
  Shape sizes;
  for (const kernel::Loop &loop : loops)
    sizes.push_back(loop.size);
  if (width > 1)
    sizes.back() = sizes.back().floorDiv(width);
  return sizes;
}

static void makeLoops(GridPlan &plan) {
  for (unsigned dim : plan.outer) {
    mlir::AffineExpr size = plan.stages.front().domain[dim];
    bool merges = !plan.loops.empty() && all_of(plan.stages, [&](const Stage &stage) {
      return kernel::walkAsOne(stage.accesses, stage.domain, plan.loops.back().dim, dim);
    });
    if (merges)
      plan.loops.back() = {dim, plan.loops.back().size * size};
    else
      plan.loops.push_back({dim, size});
  }
}

/// What a member has computed at a point is in registers for those after it; in memory it is for others alone.
static bool isInRegisters(const GridPlan &plan, const Stage &stage, const kernel::Access &access) {
  if (!is_contained(stage.members, access.tensor.getDefiningOp()))
    return false;
  bool isLocal = any_of(plan.locals, [&](const GridPlan::Local &local) { return local.tensor == access.tensor; });
  return !access.isStore || !(kernel::isYielded(access.tensor) || isLocal);
}

unsigned chooseWidth(const GridPlan &plan, const Stage &stage, const kernel::Loop &loop) {
  if (stage.isScan)
    return 1;
  unsigned dim = loop.dim;
  int64_t largest = 1;
  for (const kernel::Access &access : stage.accesses.accesses) {
    if (isInRegisters(plan, stage, access))
      continue;
    auto stride = access.strided ? getConstant(access.strided->strides[dim]) : std::nullopt;
    bool isReduced = dim >= stage.resultRank; // what is stored of it is one element
    if (!stride || *stride < 0 || *stride > 1 || (access.isStore && *stride != 1 && !isReduced))
      return 1;
    if (*stride == 0 && !access.isStore) // one element for all of them
      continue;
    largest = std::max<int64_t>(largest, divideCeil(loop::getScalarType(access.tensor).getIntOrFloatBitWidth(), 8));
  }
  auto size = getConstant(loop.size);
  int64_t width = kVectorBytes / largest;
  return size && width > 0 && *size % width == 0 ? width : 1;
}

/// The dimensions of a stage that a block's threads share: points, or what is reduced over at the only one.
static SmallVector<unsigned> getSharedDims(const GridPlan &plan, const Stage &stage) {
  SmallVector<unsigned> points, reduced;
  for (unsigned dim = 0; dim < stage.domain.size(); ++dim)
    if (!plan.isOuter(dim))
      (dim < stage.resultRank ? points : reduced).push_back(dim);
  return points.empty() ? reduced : points;
}

bool hasWarpsForPoints(const GridPlan &plan, const Stage &stage) {
  constexpr int64_t kFewElements = 2 * kWarp;
  SmallVector<unsigned> shared = getSharedDims(plan, stage);
  if (plan.isFlat || stage.isScan || !stage.isReduction || shared.empty() || shared.back() >= stage.resultRank)
    return false;
  auto elements = getConstant(product(ShapeRef(stage.domain).drop_front(stage.resultRank), plan.context()));
  bool readsColumns = any_of(stage.accesses.accesses, [&](const kernel::Access &access) {
    if (access.isStore || !access.strided || getConstant(access.strided->strides[shared.back()]) != 1)
      return false;
    auto reduced = ArrayRef(access.strided->strides).drop_front(stage.resultRank); // zeros: one number for all elements
    return any_of(reduced, [](mlir::AffineExpr stride) { return getConstant(stride) != 0; }) &&
           getConstant(reduced.back()) != 1;
  });
  return (!elements || *elements >= kFewElements) && !readsColumns;
}

static void chooseWidths(GridPlan &plan) {
  const Stage &first = plan.stages.front();
  if (plan.isFlat && plan.stages.size() == 1 && !plan.loops.empty() && !first.isReduction)
    plan.width = chooseWidth(plan, first, plan.loops.back());
  for (const Stage &stage : plan.stages) {
    SmallVector<unsigned> shared = getSharedDims(plan, stage);
    bool isShared = !plan.isFlat && !shared.empty() && (shared.back() >= stage.resultRank || !stage.isReduction);
    plan.widths.push_back(isShared ? chooseWidth(plan, stage, {shared.back(), stage.domain[shared.back()]}) : 1);
  }
}

/// Vectors of neighbours that the threads of a row share in a stage, or threads that its points take, if that is known.
static std::optional<int64_t> countShared(const GridPlan &plan, size_t stage) {
  auto count = getConstant(countPoints(plan, plan.stages[stage], getSharedDims(plan, plan.stages[stage])));
  if (count && hasWarpsForPoints(plan, plan.stages[stage]))
    return *count * kWarp;
  return count ? std::optional<int64_t>(divideCeil(*count, plan.widths[stage])) : std::nullopt;
}

/// Whole warps, as many as have something to do in the largest stage of a row.
static unsigned chooseThreads(const GridPlan &plan) {
  int64_t most = 1;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    auto count = countShared(plan, stage);
    if (!count)
      return kThreads;
    most = std::max(most, *count);
  }
  return alignTo(std::min<int64_t>(most, kThreads), kWarp);
}

/// Many short rows are a warp's each: it holds a row in registers and reduces by shuffles alone, where the two or three
/// warps of a block wait for each other at every reduction. Few rows have a block each, which is done sooner.
static bool suitsWarps(const GridPlan &plan) {
  constexpr int64_t kManyRows = 1024;
  auto rows = getConstant(plan.blocks), bytes = getConstant(plan.localBytes);
  if (plan.outer.empty() || !bytes || *bytes * kRows > kMostSharedBytes || (rows && *rows < kManyRows))
    return false;
  return all_of(seq(plan.stages.size()), [&](size_t stage) {
    auto count = countShared(plan, stage);
    return count && (*count <= kWarp || (*count % kWarp == 0 && *count <= kWarp * kFewTurns));
  });
}

/// What a thread does alone must be little, or each thread's own work: a scan, or a reduction along columns.
static bool isFlat(const GridPlan &plan) {
  constexpr int64_t kFewPoints = 16;
  bool isOneStage = plan.stages.size() == 1;
  for (const Stage &stage : plan.stages) {
    auto points = getConstant(innerPoints(plan, stage));
    bool isFew = points && *points <= kFewPoints;
    if (!isFew && !(isOneStage && (stage.isScan || reducesColumns(plan, stage))))
      return false;
  }
  return plan.locals.empty();
}

static void placeLocals(GridPlan &plan) {
  mlir::MLIRContext *context = plan.context();
  plan.localBytes = getAffineConstantExpr(0, context);
  for (mlir::Value tensor : kernel::localTensors(plan.kernel, plan.stages)) {
    Shape sizes = getShape(tensor);
    int64_t element = divideCeil(loop::getScalarType(tensor).getIntOrFloatBitWidth(), 8);
    mlir::AffineExpr bytes = product(ShapeRef(sizes).drop_front(plan.outer.size()), context) * element;
    plan.locals.push_back({tensor, plan.localBytes});
    plan.localBytes = plan.localBytes + bytes.ceilDiv(kVectorBytes) * kVectorBytes;
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
    if (isOneStage ? !isReduced : dim < kernel.getOuter())
      plan.outer.push_back(dim);
  }
  makeLoops(plan);
  plan.blocks = product(plan.loopSizes(), kernel.getContext());
  placeLocals(plan);
  plan.isFlat = isFlat(plan);
  chooseWidths(plan);
  plan.threads = plan.isFlat ? kThreads : plan.outer.empty() ? kMostThreads : chooseThreads(plan);
  if (plan.isFlat) {
    plan.blocks = product(plan.loopSizes(), kernel.getContext()).ceilDiv(kThreads);
  } else if (suitsWarps(plan)) {
    plan.rows = kRows;
    plan.threads = kRows * kWarp;
    plan.blocks = plan.blocks.ceilDiv(kRows);
  }
  return plan;
}

} // namespace ptc::cuda
