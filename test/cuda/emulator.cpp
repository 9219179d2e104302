// The threads of a block as fibers, and what kernels ask of the machine: their places, barriers, shuffles.
//
// It is stricter than a GPU: a barrier waits for threads that have returned too, and the threads between two barriers
// run one after the other, in another order in each block. Kernels that are compiled with -fsanitize=thread tell of
// each access to memory, by the functions that clang's thread sanitizer calls; those that nothing orders fail the grid
// (races.h), whatever the order that they ran in.
#include "test/cuda/emulator.h"
#include "test/cuda/fake_driver.h"
#include "test/cuda/races.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

namespace races = ptc::test::races;

namespace {
constexpr int kWarp = 32;
constexpr size_t kStack = 256 << 10;

enum class Wait { None, Barrier, WarpBarrier, Shuffle };

/// In which order threads that can go on do.
enum class Schedule {
  Forward,
  Reverse,
  Random, ///< another order whenever all have had a turn
  Ahead,  ///< each warp as far as it can, before another has begun
  Count
};

/// What a thread gives the others of its warp.
union Given {
  int word;
  uint16_t row[8];    ///< of a matrix of 16-bit elements
  float fragment[12]; ///< of the operands of a product
};

/// A product of a warpgroup that is on its way.
struct Product {
  const char *memory; ///< the block's dynamic shared memory
  uint64_t lhs, rhs;  ///< descriptors
  int columns;
  bool isMore, isBfloat, transposesLhs, transposesRhs;
};

/// A copy that is on its way.
struct Copy {
  void *to;
  const void *from;
  size_t bytes, read; ///< the rest is zeros
  int group;
};

/// Lives on when its thread has returned, and runs another one then: that is quicker than to make a context.
struct Fiber {
  jmp_buf place;
  std::unique_ptr<char[]> stack{new char[kStack]}; // whose pages are there once they are used
  bool isThere = false;                            ///< with a place to go on at
  bool isDone = true;
  Wait wait;
  int barriers, warpBarriers, shuffles;      ///< that it has come to
  Given given[2];                            ///< to its last two shuffles
  int copyGroups;                            ///< that are complete
  std::deque<Copy> copies;                   ///< that are not there yet, the oldest first
  std::vector<float> sums;                   ///< of products that are on their way
  std::deque<std::vector<Product>> products; ///< groups of them; the last one is not complete
};

struct Block {
  int index, threads, current;
  std::vector<Fiber> fibers; ///< kept from block to block; at least `threads`
  jmp_buf scheduler;
  std::function<void()> code;
  std::string error;

  Fiber &fiber() { return fibers[current]; }

  /// Lets others run until the scheduler comes back. (swapcontext would ask the system for signals each time.)
  void leave() {
    if (_setjmp(fiber().place) == 0)
      _longjmp(scheduler, 1);
  }

  void wait(Wait wait) {
    fiber().wait = wait;
    leave();
  }

  /// Whether all threads of the thread's warp have come to `count` of something.
  bool hasWarp(int thread, int Fiber::*counter, int count) const {
    int warp = thread / kWarp * kWarp;
    return std::all_of(fibers.begin() + warp, fibers.begin() + std::min(threads, warp + kWarp),
                       [&](const Fiber &other) { return other.*counter >= count; });
  }

  /// Whether what the thread waits for has happened, when all threads have come to `barriers` of them.
  bool canGoOn(int thread, int barriers) const {
    const Fiber &fiber = fibers[thread];
    switch (fiber.wait) {
    case Wait::None:
      return true;
    case Wait::Barrier:
      return barriers >= fiber.barriers;
    case Wait::WarpBarrier:
      return hasWarp(thread, &Fiber::warpBarriers, fiber.warpBarriers);
    case Wait::Shuffle:
      return hasWarp(thread, &Fiber::shuffles, fiber.shuffles);
    }
    return false;
  }

  void fail(const std::string &what) {
    if (error.empty())
      error = "block " + std::to_string(index) + ": " + what;
  }
} block;

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

void access(races::Access access, const void *address, size_t bytes) {
  races::Accessor me = {static_cast<unsigned>(block.current), static_cast<unsigned>(block.fiber().warpBarriers)};
  if (std::string wrong = races::check(me, access, address, bytes); !wrong.empty())
    block.fail(wrong);
}

/// What may lie at any address.
void accessBytes(races::Access one, const void *address, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    access(one, static_cast<const char *>(address) + i, 1);
}
} // namespace

std::string ptc::test::emulateGrid(int blocks, int threads, const std::function<void()> &beginBlock,
                                   std::function<void()> thread) {
  static const char *seed = getenv("FAKE_SEED");
  static std::mt19937 random(seed ? atoi(seed) : 0);
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
    beginBlock();
    runBlock(random);
    if (!block.error.empty())
      break;
  }
  return block.error;
}

/// What the lanes of the warp give, once all have.
class Exchange {
public:
  explicit Exchange(const Given &mine) : count(++block.fiber().shuffles) {
    block.fiber().given[count % 2] = mine;
    block.wait(Wait::Shuffle);
  }
  const Given &operator[](int lane) const {
    return block.fibers[block.current / kWarp * kWarp + lane].given[count % 2];
  }

private:
  int count;
};

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

float toFloat(uint16_t bits, bool isBfloat) {
  uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  if (!isBfloat) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    value = exponent == 31  ? (fraction ? NAN : INFINITY)
            : exponent == 0 ? ldexpf(static_cast<float>(fraction), -24)
                            : ldexpf(static_cast<float>(fraction + 1024), exponent - 25);
    return bits >> 15 ? -value : value;
  }
  memcpy(&value, &word, sizeof(value));
  return value;
}

