#include "compiler/codegen/cuda/TileNest.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Access;
using kernel::Loop;
using kernel::Stage;

/// A loop of fewer is not worth a tile.
constexpr int64_t kFewPoints = 16;
/// Of one tensor's tile: as many bytes as a block has on their way at once.
constexpr unsigned kTileBytes = 16 << 10, kMostBytes = 32 << 10;
constexpr unsigned kLeastSide = 32, kMostSide = 128, kMostThreads = 256, kFewThreads = 64;
constexpr unsigned kMostLoads = 8;
/// A body of a map that is written down more often than this compiles slowly.
constexpr unsigned kMostOps = 256;

/// Of an element of a tensor, or of one that was read.
static unsigned bytesOf(mlir::Value value) {
  mlir::Type type = loop::getScalarType(mlir::getElementTypeOrSelf(value));
  return divideCeil(type.getIntOrFloatBitWidth(), 8);
}

static std::optional<int64_t> strideOf(const Access &access, unsigned dim) {
  return access.strided ? getConstant(access.strided->strides[dim]) : std::nullopt;
}

/// Neighbours along `dim` are neighbours in memory.
static bool isAlong(const Access &access, unsigned dim) { return strideOf(access, dim) == 1; }

/// Neighbours along `dim` lie apart.
static bool isAcross(const Access &access, unsigned dim) {
  auto stride = strideOf(access, dim);
  return access.strided && (!stride || *stride < 0 || *stride > 1);
}

static bool isTransposed(const Access &access, unsigned store, unsigned read) {
  return !access.isStore && access.read && isAlong(access, read) && isAcross(access, store);
}

/// What another member of the stage has computed at the same point is at hand.
static bool isInStage(const Stage &stage, const Access &access) {
  return is_contained(stage.members, access.tensor.getDefiningOp());
}

/// `width`, or as many elements as a vector has in memory, where all vectors begin at multiples of their size.
static unsigned limitWidth(unsigned width, const Access &access, unsigned dim) {
  width = std::min(width, std::max(1u, kVectorBytes / bytesOf(access.tensor)));
  auto divides = [&](mlir::AffineExpr expr) {
    auto constant = getConstant(expr);
    return constant && *constant % width == 0;
  };
  while (width > 1) {
    bool isAligned = divides(access.strided->offset);
    for (auto [i, stride] : enumerate(access.strided->strides))
      isAligned &= i == dim || divides(stride);
    if (isAligned)
      break;
    width /= 2;
  }
  return width;
}

static unsigned limitWidth(unsigned width, const Loop &loop) {
  auto size = getConstant(loop.size);
  while (width > 1 && (!size || *size % width != 0))
    width /= 2;
  return width;
}

static void chooseStaged(TilePlan &plan) {
  SmallVector<mlir::Value> reads, results;
  unsigned readBytes = 0, resultBytes = 0;
  plan.stagesResults = true;
  for (const Access &access : plan.stage.accesses.accesses) {
    if (isTransposed(access, plan.store.dim, plan.read.dim)) {
      reads.push_back(access.read->getResult(0));
      readBytes += bytesOf(access.tensor);
    } else if (!access.isStore && !isInStage(plan.stage, access) && isAlong(access, plan.store.dim)) {
      plan.stagesResults = false;
    }
  }
  for (mlir::Operation *member : plan.stage.members)
    copy_if(member->getResults(), std::back_inserter(results), kernel::isYielded);
  for (mlir::Value result : results)
    resultBytes += bytesOf(result);
  plan.stagesResults &= resultBytes <= readBytes;
  plan.staged = plan.stagesResults ? results : reads;
}

