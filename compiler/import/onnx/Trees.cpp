//===- Trees.cpp - ensembles of trees --------------------------------------------------===//
//
// Of the domain ai.onnx.ml. All trees of an ensemble go down a step at once: where
// each row of each tree stands is a place among the branches and leaves of all,
// leaves stay where they are, and what is found there is put together.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Classical.h"
#include "compiler/import/onnx/Table.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// How a branch compares: TreeEnsemble's numbers of them.
enum Mode : uint8_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member, Leaf };
constexpr const char *kCompare[] = {"le.Tensor", "lt.Tensor", "ge.Tensor", "gt.Tensor", "eq.Tensor", "ne.Tensor"};

/// How what trees say of a target becomes one number: TreeEnsemble's numbers of it.
enum Aggregate : uint8_t { Average, Sum, Min, Max };

struct Place {
  int64_t mode = Leaf, feature = 0, ifTrue = 0, ifFalse = 0;
  bool missingIsTrue = false;
  double threshold = 0;
};

struct Forest {
  std::vector<Place> places;
  Ints roots;
  int64_t targets, aggregate;
  /// What each place says of each target; only leaves are asked.
  Reals said;

  /// No place says anything yet. Of the results' type, the largest number is the least of none.
  bool sayNothing(Builder &b, Type element);
  void say(int64_t place, int64_t target, double weight);
  /// Steps from a root to the farthest leaf.
  std::optional<int64_t> measure(Builder &b) const;
  /// What the leaves that rows come to say, [rows, targets].
  Value descend(Builder &b, const Value &x) const;

private:
  template <typename Field> Ints all(Field field) const { return llvm::map_to_vector(places, field); }
  Value goesTrue(Builder &b, const Value &number, llvm::function_ref<Value(const Value &)> at) const;
};

bool Forest::sayNothing(Builder &b, Type element) {
  double largest = llvm::APFloat::getLargest(cast<FloatType>(element).getFloatSemantics()).convertToDouble();
  if (targets <= 0 || targets > kMostWritten)
    b.fail("n_targets must be positive");
  else if (int64_t(places.size()) > (int64_t(1) << 26) / targets)
    b.fail("more than 2^26 weights are not supported");
  else
    said.assign(places.size() * targets, aggregate == Min ? largest : aggregate == Max ? -largest : 0);
  return !b.hasFailed();
}

void Forest::say(int64_t place, int64_t target, double weight) {
  double &number = said[place * targets + target];
  number = aggregate == Min ? std::min(number, weight) : aggregate == Max ? std::max(number, weight) : number + weight;
}

std::optional<int64_t> Forest::measure(Builder &b) const {
  enum State : uint8_t { Unseen, Open, Done };
  std::vector<State> states(places.size(), Unseen);
  std::vector<int64_t> heights(places.size(), 0);
  Ints open = roots;
  while (!open.empty()) {
    int64_t at = open.back();
    bool isFirst = states[at] == Unseen, isBranch = places[at].mode != Leaf;
    if (isFirst && isBranch) {
      states[at] = Open;
      for (int64_t next : {places[at].ifTrue, places[at].ifFalse}) {
        if (states[next] == Open) {
          b.fail("its branches go round in a circle");
          return std::nullopt;
        }
        open.push_back(next);
      }
      continue;
    }
    if (isBranch && states[at] == Open)
      heights[at] = 1 + std::max(heights[places[at].ifTrue], heights[places[at].ifFalse]);
    states[at] = Done;
    open.pop_back();
  }
  int64_t depth = 0;
  for (int64_t root : roots)
    depth = std::max(depth, heights[root]);
  if (depth <= kMostWritten)
    return depth;
  b.fail("trees of more than " + llvm::Twine(kMostWritten) + " steps are not supported");
  return std::nullopt;
}

