#include "compiler/codegen/cpu/nest/NestPlan.h"

#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/Stages.h"
#include "dialects/loop/Tuning.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace llvm;

namespace ptc::cpu {

double estimate(mlir::AffineExpr size) {
  if (auto constant = getConstant(size))
    return *constant;
  constexpr int64_t kTypical = 128;
  unsigned symbols = 0;
  size.walk([&](mlir::AffineExpr e) {
    if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(e))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  return evaluate(size, SmallVector<int64_t>(symbols, kTypical));
}

static double estimate(ArrayRef<Loop> loops) {
  double points = 1;
  for (const Loop &loop : loops)
    points *= std::max(1.0, estimate(loop.size));
  return points;
}

namespace {

/// What open sizes are taken for: of what a call may tell some are small, or none is.
enum class OpenSizes { Any, Many };

class Planner {
public:
  Planner(loop::KernelOp kernel, const Target &target, OpenSizes openSizes)
      : kernel(kernel), lanes(target.vectorBytes / sizeof(float)), openSizes(openSizes) {}
  NestPlan plan();

private:
  void makeLoops();
  void cutLoops();
  void chooseLanes();
  void widen();
  void cutTasks();
  void placeLocals();
  void chooseStreamed();

  SmallVector<Loop> loopsOver(ArrayRef<unsigned> dims, ArrayRef<const Stage *> stages) const;
  double vectorsOfPoint(const Loop &loop) const;
  double costOfVector(const Stage &stage, unsigned dim) const;
  double costAlong(const Stage &stage, const Loop &loop) const;
  double costOfScalar(const Stage &stage) const;

  struct OwnLoop {
    double cost;
    decltype(Stage::lanes) lanes;
    unsigned loop;
  };
  OwnLoop bestOwnLoop(const Stage &stage) const;
  double costOfTransposing(unsigned store, unsigned read) const;
  bool chooseTransposing(double best);

  loop::KernelOp kernel;
  unsigned lanes;
  OpenSizes openSizes;
  NestPlan p;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Loop> Planner::loopsOver(ArrayRef<unsigned> dims, ArrayRef<const Stage *> stages) const {
  SmallVector<Loop> loops;
  for (unsigned dim : dims) {
    mlir::AffineExpr size = stages.front()->domain[dim];
    if (getConstant(size) == 1)
      continue;
    bool merges = !loops.empty() && all_of(stages, [&](const Stage *stage) {
      return walkAsOne(stage->accesses, stage->domain, loops.back().dim, dim);
    });
    if (merges)
      loops.back() = {dim, loops.back().size * size};
    else
      loops.push_back({dim, size});
  }
  return loops;
}

void Planner::makeLoops() {
  SmallVector<const Stage *> all;
  for (const Stage &stage : p.stages)
    all.push_back(&stage);
  // One stage shares nothing with others: all that is parallel in it makes tasks.
  bool isSingle = p.stages.size() == 1;
  Stage &first = p.stages.front();
  auto isReduced = [&](const Stage &stage, unsigned dim) {
    return stage.isScan ? dim == scanDim(stage) : dim >= stage.resultRank;
  };
  SmallVector<unsigned> outer;
  for (unsigned dim = 0; dim < first.domain.size(); ++dim)
    if (isSingle ? !isReduced(first, dim) : dim < p.outerRank)
      outer.push_back(dim);
  if (auto reduce = dyn_cast<loop::ReduceOp>(first.members.front()); reduce && reduce.getInner() > 0)
    std::rotate(outer.begin(), outer.begin() + reduce.getInner(), outer.end());
  p.outer = loopsOver(outer, all);
  for (Stage &stage : p.stages) {
    SmallVector<unsigned> parallel, reduced;
    for (unsigned dim = 0; dim < stage.domain.size(); ++dim)
      if (!is_contained(outer, dim))
        (isReduced(stage, dim) ? reduced : parallel).push_back(dim);
    stage.parallel = loopsOver(parallel, {&stage});
    stage.reduction = loopsOver(reduced, {&stage});
  }
}

//===----------------------------------------------------------------------===//
// Stretches
//===----------------------------------------------------------------------===//

/// The indices at which a comparison of the dimension with a constant gives another answer than one before.
static void addTurns(mlir::Operation *member, unsigned dim, std::set<int64_t> &turns) {
  auto argument = member->getRegion(0).getArgument(dim);
  for (mlir::Operation *user : argument.getUsers()) {
    auto predicate = getComparison(*user);
    if (!predicate)
      continue;
    bool isLeft = user->getOperand(0) == argument;
    mlir::APInt constant;
    if (!matchPattern(user->getOperand(isLeft ? 1 : 0), mlir::m_ConstantInt(&constant)))
      continue;
    ConstantRange holds =
        ConstantRange::makeExactICmpRegion(isLeft ? *predicate : CmpInst::getSwappedPredicate(*predicate), constant);
    turns.insert(holds.getLower().getSExtValue());
    turns.insert(holds.getUpper().getSExtValue());
  }
}

/// A concatenation asks at each point which operand it lies in; cut at their borders, it does not.
void Planner::cutLoops() {
  constexpr size_t kMostStretches = 64, kMostOperations = 8192; // what a kernel may grow to
  size_t operations = 0, stretches = 1;
  for (const Stage &stage : p.stages)
    for (mlir::Operation *member : stage.members)
      operations += member->getRegion(0).front().getOperations().size();
  for (Loop &loop : p.outer) {
    std::set<int64_t> turns;
    for (const Stage &stage : p.stages)
      for (mlir::Operation *member : stage.members)
        addTurns(member, loop.dim, turns);
    int64_t end = getConstant(loop.size).value_or(INT64_MAX);
    SmallVector<int64_t, 2> cuts(make_filter_range(turns, [&](int64_t turn) { return turn > 0 && turn < end; }));
    size_t total = stretches * (cuts.size() + 1);
    if (total > kMostStretches || total * operations > kMostOperations)
      continue;
    stretches = total;
    loop.cuts = std::move(cuts);
  }
}

static SmallVector<int64_t> stretchesOf(const Loop &loop) {
  SmallVector<int64_t> lengths;
  int64_t begin = 0;
  for (int64_t cut : loop.cuts)
    lengths.push_back(cut - std::exchange(begin, cut));
  lengths.push_back(std::max<int64_t>(1, int64_t(estimate(loop.size)) - begin)); // what is open may be behind the cuts
  return lengths;
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// What a gather or scatter costs, a plain vector access being 1.
constexpr double kVector = 1, kGather = 12, kBroadcast = 0.2, kHorizontal = 12, kWork = 0.3;

static double costOfAccess(const Access &access, unsigned dim) {
  bool isIrregular = dim < access.irregular.size() && access.irregular[dim];
  auto stride = isIrregular || !access.strided ? std::nullopt : getConstant(access.strided->strides[dim]);
  return stride == 0 ? kBroadcast : stride == 1 ? kVector : kGather;
}

double Planner::costOfVector(const Stage &stage, unsigned dim) const {
  double cost = stage.accesses.work * kWork;
  for (const Access &access : stage.accesses.accesses)
    cost += costOfAccess(access, dim);
  return cost;
}

/// How often a size in the range is no larger than a few vectors, where its logarithm may be any: of a batch of up to
/// 64 often, of a length hardly ever.
static double shareOfSmall(Range range, double lanes) {
  constexpr double kOpen = 1 << 20, kRarest = 0.125, kMost = 0.6;
  double least = std::max<int64_t>(1, range.min), most = std::min(double(range.max), kOpen);
  double share = most > least ? std::log(2 * lanes / least) / std::log(most / least) : kMost;
  return std::clamp(share, kRarest, kMost);
}

/// How many vectors along the loop its points take, divided by their number. An open size may be 1, as a batch often
/// is, which a vector serves no better than a scalar: so it is a mean of the least size and a usual one.
double Planner::vectorsOfPoint(const Loop &loop) const {
  double size = std::max(1.0, estimate(loop.size)), vectors = 0;
  for (int64_t length : stretchesOf(loop))
    vectors += std::ceil(double(length) / lanes);
  if (getConstant(loop.size) || openSizes == OpenSizes::Many)
    return vectors / size;
  Range range = getRange(loop.size, getSymbols(kernel));
  double least = std::max<int64_t>(1, range.min), small = shareOfSmall(range, lanes);
  return (1 - small) * vectors / size + small * std::ceil(least / lanes) / least;
}

/// Of one point when lanes lie along the loop.
double Planner::costAlong(const Stage &stage, const Loop &loop) const {
  return costOfVector(stage, loop.dim) * vectorsOfPoint(loop);
}

double Planner::costOfScalar(const Stage &stage) const {
  return stage.accesses.accesses.size() + stage.accesses.work * kWork;
}

/// The cost of one iteration of the outer loops with lanes along the best of the stage's own loops.
Planner::OwnLoop Planner::bestOwnLoop(const Stage &stage) const {
  double points = estimate(stage.parallel) * estimate(stage.reduction);
  OwnLoop best{costOfScalar(stage) * points, Stage::Nowhere, 0};
  auto consider = [&](ArrayRef<Loop> loops, decltype(best.lanes) lanes, double extra) {
    for (auto [i, loop] : enumerate(loops))
      if (double cost = costAlong(stage, loop) * points + extra; cost < best.cost)
        best = {cost, lanes, static_cast<unsigned>(i)};
  };
  consider(stage.parallel, Stage::AlongParallel, 0);
  if (!stage.isScan)
    consider(stage.reduction, Stage::AlongReduction, kHorizontal * estimate(stage.parallel));
  return best;
}

/// The chosen loop becomes the innermost.
static void moveToEnd(SmallVector<Loop> &loops, unsigned i) {
  std::rotate(loops.begin() + i, loops.begin() + i + 1, loops.end());
}

/// Of one point, with stores along one outer loop and reads along another; infinite where it cannot be.
double Planner::costOfTransposing(unsigned store, unsigned read) const {
  // To and from the stack, shuffled four times, and stored.
  constexpr double kTransposed = 6, kNever = std::numeric_limits<double>::infinity();
  const Stage &stage = p.stages.front();
  double cost = stage.accesses.work * kWork;
  for (const Access &access : stage.accesses.accesses) {
    double alone = costOfAccess(access, p.outer[access.isStore ? store : read].dim);
    mlir::Type element = loop::getScalarType(access.tensor);
    bool isLane = element.getIntOrFloatBitWidth() == 32 || element.isBF16() || element.isF16();
    if (access.isStore && (alone != kVector || !isLane))
      return kNever;
    cost += access.isStore ? kTransposed : alone;
  }
  for (unsigned i : {store, read}) {
    if (!p.outer[i].cuts.empty())
      return kNever;
    cost *= vectorsOfPoint(p.outer[i]);
  }
  return cost * lanes;
}

bool Planner::chooseTransposing(double best) {
  bool areMaps = p.stages.size() == 1 &&
                 all_of(p.stages.front().members, [](mlir::Operation *member) { return isa<loop::MapOp>(member); });
  std::optional<std::pair<unsigned, unsigned>> chosen;
  for (unsigned store = 0; areMaps && store < p.outer.size(); ++store)
    for (unsigned read = 0; read < p.outer.size(); ++read) {
      if (store == read)
        continue;
      double cost = costOfTransposing(store, read);
      p.costs.transposed = std::min(p.costs.transposed, cost);
      if (cost < best) {
        best = cost;
        chosen = {store, read};
      }
    }
  if (!chosen)
    return false;
  auto [store, read] = *chosen;
  p.transposes = p.lanesAlongOuter = true;
  moveToEnd(p.outer, store);
  moveToEnd(p.outer, read > store ? read - 1 : read);
  return true;
}

void Planner::chooseLanes() {
  double best = 0;
  for (const Stage &stage : p.stages)
    best += bestOwnLoop(stage).cost;
  p.costs.own = best;
  std::optional<unsigned> outerLoop;
  for (auto [i, loop] : enumerate(p.outer)) {
    double cost = 0;
    for (const Stage &stage : p.stages)
      cost += costAlong(stage, loop) * estimate(stage.parallel) * estimate(stage.reduction);
    p.costs.outer = std::min(p.costs.outer, cost);
    if (cost > best) // of equals the innermost: its neighbours are closest
      continue;
    best = cost;
    outerLoop = i;
  }
  if (chooseTransposing(best))
    return;
  if (outerLoop) {
    p.lanesAlongOuter = true;
    moveToEnd(p.outer, *outerLoop);
    return;
  }
  for (Stage &stage : p.stages) {
    OwnLoop own = bestOwnLoop(stage);
    stage.lanes = own.lanes;
    if (own.lanes != Stage::Nowhere)
      moveToEnd(own.lanes == Stage::AlongReduction ? stage.reduction : stage.parallel, own.loop);
  }
}

/// Several vectors at once hide latency and loop overhead, as long as the size has that many and the body is short.
static unsigned widthFor(unsigned lanes, const Stage &stage, mlir::AffineExpr size) {
  // Places are 64 bits wide: several vectors of them as it is.
  bool hasPlaces = any_of(stage.members, [](mlir::Operation *member) {
    auto reduce = dyn_cast<loop::ReduceOp>(member);
    return reduce && any_of(reduce.getKinds().getAsValueRange<mlir::StringAttr>(),
                            [](StringRef kind) { return kind.starts_with("arg"); });
  });
  unsigned most = hasPlaces ? 1 : stage.accesses.work <= 4 ? 4 : stage.accesses.work <= 64 ? 2 : 1;
  double vectors = estimate(size) / lanes;
  unsigned factor = 1;
  while (2 * factor <= most && 2 * factor <= vectors)
    factor *= 2;
  return lanes * factor;
}

void Planner::widen() {
  if (p.transposes) {
    p.width = lanes;
    return;
  }
  if (p.lanesAlongOuter) {
    // Only reductions need it; what streams is bound by memory.
    bool reduces = any_of(p.stages, [](const Stage &s) { return s.isReduction; });
    p.width = reduces ? 4 * lanes : 2 * lanes;
    for (const Stage &stage : p.stages)
      p.width = std::min(p.width, widthFor(lanes, stage, p.outer.back().size));
    // A stretch has some whole vectors; shorter ones are left to masks.
    Loop &loop = p.outer.back();
    int64_t shortest = *llvm::min_element(stretchesOf(loop));
    if (shortest < lanes)
      loop.cuts.clear();
    while (!loop.cuts.empty() && p.width > shortest)
      p.width /= 2;
    return;
  }
  for (Stage &stage : p.stages)
    if (stage.lanes != Stage::Nowhere)
      stage.width =
          widthFor(lanes, stage,
                   stage.lanes == Stage::AlongReduction ? stage.reduction.back().size : stage.parallel.back().size);
}

//===----------------------------------------------------------------------===//
// Tasks and scratch
//===----------------------------------------------------------------------===//

/// A task is as many iterations of the last outer loops as make a fair piece of work: enough to pay for finding
/// its place, few enough that threads share evenly.
void Planner::cutTasks() {
  int64_t grain = loop::getTuning(kernel, loop::Knob::Grain).value_or(0);
  double taskWork = loop::scaleByGrain(16384, grain); // accesses and instructions of a point, times points
  double work = 0;
  for (const Stage &stage : p.stages)
    work += estimate(stage.parallel) * estimate(stage.reduction) *
            (stage.accesses.accesses.size() + stage.accesses.work * kWork);
  mlir::AffineExpr one = getAffineConstantExpr(1, kernel.getContext());
  p.tasks = one;
  for (unsigned i = p.outer.size(); i-- > 0;) {
    double size = estimate(p.outer[i].size);
    bool isWhole = p.transposes && i + 1 == p.outer.size(); // a task has all of the loop of reads
    if (isWhole || (getConstant(p.outer[i].size) && work * size <= taskWork)) {
      work *= std::max(size, 1.0);
      continue;
    }
    p.blockLoop = i;
    p.block = std::max<int64_t>(1, taskWork / std::max(work, 1.0));
    bool isVector = p.lanesAlongOuter && i + (p.transposes ? 2 : 1) == p.outer.size();
    if (isVector)
      p.block = alignTo(p.block, p.width);
    p.tasks = p.outer[i].size.ceilDiv(p.block);
    for (unsigned j = 0; j < i; ++j)
      p.tasks = p.outer[j].size * p.tasks;
    return;
  }
  // All of it is one task, or none when a size is zero.
  p.blockLoop = 0;
  p.block = p.outer.empty() ? 1 : std::max<int64_t>(1, *getConstant(p.outer.front().size));
}

void Planner::placeLocals() {
  mlir::MLIRContext *context = kernel.getContext();
  p.scratchBytes = getAffineConstantExpr(0, context);
  constexpr int64_t kLine = 64;
  for (mlir::Value tensor : localTensors(kernel, p.stages)) {
    Shape sizes = getShape(tensor);
    mlir::AffineExpr bytes = product(ShapeRef(sizes).drop_front(p.outerRank), context) *
                             int64_t(p.lanesAlongOuter ? p.width : 1) *
                             int64_t(divideCeil(loop::getScalarType(tensor).getIntOrFloatBitWidth(), 8));
    p.locals.push_back({tensor, p.scratchBytes});
    p.scratchBytes = p.scratchBytes + bytes.ceilDiv(kLine) * kLine;
  }
}

/// Results of maps that may exceed the caches and are written from end to end.
void Planner::chooseStreamed() {
  bool isInPlace = any_of(kernel.getInPlace(), [](int64_t operand) { return operand >= 0; });
  bool isOneRow = p.stages.size() == 1 && p.outer.size() == 1 && p.lanesAlongOuter;
  const Stage &stage = p.stages.front();
  if (isInPlace || !isOneRow || stage.isReduction || stage.isScan)
    return;
  auto results = kernel.getBody().front().getTerminator()->getOperands();
  Range elements = getRange(p.outer.front().size, getSymbols(kernel));
  constexpr int64_t kLargestElement = 8;
  if (elements.max >= kStreamedBytes / kLargestElement)
    p.streamed.assign(results.begin(), results.end());
}

NestPlan Planner::plan() {
  p.outerRank = kernel.getOuter();
  p.stages = makeStages(kernel);
  makeLoops();
  cutLoops();
  chooseLanes();
  widen();
  cutTasks();
  placeLocals();
  chooseStreamed();
  return std::move(p);
}

/// The one loop of a transposition whose size a call tells; null where it tells none or both.
static const Loop *findOpenLoop(ArrayRef<Loop> loops) {
  auto isOpen = [](const Loop &loop) { return !getConstant(loop.size); };
  return count_if(loops, isOpen) == 1 ? find_if(loops, isOpen) : nullptr;
}

NestPlan planNest(loop::KernelOp kernel, const Target &target) {
  NestPlan plan = Planner(kernel, target, OpenSizes::Any).plan();
  if (plan.transposes || plan.outer.size() < 2)
    return plan;
  NestPlan many = Planner(kernel, target, OpenSizes::Many).plan();
  const Loop *open = many.transposes ? findOpenLoop(ArrayRef(many.outer).take_back(2)) : nullptr;
  if (!open)
    return plan;
  plan.size = open->size;
  plan.least = 2 * many.width; // of three tiles a third is empty at most
  plan.many = std::make_shared<const NestPlan>(std::move(many));
  return plan;
}

} // namespace ptc::cpu
