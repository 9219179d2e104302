#include "compiler/explain/CaptureReport.h"

#include "compiler/support/Format.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace ptc {

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value toJson(std::optional<unsigned> index) {
  return index ? json::Value(static_cast<int64_t>(*index)) : json::Value(nullptr);
}

static json::Value toJson(const PythonPlace &place) {
  return json::Object{{"source", place.source}, {"function", place.function}, {"code", place.code}};
}

static json::Value toJson(const Capture::Break &found) {
  json::Array stack;
  for (const PythonPlace &place : found.stack)
    stack.push_back(toJson(place));
  return json::Object{{"reason", found.reason},       {"node", ""},
                      {"source", found.place.source}, {"function", found.place.function},
                      {"code", found.place.code},     {"python", found.python},
                      {"torch_reason", found.detail}, {"explanation", found.explanation},
                      {"fix", suggestFix(found)},     {"hints", json::Array(found.hints)},
                      {"graph", toJson(found.graph)}, {"run", found.path},
                      {"times", found.times},         {"skipped", found.isSkipped},
                      {"stack", std::move(stack)}};
}

static json::Value toJson(const Transition &transition) {
  return json::Object{{"from", toJson(transition.from)},
                      {"to", toJson(transition.to)},
                      {"branch", transition.branch},
                      {"end", transition.end},
                      {"forced", transition.isForced}};
}