/// Whether the branch of each row and tree holds. `at` answers a list's numbers for the places where they stand.
Value Forest::goesTrue(Builder &b, const Value &number, llvm::function_ref<Value(const Value &)> at) const {
  int64_t count = places.size();
  Reals thresholds = llvm::map_to_vector(places, [](const Place &place) { return place.threshold; });
  Value limit = at(constantOf(b, thresholds, {count}, b.element(number))), mode, goes;
  for (int64_t own = LessEqual; own <= NotEqual; ++own) {
    if (llvm::none_of(places, [&](const Place &place) { return place.mode == own; }))
      continue;
    Value holds = b.call(kCompare[own], {number, limit});
    if (goes && !mode)
      mode = at(constantOf(b, all([](const Place &place) { return place.mode; }), {count}));
    goes = goes ? b.where(b.call("eq.Scalar", {mode, own}), holds, goes) : holds;
  }
  if (llvm::none_of(places, [](const Place &place) { return place.missingIsTrue; }))
    return goes;
  Value tracks = at(constantOf(b, all([](const Place &place) { return int64_t(place.missingIsTrue); }), {count}));
  Value isMissing = b.call("isnan.default", {number});
  return b.call("logical_or.default", {goes, isMissing & b.to(tracks, b.boolean())});
}

Value Forest::descend(Builder &b, const Value &x) const {
  auto depth = measure(b);
  if (b.hasFailed())
    return x;
  int64_t count = places.size(), trees = roots.size();
  AffineExpr rows = b.size(x, 0), width = b.constant(trees);
  Value place = b.expand(constantOf(b, roots, {1, trees}), {rows, width});
  auto at = [&](const Value &numbers) {
    Value found = b.call("index_select.default", {numbers, 0, b.reshape(place, rows * width)});
    return b.reshape(found, {rows, width});
  };
  Value feature = constantOf(b, all([](const Place &place) { return place.feature; }), {count});
  Value yes = constantOf(b, all([](const Place &place) { return place.ifTrue; }), {count});
  Value no = constantOf(b, all([](const Place &place) { return place.ifFalse; }), {count});
  for (int64_t step = 0; step < *depth && !b.hasFailed(); ++step) {
    Value number = b.call("gather.default", {x, 1, at(feature)});
    place = b.where(goesTrue(b, number, at), at(yes), at(no));
  }
  Value found = b.call("index_select.default",
                       {constantOf(b, said, {count, targets}, b.element(x)), 0, b.reshape(place, rows * width)});
  found = b.reshape(found, {rows, width, b.constant(targets)});
  if (aggregate == Max)
    return b.amax(found, {1}, false);
  if (aggregate == Min)
    return b.call("amin.default", {found, Ints{1}, false});
  Value sum = b.sum(found, {1}, false);
  return aggregate == Average ? sum / double(trees) : sum;
}

//===----------------------------------------------------------------------===//
// TreeEnsembleRegressor, TreeEnsembleClassifier
//===----------------------------------------------------------------------===//

/// Branches and leaves as lists of one length, in which those of a tree are known by numbers.
class ListedForest {
public:
  ListedForest(Builder &b, const Node &n) : b(b), n(n) {}
  /// `kind` says what leaves vote for: a target or a class.
  Value descend(const std::string &kind, int64_t targets);

private:
  bool readPlaces();
  bool readWeights(const std::string &kind);
  std::optional<int64_t> find(int64_t tree, int64_t number) const {
    auto found = numbers.find({tree, number});
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  bool fail(const llvm::Twine &what) { return b.fail(what), false; }

  Builder &b;
  const Node &n;
  Forest forest;
  std::map<std::pair<int64_t, int64_t>, int64_t> numbers;
};

std::optional<int64_t> findMode(llvm::StringRef name) {
  constexpr llvm::StringRef kNames[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  const auto *found = llvm::find(kNames, name);
  bool isKnown = found != std::end(kNames) && name != "BRANCH_MEMBER"; // of sets, which these lists have none of
  return isKnown ? std::optional<int64_t>(found - kNames) : std::nullopt;
}

bool ListedForest::readPlaces() {
  Ints trees = intsOf(n, "nodes_treeids"), ids = intsOf(n, "nodes_nodeids");
  Reals thresholds = realsOf(n, "nodes_values");
  auto modes = n.texts("nodes_modes");
  size_t count = ids.size();
  auto read = [&](llvm::StringRef name) { return n.ints(name).value_or(Ints(count, 0)); };
  Ints features = read("nodes_featureids"), ifTrue = read("nodes_truenodeids"), ifFalse = read("nodes_falsenodeids"),
       missingIsTrue = read("nodes_missing_value_tracks_true");
  bool isWhole = count > 0 && thresholds.size() == count && modes.size() == count;
  for (const Ints *list : {&trees, &features, &ifTrue, &ifFalse, &missingIsTrue})
    isWhole &= list->size() == count;
  if (!isWhole)
    return fail("the lists of its nodes are not equally long");
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || trees[i] != trees[i - 1])
      forest.roots.push_back(i);
    if (!numbers.try_emplace({trees[i], ids[i]}, i).second)
      return fail("two nodes of a tree have one number");
  }
  for (size_t i = 0; i < count; ++i) {
    auto mode = findMode(modes[i]);
    if (!mode)
      return fail("branches of mode '" + modes[i] + "' are not known");
    Place place{*mode, 0, int64_t(i), int64_t(i), missingIsTrue[i] != 0, thresholds[i]};
    if (*mode != Leaf) {
      auto yes = find(trees[i], ifTrue[i]), no = find(trees[i], ifFalse[i]);
      if (features[i] < 0 || !yes || !no)
        return fail("a branch leads nowhere");
      place.feature = features[i];
      place.ifTrue = *yes;
      place.ifFalse = *no;
    }
    forest.places.push_back(place);
  }
  return true;
}

