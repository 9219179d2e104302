#include "compiler/schedule/OrderKernels.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/Loop.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;

namespace ptc {

namespace {

/// A tensor that takes memory of its own between the operation that makes it and its last reader.
struct Tensor {
  double bytes;
  unsigned maker;
  SmallVector<unsigned> readers;
};

struct Node {
  Operation *op;
  SmallVector<unsigned> made, read;     ///< tensors
  SmallVector<unsigned> before, behind; ///< nodes that have to stand there
};

class KernelOrder {
public:
  explicit KernelOrder(func::FuncOp function);
  void improve();
  void apply();

private:
  void addTensors(func::FuncOp function);
  void addStates(func::FuncOp function);
  void require(unsigned first, unsigned second);
  bool sink(unsigned node);
  bool hoist(unsigned node);
  double made(const Node &node) const;
  double keptAlone(unsigned node, unsigned from, unsigned to) const;
  void move(unsigned from, unsigned to);

  Block &block;
  std::vector<Node> nodes;
  std::vector<Tensor> tensors;
  DenseMap<Operation *, unsigned> nodeOf;
  std::vector<unsigned> order, position;
};

} // namespace

KernelOrder::KernelOrder(func::FuncOp function) : block(function.front()) {
  for (Operation &op : block.without_terminator()) {
    nodeOf[&op] = nodes.size();
    order.push_back(nodes.size());
    nodes.push_back({&op, {}, {}, {}, {}});
  }
  position = order;
  addTensors(function);
  addStates(function);
}

/// `first` stands before `second`, as it does now.
void KernelOrder::require(unsigned first, unsigned second) {
  if (first >= second)
    return;
  nodes[second].before.push_back(first);
  nodes[first].behind.push_back(second);
}

void KernelOrder::addTensors(func::FuncOp function) {
  Operation *end = block.getTerminator();
  SmallVector<Symbol> symbols = getSymbols(function);
  SmallVector<int64_t> typical;
  for (const Symbol &symbol : symbols)
    typical.push_back(symbol.max == Symbol::kUnbounded ? std::max<int64_t>(symbol.min, 64) : symbol.max);
  std::optional<unsigned> control;
  for (unsigned i = 0; i < nodes.size(); ++i) {
    for (Value result : nodes[i].op->getResults()) {
      Tensor tensor{0, i, {}};
      // What is returned lies in the caller's memory, or in a state's.
      if (!llvm::is_contained(result.getUsers(), end))
        tensor.bytes = getElementBytes(elementOf(result)) *
                       double(evaluate(product(getShape(result), function.getContext()), typical));
      for (Operation *user : result.getUsers())
        if (auto found = nodeOf.find(user); found != nodeOf.end() && !llvm::is_contained(tensor.readers, found->second))
          tensor.readers.push_back(found->second);
      for (unsigned reader : tensor.readers) {
        nodes[reader].read.push_back(tensors.size());
        require(i, reader);
      }
      nodes[i].made.push_back(tensors.size());
      tensors.push_back(std::move(tensor));
    }
    // Functions of the caller's run in the order in which the model calls them.
    if (isa<loop::KernelOp>(nodes[i].op))
      continue;
    if (control)
      require(*control, i);
    control = i;
  }
}

void KernelOrder::addStates(func::FuncOp function) {
  Operation *end = block.getTerminator();
  for (BlockArgument argument : function.getArguments())
    for (auto [from, to] : {std::pair{"ptc.state", "ptc.writes_state"}, std::pair{"ptc.input", "ptc.writes_input"}}) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), from);
      for (auto [i, next] : llvm::enumerate(end->getOperands())) {
        if (!name || function.getResultAttrOfType<StringAttr>(i, to) != name || !next.getDefiningOp())
          continue;
        for (Operation *reader : argument.getUsers())
          if (reader != end)
            require(nodeOf.lookup(reader), nodeOf.lookup(next.getDefiningOp()));
      }
    }
}

double KernelOrder::made(const Node &node) const {
  double bytes = 0;
  for (unsigned tensor : node.made)
    bytes += tensors[tensor].bytes;
  return bytes;
}

/// Bytes, times places of the order, by which tensors are kept between two places only because this node is at the
/// second.
double KernelOrder::keptAlone(unsigned node, unsigned from, unsigned to) const {
  double kept = 0;
  for (unsigned i : nodes[node].read) {
    unsigned last = std::max(from, position[tensors[i].maker]);
    for (unsigned reader : tensors[i].readers)
      if (reader != node)
        last = std::max(last, position[reader]);
    kept += last < to ? tensors[i].bytes * (to - last) : 0;
  }
  return kept;
}

void KernelOrder::move(unsigned from, unsigned to) {
  auto begin = order.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
  for (unsigned i = std::min(from, to); i <= std::max(from, to); ++i)
    position[order[i]] = i;
}

bool KernelOrder::sink(unsigned node) {
  unsigned from = position[node], to = nodes.size();
  for (unsigned other : nodes[node].behind)
    to = std::min(to, position[other]);
  if (to == nodes.size() || --to <= from || made(nodes[node]) * (to - from) <= keptAlone(node, from, to))
    return false;
  move(from, to);
  return true;
}

bool KernelOrder::hoist(unsigned node) {
  unsigned from = position[node], to = 0;
  for (unsigned other : nodes[node].before)
    to = std::max(to, position[other] + 1);
  if (to >= from || keptAlone(node, to, from) <= made(nodes[node]) * (from - to))
    return false;
  move(from, to);
  return true;
}

/// One move may make another one worth it, but what two of them undo need not be tried for long.
void KernelOrder::improve() {
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    bool moved = false;
    std::vector<unsigned> before = order;
    for (unsigned node : llvm::reverse(before))
      moved |= isa<loop::KernelOp>(nodes[node].op) && sink(node);
    before = order;
    for (unsigned node : before)
      moved |= isa<loop::KernelOp>(nodes[node].op) && hoist(node);
    if (!moved)
      return;
  }
}

void KernelOrder::apply() {
  for (unsigned node : order)
    nodes[node].op->moveBefore(block.getTerminator());
}

/// Sizes that data decide are known behind what computes them, of which the order would have to know.
static bool definesSizes(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, "ptc.defines"))
      return true;
  return false;
}

std::unique_ptr<Pass> createOrderKernelsPass() {
  return makeFunctionPass("order-kernels", "Kernels run where they need least memory", [](func::FuncOp function) {
    if (definesSizes(function))
      return success();
    KernelOrder order(function);
    order.improve();
    order.apply();
    return success();
  });
}

} // namespace ptc
