#include "compiler/explain/Report.h"

#include "compiler/support/Format.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace ptc {

static json::Array toJson(ArrayRef<std::string> strings) { return json::Array(strings); }

static json::Array toJson(ArrayRef<Report::Tensor> tensors) {
  json::Array array;
  for (const Report::Tensor &tensor : tensors) {
    json::Object object{{"name", tensor.name}, {"type", tensor.type}};
    if (tensor.isOptional)
      object["optional"] = true;
    array.push_back(std::move(object));
  }
  return array;
}

static json::Value toJson(const Report::Grid &grid) {
  json::Object object{{"blocks", grid.blocks.value}, {"threads", grid.threads}, {"shared_bytes", grid.sharedBytes}};
  if (!grid.blocks.text.empty())
    object["symbolic_blocks"] = grid.blocks.text;
  return object;
}

static json::Value toJson(const Report::Kernel &kernel) {
  json::Object object{{"name", kernel.name},         {"kind", kernel.kind},         {"ops", toJson(kernel.ops)},
                      {"bytes", kernel.bytes.value}, {"flops", kernel.flops.value}, {"source", kernel.source}};
  if (!kernel.algorithm.empty())
    object["algorithm"] = kernel.algorithm;
  if (!kernel.because.empty())
    object["because"] = kernel.because;
  if (!kernel.grids.empty()) {
    json::Array grids;
    for (const Report::Grid &grid : kernel.grids)
      grids.push_back(toJson(grid));
    object["grids"] = std::move(grids);
  }
  if (!kernel.modules.empty())
    object["modules"] = toJson(kernel.modules);
  if (!kernel.tuning.empty())
    object["tuning"] = kernel.tuning;
  if (kernel.milliseconds)
    object["measured_ns"] = std::llround(*kernel.milliseconds * 1e6);
  if (!kernel.elements.empty())
    object["elements"] = kernel.elements;
  if (!kernel.bytes.text.empty())
    object["symbolic_bytes"] = kernel.bytes.text;
  if (!kernel.flops.text.empty())
    object["symbolic_flops"] = kernel.flops.text;
  return object;
}

static json::Value toJson(const Report::Fallback &fallback) {
  json::Object object{
      {"op", fallback.op},         {"reason", fallback.reason},          {"node", fallback.node},
      {"source", fallback.source}, {"bytes_in", fallback.bytesIn.value}, {"bytes_out", fallback.bytesOut.value}};
  if (!fallback.bytesIn.text.empty())
    object["symbolic_bytes_in"] = fallback.bytesIn.text;
  if (!fallback.bytesOut.text.empty())
    object["symbolic_bytes_out"] = fallback.bytesOut.text;
  return object;
}

/// The ratio of signal to quantization noise, in decibels.
static double decibels(double error) { return error > 0 ? -20 * std::log10(error) : 0; }

static json::Value toJson(const Report::Quantized &weight) {
  return json::Object{{"weight", weight.weight},
                      {"type", weight.type},
                      {"node", weight.node},
                      {"bytes", weight.bytes},
                      {"int8_bytes", weight.quantizedBytes},
                      {"error", weight.error},
                      {"sqnr_db", decibels(weight.error)}};
}

static json::Array toJson(ArrayRef<Report::ForwardValue> values, bool isRepeated) {
  json::Array array;
  for (const Report::ForwardValue &value : values) {
    json::Object object{{"op", value.op},         {"type", value.type},   {"node", value.node},
                        {"source", value.source}, {"bytes", value.bytes}, {"estimated_ns", value.nanoseconds}};
    if (isRepeated)
      object["because"] = value.because;
    array.push_back(std::move(object));
  }
  return array;
}

static json::Value toJson(const Report::TrainingMemory &memory) {
  json::Array plans;
  for (auto [budget, peak] : memory.plans)
    plans.push_back(json::Object{{"budget", budget}, {"peak_bytes", peak}});
  return json::Object{{"budget", memory.budget ? json::Value(*memory.budget) : json::Value(nullptr)},
                      {"plans", std::move(plans)},
                      {"saved", toJson(memory.saved, /*isRepeated=*/false)},
                      {"repeated", toJson(memory.repeated, /*isRepeated=*/true)}};
}

