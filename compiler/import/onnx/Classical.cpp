//===- Classical.cpp - linear models and ensembles of trees -------------------------===//
//
// Of the domain ai.onnx.ml, for tensors of numbers; its maps and texts have no
// tensor that they could be. All trees of an ensemble go down a step at once:
// where each row of each tree stands is a place among the nodes of all, leaves
// stay where they are, and what is found there is summed.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Table.h"

#include <map>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

using Reals = llvm::SmallVector<double>;

Reals realsOf(const Node &n, llvm::StringRef name) { return n.reals(name).value_or(Reals()); }
Ints intsOf(const Node &n, llvm::StringRef name) { return n.ints(name).value_or(Ints()); }

/// A constant of these sizes.
Value constantOf(Builder &b, llvm::ArrayRef<double> numbers, IntsRef sizes, Type element) {
  Literal literal{element, Ints(sizes), {}};
  for (double number : numbers)
    literal.elements.push_back(roundTo(Expression::makeReal(number), element));
  return b.constantTensor(std::move(literal));
}

Value constantOf(Builder &b, IntsRef numbers, IntsRef sizes) {
  return b.constantTensor(Literal{b.i64(), Ints(sizes), std::vector<Expression>(numbers.begin(), numbers.end())});
}

/// Rows of features in float32; one row where there is one dimension.
Value rowsOf(Builder &b, const Value &x) {
  Value wide = b.to(x, b.f32());
  if (b.rank(wide) == 1)
    return b.unsqueeze(wide, 0);
  return b.rank(wide) == 2 ? wide : b.fail("needs one or two dimensions");
}

Value transform(Builder &b, const Node &n, const Value &scores) {
  std::string name = n.text("post_transform", "NONE");
  if (name == "NONE")
    return scores;
  if (name == "LOGISTIC")
    return b.call("sigmoid.default", {scores});
  if (name == "SOFTMAX")
    return b.call("softmax.int", {scores, -1});
  return b.fail("post_transform '" + name + "' is not supported");
}

/// The label of the largest score of each row. Labels must be integers.
Value labelOf(Builder &b, const Value &scores, IntsRef labels) {
  Value largest = b.call("argmax.default", {scores, 1, false});
  return b.call("index_select.default", {constantOf(b, labels, {int64_t(labels.size())}), 0, largest});
}

/// Nothing where they are texts, or too few.
Ints readLabels(Builder &b, const Node &n, llvm::StringRef name) {
  Ints labels = intsOf(n, name);
  if (labels.size() < 2)
    b.fail("needs labels of two classes or more, which are integers");
  return labels;
}

//===----------------------------------------------------------------------===//
// Linear models, and what goes before them
//===----------------------------------------------------------------------===//

/// x times the transpose of the coefficients, [scores, features] in one list.
Value linear(Builder &b, const Node &n, int64_t scores) {
  Value x = rowsOf(b, n[0]);
  Reals coefficients = realsOf(n, "coefficients"), intercepts = realsOf(n, "intercepts");
  int64_t features = b.staticSize(x, 1);
  if (b.hasFailed() || scores <= 0 || int64_t(coefficients.size()) != scores * features ||
      (!intercepts.empty() && int64_t(intercepts.size()) != scores))
    return b.fail("coefficients and intercepts are not those of " + llvm::Twine(scores) + " scores");
  Value y = b.matmul(x, b.permute(constantOf(b, coefficients, {scores, features}, b.f32()), {1, 0}));
  return intercepts.empty() ? y : y + constantOf(b, intercepts, {scores}, b.f32());
}

Values classifyLinearly(Builder &b, const Node &n) {
  Ints labels = readLabels(b, n, "classlabels_ints");
  Value scores = linear(b, n, labels.size());
  return {labelOf(b, scores, labels), transform(b, n, scores)};
}

Value scale(Builder &b, const Node &n) {
  Value y = b.to(n[0], b.f32());
  for (auto [name, aten] : {std::pair("offset", "sub.Tensor"), std::pair("scale", "mul.Tensor")})
    if (Reals numbers = realsOf(n, name); !numbers.empty())
      y = b.call(aten, {y, constantOf(b, numbers, {int64_t(numbers.size())}, b.f32())});
  return y;
}

Value normalize(Builder &b, const Node &n) {
  Value x = rowsOf(b, n[0]);
  std::string name = n.text("norm", "MAX");
  Value norm = name == "MAX"  ? b.amax(x, {1}, true)
               : name == "L1" ? b.sum(b.call("abs.default", {x}), {1}, true)
               : name == "L2" ? b.call("sqrt.default", {b.sum(x * x, {1}, true)})
                              : b.fail("norm '" + name + "' is not known");
  return x / b.where(b.call("eq.Scalar", {norm, 0}), b.full({}, 1, b.f32()), norm);
}

