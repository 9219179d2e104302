//===- Json.h - JSON from files that nobody vouches for ----------------------===//
//
// A document is one flat table of values in the order of the text, each knowing
// where the next one begins; strings and numbers stay in the text until asked
// for. The programs that torch writes are mostly metadata which nobody asks
// for: this reads them some thirty times faster than a tree of maps.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace ptc::import {

class JsonDocument;

class JsonValue {
public:
  enum Kind : uint8_t { Null, Boolean, Number, String, Array, Object };

  Kind kind() const;
  bool isNull() const { return kind() == Null; }

  /// Nothing when the value is of another kind, or does not fit.
  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;
  std::optional<std::string> string() const;
  /// A string as it stands in the text, escapes and all.
  llvm::StringRef rawString() const;

  /// An object's member. Keys are compared without regard to escapes.
  std::optional<JsonValue> get(llvm::StringRef key) const;

  /// Until `visit` says false; returns its last answer. An array's elements
  /// with their positions; an object's members with their keys.
  bool forEach(llvm::function_ref<bool(JsonValue, unsigned)> visit) const;
  bool forEachMember(llvm::function_ref<bool(JsonValue key, JsonValue value)> visit) const;

private:
  friend class JsonDocument;
  JsonValue(const JsonDocument *document, uint32_t index) : document(document), index(index) {}

  const JsonDocument *document;
  uint32_t index;
};

class JsonDocument {
public:
  /// The text must outlive the document.
  static llvm::Expected<JsonDocument> parse(llvm::StringRef text);
  JsonValue root() const { return {this, 0}; }

private:
  friend class JsonValue;
  friend class JsonParser;
  struct Node {
    JsonValue::Kind kind;
    uint32_t next = 0;              ///< Index behind the value and all inside it.
    uint32_t begin = 0, length = 0; ///< Text of a scalar; a string's without quotes.
  };
  llvm::StringRef text;
  std::vector<Node> nodes;
};

} // namespace ptc::import
