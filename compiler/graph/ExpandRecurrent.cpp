#include "compiler/graph/ExpandRecurrent.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"
#include "dialects/core/SymbolicShape.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using ptc::aten::AtenOp;
using ptc::aten::Call;

namespace ptc {
namespace {

/// A network whose layers have so many steps together is written out.
constexpr int64_t kMostSteps = 256;

enum class Cell { Lstm, Gru, Tanh, Relu };

/// The weights of one direction of one layer.
struct Weights {
  Value input, hidden, inputBias, hiddenBias, projection;
};

class Network {
public:
  Network(const AtenOp &op, Cell cell)
      : op(op), cell(cell), b(op.operation()), loc(op.operation()->getLoc()),
        isBatched(rankOf(op.tensor("input")) == 3), batchFirst(isBatched && op.boolean("batch_first")),
        isBidirectional(op.boolean("bidirectional")) {}

  /// Whether there are too many steps to write them out. Not where the operands contradict each other: the
  /// decomposition says so.
  bool isLong() const;
  void expand();

private:
  bool hasWeights(int64_t directions) const;
  bool isProjected() const;
  Value direction(Value x, Value &h, Value &c, const Weights &w, bool isReverse);
  SmallVector<Value> step(ArrayRef<Value> arguments, const Weights &w);
  SmallVector<Value> takeStates();
  SmallVector<Weights> takeWeights();
  SmallVector<Value> answers(Value y, ArrayRef<Value> h, ArrayRef<Value> c);

  // Operators of ATen, with the types of their results.
  static int64_t rankOf(Value x) { return cast<RankedTensorType>(x.getType()).getRank(); }
  AffineExpr number(int64_t value) const { return getAffineConstantExpr(value, op.operation()->getContext()); }
  Value create(const Call &call, ShapeRef sizes) {
    return call.create(b, loc, makeTensorType(sizes, element()))->getResult(0);
  }
  Type element() const {
    Type own = getElementTypeOrSelf(op.tensor("input").getType());
    return own.isF64() ? own : Type(Float32Type::get(own.getContext()));
  }
  /// In the type that the network is computed in: half types have float32 between the first step and the last.
  Value computed(Value x) { return getElementTypeOrSelf(x.getType()) == element() ? x : converted(x, element()); }
  Value converted(Value x, Type type) {
    return Call("_to_copy.default")
        .set("self", x)
        .set("dtype", TypeAttr::get(type))
        .create(b, loc, makeTensorType(getShape(x), type))
        ->getResult(0);
  }
  Value unary(StringRef name, Value x) { return create(Call(name).set("self", x), getShape(x)); }
  Value binary(StringRef name, Value x, Value y) {
    return create(Call(name).set("self", x).set("other", y), getShape(x));
  }
  Value add(Value x, Value y) { return binary("add.Tensor", x, y); }
  Value mul(Value x, Value y) { return binary("mul.Tensor", x, y); }
  Value linear(Value x, Value w, Value bias) {
    Shape sizes = getShape(x);
    sizes.back() = getShape(w)[0];
    return create(Call("linear.default").set("input", x).set("weight", w).set("bias", bias), sizes);
  }
  /// Gate i of [..., gates * size].
  Value gate(Value gates, int64_t i, AffineExpr size) {
    Shape sizes = getShape(gates);
    sizes.back() = size;
    return create(Call("slice.Tensor")
                      .set("self", gates)
                      .set("dim", number(rankOf(gates) - 1))
                      .set("start", size * i)
                      .set("end", size * (i + 1)),
                  sizes);
  }
  Value transpose(Value x) {
    Shape sizes = getShape(x);
    std::swap(sizes[0], sizes[1]);
    return create(Call("transpose.int").set("self", x).set("dim0", number(0)).set("dim1", number(1)), sizes);
  }
  Value unsqueeze(Value x) {
    Shape sizes = getShape(x);
    sizes.insert(sizes.begin() + 1, number(1));
    return create(Call("unsqueeze.default").set("self", x).set("dim", number(1)), sizes);
  }
  Value squeeze(Value x) {
    Shape sizes = getShape(x);
    sizes.erase(sizes.begin() + 1);
    return create(Call("select.int").set("self", x).set("dim", number(1)).set("index", number(0)), sizes);
  }
  Value select(Value x, int64_t index) {
    Shape sizes = getShape(x);
    sizes.erase(sizes.begin());
    return create(Call("select.int").set("self", x).set("dim", number(0)).set("index", number(index)), sizes);
  }
  Value reverse(Value x) {
    return create(Call("flip.default").set("self", x).set("dims", Shape{number(0)}, b.getContext()), getShape(x));
  }
  Value join(StringRef name, ArrayRef<Value> parts, int64_t dim, ShapeRef sizes) {
    return create(Call(name).set("tensors", parts).set("dim", number(dim)), sizes);
  }

