//===- Threads.cpp --------------------------------------------------------===//

#include "compiler/Threads.h"

#include "llvm/Support/Threading.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace ptc {

void runOnThreads(size_t most, llvm::function_ref<void()> run) {
  size_t threads = most > 1 ? std::min<size_t>(llvm::hardware_concurrency().compute_thread_count(), most) : 1;
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i)
    others.emplace_back(run);
  run();
  for (std::thread &other : others)
    other.join();
}

} // namespace ptc
