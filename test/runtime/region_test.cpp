// Pieces of a call behind which sizes are known: no thread waits for what is done.
#include "runtime/Execute.h"

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace ptc::runtime;

namespace {
std::atomic<int> arrived;

/// The caller's task waits for a worker to come, and ends long before the worker's.
void meet(void *const *, const int64_t *, ptc_worker *worker, int64_t, int64_t) {
  if (worker->thread > 0) {
    arrived = 1;
    usleep(20'000);
  }
  for (int i = 0; i < 10'000 && !arrived; ++i)
    usleep(1000);
}

void doNothing(void *const *, const int64_t *, ptc_worker *, int64_t, int64_t) {}

enum : ValueId { Two, Eight, Flops, ValueCount };
bool evaluate(int64_t *, int64_t *values) {
  values[Two] = 2;
  values[Eight] = 8;
  values[Flops] = 1'000'000'000;
  return true;
}

const SymbolEntry symbols[] = {{"u0", 0, -1, 1, 0, -1, 0}};
const BufferEntry buffers[] = {{Storage::Arena, 0, 0, Eight, 0, 1, -1}};
const SizeDefinitionEntry definitions[] = {{0, 0, 1, Eight}};
} // namespace

TEST_CASE("a caller that sleeps until a size is known is woken by the last task before it") {
  LaunchEntry launches[2] = {};
  for (LaunchEntry &launch : launches) {
    launch.kernel = doNothing;
    launch.tasks = Two;
    launch.bytes = launch.scratch = Eight;
    launch.flops = Flops;
  }
  launches[0].kernel = meet;
  Program program = {};
  program.arenaBytes = 64;
  program.evaluate = evaluate;
  program.symbols = symbols;
  program.buffers = buffers;
  program.launches = launches;
  program.sizeDefinitions = definitions;
  program.valueCount = ValueCount;
  program.symbolCount = program.bufferCount = program.sizeDefinitionCount = 1;
  program.launchCount = 2;

  Frame *frame = Frame::create(program, nullptr);
  REQUIRE(frame);
  Error error = {};
  int64_t unknown = 0, count = 5;
  REQUIRE(frame->plan(&unknown, 0, error) == PTC_OK);
  REQUIRE(frame->reserve(2, error) == PTC_OK);
  frame->addresses[0] = &count;
  Activity activity = {};
  ThreadTerms terms = {2, 2, WaitMode::Passive};
  CHECK(execute(*frame, terms, nullptr, activity, nullptr, error) == PTC_OK);
  CHECK(arrived == 1);
  CHECK(frame->symbols[0] == 5);
  Frame::destroy(frame);
}