/// Elements of the last dimension, of as many rows as there are others.
Value extract(Builder &b, const Node &n) {
  Shape sizes = b.shape(n[0]);
  if (sizes.empty())
    return b.fail("needs a dimension");
  AffineExpr width = sizes.pop_back_val();
  Value rows = b.reshape(n[0], {product(sizes, b.context), width});
  return b.call("index_select.default", {rows, 1, b.reshape(b.to(n[1], b.i64()), product(b.shape(n[1]), b.context))});
}

//===----------------------------------------------------------------------===//
// Ensembles of trees
//===----------------------------------------------------------------------===//

/// What an ensemble's nodes are, in the order of the file; a leaf's next places are its own.
struct Forest {
  Reals thresholds;
  Ints features, ifTrue, ifFalse, missingIsTrue, roots;
  std::string mode; ///< how all branches compare
  int64_t depth = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> places; ///< by tree and node

  bool read(Builder &b, const Node &n);

private:
  bool link(Builder &b, const Node &n);
  bool measure(Builder &b);
};

bool Forest::read(Builder &b, const Node &n) {
  Ints trees = intsOf(n, "nodes_treeids"), ids = intsOf(n, "nodes_nodeids");
  size_t count = ids.size();
  thresholds = realsOf(n, "nodes_values");
  auto read = [&](llvm::StringRef name) { return n.ints(name).value_or(Ints(count, 0)); };
  features = read("nodes_featureids");
  ifTrue = read("nodes_truenodeids");
  ifFalse = read("nodes_falsenodeids");
  missingIsTrue = read("nodes_missing_value_tracks_true");
  bool isWhole = count > 0 && thresholds.size() == count;
  for (const Ints *list : {&trees, &features, &ifTrue, &ifFalse, &missingIsTrue})
    isWhole &= list->size() == count;
  if (!isWhole) {
    b.fail("the lists of its nodes are not equally long");
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || trees[i] != trees[i - 1])
      roots.push_back(i);
    if (!places.try_emplace({trees[i], ids[i]}, i).second) {
      b.fail("two nodes of a tree have one number");
      return false;
    }
  }
  return link(b, n) && measure(b);
}

/// Numbers of nodes become places.
bool Forest::link(Builder &b, const Node &n) {
  Ints trees = intsOf(n, "nodes_treeids");
  auto modes = n.texts("nodes_modes");
  for (size_t i = 0; i < trees.size(); ++i) {
    std::string kind = i < modes.size() ? modes[i] : "";
    if (kind == "LEAF") {
      ifTrue[i] = ifFalse[i] = i;
      features[i] = 0;
      continue;
    }
    if (mode.empty())
      mode = kind;
    auto yes = places.find({trees[i], ifTrue[i]}), no = places.find({trees[i], ifFalse[i]});
    if (kind != mode || features[i] < 0 || yes == places.end() || no == places.end()) {
      b.fail(kind != mode ? "branches that compare in several ways are not supported" : "a branch leads nowhere");
      return false;
    }
    ifTrue[i] = yes->second;
    ifFalse[i] = no->second;
  }
  return true;
}

/// Steps from a root to the farthest leaf. A node that is reached twice is no tree's.
bool Forest::measure(Builder &b) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> open;
  for (int64_t root : roots)
    open.push_back({root, 0});
  for (size_t seen = 0; !open.empty(); ++seen) {
    auto [place, steps] = open.pop_back_val();
    if (seen > ifTrue.size() || steps > kMostWritten) {
      b.fail("its nodes are no trees");
      return false;
    }
    depth = std::max(depth, steps);
    if (ifTrue[place] != place)
      for (int64_t next : {ifTrue[place], ifFalse[place]})
        open.push_back({next, steps + 1});
  }
  return true;
}

