//===- Times.h - where the time of a compilation goes ----------------------===//
//
// For `ptc compile --time`. Recording costs nothing worth asking about, so it is
// always done; whether it is printed is the caller's business.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace ptc {

/// Spans within spans, of one thread; what other threads did is added by `add`.
class Times {
public:
  Times();

  /// From its making to its end; within the span that is open then.
  class Span {
  public:
    Span(Times &times, llvm::StringRef name);
    ~Span();
    Span(const Span &) = delete;

  private:
    Times &times;
    size_t entry;
    std::chrono::steady_clock::time_point start;
  };

  /// A part of the open span that was measured elsewhere; threads may make the parts longer than the whole.
  void add(llvm::StringRef name, double milliseconds);
  /// What there is to say about the open span, behind its name.
  void note(llvm::StringRef text);

  /// `watcher` is told of what is begun, from here on; null: nobody is.
  void watch(std::function<void(llvm::StringRef)> watcher) { this->watcher = std::move(watcher); }
  /// Tells the watcher, from any thread.
  void show(llvm::StringRef what) const {
    if (watcher)
      watcher(what);
  }

  /// A table: milliseconds, share of the whole, name. Of parts that take next to nothing, and say
  /// nothing, only the sum is told.
  void print(llvm::raw_ostream &out) const;

private:
  struct Entry {
    std::string name, note;
    double milliseconds = 0;
    std::vector<size_t> parts;
  };
  void print(llvm::raw_ostream &out, const Entry &entry, unsigned depth, double total) const;

  std::vector<Entry> entries; ///< the first is the whole
  std::vector<size_t> open{0};
  std::chrono::steady_clock::time_point start;
  std::function<void(llvm::StringRef)> watcher;
};

double millisecondsSince(std::chrono::steady_clock::time_point start);

} // namespace ptc
