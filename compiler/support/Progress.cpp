#include "compiler/support/Progress.h"

#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"

namespace ptc {

/// To the line's beginning, with all behind it erased.
static constexpr llvm::StringLiteral kEraseLine = "\r\033[K";

Progress::Progress(Times &times, llvm::raw_ostream &out, std::chrono::milliseconds patience)
    : times(times), out(out), patience(patience), start(std::chrono::steady_clock::now()) {
  times.watch([this](llvm::StringRef begun) {
    std::lock_guard<std::mutex> lock(mutex);
    what = begun.str();
  });
  thread.emplace([this] { show(); });
}

Progress::~Progress() {
  times.watch(nullptr);
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnded = true;
  }
  ended.notify_one();
  thread->join();
}

void Progress::show() {
  std::unique_lock<std::mutex> lock(mutex);
  auto wait = patience;
  bool isShown = false;
  while (!ended.wait_for(lock, wait, [this] { return isEnded; })) {
    print(out, "{}{:6.1f} s  {}", kEraseLine, millisecondsSince(start) / 1000,
          toPrintable(llvm::StringRef(what).take_front(60)));
    out.flush();
    isShown = true;
    wait = std::chrono::milliseconds(100);
  }
  if (isShown)
    out << kEraseLine;
  out.flush();
}

} // namespace ptc
