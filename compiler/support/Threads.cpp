#include "compiler/support/Threads.h"

#include "llvm/Support/Threading.h"

#include <algorithm>
#include <list>

namespace ptc {

// std::thread would throw where it cannot be started.
Thread::Thread(std::function<void()> given) : work(std::move(given)) {
  auto run = [](void *work) -> void * {
    (*static_cast<std::function<void()> *>(work))();
    return nullptr;
  };
  isStarted = pthread_create(&handle, nullptr, run, &work) == 0;
}

void Thread::join() {
  if (!work)
    return;
  if (isStarted)
    pthread_join(handle, nullptr);
  else
    work();
  work = nullptr;
}

void runOnThreads(size_t most, llvm::function_ref<void()> run) {
  size_t threads = most > 1 ? std::min<size_t>(llvm::hardware_concurrency().compute_thread_count(), most) : 1;
  std::list<Thread> others;
  for (size_t i = 1; i < threads; ++i)
    others.emplace_back(run);
  run();
}

} // namespace ptc