bool ListedForest::readWeights(const std::string &kind) {
  Ints ofTree = intsOf(n, kind + "_treeids"), ofNode = intsOf(n, kind + "_nodeids"), ids = intsOf(n, kind + "_ids");
  Reals weights = realsOf(n, kind + "_weights");
  for (size_t i = 0; i < weights.size(); ++i) {
    bool isThere = i < ofTree.size() && i < ofNode.size() && i < ids.size() && ids[i] >= 0 && ids[i] < forest.targets;
    auto place = isThere ? find(ofTree[i], ofNode[i]) : std::nullopt;
    if (!place)
      return fail("a weight of no leaf");
    forest.say(*place, ids[i], weights[i]);
  }
  return true;
}

Value ListedForest::descend(const std::string &kind, int64_t targets) {
  constexpr llvm::StringRef kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  std::string name = n.text("aggregate_function", "SUM");
  const auto *aggregate = llvm::find(kNames, name);
  if (aggregate == std::end(kNames))
    return b.fail("aggregate_function '" + name + "' is not known");
  forest.targets = targets;
  forest.aggregate = aggregate - kNames;
  Value x = rowsOf(b, n[0], b.f32());
  if (b.hasFailed() || !readPlaces() || !forest.sayNothing(b, b.f32()) || !readWeights(kind))
    return x;
  Value y = forest.descend(b, x);
  Reals base = realsOf(n, "base_values");
  if (!base.empty() && int64_t(base.size()) != targets)
    return b.fail("base_values are not one a target");
  return base.empty() ? y : y + constantOf(b, base, {targets}, b.f32());
}

Value regressByTrees(Builder &b, const Node &n) {
  return transform(b, postTransform(n), ListedForest(b, n).descend("target", n.integer("n_targets", 1)));
}

/// Of two classes trees may score the first one's number alone, which ONNX Runtime calls the binary case: then it is
/// the second class's score, a probability where no weight is negative, else what is negative for the first class.
Values classifyByTrees(Builder &b, const Node &n) {
  Ints labels = readLabels(b, n, "classlabels_int64s"), ids = intsOf(n, "class_ids");
  std::string post = postTransform(n);
  bool isBinary = labels.size() == 2 && llvm::all_of(ids, [](int64_t id) { return id == 0; });
  if (!isBinary) {
    Value scores = ListedForest(b, n).descend("class", labels.size());
    return {labelOf(b, scores, labels), transform(b, post, scores)};
  }
  if (post != "NONE" && post != "LOGISTIC")
    return {b.fail("post_transform '" + post + "' of one score is not supported")};
  Value score = ListedForest(b, n).descend("class", 1), opposite = b.cat({-score, score}, 1);
  bool isProbability = llvm::all_of(realsOf(n, "class_weights"), [](double weight) { return weight >= 0; });
  Value compared = isProbability ? b.cat({1.0 - score, score}, 1) : opposite;
  return {labelOf(b, compared, labels), post == "NONE" ? compared : transform(b, post, opposite)};
}

//===----------------------------------------------------------------------===//
// TreeEnsemble
//===----------------------------------------------------------------------===//

