#include "compiler/explain/Html.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace llvm;

extern "C" {
extern const unsigned char ptc_embedded_report[];
extern const unsigned long ptc_embedded_report_size;
}

namespace ptc {

//===----------------------------------------------------------------------===//
// The user's lines
//===----------------------------------------------------------------------===//

namespace {
/// Which lines of which files the page shows.
class Sources {
public:
  /// "net.py:12, net.py:14:3"
  void add(StringRef places) {
    SmallVector<StringRef> list;
    places.split(list, ", ", -1, /*KeepEmpty=*/false);
    for (StringRef place : list) {
      auto [file, line] = place.rsplit(':');
      unsigned number;
      if (!line.getAsInteger(10, number) && number > 0)
        lines[file.str()].insert(number);
    }
  }

  json::Value toJson() const {
    json::Array files;
    for (const auto &[file, numbers] : lines)
      files.push_back(json::Object{{"file", file}, {"lines", readLines(file, numbers)}});
    return files;
  }

private:
  static constexpr unsigned kAround = 2;
  static constexpr uint64_t kMaxBytes = 4 << 20;

  /// The lines with a few around them; without text where the file is not there (any more).
  static json::Array readLines(const std::string &file, const std::set<unsigned> &numbers) {
    SmallVector<StringRef> text;
    std::unique_ptr<MemoryBuffer> buffer;
    uint64_t size;
    if (sys::fs::is_regular_file(file) && !sys::fs::file_size(file, size) && size <= kMaxBytes)
      if (auto read = MemoryBuffer::getFile(file, /*IsText=*/true)) {
        buffer = std::move(*read);
        buffer->getBuffer().split(text, '\n');
      }
    std::set<unsigned> shown;
    for (unsigned number : numbers)
      for (unsigned n = number > kAround ? number - kAround : 1; n <= number + kAround; ++n)
        if (n == number || n <= text.size())
          shown.insert(n);
    json::Array result;
    for (unsigned number : shown) {
      StringRef line = number <= text.size() ? text[number - 1].rtrim().take_front(300) : "";
      result.push_back(json::Array{static_cast<int64_t>(number), json::fixUTF8(line)});
    }
    return result;
  }

  std::map<std::string, std::set<unsigned>> lines;
};
} // namespace

//===----------------------------------------------------------------------===//
// The data
//===----------------------------------------------------------------------===//

static json::Value graphToJson(const Report &report, Sources &sources) {
  json::Value value = toJson(report);
  json::Object &object = *value.getAsObject();
  for (auto [kernel, entry] : zip(report.kernels, *object.getArray("kernels"))) {
    json::Object &fields = *entry.getAsObject();
    fields["type"] = kernel.type;
    fields["from"] = json::Array(kernel.from);
    fields["reads"] = json::Array(kernel.reads);
    fields["writes"] = json::Array(kernel.writes);
    fields["weight_bytes"] = kernel.weightBytes;
    sources.add(kernel.source);
  }
  json::Array nodes, buffers;
  for (const Report::Node &node : report.nodes) {
    nodes.push_back(json::Object{{"name", node.name}, {"op", node.op}, {"source", node.source}});
    sources.add(node.source);
  }
  for (const Report::Buffer &buffer : report.buffers)
    buffers.push_back(json::Array{buffer.offset, buffer.bytes, buffer.first, buffer.last});
  object["nodes"] = std::move(nodes);
  object["buffers"] = std::move(buffers);
  object["peak_text"] = report.peakBytes.text;
  for (const Report::Break &item : report.breaks)
    sources.add(item.source);
  return value;
}

static void printPage(json::Object data, const Sources &sources, const MachineLimits &limits, raw_ostream &out) {
  data["sources"] = sources.toJson();
  data["limits"] =
      json::Object{{"gigaflops", limits.gigaflops}, {"gigabytes", limits.gigabytes}, {"origin", limits.origin}};
  std::string text = formatv("{0}", json::Value(std::move(data)));
  StringRef page(reinterpret_cast<const char *>(ptc_embedded_report), ptc_embedded_report_size);
  auto [head, tail] = page.split("@DATA@");
  out << head;
  // Nothing in the data may end the element that it stands in.
  for (char c : text)
    if (c == '<')
      out << "\\u003c";
    else
      out << c;
  out << tail;
}

void printHtml(const Report &report, const MachineLimits &limits, raw_ostream &out) {
  Sources sources;
  json::Array graphs;
  graphs.push_back(graphToJson(report, sources));
  printPage(json::Object{{"model", report.model}, {"graphs", std::move(graphs)}}, sources, limits, out);
}

void printHtml(const CaptureReport &report, const MachineLimits &limits, raw_ostream &out) {
  Sources sources;
  json::Value capture = toJson(report);
  json::Array graphs;
  for (auto [index, graph] : enumerate(report.graphs)) {
    json::Value value = graphToJson(graph, sources);
    json::Object &object = *value.getAsObject();
    object["function"] = report.capture.graphs[index].end.function;
    object["source"] = report.capture.graphs[index].end.source;
    object["calls"] = report.capture.graphs[index].calls;
    graphs.push_back(std::move(value));
  }
  for (const Capture::Break &found : report.capture.breaks)
    sources.add(found.place.source);
  json::Object &all = *capture.getAsObject();
  json::Object data{{"model", report.model},
                    {"target", report.capture.target},
                    {"graphs", std::move(graphs)},
                    {"breaks", std::move(*all.get("break_reasons"))},
                    {"transitions", std::move(*all.get("transitions"))},
                    {"runs", std::move(*all.get("runs"))}};
  printPage(std::move(data), sources, limits, out);
}

} // namespace ptc
