//===- SharedPool.cpp - one pool for all models of a process --------------===//
//
// Every model brings a runtime of its own, but processors are the process's. So the first model that needs workers
// makes the pool, and those that come later find it by a symbol that all models have; they hold the library that made
// it, because its code is what the threads run.
//
//===----------------------------------------------------------------------===//

#include "runtime/Loader.h"
#include "runtime/Once.h"
#include "runtime/Pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace ptc::runtime {

/// Of the layout and the meaning of Pool: libraries that differ in it do not share.
constexpr uint32_t kPoolVersion = 5;

using GrowPool = void (*)(Pool *pool, int32_t size);

namespace {
struct PoolStorage {
  static Pool *pool;
  static GrowPool grow; ///< the owner's: its threads run its code
  static void *owner; ///< handle of the library that made the pool; null: this one
  static Once once;
  static bool find();
  static bool make();
};
} // namespace
Pool *PoolStorage::pool;
GrowPool PoolStorage::grow;
void *PoolStorage::owner;
Once PoolStorage::once;

/// The library's own pool, if it has made one; `grow` gets the function that starts workers.
extern "C" __attribute__((visibility("default"))) Pool *ptc_shared_workers(uint32_t version, GrowPool *grow) {
  Pool *pool = __atomic_load_n(&PoolStorage::pool, __ATOMIC_ACQUIRE);
  if (version != kPoolVersion || !pool || PoolStorage::owner || pool->isClosed())
    return nullptr;
  *grow = PoolStorage::grow;
  return pool;
}

/// In the child of a fork the pool is empty again: none of its threads is there.
bool PoolStorage::make() {
  void *memory = mmap(nullptr, sizeof(Pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  if (madvise(memory, sizeof(Pool), MADV_WIPEONFORK)) { // before Linux 4.14: better alone than hanging in a child
    bool isUnknown = errno == EINVAL;
    munmap(memory, sizeof(Pool));
    return isUnknown;
  }
  grow = [](Pool *pool, int32_t size) { pool->startWorkers(size); };
  static_cast<Pool *>(memory)->hostTeam.allow();
  __atomic_store_n(&pool, static_cast<Pool *>(memory), __ATOMIC_RELEASE);
  return true;
}

/// False when there is no memory for it now.
bool PoolStorage::find() {
  auto use = [](void *library, const char *, void *) {
    auto get = reinterpret_cast<decltype(&ptc_shared_workers)>(dlsym(library, "ptc_shared_workers"));
    Pool *found = get && get != ptc_shared_workers ? get(kPoolVersion, &grow) : nullptr;
    if (!found)
      return false;
    owner = library;
    __atomic_store_n(&pool, found, __ATOMIC_RELEASE);
    return true;
  };
  Search search = findLoaded([](const char *path, void *) { return strrchr(path, '/') != nullptr; }, use, nullptr);
  return search == Search::Found || (search == Search::NotThere && make());
}

Pool *Pool::get() {
  return PoolStorage::once.run(PoolStorage::find) ? PoolStorage::pool : nullptr;
}

void Pool::grow(int32_t wanted) { PoolStorage::grow(this, wanted); }

/// A library that is unloaded leaves nothing behind, no thread in its code above all.
__attribute__((destructor)) static void leavePool() {
  if (!PoolStorage::pool)
    return;
  if (PoolStorage::owner) {
    dlclose(PoolStorage::owner);
    return;
  }
  if (PoolStorage::pool->close()) // no call is running, as there may be when the process ends
    munmap(PoolStorage::pool, sizeof(Pool));
}

} // namespace ptc::runtime
