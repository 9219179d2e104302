//===- OutputNames.cpp ----------------------------------------------------===//
//
//   [1, {"type": "builtins.dict", "context": "[\"logits\", \"cache\"]", "children_spec": [LEAF, NODE]}]
//
// 1 is the version of the form, a leaf has the type null, and a context is what
// the type's own rule wrote: JSON in a string, mostly.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/OutputNames.h"

#include "compiler/import/Json.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <string>
#include <vector>

using llvm::StringRef;

namespace ptc::import {
namespace {

constexpr int64_t kVersion = 1;

using Keys = std::vector<std::string>;

/// A list of `count` strings and numbers.
std::optional<Keys> readKeys(JsonValue list, size_t count) {
  Keys keys;
  bool ok = list.kind() == JsonValue::Array && list.forEach([&](JsonValue key, unsigned) {
    if (auto text = key.string())
      keys.push_back(*text);
    else if (auto number = key.integer())
      keys.push_back(std::to_string(*number));
    return keys.size() <= count && (key.string() || key.integer());
  });
  return ok && keys.size() == count ? std::optional(std::move(keys)) : std::nullopt;
}

/// The keys of a node's children. Dicts and ModelOutputs list them; a dataclass lists them and then its fields that
/// are None; a defaultdict has them in an object.
std::optional<Keys> readContext(JsonValue context, size_t count) {
  if (auto keys = readKeys(context, count))
    return keys;
  if (auto inner = context.get("dict_context"))
    return readKeys(*inner, count);
  std::optional<Keys> keys;
  if (context.kind() == JsonValue::Array)
    context.forEach([&](JsonValue fields, unsigned) {
      keys = readKeys(fields, count);
      return false;
    });
  return keys;
}

std::optional<Keys> readNodeKeys(JsonValue node, size_t count) {
  auto context = node.get("context");
  if (!context || context->kind() != JsonValue::String)
    return context ? readContext(*context, count) : std::nullopt;
  std::string text = *context->string();
  auto document = JsonDocument::parse(text);
  if (document)
    return readContext(document->root(), count);
  llvm::consumeError(document.takeError());
  return std::nullopt;
}

/// Appends a name for each leaf, "" where no key leads to it. `path` has a point behind each part; `isNamed` says that
/// a part is a key.
bool collectNames(JsonValue node, const std::string &path, bool isNamed, std::vector<std::string> &names) {
  auto type = node.get("type"), children = node.get("children_spec");
  if (!type || !children || children->kind() != JsonValue::Array)
    return false;
  if (type->isNull()) {
    names.push_back(isNamed ? StringRef(path).drop_back().str() : "");
    return true;
  }
  size_t count = 0;
  children->forEach([&](JsonValue, unsigned) { return ++count; });
  std::optional<Keys> keys = readNodeKeys(node, count);
  return children->forEach([&](JsonValue child, unsigned i) {
    std::string part = keys ? (*keys)[i] : std::to_string(i);
    return collectNames(child, path + part + ".", isNamed || keys, names);
  });
}

} // namespace

void nameOutputs(StringRef treeSpec, llvm::MutableArrayRef<OutputSpec> outputs) {
  auto document = JsonDocument::parse(treeSpec);
  if (!document)
    return llvm::consumeError(document.takeError());
  std::optional<JsonValue> tree;
  if (document->root().kind() != JsonValue::Array)
    return;
  document->root().forEach([&](JsonValue part, unsigned i) {
    if (i == 1)
      tree = part;
    return i == 0 && part.integer() == kVersion;
  });
  std::vector<std::string> names;
  if (!tree || !collectNames(*tree, "", false, names))
    return;
  std::vector<OutputSpec *> named;
  for (OutputSpec &output : outputs)
    if (output.kind == OutputKind::UserOutput)
      named.push_back(&output);
  if (named.size() == names.size())
    for (auto [output, name] : llvm::zip_equal(named, names))
      output->target = std::move(name);
}

} // namespace ptc::import