/// The sums of what the leaves that rows come to say, [rows, targets].
Value descend(Builder &b, const Node &n, const char *kind, int64_t targets) {
  Value x = rowsOf(b, n[0]);
  Forest forest;
  if (b.hasFailed() || !forest.read(b, n))
    return x;
  const char *compare = forest.mode == "BRANCH_LEQ"   ? "le.Tensor"
                        : forest.mode == "BRANCH_LT"  ? "lt.Tensor"
                        : forest.mode == "BRANCH_GTE" ? "ge.Tensor"
                        : forest.mode == "BRANCH_GT"  ? "gt.Tensor"
                        : forest.mode == "BRANCH_EQ"  ? "eq.Tensor"
                        : forest.mode == "BRANCH_NEQ" ? "ne.Tensor"
                                                      : nullptr;
  if (n.text("aggregate_function", "SUM") != "SUM" || (!compare && forest.depth > 0))
    return b.fail(compare ? "only sums over trees are supported"
                          : "branches of mode '" + forest.mode + "' are not known");

  int64_t count = forest.ifTrue.size(), trees = forest.roots.size();
  if (count > (int64_t(1) << 26) / targets)
    return b.fail("more than 2^26 weights are not supported");
  std::string prefix = kind;
  Ints ofTree = intsOf(n, prefix + "_treeids"), ofNode = intsOf(n, prefix + "_nodeids"),
       ids = intsOf(n, prefix + "_ids");
  Reals weights = realsOf(n, prefix + "_weights"), said(count * targets, 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    bool isThere = i < ofTree.size() && i < ofNode.size() && i < ids.size() && ids[i] >= 0 && ids[i] < targets;
    auto place = isThere ? forest.places.find({ofTree[i], ofNode[i]}) : forest.places.end();
    if (place == forest.places.end())
      return b.fail("a weight of no leaf");
    said[place->second * targets + ids[i]] += weights[i];
  }

  AffineExpr rows = b.size(x, 0), width = b.constant(trees);
  Value place = b.expand(constantOf(b, forest.roots, {1, trees}), {rows, width});
  auto at = [&](const Value &numbers) {
    Value found = b.call("index_select.default", {numbers, 0, b.reshape(place, rows * width)});
    return b.reshape(found, {rows, width});
  };
  Value feature = constantOf(b, forest.features, {count}), limit = constantOf(b, forest.thresholds, {count}, b.f32());
  Value yes = constantOf(b, forest.ifTrue, {count}), no = constantOf(b, forest.ifFalse, {count});
  Value ifMissing;
  if (llvm::any_of(forest.missingIsTrue, [](int64_t tracks) { return tracks != 0; }))
    ifMissing = constantOf(b, forest.missingIsTrue, {count});
  for (int64_t step = 0; step < forest.depth && !b.hasFailed(); ++step) {
    Value number = b.call("gather.default", {x, 1, at(feature)});
    Value goes = b.call(compare, {number, at(limit)});
    if (ifMissing)
      goes = b.where(b.call("isnan.default", {number}), b.to(at(ifMissing), b.boolean()), goes);
    place = b.where(goes, at(yes), at(no));
  }
  Value found = b.call("index_select.default",
                       {constantOf(b, said, {count, targets}, b.f32()), 0, b.reshape(place, rows * width)});
  Value y = b.sum(b.reshape(found, {rows, width, b.constant(targets)}), {1}, false);
  Reals base = realsOf(n, "base_values");
  if (!base.empty() && int64_t(base.size()) != targets)
    return b.fail("base_values are not one a target");
  return base.empty() ? y : y + constantOf(b, base, {targets}, b.f32());
}

Value regressByTrees(Builder &b, const Node &n) {
  int64_t targets = n.integer("n_targets", 1);
  return targets > 0 && targets <= kMostWritten ? transform(b, n, descend(b, n, "target", targets))
                                                : b.fail("n_targets must be positive");
}

/// Of two classes trees may score the first one's number alone, which ONNX Runtime calls the binary case: then it is
/// the second class's score, a probability where no weight is negative, else what is negative for the first class.
Values classifyByTrees(Builder &b, const Node &n) {
  Ints labels = readLabels(b, n, "classlabels_int64s"), ids = intsOf(n, "class_ids");
  bool isBinary = labels.size() == 2 && llvm::all_of(ids, [](int64_t id) { return id == 0; });
  if (!isBinary) {
    Value scores = descend(b, n, "class", labels.size());
    return {labelOf(b, scores, labels), transform(b, n, scores)};
  }
  std::string post = n.text("post_transform", "NONE");
  if (post != "NONE" && post != "LOGISTIC")
    return {b.fail("post_transform '" + post + "' of one score is not supported")};
  Value score = descend(b, n, "class", 1), opposite = b.cat({-score, score}, 1);
  bool isProbability = llvm::all_of(realsOf(n, "class_weights"), [](double weight) { return weight >= 0; });
  Value compared = isProbability ? b.cat({1.0 - score, score}, 1) : opposite;
  return {labelOf(b, compared, labels), post == "NONE" ? compared : transform(b, n, opposite)};
}

} // namespace

void addClassical(Table &t) {
  t.row("ai.onnx.ml.ArrayFeatureExtractor", extract);
  t.row("ai.onnx.ml.Binarizer", [](Builder &b, const Node &n) {
    return b.to(b.call("gt.Scalar", {n[0], n.real("threshold", 0)}), b.element(n[0]));
  });
  t.rows("ai.onnx.ml.LinearClassifier", classifyLinearly);
  t.row("ai.onnx.ml.LinearRegressor",
        [](Builder &b, const Node &n) { return transform(b, n, linear(b, n, n.integer("targets", 1))); });
  t.row("ai.onnx.ml.Normalizer", normalize);
  t.row("ai.onnx.ml.Scaler", scale);
  t.rows("ai.onnx.ml.TreeEnsembleClassifier", classifyByTrees);
  t.row("ai.onnx.ml.TreeEnsembleRegressor", regressByTrees);
}

} // namespace ptc::import::onnx
