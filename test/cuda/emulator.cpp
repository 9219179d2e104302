// The threads of a block as fibers, and what kernels ask of the machine: their places, barriers, shuffles.
//
// It is stricter than a GPU: a barrier waits for threads that have returned too, and the threads between two barriers
// run one after the other, in another order in each block. Kernels that are compiled with -fsanitize=thread tell of
// each access to memory, by the functions that clang's thread sanitizer calls; those that nothing orders fail the grid
// (races.h), whatever the order that they ran in.
#include "test/cuda/emulator.h"
#include "test/cuda/emulator_block.h"
#include "test/cuda/fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

namespace races = ptc::test::races;
using namespace ptc::test::emulator;

namespace {
/// In which order threads that can go on do.
enum class Schedule {
  Forward,
  Reverse,
  Random, ///< another order whenever all have had a turn
  Ahead,  ///< each warp as far as it can, before another has begun
  Count
};

void runThreads() {
  for (;;) {
    block.code();
    block.fiber().isDone = true;
    block.leave();
  }
}

/// Runs a thread until it waits or returns.
void resume(int thread) {
  block.current = thread;
  Fiber &fiber = block.fiber();
  fiber.wait = Wait::None;
  if (_setjmp(block.scheduler) != 0)
    return;
  if (fiber.isThere)
    _longjmp(fiber.place, 1);
  fiber.isThere = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = kStack;
  makecontext(&context, runThreads, 0);
  setcontext(&context);
}

void start(Fiber &fiber) {
  fiber.isThere &= fiber.isDone; // what a grid that failed has left lying is begun anew
  fiber.isDone = false;
  fiber.wait = Wait::None;
  fiber.barriers = fiber.warpBarriers = fiber.shuffles = fiber.copyGroups = 0;
  fiber.copies.clear();
  fiber.products.assign(1, {});
  fiber.sums.clear();
  fiber.lastSums = 0;
}

std::vector<int> makeIndices(int count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// The threads that can go on until they wait again, each once. Whether there was one.
bool runOnce(const int *begin, const int *end, int barriers, int &done) {
  bool hasMoved = false;
  for (const int *thread = begin; thread != end && block.error.empty(); ++thread) {
    Fiber &fiber = block.fibers[*thread];
    if (fiber.isDone || !block.canGoOn(*thread, barriers))
      continue;
    hasMoved = true;
    resume(*thread);
    done += fiber.isDone;
  }
  return hasMoved;
}

/// Threads of a warp stay side by side, the warps in a random order.
std::vector<int> shuffleWarps(int threads, std::mt19937 &random) {
  std::vector<int> warps = makeIndices((threads + kWarp - 1) / kWarp), order;
  std::shuffle(warps.begin(), warps.end(), random);
  for (int warp : warps)
    for (int thread = warp * kWarp; thread < std::min(threads, (warp + 1) * kWarp); ++thread)
      order.push_back(thread);
  return order;
}

void runBlock(std::mt19937 &random) {
  auto schedule = static_cast<Schedule>(random() % static_cast<unsigned>(Schedule::Count));
  std::vector<int> order =
      schedule == Schedule::Ahead ? shuffleWarps(block.threads, random) : makeIndices(block.threads);
  if (schedule == Schedule::Reverse)
    std::reverse(order.begin(), order.end());
  for (int thread : order)
    start(block.fibers[thread]);
  for (int done = 0, passed = 0; done < block.threads && block.error.empty();) {
    if (schedule == Schedule::Random)
      std::shuffle(order.begin(), order.end(), random);
    int barriers = std::numeric_limits<int>::max();
    for (int thread : order)
      barriers = std::min(barriers, block.fibers[thread].barriers);
    if (barriers > passed)
      races::passBarrier();
    passed = barriers;
    bool hasMoved = false;
    int step = schedule == Schedule::Ahead ? kWarp : block.threads;
    for (int first = 0; first < block.threads; first += step) {
      const int *begin = order.data() + first, *end = order.data() + std::min(first + step, block.threads);
      while (runOnce(begin, end, barriers, done)) {
        hasMoved = true;
        if (schedule != Schedule::Ahead)
          break;
      }
    }
    if (!hasMoved && done < block.threads)
      block.fail("waits forever; " + std::to_string(done) + " of " + std::to_string(block.threads) +
                 " threads have returned");
  }
}
} // namespace

Block ptc::test::emulator::block;

void ptc::test::emulator::access(races::Access access, const void *address, size_t bytes) {
  races::Accessor me = {static_cast<unsigned>(block.current), static_cast<unsigned>(block.fiber().warpBarriers)};
  if (std::string wrong = races::check(me, access, address, bytes); !wrong.empty())
    block.fail(wrong);
}

/// What may lie at any address.
static void accessBytes(races::Access one, const void *address, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    access(one, static_cast<const char *>(address) + i, 1);
}

std::string ptc::test::emulateGrid(int blocks, int threads, const std::function<void()> &beginBlock,
                                   std::function<void()> thread) {
  static const char *seed = getenv("FAKE_SEED");
  static std::mt19937 random(seed ? atoi(seed) : 0);
  block.count = blocks;
  block.threads = threads;
  block.code = std::move(thread);
  block.error.clear();
  if (block.fibers.size() < static_cast<size_t>(threads))
    block.fibers.resize(threads);
  std::vector<int> order = makeIndices(blocks);
  std::shuffle(order.begin(), order.end(), random);
  races::beginGrid();
  for (int index : order) {
    block.index = index;
    races::beginBlock();
    block.engine.beginBlock();
    block.numberedBarriers.clear();
    beginBlock();
    runBlock(random);
    if (std::string wrong = block.engine.endBlock(); !wrong.empty())
      block.fail(wrong);
    if (!block.error.empty())
      break;
  }
  return block.error;
}

static int shuffleFrom(int other, int value) {
  Given mine;
  mine.word = value;
  Exchange all(mine);
  bool isInWarp = other >= 0 && other / kWarp == block.current / kWarp && other < block.threads;
  return isInWarp ? all[other % kWarp].word : value;
}

/// The copy happens when the thread waits for it. Whoever reads its place before, or wrote it and is not ordered with
/// the copy's begin, is in the wrong.
static void copyAsync(void *to, const void *from, size_t bytes, int read) {
  Fiber &fiber = block.fiber();
  access(races::Access::Write, to, bytes);
  if (read)
    access(races::Access::Read, from, bytes);
  memset(to, 0xff, bytes);
  fiber.copies.push_back({to, from, bytes, static_cast<size_t>(read), fiber.copyGroups});
}

static void failIf(const std::string &wrong) {
  if (!wrong.empty())
    block.fail("thread " + std::to_string(block.current) + " " + wrong);
}

static const ptc::test::FakeTensorMap *findMap(const void *map) {
  auto *found = static_cast<const ptc::test::FakeTensorMap *>(map);
  if (found->mark == ptc::test::FakeTensorMap::kMark)
    return found;
  failIf("uses what is no map of a tensor");
  return nullptr;
}

/// A box must not come to where a product that is on its way reads.
static void copyBox(char *to, void *barrier, const void *map, std::initializer_list<int> coordinates) {
  access(races::Access::AtomicRead, barrier, 8);
  const ptc::test::FakeTensorMap *found = findMap(map);
  if (!found)
    return;
  if (found->rank != coordinates.size())
    return failIf("copies a box of another rank than the map's");
  for (int thread = 0; thread < block.threads; thread += kWarp)
    for (const std::vector<Product> &group : block.fibers[thread].products)
      for (const Product &product : group)
        if (readsFrom(product, to, found->bytes()))
          return failIf("copies a box to where a product reads");
  failIf(block.engine.copy(to, barrier, *found, coordinates.begin()));
}

extern "C" {
int fake_block_index() { return block.index; }
int fake_block_count() { return block.count; }
int fake_thread_index() { return block.current; }
int fake_block_size() { return block.threads; }

void fake_barrier(int) {
  ++block.fiber().barriers;
  block.wait(Wait::Barrier);
}
void fake_warp_barrier(int) {
  ++block.fiber().warpBarriers;
  block.wait(Wait::WarpBarrier);
}

void fake_come_together(int number, int threads) {
  NumberedBarrier &barrier = block.numberedBarriers[number];
  block.fiber().numberedBarrier = number;
  block.fiber().numberedPhase = barrier.phase;
  barrier.pass(threads);
  block.wait(Wait::NumberedBarrier);
}
void fake_come_by(int number, int threads) { block.numberedBarriers[number].pass(threads); }

int fake_shuffle_xor(int, int value, int mask, int) { return shuffleFrom(block.current ^ mask, value); }
int fake_shuffle_down(int, int value, int distance, int) { return shuffleFrom(block.current + distance, value); }
int fake_shuffle_up(int, int value, int distance, int) { return shuffleFrom(block.current - distance, value); }
int fake_shuffle_index(int, int value, int lane, int) {
  return shuffleFrom(block.current / kWarp * kWarp + lane, value);
}

void fake_copy_async_16(void *to, const void *from, int read) { copyAsync(to, from, 16, read); }
void fake_copy_async_8(void *to, const void *from, int read) { copyAsync(to, from, 8, read); }
void fake_copy_async_4(void *to, const void *from, int read) { copyAsync(to, from, 4, read); }
void fake_commit_copies() { ++block.fiber().copyGroups; }
void fake_wait_for_copies(int groups) {
  Fiber &fiber = block.fiber();
  for (; !fiber.copies.empty() && fiber.copies.front().group < fiber.copyGroups - groups; fiber.copies.pop_front()) {
    Copy &copy = fiber.copies.front();
    access(races::Access::Write, copy.to, copy.bytes);
    memset(copy.to, 0, copy.bytes);
    memcpy(copy.to, copy.from, copy.read);
  }
}

void fake_init_phases(void *barrier, int arrivals) {
  access(races::Access::Write, barrier, 8);
  failIf(block.engine.init(barrier, arrivals));
}
void fake_fence_for_phases() {}
int64_t fake_arrive(void *barrier, int) {
  access(races::Access::Atomic, barrier, 8);
  failIf(block.engine.arrive(barrier, 0));
  return 0;
}
int64_t fake_arrive_and_expect(void *barrier, int bytes) {
  access(races::Access::Atomic, barrier, 8);
  failIf(block.engine.arrive(barrier, bytes));
  return 0;
}
bool fake_wait_for_phase(void *barrier, int parity) {
  access(races::Access::AtomicRead, barrier, 8);
  std::string wrong = block.engine.checkBarrier(barrier);
  failIf(wrong);
  if (!wrong.empty())
    return true;
  block.fiber().phases = barrier;
  block.fiber().parity = parity;
  block.wait(Wait::Phase);
  return true;
}

void fake_prefetch_map(const void *map) { findMap(map); }
void fake_copy_box_2(char *to, void *barrier, const void *map, int x, int y) { copyBox(to, barrier, map, {x, y}); }
void fake_copy_box_3(char *to, void *barrier, const void *map, int x, int y, int z) {
  copyBox(to, barrier, map, {x, y, z});
}
void fake_copy_box_4(char *to, void *barrier, const void *map, int x, int y, int z, int w) {
  copyBox(to, barrier, map, {x, y, z, w});
}
void fake_copy_box_5(char *to, void *barrier, const void *map, int x, int y, int z, int w, int v) {
  copyBox(to, barrier, map, {x, y, z, w, v});
}

void fake_atomic(const void *address, int bytes) { access(races::Access::Atomic, address, bytes); }
void fake_atomic_load(const void *address, int bytes) { access(races::Access::AtomicRead, address, bytes); }

// Of clang's thread sanitizer.
void __tsan_init() {}
#define ACCESS(BYTES)                                                                                                  \
  void __tsan_read##BYTES(const void *at) { access(races::Access::Read, at, BYTES); }                                  \
  void __tsan_write##BYTES(const void *at) { access(races::Access::Write, at, BYTES); }                                \
  void __tsan_unaligned_read##BYTES(const void *at) { accessBytes(races::Access::Read, at, BYTES); }                   \
  void __tsan_unaligned_write##BYTES(const void *at) { accessBytes(races::Access::Write, at, BYTES); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  accessBytes(races::Access::Read, from, bytes);
  accessBytes(races::Access::Write, to, bytes);
  return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
  accessBytes(races::Access::Read, from, bytes);
  accessBytes(races::Access::Write, to, bytes);
  return memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
  accessBytes(races::Access::Write, to, bytes);
  return memset(to, value, bytes);
}
}
