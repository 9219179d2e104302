#include "compiler/support/Times.h"

#include "compiler/support/Format.h"

#include "llvm/ADT/STLExtras.h"

namespace ptc {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Times::Times() : entries(1), start(Clock::now()) {}

Times::Span::Span(Times &times, llvm::StringRef name)
    : times(times), entry(times.entries.size()), start(Clock::now()) {
  times.entries[times.open.back()].parts.push_back(entry);
  times.entries.push_back({name.str(), "", 0, {}});
  times.open.push_back(entry);
  times.show(name);
}

Times::Span::~Span() {
  times.entries[entry].milliseconds = millisecondsSince(start);
  times.open.pop_back();
}

void Times::add(llvm::StringRef name, double milliseconds) {
  entries[open.back()].parts.push_back(entries.size());
  entries.push_back({name.str(), "", milliseconds, {}});
}

void Times::note(llvm::StringRef text) { entries[open.back()].note = text.str(); }

static void printRow(llvm::raw_ostream &out, double milliseconds, double total, unsigned depth, llvm::StringRef text) {
  double share = total > 0 ? 100 * milliseconds / total : 0;
  print(out, "{:9.1f} ms {:5.1f} %  {:{}}{}\n", milliseconds, share, "", 2 * depth, text);
}

void Times::print(llvm::raw_ostream &out, const Entry &entry, unsigned depth, double total) const {
  printRow(out, entry.milliseconds, total, depth, entry.note.empty() ? entry.name : entry.name + ": " + entry.note);
  constexpr double kWorthARow = 0.01;
  constexpr size_t kRows = 12;
  std::vector<size_t> order = entry.parts;
  if (order.size() > kRows) // only the longest have rows, so they stand first
    llvm::stable_sort(order, [&](size_t a, size_t b) { return entries[a].milliseconds > entries[b].milliseconds; });
  double rest = 0;
  size_t restCount = 0;
  for (auto [row, part] : llvm::enumerate(order)) {
    const Entry &inner = entries[part];
    if (row < kRows && (inner.milliseconds >= kWorthARow * total || !inner.note.empty())) {
      print(out, inner, depth + 1, total);
      continue;
    }
    rest += inner.milliseconds;
    ++restCount;
  }
  if (restCount && restCount < order.size())
    printRow(out, rest, total, depth + 1, fmt::format("{} others", restCount));
}

void Times::print(llvm::raw_ostream &out) const {
  Entry whole = entries.front();
  whole.name = "in all";
  whole.milliseconds = millisecondsSince(start);
  print(out, whole, 0, whole.milliseconds);
}

} // namespace ptc