  AtenOp op;
  Cell cell;
  OpBuilder b;
  Location loc;
  bool isBatched, batchFirst, isBidirectional;
};

} // namespace

bool Network::isLong() const {
  auto layers = op.optionalInt("num_layers");
  SmallVector<Value> states = op.tensors("hx");
  bool isSound = layers && *layers > 0 && states.size() == (cell == Cell::Lstm ? 2 : 1) &&
                 (isBatched || rankOf(op.tensor("input")) == 2) && hasWeights(*layers * (isBidirectional ? 2 : 1));
  for (Value state : states)
    isSound = isSound && rankOf(state) == rankOf(op.tensor("input"));
  if (!isSound)
    return false;
  auto steps = getConstant(getShape(op.tensor("input"))[batchFirst ? 1 : 0]);
  return !steps || *steps > kMostSteps / *layers;
}

bool Network::isProjected() const {
  SmallVector<Value> states = op.tensors("hx");
  return cell == Cell::Lstm && !isEqual(getShape(states[0]).back(), getShape(states[1]).back());
}

/// Matrices and biases for so many directions of layers.
bool Network::hasWeights(int64_t directions) const {
  SmallVector<Value> parameters = op.tensors("params");
  SmallVector<int64_t> ranks{2, 2};
  if (op.boolean("has_biases"))
    ranks.append({1, 1});
  if (isProjected())
    ranks.push_back(2);
  if (int64_t(parameters.size()) != directions * int64_t(ranks.size()))
    return false;
  for (auto [i, parameter] : llvm::enumerate(parameters))
    if (rankOf(parameter) != ranks[i % ranks.size()])
      return false;
  return true;
}

/// From what one step of the inputs contributes, [batch, gates * size], behind the states; the states, and what the
/// step answers.
SmallVector<Value> Network::step(ArrayRef<Value> arguments, const Weights &w) {
  Value h = arguments[0], input = arguments[cell == Cell::Lstm ? 2 : 1];
  Value hidden = linear(h, w.hidden, w.hiddenBias);
  if (cell == Cell::Gru) {
    AffineExpr size = getShape(h).back();
    auto gateOf = [&](int64_t i) { return unary("sigmoid.default", add(gate(input, i, size), gate(hidden, i, size))); };
    Value reset = gateOf(0), update = gateOf(1);
    Value fresh = unary("tanh.default", add(gate(input, 2, size), mul(reset, gate(hidden, 2, size))));
    h = add(mul(binary("sub.Tensor", h, fresh), update), fresh);
    return {h, h};
  }
  Value sum = add(input, hidden);
  if (cell != Cell::Lstm) {
    h = unary(cell == Cell::Tanh ? "tanh.default" : "relu.default", sum);
    return {h, h};
  }
  Value c = arguments[1];
  AffineExpr size = getShape(c).back();
  auto sigmoid = [&](int64_t i) { return unary("sigmoid.default", gate(sum, i, size)); };
  Value fresh = unary("tanh.default", gate(sum, 2, size));
  c = add(mul(sigmoid(1), c), mul(sigmoid(0), fresh));
  h = mul(sigmoid(3), unary("tanh.default", c));
  h = w.projection ? linear(h, w.projection, {}) : h;
  return {h, c, h};
}

/// Runs x [time, batch, features] through one direction; the states become the last ones.
Value Network::direction(Value x, Value &h, Value &c, const Weights &w, bool isReverse) {
  Value inputs = linear(x, w.input, w.inputBias);
  inputs = isReverse ? reverse(inputs) : inputs;
  SmallVector<Value> operands{h};
  if (c)
    operands.push_back(c);
  unsigned states = operands.size();
  operands.push_back(inputs);
  for (Value weight : {w.hidden, w.hiddenBias, w.projection})
    if (weight)
      operands.push_back(weight);

  Shape all = getShape(inputs);
  all.back() = getShape(h).back();
  SmallVector<Type> results =
      llvm::map_to_vector(ArrayRef(operands).take_front(states), [](Value v) { return v.getType(); });
  results.push_back(makeTensorType(all, element()));
  OperationState state(loc, "aten.higher_order.scan");
  state.addOperands(operands);
  state.addTypes(results);
  state.addRegion();
  Operation *scan = b.create(state);
  SmallVector<Type> types(scan->getOperandTypes());
  types[states] = makeTensorType(ShapeRef(getShape(inputs)).drop_front(), element());
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&scan->getRegion(0), {}, types, SmallVector<Location>(types.size(), loc));
    unsigned next = states + 1;
    auto inside = [&](Value weight) { return weight ? Value(block->getArgument(next++)) : Value(); };
    Weights own{{}, inside(w.hidden), {}, inside(w.hiddenBias), inside(w.projection)};
    SmallVector<Value> arguments(block->args_begin(), block->args_begin() + states + 1);
    aten::createUnknown(b, loc, "aten.yield", step(arguments, own), {}, {});
  }
  h = scan->getResult(0);
  c = c ? scan->getResult(1) : c;
  Value y = scan->getResult(states);
  return isReverse ? reverse(y) : y;
}

