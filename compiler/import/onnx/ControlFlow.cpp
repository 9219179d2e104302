//===- ControlFlow.cpp - operators that take graphs ---------------------------------===//
//
// A branch that is known is inlined; a loop whose trips are known and few is
// written out, so that sequences and shapes may change from trip to trip. The
// rest becomes the operators that torch.export has for control flow, with every
// tensor that a graph takes from around it as an operand.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Graph.h"
#include "compiler/import/onnx/Regions.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// A loop that is written out has at most so many nodes.
constexpr int64_t kMostNodes = 20000;

} // namespace

std::optional<Values> GraphImporter::callGraph(const proto::GraphProto &graph, const Values &arguments,
                                               const Scope &scope, const Frame &frame) {
  Scope inner(&scope);
  Frame deeper = frame;
  ++deeper.depth;
  if (int(arguments.size()) != graph.input_size()) {
    b.fail("gives " + llvm::Twine(arguments.size()) + " values to a graph that takes " +
           llvm::Twine(graph.input_size()));
    return std::nullopt;
  }
  for (auto [input, value] : llvm::zip(graph.input(), arguments))
    inner.bind(input.name(), value);
  if (!build(graph, inner, deeper)) {
    b.fail("in its graph: " + text);
    return std::nullopt;
  }
  Values results;
  for (const proto::ValueInfoProto &output : graph.output()) {
    const Value *value = inner.find(output.name());
    if (!value) {
      b.fail("its graph does not define '" + output.name() + "'");
      return std::nullopt;
    }
    results.push_back(*value);
  }
  return results;
}

/// The condition as a tensor of one bool without dimensions.
static Value conditionOf(Builder &b, const Value &x) { return b.reshape(b.to(x, b.boolean()), {}); }

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Of branches that compute nothing.
static Values chooseBetween(Builder &b, const Value &condition, ValueRange yes, ValueRange no) {
  Values results;
  for (auto [x, y] : llvm::zip(yes, no))
    results.push_back(b.where(conditionOf(b, condition), b.wrap(x), b.wrap(y)));
  return results;
}

/// A condition that is one equality of sizes, neither of them known; null otherwise.
static const Expression *asEquality(const Literal *condition) {
  if (!condition || condition->elements.size() != 1)
    return nullptr;
  const Expression &e = condition->elements.front();
  return e.kind == Expression::Call && e.name == "Eq" && e.arguments.size() == 2 ? &e : nullptr;
}

/// What a branch takes for granted must hold where it is taken: its guards are asked when the condition is known, whose
/// value (0 or 1) is a size then. Inside another branch or loop, where data make no sizes, they are asked at once. The
/// condition, made of that size where there is one.
static mlir::Value guardBranches(Builder &b, mlir::Value condition, ArrayRef<std::vector<Expression>> guards) {
  bool isInside = !isa<func::FuncOp>(b.builder.getInsertionBlock()->getParentOp()) || !b.asked.empty();
  bool areNone = guards[0].empty() && guards[1].empty();
  if (isInside || areNone) {
    for (const std::vector<Expression> &branch : guards)
      llvm::for_each(branch, [&](const Expression &guard) { b.symbols.addGuard(guard); });
    return condition;
  }
  AffineExpr size = b.freshSize();
  Value places = b.call("nonzero.default", {b.reshape(b.wrap(condition), b.constant(1))},
                        makeTensorType({size, b.constant(1)}, b.i64()));
  Expression isTrue = b.symbols.express(size), isFalse = Expression::makeCall("Sub", {Expression(1), isTrue});
  for (auto [i, branch] : llvm::enumerate(guards))
    for (const Expression &guard : branch)
      b.symbols.addGuard(Expression::makeCall("Ge", {guard, i == 0 ? isTrue : isFalse}));
  return b.tensor(b.call("any.default", {b.call("ge.Scalar", {places, 0})}, makeTensorType({}, b.boolean())));
}

