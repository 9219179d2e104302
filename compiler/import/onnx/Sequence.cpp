//===- Sequence.cpp - sequences and optional values, known while importing -------------===//

#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// Fails, and answers an empty one, where the value is no sequence.
const Values &sequenceOf(Builder &b, const Value &x) {
  static const Values kEmpty;
  if (!x.sequence)
    b.fail("needs a sequence that is known at compile time");
  return x.sequence ? *x.sequence : kEmpty;
}

/// A place in a sequence, or behind its end where `mayEnd`.
size_t placeOf(Builder &b, const Value &x, size_t length, bool mayEnd) {
  auto known = b.knownInts(x);
  int64_t at = known && known->size() == 1 ? known->front() : INT64_MIN, size = length;
  at = at < 0 && at >= -size ? at + size : at;
  if (at >= 0 && at < size + (mayEnd ? 1 : 0))
    return at;
  b.fail("the position must be known at compile time, and in the sequence");
  return 0;
}

Value splitToSequence(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(x));
  if (n.has(1) && b.rank(n[1]) == 1)
    return b.sequence(b.split(x, axis, b.sizes(n[1], "split")));
  // Parts of one size; the last one may be smaller.
  int64_t total = b.staticSize(x, axis);
  Ints given = n.has(1) ? b.ints(n[1], "split") : Ints{1};
  if (b.hasFailed() || given.size() != 1 || given[0] <= 0)
    return b.fail("split must be positive");
  int64_t part = std::max<int64_t>(std::min(given[0], total), 1);
  if (total / part > kMostWritten)
    return b.fail("more than " + llvm::Twine(kMostWritten) + " parts");
  Shape sizes;
  for (int64_t start = 0; start < total; start += part)
    sizes.push_back(b.constant(std::min(part, total - start)));
  Values parts = b.split(x, axis, sizes);
  if (!n.has(1) && !n.integer("keepdims", 1))
    for (Value &one : parts)
      one = b.squeeze(one, axis);
  return b.sequence(std::move(parts));
}

Value concatenate(Builder &b, const Node &n) {
  Values parts = sequenceOf(b, n[0]);
  int64_t axis = n.integer("axis", 0);
  if (parts.empty())
    return b.fail("an empty sequence has no concatenation");
  if (n.integer("new_axis", 0)) {
    axis = b.dim(axis, b.rank(parts[0]) + 1);
    for (Value &part : parts)
      part = b.unsqueeze(part, axis);
  }
  return b.cat(std::move(parts), axis);
}

} // namespace

void addSequence(Table &t) {
  t.row("SequenceEmpty", [](Builder &b, const Node &n) { return b.sequence({}); });
  t.row("SequenceConstruct", [](Builder &b, const Node &n) { return b.sequence(n.all()); });
  t.row("SequenceAt", [](Builder &b, const Node &n) {
    const Values &all = sequenceOf(b, n[0]);
    size_t at = placeOf(b, n[1], all.size(), false);
    return b.hasFailed() ? b.none() : all[at];
  });
  t.row("SequenceInsert", [](Builder &b, const Node &n) {
    Values all = sequenceOf(b, n[0]);
    size_t at = n.has(2) ? placeOf(b, n[2], all.size(), true) : all.size();
    if (!b.hasFailed())
      all.insert(all.begin() + at, n[1]);
    return b.sequence(std::move(all));
  });
  t.row("SequenceErase", [](Builder &b, const Node &n) {
    Values all = sequenceOf(b, n[0]);
    if (all.empty())
      return b.fail("an empty sequence has nothing to take away");
    size_t at = n.has(1) ? placeOf(b, n[1], all.size(), false) : all.size() - 1;
    if (!b.hasFailed())
      all.erase(all.begin() + at);
    return b.sequence(std::move(all));
  });
  t.row("SequenceLength", [](Builder &b, const Node &n) {
    return b.literal(Literal{b.i64(), {}, {Expression(int64_t(sequenceOf(b, n[0]).size()))}});
  });
  t.row("SplitToSequence", splitToSequence);
  t.row("ConcatFromSequence", concatenate);
  t.row("Optional OptionalGetElement",
        [](Builder &b, const Node &n) { return n.has(0) ? n[0] : b.fail("an optional value that is empty"); });
  t.row("OptionalHasElement",
        [](Builder &b, const Node &n) { return b.literal(Literal{b.boolean(), {}, {Expression(int64_t(n.has(0)))}}); });
}

} // namespace ptc::import::onnx