/// An element of a matrix in shared memory, as its descriptor says: address, distances between blocks of 64 rows and
/// between eight lines, in units of 16 bytes; lines of 128 bytes, whose units are exchanged by the address' bits 7
/// to 9.
const char *findElement(const char *memory, uint64_t descriptor, bool isTransposed, int row, int depth) {
  constexpr uint64_t kSpan = 1 << 18; // that an address in a descriptor tells apart
  uint64_t begin = (descriptor & 0x3fff) << 4, block = (descriptor >> 16 & 0x3fff) << 4;
  uint64_t lines = (descriptor >> 32 & 0x3fff) << 4, place = begin;
  place += isTransposed ? row / 64 * block + depth / 8 * lines + depth % 8 * 128 + row % 64 * 2
                        : row / 8 * lines + row % 8 * 128 + depth * 2;
  uint64_t offset = (place - reinterpret_cast<uintptr_t>(memory)) % kSpan;
  return memory + (offset ^ (offset >> 7 & 7) << 4);
}

/// The thread's part of a product. What it reads is told of by units of 16 bytes, each by one thread of the group.
void multiply(const Product &product, float *sums) {
  int thread = block.current % 128, lane = thread % kWarp;
  auto lhs = [&](int row, int k) { return findElement(product.memory, product.lhs, product.transposesLhs, row, k); };
  auto rhs = [&](int row, int k) { return findElement(product.memory, product.rhs, product.transposesRhs, row, k); };
  auto read = [&](const char *at) {
    uint16_t bits;
    memcpy(&bits, at, sizeof(bits));
    return toFloat(bits, product.isBfloat);
  };
  for (int unit = thread; unit < 64 * 2; unit += 128)
    access(races::Access::Read, product.transposesLhs ? lhs(unit % 8 * 8, unit / 8) : lhs(unit / 2, unit % 2 * 8), 16);
  for (int unit = thread; unit < product.columns * 2; unit += 128) {
    int across = product.columns / 8;
    access(races::Access::Read,
           product.transposesRhs ? rhs(unit % across * 8, unit / across) : rhs(unit / 2, unit % 2 * 8), 16);
  }
  for (int i = 0; i < product.columns / 2; ++i) {
    int row = thread / kWarp * 16 + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    float sum = product.isMore ? sums[i] : 0;
    for (int k = 0; k < 16; ++k)
      sum += read(lhs(row, k)) * read(rhs(column, k));
    sums[i] = sum;
  }
}

static void loadMatrices(const void *row, bool transposes, uint32_t *result) {
  access(races::Access::Read, row, sizeof(Given::row));
  Given mine;
  memcpy(mine.row, row, sizeof(mine.row));
  Exchange all(mine);
  int lane = block.current % kWarp, outer = lane / 4, inner = lane % 4 * 2;
  for (int matrix = 0; matrix < 4; ++matrix) {
    auto element = [&](int i, int j) -> uint32_t { return all[matrix * 8 + i].row[j]; };
    uint32_t first = transposes ? element(inner, outer) : element(outer, inner);
    uint32_t second = transposes ? element(inner + 1, outer) : element(outer, inner + 1);
    result[matrix] = first | second << 16;
  }
}

extern "C" {
int fake_block_index() { return block.index; }
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

void fake_rows_of_matrices(const void *row, uint32_t *result) { loadMatrices(row, false, result); }
void fake_columns_of_matrices(const void *row, uint32_t *result) { loadMatrices(row, true, result); }

/// mma.m16n8k16: adds 16 x 16 by 16 x 8 to the thread's four sums.
void fake_multiply(const float *fragment, float *sums) {
  Given mine;
  memcpy(mine.fragment, fragment, sizeof(mine.fragment));
  Exchange all(mine);
  auto left = [&](int row, int k) { return all[row % 8 * 4 + k % 8 / 2].fragment[(row / 8 + k / 8 * 2) * 2 + k % 2]; };
  auto right = [&](int k, int column) { return all[column * 4 + k % 8 / 2].fragment[8 + k / 8 * 2 + k % 2]; };
  int lane = block.current % kWarp;
  for (int i = 0; i < 4; ++i) {
    int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k)
      sums[i] += left(row, k) * right(k, column);
  }
}

void fake_fence_for_products() {}
void fake_begin_products() {}
void fake_commit_products() { block.fiber().products.emplace_back(); }

/// The product is done when the thread waits for it; until then its sums are nothing.
void fake_start_product(float *sums, int columns, uint64_t lhs, uint64_t rhs, int isMore, int isBfloat,
                        int transposesLhs, int transposesRhs, const char *memory) {
  Fiber &fiber = block.fiber();
  if (fiber.products.size() == 1 && fiber.products.front().empty())
    fiber.sums.assign(sums, sums + columns / 2);
  fiber.products.back().push_back(
      {memory, lhs, rhs, columns, isMore != 0, isBfloat != 0, transposesLhs != 0, transposesRhs != 0});
  std::fill(sums, sums + columns / 2, NAN);
}

void fake_wait_for_products(float *sums, int count, int groups) {
  Fiber &fiber = block.fiber();
  bool isAny = fiber.products.size() > 1;
  for (; static_cast<int>(fiber.products.size()) - 1 > groups; fiber.products.pop_front())
    for (const Product &product : fiber.products.front())
      multiply(product, fiber.sums.data());
  if (isAny && fiber.products.size() == 1)
    std::copy_n(fiber.sums.data(), count, sums);
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
