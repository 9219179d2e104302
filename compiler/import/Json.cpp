#include "compiler/import/Json.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using llvm::StringRef;

namespace ptc::import {

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// One loop with an explicit stack of open brackets.
class JsonParser {
public:
  explicit JsonParser(StringRef text) { document.text = text; }

  llvm::Expected<JsonDocument> run() {
    if (document.text.size() >= UINT32_MAX)
      return llvm::createStringError("JSON of more than 4 GiB");
    if (!parse())
      return llvm::createStringError(llvm::Twine("invalid JSON: ") + message + " at byte " + llvm::Twine(position));
    return std::move(document);
  }

private:
  // Whoever walks the table does so by recursion.
  static constexpr size_t kMaxDepth = 128;

  bool fail(const char *what) {
    message = what;
    return false;
  }
  char peek() const { return position < document.text.size() ? document.text[position] : '\0'; }
  void skipBlanks() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')
      ++position;
  }
  void add(JsonValue::Kind kind, size_t begin, size_t length) {
    uint32_t next = document.nodes.size() + 1;
    document.nodes.push_back({kind, next, uint32_t(begin), uint32_t(length)});
  }

  bool parse();
  bool parseScalar();
  bool parseString();
  bool parseNumber();
  bool parseKey();
  /// Behind a value: a comma, or the ends of what is open.
  bool finishValue(bool &isDone);

  JsonDocument document;
  llvm::SmallVector<uint32_t> open; ///< Indices of open arrays and objects.
  size_t position = 0;
  const char *message = "";
};

bool JsonParser::parse() {
  bool isDone = false;
  while (!isDone) {
    skipBlanks();
    char c = peek();
    if (c == '[' || c == '{') {
      if (open.size() == kMaxDepth)
        return fail("nested too deeply");
      open.push_back(document.nodes.size());
      add(c == '[' ? JsonValue::Array : JsonValue::Object, position++, 0);
      skipBlanks();
      if (peek() != (c == '[' ? ']' : '}')) {
        if (c == '{' && !parseKey())
          return false;
        continue;
      }
    } else if (!parseScalar()) {
      return false;
    }
    if (!finishValue(isDone))
      return false;
  }
  skipBlanks();
  return position == document.text.size() || fail("text behind the document");
}

bool JsonParser::finishValue(bool &isDone) {
  while (!open.empty()) {
    skipBlanks();
    bool isObject = document.nodes[open.back()].kind == JsonValue::Object;
    if (peek() == ',') {
      ++position;
      return !isObject || parseKey();
    }
    if (peek() != (isObject ? '}' : ']'))
      return fail(isObject ? "expected ',' or '}'" : "expected ',' or ']'");
    ++position;
    document.nodes[open.pop_back_val()].next = document.nodes.size();
  }
  isDone = true;
  return true;
}

bool JsonParser::parseKey() {
  skipBlanks();
  if (peek() != '"' || !parseString())
    return fail("expected a key");
  skipBlanks();
  if (peek() != ':')
    return fail("expected ':'");
  ++position;
  return true;
}

bool JsonParser::parseScalar() {
  StringRef rest = document.text.substr(position);
  if (rest.starts_with("\""))
    return parseString();
  for (auto [word, kind] : {std::pair<StringRef, JsonValue::Kind>{"null", JsonValue::Null},
                            {"true", JsonValue::Boolean},
                            {"false", JsonValue::Boolean}})
    if (rest.starts_with(word)) {
      add(kind, position, word.size());
      position += word.size();
      return true;
    }
  return parseNumber();
}

bool JsonParser::parseString() {
  size_t begin = ++position;
  StringRef text = document.text;
  for (; position < text.size() && text[position] != '"'; ++position) {
    if (static_cast<unsigned char>(text[position]) < 0x20)
      return fail("a control character in a string");
    position += text[position] == '\\';
  }
  if (position >= text.size())
    return fail("a string without an end");
  add(JsonValue::String, begin, position++ - begin);
  return true;
}

