//===- Overridable.cpp - initializers that the caller may give ------------===//
//
// Such an initializer is an argument of the function. A node that asks what its
// elements are, and cannot be built without, is built anew with those of the
// file: from then on the initializer is a constant.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Fold.h"
#include "compiler/import/onnx/Graph.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc::import::onnx {

using UsualPointer = std::shared_ptr<const Usual>;

/// Calls `visit` with every value that has a usual one, and whether there was any.
static bool forEachUsual(Values &values, llvm::function_ref<bool(Value &)> visit) {
  bool found = false;
  for (Value &value : values) {
    if (value.usual)
      found |= visit(value);
    if (!value.sequence)
      continue;
    Values parts = *value.sequence;
    if (forEachUsual(parts, visit)) {
      value.sequence = std::make_shared<const Values>(std::move(parts));
      found = true;
    }
  }
  return found;
}

/// From here on it is what it usually is.
static bool makeKnown(Value &value) {
  value.literal = value.usual->literal;
  value.tensor = nullptr;
  value.usual = nullptr;
  return true;
}

std::optional<Values> GraphImporter::buildKnowingLittle(const proto::NodeProto &node, Values inputs, Scope &scope,
                                                        const Frame &frame) {
  auto know = [&](llvm::function_ref<bool(const UsualPointer &)> isMeant) {
    return forEachUsual(inputs, [&](Value &value) {
      if (!isMeant(value.usual))
        return false;
      for (Overridable *one : value.usual->of)
        if (one->knownTo.empty())
          one->knownTo = describe(node);
      return makeKnown(value);
    });
  };
  // What is a constant by now needs no attempts.
  know([](const UsualPointer &usual) {
    return llvm::none_of(usual->of, [](const Overridable *one) { return one->knownTo.empty(); });
  });
  bool isAllKnown = !forEachUsual(inputs, [](Value &) { return true; });
  auto askedAround = std::exchange(b.asked, {});
  llvm::scope_exit restore([&] { b.asked = std::move(askedAround); });
  Trial trial(b);
  for (bool believes = isAllKnown;;) {
    auto results = buildResults(node, inputs, believes, scope, frame);
    if (results && !b.hasFailed()) {
      if (!results->empty() && results->front().tensor && !results->front().usual)
        results->front().usual = foldUsual(node, inputs, frame);
      return results;
    }
    if (!know([&](const UsualPointer &usual) { return llvm::is_contained(b.asked, usual); }) &&
        !know([](const UsualPointer &) { return true; })) {
      if (believes)
        return results;
      believes = true;
    }
    b.takeError();
    b.asked.clear();
    text.clear();
    trial.undo();
  }
}

/// What the node answers while the caller leaves initializers as they are, if that is known.
UsualPointer GraphImporter::foldUsual(const proto::NodeProto &node, Values inputs, const Frame &frame) {
  bool isOwn = (node.domain().empty() || node.domain() == "ai.onnx") && !model.function(node.domain(), node.op_type());
  llvm::SetVector<Overridable *> of;
  bool isUsual = forEachUsual(inputs, [&](Value &value) {
    of.insert(value.usual->of.begin(), value.usual->of.end());
    return makeKnown(value);
  });
  if (!isOwn || !isUsual)
    return nullptr;
  auto folded = foldLiterals(b, node.op_type(), Node(b, node, std::move(inputs), frame.opset, frame.attributes));
  b.takeError(); // it is only not known then
  if (!folded || !folded->literal)
    return nullptr;
  return std::make_shared<const Usual>(Usual{folded->literal, {of.begin(), of.end()}});
}

} // namespace ptc::import::onnx
