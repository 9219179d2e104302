#include "dialects/aten/Schema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <map>
#include <memory>
#include <mutex>

using llvm::StringRef;

namespace ptc::aten {

//===----------------------------------------------------------------------===//
// The table as text
//===----------------------------------------------------------------------===//

static const char kTableText[] = {
#embed <dialects/aten/schema.txt>
};

static StringRef table() { return StringRef(kTableText, sizeof(kTableText)); }

/// The whole line around an offset, without its end.
static StringRef lineAt(size_t offset) {
  size_t begin = table().rfind('\n', offset); // npos + 1 == 0: the first line.
  size_t end = table().find('\n', offset);
  return table().slice(begin + 1, end);
}

static StringRef nameOf(StringRef row) { return row.split('|').first; }

/// Rows are sorted by name: bisect on offsets, which need not be line starts.
static StringRef findRow(StringRef name) {
  size_t low = 0, high = table().size() - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    StringRef row = lineAt(middle ? middle - 1 : 0);
    if (row.starts_with("#") || nameOf(row) < name) {
      low = row.end() - table().begin() + 1;
    } else {
      if (nameOf(row) == name)
        return row;
      high = row.begin() - table().begin();
    }
  }
  return {};
}

std::vector<StringRef> allNames() {
  std::vector<StringRef> names;
  llvm::SmallVector<StringRef> rows;
  table().split(rows, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef row : rows)
    if (!row.starts_with("#"))
      names.push_back(nameOf(row));
  return names;
}

//===----------------------------------------------------------------------===//
// Parsing a row
//===----------------------------------------------------------------------===//

namespace {
/// Reads `(Tensor(a!) self, int[2] x=[1,1], *, str s="L") -> (Tensor, Tensor)`.
class RowParser {
public:
  explicit RowParser(StringRef text) : rest(text) {}

  llvm::Error parse(Schema &schema);

private:
  bool eat(StringRef token) { return rest.consume_front(token); }
  llvm::Error expect(StringRef token) {
    return eat(token) ? llvm::Error::success() : fail("expected '" + token.str() + "'");
  }
  llvm::Error fail(const std::string &what) {
    return llvm::createStringError(what + " before '" + rest.take_front(20).str() + "'");
  }
  StringRef identifier() {
    StringRef word = rest.take_while([](char c) { return isalnum((unsigned char)c) || c == '_'; });
    rest = rest.drop_front(word.size());
    return word;
  }
  llvm::Error argument(Schema &schema);
  llvm::Error result(Schema &schema);
  llvm::Error kindAndAlias(Kind &kind, Alias &alias);
  std::string defaultValue();

  StringRef rest;
  bool isKeywordOnly = false;
};
} // namespace

llvm::Error RowParser::kindAndAlias(Kind &kind, Alias &alias) {
  StringRef type = identifier();
  if (type.empty())
    return fail("expected a type");
  kind = llvm::StringSwitch<Kind>(type)
             .Case("Tensor", Kind::Tensor)
             .Cases({"int", "SymInt", "DeviceIndex"}, Kind::Int)
             .Case("float", Kind::Float)
             .Cases({"bool", "SymBool"}, Kind::Bool)
             .Case("Scalar", Kind::Scalar)
             .Case("str", Kind::String)
             .Case("ScalarType", Kind::ScalarType)
             .Case("Device", Kind::Device)
             .Case("Layout", Kind::Layout)
             .Case("MemoryFormat", Kind::MemoryFormat)
             .Case("Generator", Kind::Generator)
             .Default(Kind::Other);
  if (!eat("("))
    return llvm::Error::success();
  // `(a!)`, `(a|b)`, `(a -> *)`: the first set names the alias.
  alias.set = identifier().str();
  size_t end = rest.find(')');
  if (end == StringRef::npos || alias.set.empty())
    return fail("expected an alias annotation");
  alias.written = rest.take_front(end).contains('!');
  rest = rest.drop_front(end + 1);
  return llvm::Error::success();
}