static void chooseWidth(TilePlan &plan) {
  plan.width = limitWidth(limitWidth(kVectorBytes, plan.store), plan.read);
  for (mlir::Value value : plan.staged)
    plan.width = std::min(plan.width, std::max(1u, kVectorBytes / bytesOf(value)));
  unsigned ops = 0;
  for (mlir::Operation *member : plan.stage.members)
    ops += member->getRegion(0).front().getOperations().size();
  plan.loads = bit_floor(std::clamp(kMostOps / ops, 1u, kMostLoads));
  while (plan.width > 1 && plan.width * ops > kMostOps)
    plan.width /= 2;
  for (const Access &access : plan.stage.accesses.accesses)
    for (unsigned dim : {plan.store.dim, plan.read.dim})
      if (isAlong(access, dim) && (access.isStore || !isInStage(plan.stage, access)))
        plan.width = limitWidth(plan.width, access, dim);
}

/// A side that is no longer than it takes.
static unsigned limitSide(unsigned side, const Loop &loop) {
  auto size = getConstant(loop.size);
  while (side > kLeastSide && size && side / 2 >= *size)
    side /= 2;
  return side;
}

static void chooseSides(TilePlan &plan) {
  unsigned largest = 1, all = 0;
  for (mlir::Value value : plan.staged) {
    largest = std::max(largest, bytesOf(value));
    all += bytesOf(value);
  }
  plan.readSide = plan.storeSide = kLeastSide;
  auto hasRoom = [&] {
    unsigned points = 2 * plan.readSide * plan.storeSide;
    return points * largest <= kTileBytes && points * all <= kMostBytes;
  };
  // One element at a time, there would be too many turns.
  unsigned most = plan.width > 1 ? kMostSide : kMostSide / 2;
  while (hasRoom() && plan.readSide < most)
    (plan.storeSide > plan.readSide ? plan.readSide : plan.storeSide) *= 2;
  plan.storeSide = limitSide(plan.storeSide, plan.store);
  plan.readSide = limitSide(plan.readSide, plan.read);
  auto squares = [&] { return plan.readSide * plan.storeSide / (plan.width * plan.width); };
  while (plan.width > 1 && squares() < kFewThreads)
    plan.width /= 2;
  plan.threads = std::min(squares(), kMostThreads);
}

/// Clamped indices past a tile's end read what is there; in place of it another block may have written.
static bool readsWhatItChecks(const Stage &stage) {
  auto kernel = stage.members.front()->getParentOfType<loop::KernelOp>();
  if (all_of(kernel.getInPlace(), [](int64_t operand) { return operand < 0; }))
    return false;
  return any_of(stage.members,
                [](mlir::Operation *member) { return !member->getRegion(0).getOps<loop::CheckedIndexOp>().empty(); });
}

std::optional<TilePlan> planTiles(const Stage &stage, ArrayRef<Loop> loops) {
  if (loops.size() < 2 || stage.isReduction || stage.isScan || readsWhatItChecks(stage))
    return std::nullopt;
  auto isLarge = [](const Loop &loop) { return getConstant(loop.size).value_or(kFewPoints) >= kFewPoints; };
  const Loop &store = loops.back();
  const Loop *read = nullptr;
  int64_t most = 0;
  for (const Loop &loop : loops.drop_back()) {
    int64_t gain = count_if(stage.accesses.accesses,
                            [&](const Access &access) { return isTransposed(access, store.dim, loop.dim); });
    if (gain > most && isLarge(loop)) {
      most = gain;
      read = &loop;
    }
  }
  if (!read || !isLarge(store))
    return std::nullopt;
  TilePlan plan{stage, {}, store, *read, {}, false, 0, 0, 0, 0, 0, {}};
  chooseStaged(plan);
  chooseWidth(plan);
  chooseSides(plan);
  plan.blocks = store.size.ceilDiv(plan.storeSide) * read->size.ceilDiv(plan.readSide);
  for (const Loop &loop : loops.drop_back())
    if (&loop != read) {
      plan.around.push_back(loop);
      plan.blocks = plan.blocks * loop.size;
    }
  return plan;
}

} // namespace ptc::cuda
