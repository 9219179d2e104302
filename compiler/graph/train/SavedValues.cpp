#include "compiler/graph/train/SavedValues.h"

#include "compiler/graph/train/MinimumCut.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc {

DenseSet<Operation *> findForward(func::FuncOp function, unsigned results) {
  DenseSet<Operation *> forward;
  SmallVector<Operation *> left;
  Operation *end = function.front().getTerminator();
  for (unsigned i = 0; i < results; ++i)
    if (Operation *op = end->getOperand(i).getDefiningOp())
      left.push_back(op);
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    if (!forward.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        left.push_back(producer);
  }
  return forward;
}

namespace {

/// A value of the forward pass, or an argument, that the backward pass reads or that leads to one.
struct Node {
  Value value;
  Repetition repetition;
  double bytes, time;
  bool isReadByKernel;                   ///< of the backward pass, and not as a part of it
  int made;                              ///< the place of its operation
  int firstRead = -1, lastRead = -1;     ///< by the backward pass; -1: not at all
  SmallVector<unsigned> operands, users; ///< nodes
};

class Cutter {
public:
  Cutter(func::FuncOp function, const DenseSet<Operation *> &forward);
  /// `dear`: operations that are not cheap may be repeated, at `rate` bytes for a nanosecond.
  SavedValues cut(double rate, bool dear) const;

private:
  unsigned add(Value value);
  int64_t priceOf(const Node &node, double rate, bool dear) const;
  double estimatePeak(const std::vector<bool> &isRepeated) const;

  const DenseSet<Operation *> &forward;
  std::vector<Node> nodes; ///< operands before users
  DenseMap<Value, unsigned> nodeOf;
  DenseMap<Operation *, int> places;
};

} // namespace

/// Whether an operation of the backward pass reads it that fusion cannot make it a part of.
static bool isReadByKernel(Value value, const DenseSet<Operation *> &forward) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Repetition reader = getRepetition(user);
    if (forward.contains(user))
      return false;
    return reader == Repetition::Free ? isReadByKernel(user->getResult(0), forward) : reader != Repetition::Cheap;
  });
}

/// What the function answers is kept for its caller.
static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
}

/// Bytes that a nanosecond is worth where only cheap operations are repeated.
static constexpr double kCheapRate = 0.25;

Cutter::Cutter(func::FuncOp function, const DenseSet<Operation *> &forward) : forward(forward) {
  int place = 0;
  for (Operation &op : function.front())
    places[&op] = place++;
  Operation *end = function.front().getTerminator();
  for (Operation &op : function.front()) {
    if (forward.contains(&op) || &op == end)
      continue;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && !forward.contains(producer))
        continue;
      Node &node = nodes[add(operand)];
      node.firstRead = node.firstRead < 0 ? places[&op] : node.firstRead;
      node.lastRead = places[&op];
    }
  }
}

/// With all that it is computed of, without recursion: networks are deep.
unsigned Cutter::add(Value value) {
  SmallVector<Value> left{value};
  while (!left.empty()) {
    Value next = left.back();
    Operation *op = next.getDefiningOp();
    if (nodeOf.count(next)) {
      left.pop_back();
      continue;
    }
    auto unknown = [&](Value operand) { return !nodeOf.count(operand); };
    if (op && llvm::any_of(op->getOperands(), unknown)) {
      llvm::copy_if(op->getOperands(), std::back_inserter(left), unknown);
      continue;
    }
    left.pop_back();
    Node node{next, Repetition::Never, 0, 0, false, -1, -1, -1, {}, {}};
    if (op) {
      node.repetition = getRepetition(op);
      node.bytes = isReturned(next) ? 0 : estimateBytes(next), node.time = estimateTime(op);
      node.isReadByKernel = isReadByKernel(next, forward);
      node.made = places[op];
    }
    llvm::SmallSetVector<Value, 4> operands;
    if (op)
      operands.insert(op->operand_begin(), op->operand_end());
    for (Value operand : operands) {
      node.operands.push_back(nodeOf[operand]);
      nodes[nodeOf[operand]].users.push_back(nodes.size());
    }
    nodeOf[next] = nodes.size();
    nodes.push_back(std::move(node));
  }
  return nodeOf[value];
}