/// A branch that asks for a set of numbers asks for one after the other. The sets' numbers end with NaN each.
bool expandMembers(Builder &b, Forest &forest, llvm::ArrayRef<double> members) {
  for (size_t i = 0, count = forest.places.size(); i < count; ++i) {
    if (forest.places[i].mode != Member)
      continue;
    const double *end = llvm::find_if(members, [](double number) { return std::isnan(number); });
    if (end == members.end())
      return b.fail("membership_values are not those of its branches"), false;
    Place place = forest.places[i];
    place.mode = Equal;
    Reals set(members.begin(), end);
    if (set.empty())
      set.push_back(NAN); // which no number is equal to
    members = members.drop_front(end - members.begin() + 1);
    size_t at = i;
    for (auto [k, number] : llvm::enumerate(set)) {
      bool isLast = k + 1 == set.size();
      place.threshold = number;
      Place &own = forest.places[at] = place;
      at = forest.places.size();
      if (isLast)
        continue;
      own.ifFalse = at;
      forest.places.emplace_back();
    }
  }
  return true;
}

/// Branches and leaves are lists of their own, and known by their places there.
Value ensembleTrees(Builder &b, const Node &n) {
  Type element = b.element(n[0]), precise = element.isF64() ? b.f64() : b.f32();
  constexpr llvm::StringRef kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  size_t post = n.integer("post_transform", 0);
  Reals modes = n.numbers("nodes_modes"), splits = n.numbers("nodes_splits"), weights = n.numbers("leaf_weights");
  Ints features = intsOf(n, "nodes_featureids"), targets = intsOf(n, "leaf_targetids"),
       missing = n.ints("nodes_missing_value_tracks_true").value_or(Ints(modes.size(), 0));
  Ints next[] = {intsOf(n, "nodes_truenodeids"), intsOf(n, "nodes_falsenodeids")},
       areLeaves[] = {intsOf(n, "nodes_trueleafs"), intsOf(n, "nodes_falseleafs")};
  int64_t count = modes.size(), leaves = weights.size();
  bool isWhole = int64_t(splits.size()) == count && int64_t(targets.size()) == leaves && post < std::size(kTransforms);
  for (const Ints *list : {&features, &missing, &next[0], &next[1], &areLeaves[0], &areLeaves[1]})
    isWhole &= int64_t(list->size()) == count;
  if (b.hasFailed() || !isWhole)
    return b.fail("the lists of its nodes or leaves are not equally long");

  Forest forest;
  forest.targets = n.integer("n_targets", 0);
  forest.aggregate = n.integer("aggregate_function", Sum);
  forest.roots = intsOf(n, "tree_roots");
  auto isPlace = [&](int64_t place, bool isLeaf) { return place >= 0 && place < (isLeaf ? leaves : count); };
  bool areRoots = !forest.roots.empty() && llvm::all_of(forest.roots, [&](int64_t r) { return isPlace(r, false); });
  if (!areRoots || forest.aggregate < Average || forest.aggregate > Max)
    return b.fail("its tree_roots or aggregate_function are not known");
  for (int64_t i = 0; i < count; ++i) {
    if (!isPlace(next[0][i], areLeaves[0][i]) || !isPlace(next[1][i], areLeaves[1][i]) || features[i] < 0)
      return b.fail("a branch leads nowhere");
    if (!(modes[i] >= LessEqual && modes[i] <= Member))
      return b.fail("branches of mode " + llvm::Twine(int64_t(modes[i])) + " are not known");
    auto follow = [&](unsigned k) { return areLeaves[k][i] ? count + next[k][i] : next[k][i]; };
    forest.places.push_back({int64_t(modes[i]), features[i], follow(0), follow(1), missing[i] != 0, splits[i]});
  }
  for (int64_t i = count; i < count + leaves; ++i)
    forest.places.push_back({Leaf, 0, i, i});
  if (!expandMembers(b, forest, n.numbers("membership_values")) || !forest.sayNothing(b, element))
    return b.none();
  for (int64_t i = 0; i < leaves; ++i) {
    if (targets[i] < 0 || targets[i] >= forest.targets)
      return b.fail("a weight of no target");
    forest.say(count + i, targets[i], weights[i]);
  }
  return b.to(transform(b, kTransforms[post], forest.descend(b, rowsOf(b, n[0], precise))), element);
}

} // namespace

void addTrees(Table &t) {
  t.row("ai.onnx.ml.TreeEnsemble", ensembleTrees);
  t.rows("ai.onnx.ml.TreeEnsembleClassifier", classifyByTrees);
  t.row("ai.onnx.ml.TreeEnsembleRegressor", regressByTrees);
}

} // namespace ptc::import::onnx