Values GraphImporter::buildIf(const Node &node, Scope &scope, const Frame &frame) {
  const auto *yes = node.find("then_branch"), *no = node.find("else_branch");
  if (!yes || !no)
    return {b.fail("needs then_branch and else_branch")};
  if (auto known = b.knownBool(node[0]))
    return callGraph((*known ? yes : no)->g(), {}, scope, frame).value_or(Values());
  if (const Expression *equal = asEquality(b.known(node[0]))) {
    // torch writes squeeze so where a size is open: the branches have different ranks, and one library has one of them.
    AffineExpr size = b.affine(equal->arguments[0]), wanted = b.affine(equal->arguments[1]);
    std::string condition = Expression::makeCall("Eq", {b.symbols.express(size), b.symbols.express(wanted)}).str();
    std::string choice = "node '" + cast<NameLoc>(b.location).getName().str() + "' (If) is compiled for " + condition;
    if (!llvm::is_contained(choices, choice))
      choices.push_back(choice);
    b.require(size, wanted);
    return callGraph(yes->g(), {}, scope, frame).value_or(Values());
  }
  mlir::Value condition = b.tensor(conditionOf(b, node[0]));
  if (b.hasFailed())
    return {};
  RegionBuilder regions(b, "aten.higher_order.cond", 2);
  llvm::SmallVector<Type> types[2];
  std::vector<Expression> guards[2];
  for (unsigned i : {0, 1}) {
    regions.begin(i, {});
    size_t guardsAround = b.symbols.countGuards();
    auto results = callGraph((i == 0 ? yes : no)->g(), {}, scope, frame);
    auto found = results ? regions.end(*results) : std::nullopt;
    if (!found)
      return {};
    types[i] = *found;
    guards[i] = b.symbols.takeGuards(guardsAround);
  }
  if (types[0] != types[1])
    return {b.fail("its branches answer tensors of different shapes or types, and which one runs is not known at "
                   "compile time")};
  condition = guardBranches(b, condition, guards);
  if (regions.isEmpty())
    return chooseBetween(b, b.wrap(condition), regions.answers(0), regions.answers(1));
  return regions.finish(condition, types[0]);
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

Values GraphImporter::buildLoop(const Node &node, Scope &scope, const Frame &frame) {
  const auto *attribute = node.find("body");
  if (!attribute || node.count() < 2)
    return {b.fail("needs a body, and what to begin with")};
  const proto::GraphProto &body = attribute->g();
  int64_t states = int64_t(node.count()) - 2;
  if (body.input_size() != states + 2 || body.output_size() < states + 1)
    return {b.fail("its body does not take and answer what it begins with")};
  auto trips = node.has(0) ? b.knownInts(node[0]) : std::nullopt;
  bool isKnown = (trips && trips->size() == 1) || !node.has(0);
  int64_t most = kMostNodes / (body.node_size() + 1);
  int64_t count = trips && trips->size() == 1 ? std::max<int64_t>(trips->front(), 0) : INT64_MAX;
  bool canStop = node.has(1) && !b.knownBool(node[1]);
  if (isKnown && !canStop && (count <= most || count >= INT64_MAX / 2)) {
    auto unrolled = unrollLoop(node, body, count, scope, frame);
    if (unrolled)
      return *unrolled;
  }
  return b.hasFailed() ? Values() : whileLoop(node, body, scope, frame);
}

/// Nullopt, and nothing built, when it turns out that data say how often.
std::optional<Values> GraphImporter::unrollLoop(const Node &node, const proto::GraphProto &body, int64_t trips,
                                                Scope &scope, const Frame &frame) {
  int64_t states = int64_t(node.count()) - 2;
  int64_t most = kMostNodes / (body.node_size() + 1);
  Trial trial(b);
  Value condition = node.has(1) ? node[1] : b.literal(Literal{b.boolean(), {}, {Expression(1)}});
  Values carried(node.all().begin() + 2, node.all().end());
  std::vector<Values> scans(body.output_size() - states - 1);
  for (int64_t trip = 0; trip < trips; ++trip) {
    auto goes = b.knownBool(condition);
    if (goes == false)
      break;
    if (!goes || trip > most) {
      trial.undo();
      return std::nullopt;
    }
    Values arguments{b.literal(Literal{b.i64(), {}, {Expression(trip)}}), condition};
    llvm::append_range(arguments, carried);
    auto results = callGraph(body, arguments, scope, frame);
    if (!results)
      return Values();
    condition = results->front();
    carried.assign(results->begin() + 1, results->begin() + 1 + states);
    for (size_t i = 0; i < scans.size(); ++i)
      scans[i].push_back(b.unsqueeze((*results)[1 + states + i], 0));
  }
  Values results = carried;
  for (size_t i = 0; i < scans.size(); ++i) {
    if (!scans[i].empty()) {
      results.push_back(b.cat(scans[i], 0));
      continue;
    }
    // Of no trips: as many dimensions as the body says.
    auto type = inputType(body.output(1 + states + i));
    if (!type)
      return Values{b.fail("a loop of no trips whose outputs have no type")};
    Shape sizes = getShape(*type);
    sizes.insert(sizes.begin(), b.constant(0));
    results.push_back(b.full(sizes, 0, type->getElementType()));
  }
  return results;
}

/// As many rows as data say.
static Value firstRows(Builder &b, const Value &rows, const Value &count) {
  AffineExpr size = b.freshSize();
  Value isMade = b.iota(b.size(rows, 0), b.i64()) < count;
  Value places = b.call("nonzero.default", {isMade}, makeTensorType({size, b.constant(1)}, b.i64()));
  return b.call("index_select.default", {rows, 0, b.reshape(places, size)});
}

/// The trips that a loop makes at most, as a size; null where only data tell.
static AffineExpr mostTrips(Builder &b, const Value &limit) {
  auto sizes = limit ? b.knownSizes(limit) : std::nullopt;
  if (!sizes || sizes->size() != 1)
    return {};
  // A limit that nothing reaches is none.
  if (auto known = getConstant(sizes->front()))
    return *known < INT64_MAX / 2 ? b.constant(std::max<int64_t>(*known, 0)) : AffineExpr();
  return b.affine(Expression::makeCall("Max", {b.symbols.wrap(sizes->front()), Expression(0)}));
}

/// What a trip answers behind the `states`: a trip is built and taken away again.
llvm::SmallVector<RankedTensorType> GraphImporter::typesOfRows(const proto::GraphProto &body, const Values &carried,
                                                               size_t states, Scope &scope, const Frame &frame) {
  llvm::SmallVector<RankedTensorType> types;
  Trial trial(b);
  Values begin;
  for (const Value &value : carried)
    begin.push_back(b.wrap(b.tensor(value)));
  if (auto results = b.hasFailed() ? std::nullopt : callGraph(body, begin, scope, frame))
    for (const Value &row : llvm::drop_begin(*results, states + 1))
      types.push_back(b.type(row));
  trial.undo();
  return types;
}

/// Carried are the trip, whether it goes on, the states, and what is collected.
Values GraphImporter::whileLoop(const Node &node, const proto::GraphProto &body, Scope &scope, const Frame &frame) {
  int64_t states = int64_t(node.count()) - 2;
  // Rows that nobody takes are not collected: how many there are is no matter then.
  llvm::SmallVector<size_t> collected;
  for (size_t i = 0; i < size_t(body.output_size() - states - 1); ++i)
    if (node.wants(states + i))
      collected.push_back(i);
  Value yes = b.full({}, 1, b.boolean());
  Values carried{b.full({}, 0, b.i64()), node.has(1) ? conditionOf(b, node[1]) : yes};
  for (int64_t i = 0; i < states; ++i) {
    if (!node[2 + i].isTensor())
      return {b.fail("a sequence that a loop changes, and the number of trips is not known at compile time")};
    carried.push_back(node[2 + i]);
  }
  AffineExpr most = mostTrips(b, node.input(0));
  bool mayStop = node.has(1) && b.knownBool(node[1]) != true;
  Value limit = node.has(0) ? b.reshape(b.to(node[0], b.i64()), {}) : b.none();
  llvm::SmallVector<RankedTensorType> rows;
  if (!collected.empty())
    rows = typesOfRows(body, carried, states, scope, frame);
  if (b.hasFailed())
    return {};
  for (size_t i : collected) {
    auto declared = size_t(states) + i < node.declared.size() ? node.declared[states + i] : std::nullopt;
    if (!declared && !most)
      return {b.fail("how many values it collects is not known at compile time")};
    Shape sizes = declared ? b.staticShape(*declared) : getShape(rows[i]);
    if (!declared)
      sizes.insert(sizes.begin(), most);
    carried.push_back(b.full(sizes, 0, rows[i].getElementType()));
  }
  Values all = buildWhile(
      b, carried,
      [&](const Values &at) {
        return b.call("logical_and.default", {at[1], limit ? b.call("lt.Tensor", {at[0], limit}) : yes});
      },
      [&](const Values &at) {
        auto results = callGraph(body, Values(at.begin(), at.begin() + 2 + states), scope, frame);
        if (!results)
          return Values();
        const Value &goesOn = results->front();
        bool isKept = goesOn.tensor && goesOn.tensor == at[1].tensor;
        mayStop |= !isKept && b.knownBool(goesOn) != true;
        Values next{at[0] + 1.0, conditionOf(b, goesOn)};
        next.insert(next.end(), results->begin() + 1, results->begin() + 1 + states);
        for (auto [place, i] : llvm::enumerate(collected)) {
          Value row = b.unsqueeze((*results)[1 + states + i], 0);
          const Value &all = at[2 + states + place];
          Shape sizes = b.shape(row);
          Value trip = b.expand(b.reshape(at[0], Shape(sizes.size(), b.constant(1))), sizes);
          next.push_back(b.call("scatter.src", {all, 0, trip, row}, b.type(all)));
        }
        return next;
      });
  if (b.hasFailed())
    return {};
  if (mayStop && most)
    for (Value &rows : llvm::drop_begin(all, 2 + states))
      rows = firstRows(b, rows, all[0]);
  Values results(all.begin() + 2, all.begin() + 2 + states);
  results.resize(body.output_size() - 1, b.none());
  for (auto [place, i] : llvm::enumerate(collected))
    results[states + i] = all[2 + states + place];
  return results;
}

//===----------------------------------------------------------------------===//
// Scan, SequenceMap
//===----------------------------------------------------------------------===//

Values GraphImporter::buildScan(const Node &node, Scope &scope, const Frame &frame) {
  const auto *attribute = node.find("body");
  int64_t scans = node.integer("num_scan_inputs", 0), first = node.opset < 9 ? 1 : 0;
  int64_t states = int64_t(node.count()) - first - scans;
  if (!attribute || scans < 1 || states < 0)
    return {b.fail("needs a body, and something to go over")};
  const proto::GraphProto &body = attribute->g();
  int64_t outputs = int64_t(body.output_size()) - states;
  if (outputs < 0)
    return {b.fail("its body does not answer its states")};
  if (first == 1 && node.has(0))
    return {b.fail("sequence_lens is not supported")};
  auto of = [&](const char *name, size_t count, int64_t otherwise) { return node.ints(name, count, otherwise); };
  Ints axes = of("scan_input_axes", scans, 0), backwards = of(first ? "directions" : "scan_input_directions", scans, 0);
  Ints outputAxes = of("scan_output_axes", outputs, 0), outputBackwards = of("scan_output_directions", outputs, 0);
  auto reversed = [&](const Value &x) { return b.call("flip.default", {x, Ints{0}}); };
  auto moved = [&](const Value &x, int64_t from, int64_t to) { return b.call("movedim.int", {x, from, to}); };
  // Before opset 9 everything has a batch dimension in front.
  int64_t batches = first ? b.staticSize(node[first], 0) : 1, most = kMostNodes / (body.node_size() + 1);
  if (batches > most)
    return {b.fail("more than " + llvm::Twine(most) + " batches are not supported")};
  std::vector<Values> results(states + outputs);
  for (int64_t batch = 0; batch < batches && !b.hasFailed(); ++batch) {
    auto part = [&](const Value &x) { return first ? b.select(x, 0, batch) : x; };
    Values carried, over;
    for (int64_t i = 0; i < states; ++i)
      carried.push_back(part(node[first + i]));
    for (int64_t i = 0; i < scans; ++i) {
      Value all = part(node[first + states + i]);
      all = moved(all, b.dim(axes[i], b.rank(all)), 0);
      over.push_back(backwards[i] ? reversed(all) : all);
    }
    Values ends =
        onnx::buildScan(b, carried, over, outputs, [&](const Values &at) { return callGraph(body, at, scope, frame); });
    if (b.hasFailed() || ends.empty())
      return {};
    for (int64_t i = 0; i < outputs; ++i) {
      Value &rows = ends[states + i];
      rows = moved(outputBackwards[i] ? reversed(rows) : rows, 0, b.dim(outputAxes[i], b.rank(rows)));
    }
    for (auto [parts, value] : llvm::zip_equal(results, ends))
      parts.push_back(value);
  }
  Values all;
  for (Values &parts : results) {
    if (first)
      for (Value &value : parts)
        value = b.unsqueeze(value, 0);
    all.push_back(parts.empty() ? b.none() : b.cat(parts, 0));
  }
  return all;
}

Values GraphImporter::buildSequenceMap(const Node &node, Scope &scope, const Frame &frame) {
  const auto *attribute = node.find("body");
  if (!attribute || !node[0].sequence)
    return {b.fail("needs a body and a sequence")};
  std::vector<Values> results(attribute->g().output_size());
  for (size_t i = 0; i < node[0].sequence->size(); ++i) {
    Values arguments;
    for (const Value &input : node.all()) {
      if (input.sequence && i >= input.sequence->size())
        return {b.fail("its sequences have different lengths")};
      arguments.push_back(input.sequence ? (*input.sequence)[i] : input);
    }
    auto answers = callGraph(attribute->g(), arguments, scope, frame);
    if (!answers)
      return {};
    for (size_t k = 0; k < results.size(); ++k)
      results[k].push_back((*answers)[k]);
  }
  Values all;
  for (Values &values : results)
    all.push_back(b.sequence(std::move(values)));
  return all;
}

} // namespace ptc::import::onnx
