// What this machine can do at best, for the roofline of `ptc explain --html`.
#include "tools/ptc/Limits.h"

#include "compiler/support/Format.h"
#include "compiler/support/Threads.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <list>
#include <thread>
#include <vector>

namespace ptc {

/// The fastest that /proc/cpuinfo names; 0 where it names none.
static double getGigahertz() {
  std::ifstream info("/proc/cpuinfo");
  double megahertz = 0;
  for (std::string line; std::getline(info, line);)
    if (llvm::StringRef(line).starts_with("cpu MHz")) {
      double value = 0;
      if (llvm::to_float(llvm::StringRef(line).split(':').second.trim(), value))
        megahertz = std::max(megahertz, value);
    }
  return megahertz / 1000;
}

/// Reads and writes far more than caches hold, on all processors; the best of a few rounds.
static double measureGigabytes(unsigned threads) {
  constexpr size_t kDoubles = 4 << 20;
  constexpr int kRounds = 3;
  std::vector<std::vector<double>> from(threads, std::vector<double>(kDoubles, 1.0)), to = from;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    std::list<Thread> workers;
    for (unsigned i = 0; i < threads; ++i)
      workers.emplace_back([&, i] { std::copy(from[i].begin(), from[i].end(), to[i].begin()); });
    for (Thread &worker : workers)
      worker.join();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, threads * kDoubles * sizeof(double) * 2 / seconds / 1e9);
  }
  return best;
}

MachineLimits findLimits(double gigaflops, double gigabytes, unsigned vectorBytes) {
  MachineLimits limits{gigaflops, gigabytes, "as given"};
  if (gigaflops > 0 && gigabytes > 0)
    return limits;
  unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
  double gigahertz = getGigahertz();
  gigahertz = gigahertz > 0 ? gigahertz : 3;
  size_t lanes = std::max(vectorBytes, 32u) / sizeof(float);
  if (gigaflops <= 0) // two fused multiply-adds a cycle
    limits.gigaflops = threads * gigahertz * lanes * 2 * 2;
  if (gigabytes <= 0)
    limits.gigabytes = measureGigabytes(threads);
  limits.origin =
      fmt::format("of the machine that made this page: {} processors at {:.1f} GHz by name, memory measured by copying",
                  threads, gigahertz);
  return limits;
}

} // namespace ptc
