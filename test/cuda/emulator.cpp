// The threads of a block as fibers, and what kernels ask of the machine: their places, barriers, shuffles.
//
// It is stricter than a GPU: a barrier waits for threads that have returned too, and the threads between two barriers
// run one after the other in a random order, so that a barrier that is missing often shows in results.
#include "test/cuda/emulator.h"
#include "test/cuda/fake_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <ucontext.h>
#include <vector>

namespace {
constexpr int kWarp = 32;
constexpr size_t kStack = 256 << 10;

enum class Wait { None, Barrier, Shuffle };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStack]}; // whose pages are there once they are used
  bool isDone;
  Wait wait;
  int barriers, shuffles; ///< that it has come to
  int given[2];           ///< to its last two shuffles
};

struct Block {
  int index, threads, current;
  std::vector<Fiber> fibers; ///< kept from block to block; at least `threads`
  ucontext_t scheduler;
  std::function<void()> code;

  Fiber &fiber() { return fibers[current]; }

  void wait(Wait wait) {
    fiber().wait = wait;
    swapcontext(&fiber().context, &scheduler);
  }

  /// Whether what the thread waits for has happened, when all threads have come to `barriers` of them.
  bool canGoOn(int thread, int barriers) const {
    const Fiber &fiber = fibers[thread];
    if (fiber.wait == Wait::Barrier)
      return barriers >= fiber.barriers;
    int warp = thread / kWarp * kWarp;
    return fiber.wait == Wait::None ||
           std::all_of(fibers.begin() + warp, fibers.begin() + std::min(threads, warp + kWarp),
                       [&](const Fiber &other) { return other.shuffles >= fiber.shuffles; });
  }
} block;

void runThread() {
  block.code();
  block.fiber().isDone = true;
  swapcontext(&block.fiber().context, &block.scheduler);
}

void start(Fiber &fiber) {
  fiber.isDone = false;
  fiber.wait = Wait::None;
  fiber.barriers = fiber.shuffles = 0;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStack;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, runThread, 0);
}

std::vector<int> makeIndices(int count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

bool runBlock(std::mt19937 &random) {
  std::vector<int> order = makeIndices(block.threads);
  for (int thread : order)
    start(block.fibers[thread]);
  for (int done = 0; done < block.threads;) {
    std::shuffle(order.begin(), order.end(), random);
    int barriers = std::numeric_limits<int>::max();
    for (int thread : order)
      barriers = std::min(barriers, block.fibers[thread].barriers);
    bool hasMoved = false;
    for (int thread : order) {
      Fiber &fiber = block.fibers[thread];
      if (fiber.isDone || !block.canGoOn(thread, barriers))
        continue;
      hasMoved = true;
      fiber.wait = Wait::None;
      block.current = thread;
      swapcontext(&block.scheduler, &fiber.context);
      done += fiber.isDone;
    }
    if (!hasMoved) {
      fprintf(stderr, "emulator: block %d waits forever; %d of %d threads have returned\n", block.index, done,
              block.threads);
      return false;
    }
  }
  return true;
}
} // namespace

bool ptc::test::emulateGrid(int blocks, int threads, const std::function<void()> &beginBlock,
                            std::function<void()> thread) {
  static const char *seed = getenv("FAKE_SEED");
  static std::mt19937 random(seed ? atoi(seed) : 0);
  block.threads = threads;
  block.code = std::move(thread);
  if (block.fibers.size() < static_cast<size_t>(threads))
    block.fibers.resize(threads);
  std::vector<int> order = makeIndices(blocks);
  std::shuffle(order.begin(), order.end(), random);
  for (int index : order) {
    block.index = index;
    beginBlock();
    if (!runBlock(random))
      return false;
  }
  return true;
}

extern "C" {
int fake_block_index() { return block.index; }
int fake_thread_index() { return block.current; }
int fake_block_size() { return block.threads; }

void fake_barrier(int) {
  ++block.fiber().barriers;
  block.wait(Wait::Barrier);
}

int fake_shuffle_xor(int, int value, int mask, int) {
  int other = block.current ^ mask, count = ++block.fiber().shuffles;
  block.fiber().given[count % 2] = value;
  block.wait(Wait::Shuffle);
  return other < block.threads ? block.fibers[other].given[count % 2] : value;
}
}