bool JsonParser::parseNumber() {
  size_t begin = position;
  while (llvm::isDigit(peek()) || peek() == '-' || peek() == '+' || peek() == '.' || (peek() | 32) == 'e')
    ++position;
  double value;
  if (position == begin || document.text.slice(begin, position).getAsDouble(value))
    return fail("expected a value");
  add(JsonValue::Number, begin, position - begin);
  return true;
}

llvm::Expected<JsonDocument> JsonDocument::parse(StringRef text) { return JsonParser(text).run(); }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

JsonValue::Kind JsonValue::kind() const { return document->nodes[index].kind; }

StringRef JsonValue::rawString() const {
  const JsonDocument::Node &node = document->nodes[index];
  return document->text.substr(node.begin, node.length);
}

std::optional<bool> JsonValue::boolean() const {
  return kind() == Boolean ? std::optional(rawString() == "true") : std::nullopt;
}

std::optional<int64_t> JsonValue::integer() const {
  int64_t value;
  return kind() == Number && !rawString().getAsInteger(10, value) ? std::optional(value) : std::nullopt;
}

std::optional<double> JsonValue::number() const {
  double value;
  return kind() == Number && !rawString().getAsDouble(value) ? std::optional(value) : std::nullopt;
}

/// The code point of \uXXXX, and of a pair of them; U+FFFD for half a pair.
static unsigned parseEscapedCode(StringRef &rest) {
  auto take = [&](unsigned &code) {
    bool ok = rest.size() >= 5 && rest[0] == 'u' && !rest.substr(1, 4).getAsInteger(16, code);
    rest = rest.drop_front(std::min<size_t>(rest.size(), 5));
    return ok;
  };
  unsigned high = 0, low = 0;
  if (!take(high))
    return 0xFFFD;
  if (high < 0xD800 || high > 0xDFFF)
    return high;
  if (high > 0xDBFF || !rest.starts_with("\\u"))
    return 0xFFFD;
  rest = rest.drop_front();
  if (!take(low) || low < 0xDC00 || low > 0xDFFF)
    return 0xFFFD;
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

std::optional<std::string> JsonValue::string() const {
  if (kind() != String)
    return std::nullopt;
  StringRef rest = rawString();
  std::string text;
  text.reserve(rest.size());
  while (true) {
    auto [plain, escaped] = rest.split('\\');
    text += plain;
    if (plain.size() == rest.size())
      return text;
    rest = escaped;
    if (rest.starts_with("u")) {
      char utf8[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
      char *end = utf8;
      llvm::ConvertCodePointToUTF8(parseEscapedCode(rest), end);
      text.append(utf8, end);
      continue;
    }
    char c = rest.empty() ? '\\' : rest[0];
    text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
    rest = rest.drop_front(rest.empty() ? 0 : 1);
  }
}

bool JsonValue::forEach(llvm::function_ref<bool(JsonValue, unsigned)> visit) const {
  const auto &nodes = document->nodes;
  unsigned position = 0;
  for (uint32_t i = index + 1; i < nodes[index].next; i = nodes[i].next)
    if (!visit({document, i}, position++))
      return false;
  return true;
}

bool JsonValue::forEachMember(llvm::function_ref<bool(JsonValue, JsonValue)> visit) const {
  const auto &nodes = document->nodes;
  for (uint32_t i = index + 1; i < nodes[index].next; i = nodes[i + 1].next)
    if (!visit({document, i}, {document, i + 1}))
      return false;
  return true;
}

std::optional<JsonValue> JsonValue::get(StringRef key) const {
  std::optional<JsonValue> found;
  if (kind() == Object)
    forEachMember([&](JsonValue name, JsonValue value) {
      if (name.rawString() == key)
        found = value;
      return !found;
    });
  return found;
}

} // namespace ptc::import