/// Up to the `,` or `)` that ends the argument; lists and strings may hold both.
std::string RowParser::defaultValue() {
  size_t end = 0;
  for (char quote = 0; end < rest.size(); ++end) {
    char c = rest[end];
    if (quote) {
      if (c == '\\')
        ++end;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[') {
      end = rest.find(']', end);
      if (end == StringRef::npos)
        end = rest.size() - 1;
    } else if (c == ',' || c == ')') {
      break;
    }
  }
  std::string text = rest.take_front(end).str();
  rest = rest.drop_front(std::min(end, rest.size()));
  return text;
}

llvm::Error RowParser::argument(Schema &schema) {
  if (eat("*")) {
    isKeywordOnly = true;
    return llvm::Error::success();
  }
  Argument a;
  a.isKeywordOnly = isKeywordOnly;
  if (auto error = kindAndAlias(a.kind, a.alias))
    return error;
  a.isOptional = eat("?");
  if (eat("[")) {
    a.isList = true;
    a.areElementsOptional = std::exchange(a.isOptional, false);
    rest.consumeInteger(10, a.listSize); // Absent in `int[]`.
    if (auto error = expect("]"))
      return error;
    if (eat("(")) { // `Tensor[](a!)`, in some registries.
      a.alias.set = identifier().str();
      a.alias.written = eat("!");
      if (auto error = expect(")"))
        return error;
    }
    a.isOptional = eat("?");
  }
  rest = rest.ltrim();
  a.name = identifier().str();
  if (a.name.empty())
    return fail("expected an argument name");
  a.hasDefault = eat("=");
  if (a.hasDefault)
    a.defaultText = defaultValue();
  schema.arguments.push_back(std::move(a));
  return llvm::Error::success();
}

llvm::Error RowParser::result(Schema &schema) {
  Return r;
  if (auto error = kindAndAlias(r.kind, r.alias))
    return error;
  if (eat("[]"))
    r.isList = true;
  if (eat(" "))
    r.name = identifier().str();
  schema.returns.push_back(std::move(r));
  return llvm::Error::success();
}

llvm::Error RowParser::parse(Schema &schema) {
  if (auto error = expect("("))
    return error;
  while (!eat(")")) {
    if (auto error = argument(schema))
      return error;
    if (!rest.starts_with(")"))
      if (auto error = expect(", "))
        return error;
  }
  if (auto error = expect(" -> "))
    return error;
  bool parenthesised = eat("(");
  if (parenthesised && eat(")"))
    return llvm::Error::success();
  do {
    if (auto error = result(schema))
      return error;
  } while (parenthesised && eat(", "));
  if (parenthesised)
    if (auto error = expect(")"))
      return error;
  return rest.empty() ? llvm::Error::success() : fail("unexpected text");
}

llvm::Expected<Schema> parseRow(StringRef row) {
  auto [name, fields] = row.split('|');
  auto [letters, signature] = fields.split('|');
  Schema schema;
  schema.name = name.str();
  constexpr StringRef kLetters = "ciprnvdqmg"; // In the order of Mark.
  for (char letter : letters) {
    size_t mark = kLetters.find(letter);
    if (mark == StringRef::npos)
      return llvm::createStringError("unknown mark '" + StringRef(&letter, 1).str() + "' of " + name.str());
    schema.marks |= 1u << mark;
  }
  if (auto error = RowParser(signature).parse(schema))
    return llvm::joinErrors(llvm::createStringError("schema of " + name.str()), std::move(error));
  return schema;
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

const Schema *lookup(StringRef name) {
  name.consume_front("aten.");
  // Rows stay parsed for the life of the program: schemas are facts, not state.
  static std::mutex mutex;
  static llvm::StringMap<std::unique_ptr<Schema>> parsed;
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = parsed.try_emplace(name);
  if (isNew) {
    if (StringRef row = findRow(name); !row.empty()) {
      auto schema = parseRow(row);
      if (!schema) // The table is ours: a row that does not parse is our bug.
        llvm::report_fatal_error(schema.takeError());
      entry->second = std::make_unique<Schema>(std::move(*schema));
    }
  }
  return entry->second.get();
}

std::vector<StringRef> suggest(StringRef name) {
  name.consume_front("aten.");
  auto [base, overload] = name.rsplit('.');
  unsigned limit = 1 + name.size() / 4;
  std::multimap<unsigned, StringRef> byDistance;
  StringRef last;
  for (StringRef candidate : allNames()) {
    // A name without an overload is meant to be that of an operator.
    StringRef compared = overload.empty() ? candidate.rsplit('.').first : candidate;
    if (compared == last)
      continue;
    last = compared;
    // A right operator with a wrong overload is nearer than any other operator.
    unsigned distance = candidate.rsplit('.').first == base ? 0 : name.edit_distance(compared, true, limit);
    if (distance <= limit)
      byDistance.emplace(distance, compared);
  }
  std::vector<StringRef> names;
  for (auto &[distance, candidate] : byDistance)
    if (names.size() < 3)
      names.push_back(candidate);
  return names;
}

//===----------------------------------------------------------------------===//
// Schema
//===----------------------------------------------------------------------===//

const Argument *Schema::find(StringRef argument) const {
  int index = indexOf(argument);
  return index < 0 ? nullptr : &arguments[index];
}

int Schema::indexOf(StringRef argument) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == argument)
      return int(i);
  return -1;
}

bool Schema::mutates() const {
  return llvm::any_of(arguments, [](const Argument &a) { return a.alias.written; });
}

bool Schema::isView() const {
  return !mutates() && llvm::any_of(returns, [](const Return &r) { return bool(r.alias); });
}

bool Schema::isOut() const {
  return llvm::any_of(arguments, [](const Argument &a) { return a.isOut(); });
}

StringRef toString(Kind kind) {
  switch (kind) {
  case Kind::Tensor:
    return "Tensor";
  case Kind::Int:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::Bool:
    return "bool";
  case Kind::Scalar:
    return "Scalar";
  case Kind::String:
    return "str";
  case Kind::ScalarType:
    return "ScalarType";
  case Kind::Device:
    return "Device";
  case Kind::Layout:
    return "Layout";
  case Kind::MemoryFormat:
    return "MemoryFormat";
  case Kind::Generator:
    return "Generator";
  case Kind::Other:
    return "an unsupported type";
  }
  llvm_unreachable("every kind has a name");
}

static std::string spell(Kind kind, const Alias &alias) {
  std::string text = toString(kind).str();
  if (alias)
    text += "(" + alias.set + (alias.written ? "!" : "") + ")";
  return text;
}

std::string Argument::str() const {
  std::string text = spell(kind, alias);
  if (isList)
    text += std::string(areElementsOptional ? "?" : "") + "[" + (listSize ? std::to_string(listSize) : "") + "]";
  text += (isOptional ? "? " : " ") + name;
  return hasDefault ? text + "=" + defaultText : text;
}

std::string Schema::str() const {
  std::vector<std::string> parts;
  bool star = false;
  for (const Argument &a : arguments) {
    if (a.isKeywordOnly && !std::exchange(star, true))
      parts.push_back("*");
    parts.push_back(a.str());
  }
  std::vector<std::string> results;
  for (const Return &r : returns)
    results.push_back(spell(r.kind, r.alias) + (r.isList ? "[]" : ""));
  std::string text = name + "(" + llvm::join(parts, ", ") + ") -> ";
  return results.size() == 1 ? text + results[0] : text + "(" + llvm::join(results, ", ") + ")";
}

} // namespace ptc::aten
