// The threads of a block as fibers, and what kernels ask of the machine: their places, barriers, shuffles.
//
// It is stricter than a GPU: a barrier waits for threads that have returned too, and the threads between two barriers
// run one after the other, in another order in each block. Kernels that are compiled with -fsanitize=thread tell of
// each access to memory, by the functions that clang's thread sanitizer calls; those that nothing orders fail the grid
// (races.h), whatever the order that they ran in.
#include "test/cuda/emulator.h"
#include "test/cuda/copy_engine.h"
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

enum class Wait { None, Barrier, WarpBarrier, Shuffle, Phase };

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
  uint32_t words[6];  ///< the same as bits
  double numbers[2];  ///< the same of doubles
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
  int barriers, warpBarriers, shuffles; ///< that it has come to
  const void *phases;                   ///< the barrier in memory that it waits at
  int parity;
  Given given[2];                            ///< to its last two shuffles
  int copyGroups;                            ///< that are complete
  std::deque<Copy> copies;                   ///< that are not there yet, the oldest first
  std::vector<float> sums;                   ///< of products that are on their way
  std::deque<std::vector<Product>> products; ///< groups of them; the last one is not complete
};

struct Block {
  int index, count, threads, current;
  ptc::test::CopyEngine engine;
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
  bool canGoOn(int thread, int barriers) {
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
    case Wait::Phase:
      return engine.hasEnded(fiber.phases, fiber.parity);
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
    beginBlock();
    runBlock(random);
    if (std::string wrong = block.engine.endBlock(); !wrong.empty())
      block.fail(wrong);
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

const char *findLhs(const Product &product, int row, int k) {
  return findElement(product.memory, product.lhs, product.transposesLhs, row, k);
}
const char *findRhs(const Product &product, int column, int k) {
  return findElement(product.memory, product.rhs, product.transposesRhs, column, k);
}

/// A unit of 16 bytes of an operand: of the left one 128, of the right one twice the number of columns.
const char *findUnit(const Product &product, bool isLhs, int unit) {
  int across = isLhs ? 8 : product.columns / 8;
  if (isLhs)
    return product.transposesLhs ? findLhs(product, unit % across * 8, unit / across)
                                 : findLhs(product, unit / 2, unit % 2 * 8);
  return product.transposesRhs ? findRhs(product, unit % across * 8, unit / across)
                               : findRhs(product, unit / 2, unit % 2 * 8);
}

/// Whether a product reads a place, of which all begin at multiples of 16.
bool readsFrom(const Product &product, const char *begin, size_t bytes) {
  for (bool isLhs : {true, false})
    for (int unit = 0; unit < (isLhs ? 128 : product.columns * 2); ++unit)
      if (const char *at = findUnit(product, isLhs, unit); at >= begin && at < begin + bytes)
        return true;
  return false;
}

/// What the copy engine brings is ordered by barriers in memory, which the thread has waited for if it is there.
void readUnit(const char *at) {
  if (!block.engine.writes(at))
    access(races::Access::Read, at, 16);
  else if (block.engine.isOnItsWay(at))
    block.fail("a product reads a box that is on its way");
}

/// The thread's part of a product. What it reads is told of by units of 16 bytes, each by one thread of the group.
void multiply(const Product &product, float *sums) {
  int thread = block.current % 128, lane = thread % kWarp;
  auto lhs = [&](int row, int k) { return findLhs(product, row, k); };
  auto rhs = [&](int row, int k) { return findRhs(product, row, k); };
  auto read = [&](const char *at) {
    uint16_t bits;
    memcpy(&bits, at, sizeof(bits));
    return toFloat(bits, product.isBfloat);
  };
  for (int unit = thread; unit < 64 * 2; unit += 128)
    readUnit(findUnit(product, true, unit));
  for (int unit = thread; unit < product.columns * 2; unit += 128)
    readUnit(findUnit(product, false, unit));
  for (int i = 0; i < product.columns / 2; ++i) {
    int row = thread / kWarp * 16 + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    float sum = product.isMore ? sums[i] : 0;
    for (int k = 0; k < 16; ++k)
      sum += read(lhs(row, k)) * read(rhs(column, k));
    sums[i] = sum;
  }
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

/// What the warp multiplies: 16 rows by 8 columns, 32 bytes deep, of which a thread has words.
class Words {
public:
  explicit Words(const uint32_t *words) : all(give(words)) {}
  uint32_t left(int row, int byte) const { return all[row % 8 * 4 + byte % 16 / 4].words[row / 8 + byte / 16 * 2]; }
  uint32_t right(int column, int byte) const { return all[column * 4 + byte % 16 / 4].words[4 + byte / 16]; }

private:
  static Given give(const uint32_t *words) {
    Given mine;
    memcpy(mine.words, words, sizeof(mine.words));
    return mine;
  }
  Exchange all;
};

/// Of the thread's four sums of a product of 16 x 8: visit(number, row, column).
template <typename Visit> static void forSums(Visit visit) {
  int lane = block.current % kWarp;
  for (int i = 0; i < 4; ++i)
    visit(i, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
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
  forSums([&](int i, int row, int column) {
    for (int k = 0; k < 16; ++k)
      sums[i] += left(row, k) * right(k, column);
  });
}

/// cvt.rna.tf32.f32: to the nearest of 10 bits of fraction, ties away from zero.
uint32_t fake_round_to_tf32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return std::isfinite(value) ? (bits + 0x1000) & ~0x1fffu : bits & ~0x1fffu;
}

/// mma.m16n8k8 of tf32.
void fake_multiply_tf32(const uint32_t *words, float *sums) {
  for (int i = 0; i < 6; ++i)
    if (words[i] & 0x1fff)
      block.fail("a float that is not of tf32 is multiplied");
  Words all(words);
  auto number = [](uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  };
  forSums([&](int i, int row, int column) {
    for (int k = 0; k < 8; ++k)
      sums[i] += number(all.left(row, 4 * k)) * number(all.right(column, 4 * k));
  });
}

/// mma.m16n8k32 of bytes.
void fake_multiply_bytes(const uint32_t *words, int32_t *sums, int isLhsUnsigned, int isRhsUnsigned) {
  Words all(words);
  auto number = [](uint32_t word, int k, int isUnsigned) {
    uint8_t byte = word >> 8 * (k % 4);
    return isUnsigned ? static_cast<int>(byte) : static_cast<int>(static_cast<int8_t>(byte));
  };
  forSums([&](int i, int row, int column) {
    for (int k = 0; k < 32; ++k)
      sums[i] += number(all.left(row, k), k, isLhsUnsigned) * number(all.right(column, k), k, isRhsUnsigned);
  });
}

/// mma.m8n8k4 of doubles: adds 8 x 4 by 4 x 8 to the thread's two sums.
void fake_multiply_double(const double *numbers, double *sums) {
  Given mine;
  memcpy(mine.numbers, numbers, sizeof(mine.numbers));
  Exchange all(mine);
  int lane = block.current % kWarp;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 4; ++k)
      sums[i] += all[lane / 4 * 4 + k].numbers[0] * all[(lane % 4 * 2 + i) * 4 + k].numbers[1];
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
  Exchange all({}); // it is an instruction of all threads of the warp
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