json::Value toJson(const Report &report) {
  json::Object ops, lowered;
  for (const auto &[name, count] : report.ops)
    ops[name] = count;
  for (const auto &[name, count] : report.lowered)
    lowered[name] = count;
  json::Array breaks, unsupported, kernels;
  for (const Report::Break &item : report.breaks)
    breaks.push_back(json::Object{{"reason", item.reason}, {"node", item.node}, {"source", item.source}});
  for (const Report::Unsupported &item : report.unsupported)
    unsupported.push_back(json::Object{{"op", item.op}, {"sources", toJson(item.sources)}});
  for (const Report::Kernel &kernel : report.kernels)
    kernels.push_back(toJson(kernel));
  json::Array machines, quantized, fallbacks;
  for (const Report::Fallback &fallback : report.fallbacks)
    fallbacks.push_back(toJson(fallback));
  for (const Report::Quantized &weight : report.quantized)
    quantized.push_back(toJson(weight));
  for (const Report::Machine &machine : report.machines) {
    json::Object object{{"name", machine.name}, {"weight_bytes", machine.weightBytes}, {"chosen", machine.isChosen}};
    if (!machine.code.empty())
      object["code"] = machine.code;
    machines.push_back(std::move(object));
  }
  json::Object sizes;
  for (const auto &[name, size] : report.sizes)
    sizes[name] = size;
  json::Object object{{"model", report.model},
                      {"graphs", report.graphs},
                      {"breaks", static_cast<int64_t>(report.breaks.size())},
                      {"break_reasons", std::move(breaks)},
                      {"ops", std::move(ops)},
                      {"bfloat16_ops", std::move(lowered)},
                      {"unsupported", std::move(unsupported)},
                      {"warnings", toJson(report.warnings)},
                      {"inputs", toJson(report.inputs)},
                      {"outputs", toJson(report.outputs)},
                      {"states", toJson(report.states)},
                      {"mutations", toJson(report.mutations)},
                      {"guards", toJson(report.guards)},
                      {"equalities", toJson(report.equalities)},
                      {"sizes", std::move(sizes)},
                      {"kernels", std::move(kernels)},
                      {"quantized", std::move(quantized)},
                      {"weights", report.weightCount},
                      {"weight_bytes", report.weightBytes},
                      {"peak_bytes", report.peakBytes.value},
                      {"machines", std::move(machines)},
                      {"stored_bytes", report.storedBytes},
                      {"fallbacks", std::move(fallbacks)}};
  if (report.training)
    object["training"] = toJson(*report.training);
  if (report.comparison)
    object["comparison"] = toJson(*report.comparison);
  return object;
}

void printHeading(StringRef text, raw_ostream &out) {
  out.changeColor(raw_ostream::SAVEDCOLOR, /*Bold=*/true) << text;
  out.resetColor();
}

std::string describeBytes(const Quantity &bytes) {
  static constexpr StringLiteral kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes.value;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  std::string text = fmt::format("{:.{}f} {}", value, unit ? 1 : 0, kUnits[unit]);
  return bytes.text.empty() ? text : fmt::format("{} ({})", text, bytes.text);
}

