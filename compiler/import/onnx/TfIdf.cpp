//===- TfIdf.cpp - how often known runs of numbers occur ------------------------------===//
//
// TfIdfVectorizer. Each n-gram of the pool is compared with the rows at every
// place and with every number of skipped elements; matches are counted.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

constexpr int64_t kMostColumns = 1 << 24;

/// The n-grams of one length, [count, length] in one list.
struct Grams {
  int64_t length;
  IntsRef elements;

  int64_t count() const { return elements.size() / length; }
};

/// By length; empty where the attributes contradict each other.
std::vector<Grams> readPool(IntsRef pool, IntsRef starts) {
  std::vector<Grams> result;
  for (auto [i, start] : llvm::enumerate(starts)) {
    int64_t end = i + 1 < starts.size() ? starts[i + 1] : int64_t(pool.size()), length = i + 1;
    if (start < 0 || end < start || end > int64_t(pool.size()) || (end - start) % length)
      return {};
    result.push_back({length, pool.slice(start, end - start)});
  }
  return result;
}

/// How often each of the n-grams occurs in the rows of x [rows, elements], with so many elements left out between two
/// of its own: [rows, n-grams].
Value countMatches(Builder &b, const Value &x, const Grams &grams, int64_t skipped) {
  int64_t step = skipped + 1, places = b.staticSize(x, 1) - (grams.length - 1) * step;
  Value matches;
  for (int64_t j = 0; j < grams.length && !b.hasFailed(); ++j) {
    Ints wanted;
    for (int64_t gram = 0; gram < grams.count(); ++gram)
      wanted.push_back(grams.elements[gram * grams.length + j]);
    Value part = b.unsqueeze(b.slice(x, 1, b.constant(j * step), b.constant(j * step + places)), 2);
    Value equal = b.call("eq.Tensor", {part, b.along(b.constantTensor(wanted), 2, 3)});
    matches = j == 0 ? equal : matches & equal;
  }
  return b.sum(b.to(matches, b.f32()), {1}, false);
}

Value vectorize(Builder &b, const Node &n) {
  if (n.hasAttribute("pool_strings") || b.isFloat(n[0]))
    return b.fail("n-grams of anything but integers are not supported");
  Ints none, pool = n.ints("pool_int64s").value_or(none), starts = n.ints("ngram_counts").value_or(none),
             columns = n.ints("ngram_indexes").value_or(none);
  int64_t least = n.integer("min_gram_length", 1), most = n.integer("max_gram_length", 1),
          skips = n.integer("max_skip_count", 0);
  auto weights = n.reals("weights");
  std::string mode = n.text("mode", "TF");
  std::vector<Grams> grams = readPool(pool, starts);
  int64_t total = 0, width = 0;
  for (const Grams &some : grams)
    total += some.count();
  for (int64_t column : columns)
    width = column < 0 || column >= kMostColumns ? kMostColumns + 1 : std::max(width, column + 1);
  if (least < 1 || most < least || most > int64_t(grams.size()) || skips < 0 || skips > kMostWritten ||
      most * (skips + 1) > kMostWritten || int64_t(columns.size()) != total || total == 0 || width > kMostColumns ||
      (weights && int64_t(weights->size()) != total) || (mode != "TF" && mode != "IDF" && mode != "TFIDF"))
    return b.fail("its pool, lengths, indices, weights and mode do not fit each other");
  Value x = b.to(n[0], b.i64());
  bool isRow = b.rank(x) == 1;
  x = isRow ? b.unsqueeze(x, 0) : x;
  if (b.hasFailed() || b.rank(x) != 2)
    return b.fail("needs one or two dimensions");
  Value counts = b.full({b.size(x, 0), b.constant(width)}, 0, b.f32());
  int64_t elements = b.staticSize(x, 1), first = 0;
  for (const Grams &some : grams) {
    Ints places(IntsRef(columns).slice(first, some.count()));
    first += some.count();
    if (some.length < least || some.length > most || places.empty())
      continue;
    // Nothing lies between the elements of a single one.
    for (int64_t skipped = 0; skipped <= (some.length == 1 ? 0 : skips) && !b.hasFailed(); ++skipped)
      if (elements - (some.length - 1) * (skipped + 1) > 0)
        counts = b.call("index_add.default", {counts, 1, b.constantTensor(places), countMatches(b, x, some, skipped)});
  }
  if (mode != "TF") {
    Literal literal{b.f32(), {1, width}, std::vector<Expression>(width, Expression::makeReal(1))};
    for (size_t i = 0; weights && i < columns.size(); ++i)
      literal.elements[columns[i]] = roundTo(Expression::makeReal((*weights)[i]), b.f32());
    Value weight = b.constantTensor(std::move(literal));
    counts =
        mode == "IDF" ? b.where(b.call("gt.Scalar", {counts, 0}), weight, b.full({}, 0, b.f32())) : counts * weight;
  }
  return isRow ? b.select(counts, 0, 0) : counts;
}

} // namespace

void addTfIdf(Table &t) { t.row("TfIdfVectorizer", vectorize); }

} // namespace ptc::import::onnx