/// Of computing the value again, in bytes. Of operations alike the later ones are dearer: a network's last layers are
/// repeated while most of what is saved is still there.
int64_t Cutter::priceOf(const Node &node, double rate, bool dear) const {
  if (node.repetition == Repetition::Never || (node.repetition == Repetition::Dear && !dear))
    return MinimumCut::kInfinite;
  if (node.repetition == Repetition::Cheap)
    rate = std::min(rate, kCheapRate);
  return int64_t(node.time * rate * (1 + double(node.made) / places.size()));
}

/// Two nodes of the graph for a value, of which the edge between them is cut where it is saved; the one in front of it
/// is on the sink's side where it is computed again.
SavedValues Cutter::cut(double rate, bool dear) const {
  unsigned source = 2 * nodes.size(), sink = source + 1;
  MinimumCut graph(sink + 1);
  for (auto [i, node] : llvm::enumerate(nodes)) {
    bool isArgument = !node.value.getDefiningOp(), isNumbers = !isArgument && node.operands.empty();
    bool isView = node.repetition == Repetition::Free && !isNumbers;
    graph.addEdge(2 * i, 2 * i + 1, isArgument || isNumbers ? 0 : isView ? MinimumCut::kInfinite : int64_t(node.bytes));
    graph.addEdge(source, 2 * i, isNumbers ? MinimumCut::kInfinite : priceOf(node, rate, dear));
    if (node.firstRead >= 0)
      graph.addEdge(2 * i + 1, sink, MinimumCut::kInfinite);
    for (unsigned operand : node.operands)
      graph.addEdge(2 * operand + 1, 2 * i, MinimumCut::kInfinite);
  }
  graph.cut(source, sink);
  std::vector<bool> isNeeded = graph.findSinkSide(sink), isRepeated(nodes.size());
  SavedValues choice;
  for (auto [i, node] : llvm::enumerate(nodes)) {
    isRepeated[i] = isNeeded[2 * i];
    if (isRepeated[i]) {
      choice.repeated.insert(node.value);
    } else if (isNeeded[2 * i + 1] && !node.operands.empty()) {
      choice.saved.push_back(node.value);
      choice.bytes += node.bytes;
    }
  }
  choice.peak = estimatePeak(isRepeated);
  return choice;
}

/// From the operation that makes a value to the last one of the backward pass that reads it; of one that is repeated,
/// from its first reader there. Values of the backward pass itself are left out.
double Cutter::estimatePeak(const std::vector<bool> &isRepeated) const {
  std::vector<int> from(nodes.size(), -1), to(nodes.size(), -1);
  std::vector<bool> isReadByKernel(nodes.size()), takesMemory(nodes.size());
  std::vector<double> change(places.size() + 2);
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node &node = nodes[i];
    from[i] = node.firstRead, to[i] = node.lastRead;
    isReadByKernel[i] = node.isReadByKernel;
    for (unsigned user : node.users) {
      if (!isRepeated[user] || from[user] < 0)
        continue;
      from[i] = from[i] < 0 ? from[user] : std::min(from[i], from[user]);
      // What is part of its readers reads when they run.
      to[i] = std::max(to[i], takesMemory[user] ? from[user] : to[user]);
      bool isView = nodes[user].repetition == Repetition::Free;
      if (isView ? isReadByKernel[user] : nodes[user].repetition != Repetition::Cheap)
        isReadByKernel[i] = true;
    }
    takesMemory[i] = node.repetition != Repetition::Free &&
                     !(isRepeated[i] && node.repetition == Repetition::Cheap && !isReadByKernel[i]);
    if (from[i] < 0 || node.made < 0 || !takesMemory[i])
      continue;
    change[isRepeated[i] ? from[i] : node.made] += node.bytes;
    change[to[i] + 1] -= node.bytes;
  }
  double bytes = 0, peak = 0;
  for (double one : change)
    peak = std::max(peak, bytes += one);
  return peak;
}

SavedValues chooseSaved(func::FuncOp function, const DenseSet<Operation *> &forward, double budget) {
  constexpr double kMostRate = 64, kLeastRate = 1e-6, kStep = 0.8;
  Cutter cutter(function, forward);
  SavedValues best = cutter.cut(kCheapRate, /*dear=*/false);
  double allowed = budget * best.bytes;
  for (double rate = kMostRate; rate > kLeastRate && best.bytes > allowed; rate *= kStep) {
    SavedValues choice = cutter.cut(rate, /*dear=*/true);
    bool isEnough = choice.bytes <= allowed;
    if (choice.peak < best.peak)
      best = std::move(choice);
    if (isEnough)
      break;
  }
  return best;
}

} // namespace ptc