std::string describeCount(size_t count, StringRef what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

static std::string describeNode(StringRef node) { return node.empty() ? "" : fmt::format(" [node {}]", node); }

static void printTensors(StringRef title, ArrayRef<Report::Tensor> tensors, raw_ostream &out) {
  for (auto [index, tensor] : enumerate(tensors))
    print(out, "{:{}}  {}: {}{}\n", index ? "" : title, title.size(), tensor.name, tensor.type,
          tensor.isOptional ? ", or as in the file" : "");
}

static void printOperators(StringRef title, const std::map<std::string, int64_t> &ops, raw_ostream &out) {
  int64_t total = 0;
  std::vector<std::pair<int64_t, StringRef>> ordered;
  for (const auto &[name, count] : ops) {
    total += count;
    ordered.push_back({-count, name});
  }
  llvm::sort(ordered);
  printHeading(fmt::format("\n{}: ", title), out);
  print(out, "{} of {} kinds\n", total, ordered.size());
  for (auto [count, name] : ordered)
    print(out, "  {:5}  {}\n", -count, name);
}

static void printFallbacks(const Report &report, raw_ostream &out) {
  printHeading("\nleft to the caller: ", out);
  print(out, "{}\n", describeCount(report.fallbacks.size(), "call"));
  for (const Report::Fallback &fallback : report.fallbacks)
    print(out, "  {}{} takes {} and answers {}{}\n      {}\n", fallback.source.empty() ? "" : fallback.source + ": ",
          fallback.op, describeBytes(fallback.bytesIn), describeBytes(fallback.bytesOut), describeNode(fallback.node),
          fallback.reason);
}

static void printQuantized(const Report &report, raw_ostream &out) {
  int64_t bytes = 0, quantizedBytes = 0;
  for (const Report::Quantized &weight : report.quantized) {
    bytes += weight.bytes;
    quantizedBytes += weight.quantizedBytes;
  }
  printHeading("\nquantized: ", out);
  print(out, "{}, {} as {}\n", describeCount(report.quantized.size(), "weight"), describeBytes({bytes, ""}),
        describeBytes({quantizedBytes, ""}));
  for (const Report::Quantized &weight : report.quantized)
    print(out, "  {} {}: relative error {:.2e}, SQNR {:.1f} dB{}\n", weight.weight, weight.type, weight.error,
          decibels(weight.error), describeNode(weight.node));
}

static void printValues(StringRef title, ArrayRef<Report::ForwardValue> values, bool isRepeated, raw_ostream &out) {
  int64_t bytes = 0, nanoseconds = 0;
  for (const Report::ForwardValue &value : values)
    bytes += value.bytes, nanoseconds += value.nanoseconds;
  print(out, "  {}: {}, {}{}\n", title, describeCount(values.size(), "value"), describeBytes({bytes, ""}),
        isRepeated ? fmt::format(", about {:.2f} ms", double(nanoseconds) * 1e-6) : "");
  for (const Report::ForwardValue &value : values)
    print(out, "    {}{} {}: {}{}{}\n", value.source.empty() ? "" : value.source + ": ", value.op, value.type,
          describeBytes({value.bytes, ""}), isRepeated ? ", because " + value.because : "", describeNode(value.node));
}

static void printTraining(const Report::TrainingMemory &memory, raw_ostream &out) {
  printHeading("\nmemory of the step: ", out);
  out << (memory.budget ? fmt::format("budget {}", *memory.budget) : "all that the backward pass reads is saved")
      << '\n';
  for (auto [budget, peak] : memory.plans)
    print(out, "  with --memory-budget {}: {}\n", budget, describeBytes({peak, ""}));
  if (!memory.budget)
    return;
  printValues("saved", memory.saved, /*isRepeated=*/false, out);
  printValues("computed again", memory.repeated, /*isRepeated=*/true, out);
}

static void printGrids(ArrayRef<Report::Grid> grids, raw_ostream &out) {
  for (const Report::Grid &grid : grids) {
    print(out, "      {} {} {} of {} threads", &grid == grids.begin() ? "grid of" : "then", grid.blocks.value,
          grid.blocks.value == 1 ? "block" : "blocks", grid.threads);
    if (grid.sharedBytes)
      print(out, ", {} of shared memory", describeBytes({grid.sharedBytes, ""}));
    if (!grid.blocks.text.empty())
      print(out, " (blocks: {})", grid.blocks.text);
    out << '\n';
  }
}

static void printKernels(const Report &report, raw_ostream &out) {
  printHeading("\nkernels: ", out);
  out << report.kernels.size() << '\n';
  for (const Report::Kernel &kernel : report.kernels) {
    print(out, "  {} ({}{}{}): {}", kernel.name, kernel.kind, kernel.algorithm.empty() ? "" : ", " + kernel.algorithm,
          kernel.elements.empty() ? "" : ", " + kernel.elements, describeBytes(kernel.bytes));
    if (kernel.flops.value)
      print(out, ", {:.3g} operations", static_cast<double>(kernel.flops.value));
    if (kernel.milliseconds)
      print(out, ", {:.4g} ms measured", *kernel.milliseconds);
    print(out, "{}\n      {}\n", kernel.source.empty() ? "" : ", " + kernel.source, fmt::join(kernel.ops, ", "));
    if (!kernel.modules.empty())
      print(out, "      in {}\n", fmt::join(kernel.modules, ", "));
    printGrids(kernel.grids, out);
    if (!kernel.because.empty())
      out << "      because: " << kernel.because << '\n';
  }
  out << "planned memory: " << describeBytes(report.peakBytes) << '\n';
  for (const Report::Machine &machine : report.machines)
    print(out, "code for {}: {}weights as its kernels read them {}{}\n", machine.name,
          machine.code.empty() ? "" : machine.code + "; ", describeBytes({machine.weightBytes, ""}),
          machine.isChosen ? " (runs on this machine)" : "");
  out << "weights in the library: " << describeBytes({report.storedBytes, ""}) << '\n';
}

void print(const Report &report, raw_ostream &out) {
  print(out, "{}: {}\n", report.model, describeCount(report.graphs, "graph"));
  for (const std::string &warning : report.warnings)
    out << "warning:  " << warning << '\n';
  printTensors("inputs: ", report.inputs, out);
  printTensors("outputs:", report.outputs, out);
  printTensors("states: ", report.states, out);
  for (const std::string &mutation : report.mutations)
    out << "updates:  " << mutation << '\n';
  for (const std::string &guard : report.guards)
    out << "guard:    " << guard << '\n';
  if (!report.equalities.empty())
    print(out,
          "versions: the library holds a second version, for calls that break {}: there, one of the sizes that are "
          "broadcast is 1. This report is of the first version\n",
          fmt::join(report.equalities, " or "));
  for (const auto &[name, size] : report.sizes)
    print(out, "size:     {} = {}\n", name, size);
  print(out, "weights:  {}, {}\n", report.weightCount, describeBytes({report.weightBytes, ""}));
  printOperators("operators", report.ops, out);
  if (!report.lowered.empty())
    printOperators("operators on bfloat16", report.lowered, out);

  for (const Report::Unsupported &item : report.unsupported) {
    printHeading("\nunsupported: ", out);
    print(out, "{}\n  at {}\n", item.op, fmt::join(item.sources, "\n  at "));
  }
  if (!report.breaks.empty()) {
    printHeading("\ncannot be compiled: ", out);
    print(out, "{}\n", describeCount(report.breaks.size(), "reason"));
    for (const Report::Break &item : report.breaks)
      print(out, "  {}{}{}\n", item.source.empty() ? "" : item.source + ": ", item.reason, describeNode(item.node));
    return;
  }
  if (!report.fallbacks.empty())
    printFallbacks(report, out);
  if (!report.quantized.empty())
    printQuantized(report, out);
  if (report.training)
    printTraining(*report.training, out);
  printKernels(report, out);
  if (report.comparison)
    print(*report.comparison, out);
}

} // namespace ptc
