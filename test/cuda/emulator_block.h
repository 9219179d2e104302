// emulator_block.h - the block of threads that the emulator runs, for what its threads ask of the machine
#pragma once

#include "test/cuda/copy_engine.h"
#include "test/cuda/races.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <setjmp.h>
#include <string>
#include <vector>

namespace ptc::test::emulator {

constexpr int kWarp = 32;
constexpr size_t kStack = 256 << 10;

enum class Wait { None, Barrier, WarpBarrier, NumberedBarrier, Shuffle, Phase };

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
  enum Element { Half, Bfloat, Tf32, Signed, Unsigned };
  const char *memory; ///< the block's dynamic shared memory
  uint64_t lhs, rhs;  ///< descriptors
  int columns;
  bool isMore;
  Element ofLhs, ofRhs;
  bool transposesLhs, transposesRhs;
  uint32_t sums; ///< their number in the thread's `Fiber::sums`
  bool hasRegisters = false;
  float rows[2][16] = {}; ///< the thread's rows of a left operand in registers
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
  int numberedBarrier, numberedPhase;   ///< that it waits at
  const void *phases;                   ///< the barrier in memory that it waits at
  int parity;
  Given given[2];                              ///< to its last two shuffles
  int copyGroups;                              ///< that are complete
  std::deque<Copy> copies;                     ///< that are not there yet, the oldest first
  std::map<uint32_t, std::vector<float>> sums; ///< of products that are on their way, by a number of their own
  uint32_t lastSums;                           ///< the last such number
  std::deque<std::vector<Product>> products;   ///< groups of them; the last one is not complete
};

/// bar.sync and bar.arrive with a number of threads.
struct NumberedBarrier {
  int come = 0, phase = 0;

  void pass(int threads) {
    if (++come == threads) {
      come = 0;
      ++phase;
    }
  }
};

struct Block {
  int index, count, threads, current;
  std::map<int, NumberedBarrier> numberedBarriers;
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
    case Wait::NumberedBarrier:
      return numberedBarriers.at(fiber.numberedBarrier).phase > fiber.numberedPhase;
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
};
extern Block block; ///< The one that runs.

/// Tells of an access of the thread that runs.
void access(races::Access access, const void *address, size_t bytes);

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

/// Whether a product reads a place, of which all begin at multiples of 16.
bool readsFrom(const Product &product, const char *begin, size_t bytes);

} // namespace ptc::test::emulator
