//===- Progress.h - what a long compilation is at --------------------------===//
#pragma once

#include "compiler/support/Threads.h"
#include "compiler/support/Times.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace ptc {

/// One line for people who wait: `  12.3 s  kernels for x86-64-v4: 40 of 112`. It appears when a compilation takes
/// longer than `patience`, is written over as it goes on, and is gone when this ends.
class Progress {
public:
  Progress(Times &times, llvm::raw_ostream &out, std::chrono::milliseconds patience = std::chrono::milliseconds(700));
  ~Progress();
  Progress(const Progress &) = delete;

private:
  void show();

  Times &times;
  llvm::raw_ostream &out;
  const std::chrono::milliseconds patience;
  const std::chrono::steady_clock::time_point start;
  std::mutex mutex; ///< of what follows
  std::condition_variable ended;
  std::string what;
  bool isEnded = false;
  std::optional<Thread> thread;
};

} // namespace ptc
