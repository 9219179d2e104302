#include "tools/ptc/BenchReport.h"

#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/Version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <numeric>

using namespace llvm;

namespace ptc {
namespace {

/// The smallest time that at least `fraction` of the calls kept to.
double percentile(ArrayRef<double> sorted, double fraction) {
  size_t rank = static_cast<size_t>(std::ceil(fraction * sorted.size()));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

/// A column: its value as JSON and CSV have it.
struct Field {
  StringRef name;
  std::string value;
  bool isText = false;
};

/// As many digits as mean something.
Field number(StringRef name, double value) { return {name, fmt::format("{:.6g}", value)}; }
Field count(StringRef name, int64_t value) { return {name, std::to_string(value)}; }
Field text(StringRef name, StringRef value) { return {name, value.str(), true}; }

int64_t countCalls(const Measured &measured) {
  return measured.onGpu ? measured.onGpu->calls : static_cast<int64_t>(measured.sorted.size());
}

std::vector<Field> list(const Measured &measured, const ptc_signature &model, const BenchOptions &options) {
  ArrayRef<double> times = measured.sorted;
  const ptc_memory &memory = measured.memory;
  double calls = countCalls(measured);
  std::vector<Field> fields = {
      text("model", model.model),
      text("version", kVersion),
      text("target", model.target),
      text("machine", measured.machine),
      number("median_ms", percentile(times, 0.5)),
      number("p10_ms", percentile(times, 0.1)),
      number("p90_ms", percentile(times, 0.9)),
      number("p95_ms", percentile(times, 0.95)),
      number("p99_ms", percentile(times, 0.99)),
      number("min_ms", times.front()),
      number("max_ms", times.back()),
      number("mean_ms", std::accumulate(times.begin(), times.end(), 0.0) / times.size()),
      count("repeat", calls),
      count("callers", options.callers),
      number("pause_ms", options.pause),
      number("calls_per_s", calls / measured.seconds),
      number("cpu_ms", measured.cpu),
      number("cpu_after_ms", measured.cpuBetween),
      count("threads", measured.threading.threads),
      number("threads_used", measured.threads),
      number("wakeups", measured.wakeups),
      count("arena_bytes", memory.arena),
      count("weight_bytes", memory.weights),
      count("peak_bytes", memory.weights + memory.states + memory.peak),
      number("load_ms", measured.loadMs),
  };
  if (measured.gpu) {
    const cuda::LocalDriver &driver = measured.gpu->driver;
    fields.insert(fields.end(), {text("gpu", measured.gpu->name), text("driver", driver.release),
                                 text("cuda", fmt::format("{}.{}", driver.major, driver.minor)),
                                 number("driver_start_ms", measured.gpu->startMs)});
  }
  if (measured.onGpu)
    fields.insert(fields.end(),
                  {count("batches", measured.onGpu->each.size()), number("latency_ms", measured.onGpu->latency),
                   number("host_ms", measured.onGpu->host)});
  return fields;
}

/// What a call must give; others may lie behind it.
auto zipShapes(const Tensors &inputs, const ptc_signature &model) {
  return zip(ArrayRef(model.inputs, model.input_count), inputs);
}

void printJson(ArrayRef<Field> fields, const Tensors &inputs, const ptc_signature &model) {
  json::OStream out(outs());
  out.object([&] {
    for (const Field &field : fields) {
      out.attributeBegin(field.name);
      field.isText ? out.value(field.value) : out.rawValue(field.value);
      out.attributeEnd();
    }
    out.attributeObject("inputs", [&] {
      for (auto [input, tensor] : zipShapes(inputs, model))
        out.attribute(input.name, json::Array(tensor->shape));
    });
  });
  outs() << '\n';
}

/// A line of names and one of values; "images 1x3x224x224" for each input.
void printCsv(std::vector<Field> fields, const Tensors &inputs, const ptc_signature &model) {
  std::string shapes;
  for (auto [input, tensor] : zipShapes(inputs, model))
    shapes += fmt::format("{}{} {}", shapes.empty() ? "" : "; ", input.name, fmt::join(tensor->shape, "x"));
  fields.push_back(text("inputs", shapes));
  auto quote = [](const Field &field) {
    if (!field.isText)
      return field.value;
    std::string quoted = "\"";
    for (char c : field.value)
      quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
  };
  auto names = map_range(fields, [](const Field &field) { return field.name.str(); });
  auto values = map_range(fields, quote);
  print(outs(), "{}\n{}\n", fmt::join(names.begin(), names.end(), ","), fmt::join(values.begin(), values.end(), ","));
}

/// With sizes that are open, "inputs: images [1, 3, 224, 224] (made up; --shape or --inputs for others)".
void printShapes(const Tensors &inputs, const ptc_signature &model, const BenchOptions &options) {
  bool isOpen = any_of(ArrayRef(model.symbols, model.symbol_count),
                       [](const ptc_symbol &symbol) { return symbol.min != symbol.max; });
  if (!isOpen)
    return;
  StringRef before = "inputs:";
  for (auto [input, tensor] : zipShapes(inputs, model)) {
    print(outs(), "{} {} [{}]", before.str(), toPrintable(input.name), fmt::join(tensor->shape, ", "));
    before = ",";
  }
  outs() << (options.inputs.empty() && options.sizes.empty() ? " (made up; --shape or --inputs for others)\n" : "\n");
}

void printGpu(const Measured &measured) {
  if (measured.gpu)
    print(outs(), "on {}, driver {}: {:.0f} ms to load the model, {:.0f} ms before that to start the driver\n",
          measured.gpu->name, measured.gpu->driver.release, measured.loadMs, measured.gpu->startMs);
  if (measured.onGpu)
    print(outs(), "times are of {} batches, for a call; one alone: {:.4f} ms, of which {:.4f} until it returns\n",
          measured.onGpu->each.size(), measured.onGpu->latency, measured.onGpu->host);
}

void printText(const Measured &measured, const ptc_signature &model) {
  constexpr double kMebibyte = 1 << 20;
  ArrayRef<double> times = measured.sorted;
  print(outs(),
        "{}: median {:.4f} ms, p10 {:.4f}, p90 {:.4f}, p99 {:.4f} over {} calls on {} threads, code for {}\n"
        "a call: {:.4f} ms of processors and {:.4f} after it, {:.2f} threads, {:.2f} woken; {:.1f} calls a second\n"
        "memory: {:.2f} MiB weights, {:.2f} MiB states, {:.2f} MiB working memory\n",
        toPrintable(model.model), percentile(times, 0.5), percentile(times, 0.1), percentile(times, 0.9),
        percentile(times, 0.99), countCalls(measured), measured.threading.threads, measured.machine, measured.cpu,
        measured.cpuBetween, measured.threads, measured.wakeups, countCalls(measured) / measured.seconds,
        measured.memory.weights / kMebibyte, measured.memory.states / kMebibyte, measured.memory.peak / kMebibyte);
  printGpu(measured);
}

} // namespace

void print(const Measured &measured, const Tensors &inputs, const ptc_signature &model, const BenchOptions &options) {
  if (options.json)
    return printJson(list(measured, model, options), inputs, model);
  if (options.csv)
    return printCsv(list(measured, model, options), inputs, model);
  printShapes(inputs, model, options);
  printText(measured, model);
}

} // namespace ptc
