//===- SharedPool.cpp - one pool for all models of a process --------------===//
//
// Every model brings a runtime of its own, but processors are the process's. So the first model that needs workers
// makes the pool, and those that come later find it by a symbol that all models have; they hold the library that made
// it, because its code is what the threads run.
//
//===----------------------------------------------------------------------===//

#include "runtime/Loader.h"
#include "runtime/Pool.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace ptc::runtime {

/// Of the layout and the meaning of Pool: libraries that differ in it do not share.
constexpr uint32_t kPoolVersion = 2;

using GrowPool = void (*)(Pool *pool, int32_t size);

namespace {
struct PoolStorage {
  static Pool *pool;
  static GrowPool grow; ///< the owner's: its threads run its code
  static void *owner; ///< handle of the library that made the pool; null: this one
  static pthread_once_t once;
  static void find();
  static void make();
};
} // namespace
Pool *PoolStorage::pool;
GrowPool PoolStorage::grow;
void *PoolStorage::owner;
pthread_once_t PoolStorage::once = PTHREAD_ONCE_INIT;

/// The library's own pool, if it has made one; `grow` gets the function that starts workers.
extern "C" __attribute__((visibility("default"))) Pool *ptc_shared_workers(uint32_t version, GrowPool *grow) {
  Pool *pool = __atomic_load_n(&PoolStorage::pool, __ATOMIC_ACQUIRE);
  if (version != kPoolVersion || !pool || PoolStorage::owner || pool->isClosed())
    return nullptr;
  *grow = PoolStorage::grow;
  return pool;
}

/// In the child of a fork the pool is empty again: none of its threads is there.
void PoolStorage::make() {
  void *memory = mmap(nullptr, sizeof(Pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  if (madvise(memory, sizeof(Pool), MADV_WIPEONFORK)) { // before Linux 4.14: better alone than hanging in a child
    munmap(memory, sizeof(Pool));
    return;
  }
  grow = [](Pool *pool, int32_t size) { pool->startWorkers(size); };
  __atomic_store_n(&pool, static_cast<Pool *>(memory), __ATOMIC_RELEASE);
}

void PoolStorage::find() {
  auto use = [](void *library, const char *, void *) {
    auto get = reinterpret_cast<decltype(&ptc_shared_workers)>(dlsym(library, "ptc_shared_workers"));
    Pool *found = get && get != ptc_shared_workers ? get(kPoolVersion, &grow) : nullptr;
    if (!found)
      return false;
    owner = library;
    __atomic_store_n(&pool, found, __ATOMIC_RELEASE);
    return true;
  };
  if (!findLoaded([](const char *path, void *) { return path[0] == '/'; }, use, nullptr))
    make();
}

Pool *Pool::get() {
  pthread_once(&PoolStorage::once, PoolStorage::find);
  return PoolStorage::pool;
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