json::Value toJson(const CaptureReport &report) {
  const Capture &capture = report.capture;
  json::Array breaks, transitions, guards, graphs, kernels, unsupported, fallbacks;
  for (const Capture::Break &found : capture.breaks)
    breaks.push_back(toJson(found));
  for (const Transition &transition : report.transitions)
    transitions.push_back(toJson(transition));
  for (const Capture::Guard &guard : capture.guards)
    guards.push_back(json::Object{{"graph", toJson(guard.graph)},
                                  {"kind", guard.kind},
                                  {"guard", guard.text},
                                  {"source", guard.source},
                                  {"run", guard.path}});
  std::map<std::string, int64_t> counts;
  int64_t peak = 0;
  for (auto [index, graph] : enumerate(report.graphs)) {
    json::Value value = toJson(graph);
    json::Object &object = *value.getAsObject();
    object["graph"] = static_cast<int64_t>(index);
    object["function"] = capture.graphs[index].end.function;
    object["source"] = capture.graphs[index].end.source;
    object["captured_operators"] = capture.graphs[index].operators;
    object["calls"] = capture.graphs[index].calls;
    object["run"] = capture.graphs[index].path;
    object["ends_with_break"] = toJson(capture.graphs[index].breaks);
    for (json::Value &kernel : *object.getArray("kernels")) {
      json::Value copy = kernel;
      (*copy.getAsObject())["graph"] = static_cast<int64_t>(index);
      kernels.push_back(std::move(copy));
    }
    for (json::Value &item : *object.getArray("unsupported"))
      unsupported.push_back(item);
    if (!graph.breaks.empty())
      fallbacks.push_back(
          json::Object{{"graph", static_cast<int64_t>(index)}, {"reason", graph.breaks.front().reason}});
    for (const auto &[name, count] : graph.ops)
      counts[name] += count;
    peak = std::max(peak, graph.peakBytes.value);
    graphs.push_back(std::move(value));
  }
  json::Object ops;
  for (const auto &[name, count] : counts)
    ops[name] = count;
  return json::Object{{"model", report.model},
                      {"target", capture.target},
                      {"torch", capture.torch},
                      {"graphs", static_cast<int64_t>(capture.graphs.size())},
                      {"breaks", static_cast<int64_t>(capture.breaks.size())},
                      {"runs", static_cast<int64_t>(capture.paths.size())},
                      {"break_reasons", std::move(breaks)},
                      {"transitions", std::move(transitions)},
                      {"ops", std::move(ops)},
                      {"unsupported", std::move(unsupported)},
                      {"guards", std::move(guards)},
                      {"kernels", std::move(kernels)},
                      {"peak_bytes", peak},
                      {"fallbacks", std::move(fallbacks)},
                      {"graph_reports", std::move(graphs)}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printTransition(const Transition &transition, raw_ostream &out) {
  print(out, "      {}{}{}\n", transition.branch.empty() ? "" : transition.branch + ": ",
        transition.to ? fmt::format("graph {}", *transition.to) : fmt::format("the program {}", transition.end),
        transition.isForced ? " (seen by answering the other way)" : "");
}

static void printBreak(const Capture::Break &found, const CaptureReport &report, raw_ostream &out) {
  print(out, "  {}{}{}\n", found.place.source.empty() ? "somewhere" : found.place.source,
        found.place.function.empty() ? "" : " in " + found.place.function,
        found.times > 1 ? fmt::format(", {} times", found.times) : "");
  SmallVector<StringRef> lines;
  StringRef(found.python.empty() ? found.place.code : found.python).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    out << "      | " << line << '\n';
  if (found.isSkipped)
    out << "    cannot go on behind it: Python runs the whole function " << found.place.function << '\n';
  else if (!found.graph)
    out << "    no graph ends here: there was nothing to compute before\n";
  if (!found.graph)
    return;
  print(out, "    ends graph {}; Python runs the statement and goes on with\n", *found.graph);
  for (const Transition &transition : report.transitions)
    if (transition.from == found.graph)
      printTransition(transition, out);
}

/// Breaks of one reason stand together, what to do about them once.
static void printBreaks(const CaptureReport &report, raw_ostream &out) {
  MapVector<StringRef, std::vector<const Capture::Break *>> groups;
  for (const Capture::Break &found : report.capture.breaks)
    groups[found.reason].push_back(&found);
  for (auto &[reason, breaks] : groups) {
    printHeading("\nbreak: ", out);
    print(out, "{}{}\n", reason, breaks.size() > 1 ? fmt::format(", at {} places", breaks.size()) : "");
    for (const Capture::Break *found : breaks)
      printBreak(*found, report, out);
    if (std::string fix = suggestFix(*breaks.front()); !fix.empty())
      out << "    what to do: " << fix << '\n';
  }
}

/// Those that say what a call may bring: types of tensors, values of numbers. The others are about identities and
/// types of objects, and about torch's own state; they are many, and counted.
static bool isAboutValues(const Capture::Guard &guard) {
  return guard.kind == "TENSOR_MATCH" || guard.kind == "EQUALS_MATCH" || guard.kind == "CONSTANT_MATCH" ||
         guard.kind == "NONE_MATCH" || (guard.kind == "SHAPE_ENV" && guard.text != "shape env");
}

static void printGuards(unsigned graph, const Capture &capture, raw_ostream &out) {
  constexpr size_t kLines = 12;
  size_t others = 0, listed = 0;
  for (const Capture::Guard &guard : capture.guards) {
    if (guard.graph != graph)
      continue;
    if (!isAboutValues(guard))
      ++others;
    else if (++listed <= kLines)
      out << "  guard: " << guard.text << '\n';
  }
  if (listed > kLines)
    print(out, "  guard: and {} more on values\n", listed - kLines);
  if (others)
    print(out, "  guard: and {} on objects, their types, and torch's own state (grad mode, ...)\n", others);
}

static void printGraph(unsigned index, const CaptureReport &report, raw_ostream &out) {
  const Capture::Graph &captured = report.capture.graphs[index];
  const Report &graph = report.graphs[index];
  printHeading(fmt::format("\ngraph {}: ", index), out);
  print(out, "{}, {} at {}; called {}\n", captured.end.function, captured.breaks ? "ends" : "returns",
        captured.end.source, describeCount(captured.calls, "time"));
  std::vector<std::string> operators;
  size_t total = 0;
  for (const auto &[name, number] : graph.ops) {
    total += number;
    operators.push_back(number > 1 ? fmt::format("{} x{}", name, number) : name);
  }
  print(out, "  operators: {} in Python, {} of ATen{}{}\n", captured.operators, total, operators.empty() ? "" : ": ",
        fmt::join(operators, ", "));
  printGuards(index, report.capture, out);
  if (!graph.breaks.empty()) {
    out << "  cannot be compiled (stays in PyTorch): " << graph.breaks.front().reason << '\n';
    return;
  }
  int64_t bytes = 0, operations = 0;
  for (const Report::Kernel &kernel : graph.kernels) {
    bytes += kernel.bytes.value;
    operations += kernel.flops.value;
  }
  print(out, "  ptc: {}, {} moved, {:.3g} operations, planned memory {}, no fallback\n",
        describeCount(graph.kernels.size(), "kernel"), describeBytes({bytes, ""}), static_cast<double>(operations),
        describeBytes(graph.peakBytes));
}

void print(const CaptureReport &report, raw_ostream &out) {
  const Capture &capture = report.capture;
  print(out, "{}: {}, captured by torch {}\n{}, {}, {}, {}\n", report.model, capture.target, capture.torch,
        describeCount(capture.graphs.size(), "graph"), describeCount(capture.breaks.size(), "break"),
        describeCount(capture.guards.size(), "guard"), describeCount(capture.paths.size(), "run"));
  if (capture.graphs.empty())
    out << "nothing is compiled: all of it runs in Python\n";
  printBreaks(report, out);
  for (unsigned i = 0; i < capture.graphs.size(); ++i)
    printGraph(i, report, out);
  if (!capture.graphs.empty())
    print(out, "\n`ptc explain {} --graph N` says all of one graph\n", report.model);
}

} // namespace ptc
