#include "compiler/explain/Comparison.h"

#include "compiler/explain/Report.h"
#include "compiler/support/Format.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace llvm;

namespace ptc {

//===----------------------------------------------------------------------===//
// Two reports as one
//===----------------------------------------------------------------------===//

static Comparison::Kernel take(const Report::Kernel &kernel) {
  return {kernel.name,
          kernel.kind,
          kernel.algorithm,
          kernel.ops,
          double(kernel.bytes.value),
          double(kernel.flops.value),
          kernel.milliseconds};
}

static Comparison::Kernel take(const json::Object &kernel) {
  auto text = [&](StringRef name) { return kernel.getString(name).value_or("").str(); };
  Comparison::Kernel taken{text("name"),
                           text("kind"),
                           text("algorithm"),
                           {},
                           kernel.getNumber("bytes").value_or(0),
                           kernel.getNumber("flops").value_or(0),
                           {}};
  if (const json::Array *ops = kernel.getArray("ops"))
    for (const json::Value &op : *ops)
      taken.ops.push_back(op.getAsString().value_or("").str());
  if (std::optional<double> nanoseconds = kernel.getNumber("measured_ns"))
    taken.milliseconds = *nanoseconds * 1e-6;
  return taken;
}

static Comparison::Totals sum(ArrayRef<Comparison::Kernel> kernels, double peakBytes, double storedBytes) {
  Comparison::Totals totals;
  totals.kernels = kernels.size();
  totals.peakBytes = peakBytes;
  totals.storedBytes = storedBytes;
  double milliseconds = 0;
  for (const Comparison::Kernel &kernel : kernels) {
    totals.bytes += kernel.bytes;
    totals.flops += kernel.flops;
    milliseconds += kernel.milliseconds.value_or(0);
  }
  if (!kernels.empty() && all_of(kernels, [](const auto &kernel) { return kernel.milliseconds.has_value(); }))
    totals.milliseconds = milliseconds;
  return totals;
}

static bool areSame(const Comparison::Kernel &a, const Comparison::Kernel &b) {
  return std::tie(a.kind, a.algorithm, a.ops, a.bytes, a.flops) ==
         std::tie(b.kind, b.algorithm, b.ops, b.bytes, b.flops);
}

/// Kernels are numbered, the report's own first.
static std::vector<Comparison::Row> pair(ArrayRef<Comparison::Kernel> now, ArrayRef<Comparison::Kernel> before) {
  auto at = [&](size_t i) -> const Comparison::Kernel & { return i < now.size() ? now[i] : before[i - now.size()]; };
  EquivalenceClasses<size_t> classes;
  std::map<StringRef, size_t> owners;
  for (size_t i = 0; i < now.size() + before.size(); ++i) {
    classes.insert(i);
    for (const std::string &op : at(i).ops)
      if (auto [owner, isNew] = owners.try_emplace(op, i); !isNew)
        classes.unionSets(owner->second, i);
  }
  std::vector<Comparison::Row> rows;
  std::map<size_t, size_t> places; // of a class's leader
  for (size_t i = 0; i < now.size() + before.size(); ++i) {
    auto [place, isNew] = places.try_emplace(classes.getLeaderValue(i), rows.size());
    if (isNew)
      rows.emplace_back();
    Comparison::Row &row = rows[place->second];
    if (i < now.size())
      row.now.push_back(i);
    else
      row.before.push_back(at(i));
  }
  for (Comparison::Row &row : rows)
    row.isSame = row.now.size() == 1 && row.before.size() == 1 && areSame(now[row.now[0]], row.before[0]);
  return rows;
}

Expected<Comparison> compare(const Report &report, const json::Value &baseline, StringRef name) {
  const json::Object *object = baseline.getAsObject();
  const json::Array *kernels = object ? object->getArray("kernels") : nullptr;
  if (!kernels)
    return createStringError(name + ": is no report of a model (ptc explain MODEL --json writes one)");
  std::vector<Comparison::Kernel> before;
  for (const json::Value &kernel : *kernels)
    if (const json::Object *fields = kernel.getAsObject())
      before.push_back(take(*fields));
  auto number = [&](StringRef member) { return object->getNumber(member).value_or(0); };
  Comparison comparison;
  comparison.baseline = name.str();
  for (const Report::Kernel &kernel : report.kernels)
    comparison.kernels.push_back(take(kernel));
  comparison.before = sum(before, number("peak_bytes"), number("stored_bytes"));
  comparison.now = sum(comparison.kernels, report.peakBytes.value, report.storedBytes);
  comparison.rows = pair(comparison.kernels, before);
  return comparison;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value toJson(const Comparison::Kernel &kernel) {
  json::Object object{{"name", kernel.name},
                      {"kind", kernel.kind},
                      {"ops", json::Array(kernel.ops)},
                      {"bytes", kernel.bytes},
                      {"flops", kernel.flops}};
  if (!kernel.algorithm.empty())
    object["algorithm"] = kernel.algorithm;
  if (kernel.milliseconds)
    object["measured_ns"] = std::llround(*kernel.milliseconds * 1e6);
  return object;
}

static json::Value toJson(const Comparison::Totals &totals) {
  json::Object object{{"kernels", totals.kernels},
                      {"bytes", totals.bytes},
                      {"flops", totals.flops},
                      {"peak_bytes", totals.peakBytes},
                      {"stored_bytes", totals.storedBytes}};
  if (totals.milliseconds)
    object["measured_ns"] = std::llround(*totals.milliseconds * 1e6);
  return object;
}

json::Value toJson(const Comparison &comparison) {
  json::Array rows;
  for (const Comparison::Row &row : comparison.rows) {
    json::Array now, before;
    for (size_t index : row.now)
      now.push_back(static_cast<int64_t>(index));
    for (const Comparison::Kernel &kernel : row.before)
      before.push_back(toJson(kernel));
    rows.push_back(json::Object{{"kernels", std::move(now)}, {"baseline", std::move(before)}, {"same", row.isSame}});
  }
  return json::Object{{"baseline", comparison.baseline},
                      {"before", toJson(comparison.before)},
                      {"now", toJson(comparison.now)},
                      {"rows", std::move(rows)}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "(-12 %)"; nothing where it is less than half a percent.
static std::string describeChange(double before, double now) {
  double percent = before > 0 ? 100 * (now / before - 1) : 0;
  return std::abs(percent) < 0.5 ? "" : fmt::format(" ({:+.0f} %)", percent);
}

/// A file may say anything.
static std::string describeSize(double bytes) {
  return describeBytes({static_cast<int64_t>(std::clamp(bytes, 0.0, 9e18)), ""});
}

static std::string describe(ArrayRef<Comparison::Kernel> kernels) {
  std::string text;
  for (const Comparison::Kernel &kernel : kernels)
    text += (text.empty() ? "" : " + ") + kernel.name +
            (kernel.algorithm.empty() ? "" : fmt::format(" ({})", kernel.algorithm));
  return text.empty() ? "nothing" : text;
}

/// Kernels that stayed as they are, and took as long, are only counted.
static bool isWorthALine(const Comparison::Row &row, const Comparison::Totals &before, const Comparison::Totals &now) {
  return !row.isSame ||
         (before.milliseconds && now.milliseconds && std::abs(*now.milliseconds / *before.milliseconds - 1) > 0.1);
}

void print(const Comparison &comparison, raw_ostream &out) {
  printHeading("\ncompared with ", out);
  out << comparison.baseline << '\n';
  auto line = [&](StringRef what, double before, double now, auto &&describeOne) {
    print(out, "  {}: {} -> {}{}\n", what, describeOne(before), describeOne(now), describeChange(before, now));
  };
  auto count = [](double value) { return fmt::format("{:.4g}", value); };
  auto time = [](double value) { return fmt::format("{:.4g} ms", value); };
  const Comparison::Totals &before = comparison.before, &now = comparison.now;
  line("kernels", before.kernels, now.kernels, count);
  line("moved", before.bytes, now.bytes, describeSize);
  line("operations", before.flops, now.flops, count);
  line("planned memory", before.peakBytes, now.peakBytes, describeSize);
  line("weights in the library", before.storedBytes, now.storedBytes, describeSize);
  if (before.milliseconds && now.milliseconds)
    line("measured in kernels", *before.milliseconds, *now.milliseconds, time);
  size_t others = 0;
  for (const Comparison::Row &row : comparison.rows) {
    std::vector<Comparison::Kernel> kernels;
    for (size_t index : row.now)
      kernels.push_back(comparison.kernels[index]);
    Comparison::Totals was = sum(row.before, 0, 0), is = sum(kernels, 0, 0);
    if (!isWorthALine(row, was, is)) {
      ++others;
      continue;
    }
    print(out, "  {} -> {}\n      moved {} -> {}{}", describe(row.before), describe(kernels), describeSize(was.bytes),
          describeSize(is.bytes), describeChange(was.bytes, is.bytes));
    if (was.milliseconds && is.milliseconds)
      print(out, ", measured {} -> {}{}", time(*was.milliseconds), time(*is.milliseconds),
            describeChange(*was.milliseconds, *is.milliseconds));
    out << '\n';
  }
  if (others)
    print(out, "  {} as before\n", describeCount(others, "kernel"));
}

} // namespace ptc
