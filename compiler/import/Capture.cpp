#include "compiler/import/Capture.h"

#include "compiler/import/Json.h"

using llvm::StringRef;

namespace ptc::import {
namespace {

constexpr StringRef kMagic = "ptc capture ";
constexpr StringRef kSection = "=== ";

llvm::Error failAt(unsigned line, const llvm::Twine &what) {
  return llvm::createStringError(llvm::Twine(line) + ":1: " + what);
}

std::string getText(JsonValue object, StringRef key) {
  std::optional<JsonValue> value = object.get(key);
  return value ? value->string().value_or("") : "";
}

int64_t getNumber(JsonValue object, StringRef key) {
  std::optional<JsonValue> value = object.get(key);
  return value ? value->integer().value_or(0) : 0;
}

bool getFlag(JsonValue object, StringRef key) {
  std::optional<JsonValue> value = object.get(key);
  return value && value->boolean().value_or(false);
}

PythonPlace getPlace(JsonValue object) {
  return {getText(object, "source"), getText(object, "function"), getText(object, "code")};
}

/// The elements of a member that is a list; of anything else none.
template <typename T, typename Read> std::vector<T> getList(JsonValue object, StringRef key, Read read) {
  std::vector<T> list;
  std::optional<JsonValue> value = object.get(key);
  if (value && value->kind() == JsonValue::Array)
    value->forEach([&](JsonValue element, unsigned) {
      list.push_back(read(element));
      return true;
    });
  return list;
}

class HeadReader {
public:
  explicit HeadReader(Capture &capture) : capture(capture) {}

  llvm::Error read(JsonValue head) {
    capture.target = getText(head, "target");
    capture.torch = getText(head, "torch");
    capture.graphs = getList<Capture::Graph>(head, "graphs", [&](JsonValue v) { return readGraph(v); });
    capture.breaks = getList<Capture::Break>(head, "breaks", [&](JsonValue v) { return readBreak(v); });
    capture.guards = getList<Capture::Guard>(head, "guards", [&](JsonValue v) { return readGuard(v); });
    capture.paths = getList<Capture::Path>(head, "paths", [&](JsonValue v) { return readPath(v); });
    if (largestGraph >= static_cast<int64_t>(capture.graphs.size()))
      return failAt(2, "graph " + llvm::Twine(largestGraph) + " is named, but there are " +
                           llvm::Twine(capture.graphs.size()));
    if (largestBreak >= static_cast<int64_t>(capture.breaks.size()))
      return failAt(2, "break " + llvm::Twine(largestBreak) + " is named, but there are " +
                           llvm::Twine(capture.breaks.size()));
    return llvm::Error::success();
  }

private:
  /// A number of a graph or break, checked when all are read.
  static std::optional<unsigned> getIndex(JsonValue object, StringRef key, int64_t &largest) {
    std::optional<JsonValue> value = object.get(key);
    std::optional<int64_t> index = value ? value->integer() : std::nullopt;
    if (!index || *index < 0)
      return std::nullopt;
    largest = std::max(largest, *index);
    return static_cast<unsigned>(*index);
  }

  Capture::Graph readGraph(JsonValue value) {
    Capture::Graph graph;
    graph.end = getPlace(value);
    graph.operators = getNumber(value, "ops");
    graph.calls = getNumber(value, "calls");
    graph.path = getNumber(value, "path");
    graph.breaks = getIndex(value, "ends", largestBreak);
    graph.failure = getText(value, "failure");
    return graph;
  }

  Capture::Break readBreak(JsonValue value) {
    Capture::Break found;
    found.reason = getText(value, "reason");
    found.explanation = getText(value, "explanation");
    found.context = getText(value, "context");
    found.detail = getText(value, "detail");
    found.python = getText(value, "python");
    found.hints = getList<std::string>(value, "hints", [](JsonValue v) { return v.string().value_or(""); });
    found.place = getPlace(value);
    found.stack = getList<PythonPlace>(value, "stack", getPlace);
    found.graph = getIndex(value, "graph", largestGraph);
    found.times = getNumber(value, "times");
    found.path = getNumber(value, "path");
    found.isSkipped = getFlag(value, "skipped");
    return found;
  }

  Capture::Guard readGuard(JsonValue value) {
    return {getIndex(value, "graph", largestGraph), getText(value, "kind"), getText(value, "text"),
            getText(value, "source"), getNumber(value, "path")};
  }

  Capture::Path readPath(JsonValue value) {
    return {getList<Capture::Step>(value, "steps",
                                   [&](JsonValue step) {
                                     return Capture::Step{getIndex(step, "graph", largestGraph),
                                                          getText(step, "branch"), getFlag(step, "value"),
                                                          getFlag(step, "forced")};
                                   }),
            getText(value, "ends")};
  }

  Capture &capture;
  int64_t largestGraph = -1, largestBreak = -1;
};

/// From `rest`, which begins with a section's title, through `=== end`.
llvm::Error readSections(StringRef rest, unsigned line, Capture &capture) {
  for (unsigned index = 0;; ++index) {
    auto [title, body] = rest.split('\n');
    title = title.rtrim();
    if (title == "=== end") {
      if (index < capture.graphs.size())
        return failAt(line, "graph " + llvm::Twine(index) + " is missing");
      return llvm::Error::success();
    }
    if (index >= capture.graphs.size() || title != ("=== graph " + llvm::Twine(index)).str())
      return failAt(line, "expected '=== graph " + llvm::Twine(index) + "' or '=== end', but found '" +
                              title.take_front(60) + "'");
    size_t end = body.starts_with(kSection) ? 0 : body.find("\n=== ");
    if (end == StringRef::npos)
      return failAt(line, "graph " + llvm::Twine(index) + " does not end (is the file cut off?)");
    end += end != 0;
    capture.graphs[index].text = body.take_front(end);
    capture.graphs[index].line = line + 1;
    line += 1 + body.take_front(end).count('\n');
    rest = body.drop_front(end);
  }
}

} // namespace

bool isCapture(StringRef text) { return text.starts_with(kMagic); }

llvm::Expected<Capture> readCapture(StringRef text) {
  auto [magic, rest] = text.split('\n');
  if (StringRef version = magic.drop_front(std::min(kMagic.size(), magic.size())).trim(); version != "1")
    return failAt(1, "is a capture of form '" + version.take_front(20) + "', and this ptc reads form 1");
  size_t end = rest.find("\n=== ");
  if (end == StringRef::npos)
    return failAt(2, "expected '=== end' (is the file cut off?)");
  StringRef json = rest.take_front(end);
  llvm::Expected<JsonDocument> document = JsonDocument::parse(json);
  if (!document)
    return failAt(2, "the capture's head: " + llvm::toString(document.takeError()));
  if (document->root().kind() != JsonValue::Object)
    return failAt(2, "the capture's head is no JSON object");
  Capture capture;
  if (llvm::Error error = HeadReader(capture).read(document->root()))
    return error;
  if (llvm::Error error = readSections(rest.drop_front(end + 1), 3 + json.count('\n'), capture))
    return error;
  return capture;
}

} // namespace ptc::import