/// h and, of an LSTM, c of all layers: [layers * directions, batch, size].
SmallVector<Value> Network::takeStates() {
  SmallVector<Value> states;
  for (Value state : cell == Cell::Lstm ? op.tensors("hx") : SmallVector<Value>{op.tensor("hx")})
    states.push_back(isBatched ? computed(state) : unsqueeze(computed(state)));
  return states;
}

/// Of all directions of all layers.
SmallVector<Weights> Network::takeWeights() {
  SmallVector<Value> parameters = op.tensors("params");
  bool hasBiases = op.boolean("has_biases");
  const Value *next = parameters.begin();
  auto take = [&](bool isThere) { return isThere ? computed(*next++) : Value(); };
  SmallVector<Weights> all;
  while (next != parameters.end()) {
    Weights w;
    w.input = take(true), w.hidden = take(true);
    w.inputBias = take(hasBiases), w.hiddenBias = take(hasBiases);
    w.projection = take(isProjected());
    all.push_back(w);
  }
  return all;
}

/// y, the last h of all layers and, of an LSTM, the last c, as the operator has them.
SmallVector<Value> Network::answers(Value y, ArrayRef<Value> h, ArrayRef<Value> c) {
  SmallVector<Value> results{batchFirst ? transpose(y) : isBatched ? y : squeeze(y)};
  for (ArrayRef<Value> states : {h, c}) {
    if (states.empty())
      continue;
    Shape sizes = getShape(states.front());
    sizes.insert(sizes.begin(), number(states.size()));
    Value all = join("stack.default", states, 0, sizes);
    results.push_back(isBatched ? all : squeeze(all));
  }
  Type own = getElementTypeOrSelf(op.tensor("input").getType());
  for (Value &result : results)
    result = own == element() ? result : converted(result, own);
  return results;
}

void Network::expand() {
  SmallVector<Value> states = takeStates(), lastH, lastC;
  SmallVector<Weights> weights = takeWeights();
  unsigned directions = isBidirectional ? 2 : 1;
  Value x = computed(op.tensor("input"));
  x = batchFirst ? transpose(x) : isBatched ? x : unsqueeze(x);
  double dropout = op.boolean("train") ? op.real("dropout") : 0;
  for (unsigned i = 0; i < weights.size(); i += directions) {
    if (i > 0 && dropout > 0)
      x = create(Call("dropout.default")
                     .set("input", x)
                     .set("p", b.getF64FloatAttr(dropout))
                     .set("train", b.getBoolAttr(true)),
                 getShape(x));
    SmallVector<Value> parts;
    for (unsigned k = i; k < i + directions; ++k) {
      Value h = select(states[0], k), c = cell == Cell::Lstm ? select(states[1], k) : Value();
      parts.push_back(direction(x, h, c, weights[k], k > i));
      lastH.push_back(h);
      if (c)
        lastC.push_back(c);
    }
    Shape sizes = getShape(parts.front());
    sizes.back() = sizes.back() * int64_t(directions);
    x = directions == 1 ? parts.front() : join("cat.default", parts, 2, sizes);
  }
  for (auto [result, value] : llvm::zip(op.operation()->getResults(), answers(x, lastH, lastC)))
    if (!result.use_empty())
      result.replaceAllUsesWith(value);
  op.operation()->erase();
}

static std::optional<Cell> cellOf(Operation *op) {
  return llvm::StringSwitch<std::optional<Cell>>(op->getName().getStringRef())
      .Case("aten.lstm.input", Cell::Lstm)
      .Case("aten.gru.input", Cell::Gru)
      .Case("aten.rnn_tanh.input", Cell::Tanh)
      .Case("aten.rnn_relu.input", Cell::Relu)
      .Default(std::nullopt);
}

std::unique_ptr<Pass> createExpandRecurrentPass() {
  return makeFunctionPass("expand-recurrent", "long recurrent networks as scans", [](func::FuncOp function) {
    SmallVector<Operation *> networks;
    function.walk([&](Operation *op) {
      if (cellOf(op))
        networks.push_back(op);
    });
    for (Operation *op : networks)
      if (Network network(AtenOp(op), *cellOf(op)); network.isLong())
        network.expand();
    return success();
  });
}

} // namespace ptc
