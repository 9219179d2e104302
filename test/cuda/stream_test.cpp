// Calls in streams of the caller's, under the fake driver. It does work as late as it may: what a test sees to be done
// has been waited for.
#include "test/cuda/FakeGpu.h"

#include <atomic>
#include <thread>

using namespace ptc::test;
using Catch::Contains;

static ptc::runtime::Program programs[] = {makeGatherProgram(), makeLoopProgram(), makeFillProgram()};
extern "C" const ptc::runtime::Programs ptc_programs = {&programs[0], 1};
static const ptc::runtime::Programs loopPrograms = {&programs[1], 1}, fillPrograms = {&programs[2], 1};

TEST_CASE("a call in the caller's stream returns before its work is done") {
  Context context;
  CallersStream stream;
  RowsOnGpu tensors(20);
  REQUIRE(setStream(context, stream) == PTC_OK);
  void *found = nullptr;
  int32_t isCallers = 0;
  REQUIRE(ptc_get_stream(context.handle, &found, &isCallers) == PTC_OK);
  CHECK(found == stream.handle);
  CHECK(isCallers == 1);

  REQUIRE(tensors.call(context) == PTC_OK);
  int64_t waits = Driver::get().fake_waits(), allocations = Driver::get().fake_all_allocations();
  for (int i = 0; i < 3; ++i)
    REQUIRE(tensors.call(context) == PTC_OK);
  CHECK(Driver::get().fake_waits() == waits);
  CHECK(Driver::get().fake_all_allocations() == allocations);
  CHECK(!tensors.isRight());
  SECTION("until somebody waits for the context") { CHECK(ptc_synchronize(context.handle) == PTC_OK); }
  SECTION("or for the stream") { stream.wait(); }
  SECTION("or for the states") { CHECK(context.total() == 180); }
  CHECK(tensors.isRight());
}

TEST_CASE("the default stream may be the caller's, and none is again") {
  Context context;
  RowsOnGpu tensors(20);
  REQUIRE(ptc_set_stream(context.handle, nullptr, 1) == PTC_OK);
  REQUIRE(tensors.call(context) == PTC_OK); // and works there
  int64_t waits = Driver::get().fake_waits();
  REQUIRE(tensors.call(context) == PTC_OK);
  CHECK(Driver::get().fake_waits() == waits);
  REQUIRE(ptc_set_stream(context.handle, nullptr, 0) == PTC_OK);
  REQUIRE(tensors.call(context) == PTC_OK);
  CHECK(Driver::get().fake_waits() == waits + 1);
  CHECK(tensors.isRight());
  void *found = &found;
  int32_t isCallers = 1;
  REQUIRE(ptc_get_stream(context.handle, &found, &isCallers) == PTC_OK);
  CHECK(found == nullptr);
  CHECK(isCallers == 0);
}

TEST_CASE("tensors of the host are read before a call returns") {
  Context context;
  CallersStream stream;
  REQUIRE(setStream(context, stream) == PTC_OK);
  RowsOnGpu first(30), second(30);
  auto call = [&](RowsOnGpu &tensors, bool isStrided) {
    Rows given(30);
    std::vector<int64_t> strides = {1};
    if (isStrided) { // backwards
      given.index.view.strides = strides.data();
      strides[0] = -1;
      std::reverse(given.index.values.begin(), given.index.values.end());
      given.index.view.byte_offset = 29 * sizeof(int64_t);
    }
    REQUIRE(context.call({&given.x.view, &given.index.view}, {&tensors.y.view}) == PTC_OK);
    std::fill(given.x.values.begin(), given.x.values.end(), -1.f);
    std::fill(given.index.values.begin(), given.index.values.end(), int64_t(77));
  };
  call(first, false);
  call(second, true);
  REQUIRE(ptc_synchronize(context.handle) == PTC_OK);
  CHECK(first.isRight());
  CHECK(second.isRight());
}

TEST_CASE("kernels that wait for those before them may be started while those end") {
  static int early;
  for (int32_t startsEarly : {0, 1}) {
    deviceEntry.startsEarly = startsEarly;
    early = 0;
    Driver::get().fake_on("cuLaunchKernelEx", [](void *) { ++early; }, nullptr);
    Context context;
    RowsOnGpu rows(12);
    CHECK(rows.call(context) == PTC_OK);
    CHECK(rows.isRight());
    CHECK(early == startsEarly);
  }
  deviceEntry.startsEarly = 0;
}

TEST_CASE("an output on the host makes a call wait") {
  Context context;
  CallersStream stream;
  REQUIRE(setStream(context, stream) == PTC_OK);
  RowsOnGpu tensors(12);
  Rows rows(12);
  CHECK(context.call({&tensors.x.view, &tensors.index.view}, {&rows.y.view}) == PTC_OK);
  CHECK(rows.isRight());
}

TEST_CASE("what fails behind a call is told once") {
  Context context;
  CallersStream stream;
  REQUIRE(setStream(context, stream) == PTC_OK);
  RowsOnGpu good(5);
  Rows rows(5);
  rows.index.values[3] = 5;
  OnGpu<int64_t> bad(rows.index);
  const std::string message = "gather: index out of range in a dimension: 5 is not from 0 to 4, at net.py:7";
  REQUIRE(context.call({&good.x.view, &bad.view}, {&good.y.view}) == PTC_OK);
  SECTION("when somebody waits") {
    CHECK(ptc_synchronize(context.handle) == PTC_INDEX_ERROR);
    CHECK(context.error() == message);
  }
  SECTION("by a later call, which does not run") {
    stream.wait();
    int64_t launches = Driver::get().fake_launches();
    CHECK(good.call(context) == PTC_INDEX_ERROR);
    CHECK(context.error() == "a call before this one has failed: " + message);
    CHECK(Driver::get().fake_launches() == launches);
  }
  SECTION("by memory's being given back") {
    CHECK(ptc_trim(context.handle) == PTC_OK);
    CHECK(good.call(context) == PTC_INDEX_ERROR);
  }
  CHECK(good.call(context) == PTC_OK);
  CHECK(ptc_synchronize(context.handle) == PTC_OK);
  CHECK(good.isRight());
}

TEST_CASE("a call while the stream is captured is refused") {
  Context context;
  CallersStream stream;
  REQUIRE(setStream(context, stream) == PTC_OK);
  RowsOnGpu tensors(5);
  REQUIRE(tensors.call(context) == PTC_OK);
  Driver::get().fake_set_capturing(1);
  CHECK(tensors.call(context) == PTC_UNSUPPORTED);
  CHECK_THAT(context.error(), Contains("the stream is being captured into a CUDA graph"));
  Driver::get().fake_set_capturing(0);
  CHECK(tensors.call(context) == PTC_OK);
  CHECK(ptc_synchronize(context.handle) == PTC_OK);
  CHECK(tensors.isRight());
}

TEST_CASE("calls in one stream and then in another follow each other") {
  Context context;
  CallersStream first, second;
  RowsOnGpu one(40), other(40), third(40);
  REQUIRE(setStream(context, first) == PTC_OK);
  REQUIRE(one.call(context) == PTC_OK);
  REQUIRE(setStream(context, second) == PTC_OK);
  REQUIRE(other.call(context) == PTC_OK);
  second.wait();
  CHECK(other.isRight());
  CHECK(one.isRight());
  SECTION("and so do calls that wait") {
    REQUIRE(setStream(context, first) == PTC_OK);
    REQUIRE(one.call(context) == PTC_OK);
    REQUIRE(ptc_set_stream(context.handle, nullptr, 0) == PTC_OK);
    REQUIRE(third.call(context) == PTC_OK);
    CHECK(third.isRight());
    CHECK(context.total() == 100 + 4 * 40);
  }
  SECTION("states are read behind them") {
    REQUIRE(third.call(context) == PTC_OK);
    CHECK(context.total() == 100 + 3 * 40);
    REQUIRE(third.call(context) == PTC_OK);
    Tensor<float> value({1}, {5});
    REQUIRE(ptc_state_set(context.handle, 0, &value.view) == PTC_OK);
    CHECK(context.total() == 5);
    REQUIRE(third.call(context) == PTC_OK);
    REQUIRE(ptc_state_reset(context.handle) == PTC_OK);
    CHECK(context.total() == 100);
  }
  SECTION("larger sizes wait for what uses the memory") {
    REQUIRE(third.call(context) == PTC_OK);
    RowsOnGpu larger(900);
    REQUIRE(larger.call(context) == PTC_OK);
    REQUIRE(ptc_synchronize(context.handle) == PTC_OK);
    CHECK(third.isRight());
    CHECK(larger.isRight());
  }
}

TEST_CASE("who waits for the context waits for work whose frame a later call has taken") {
  Context context;
  CallersStream first, second;
  RowsOnGpu before(20), later(20);
  REQUIRE(setStream(context, first) == PTC_OK);
  REQUIRE(before.call(context) == PTC_OK);
  REQUIRE(setStream(context, second) == PTC_OK);
  struct Seen {
    Context &context;
    RowsOnGpu &before;
    ptc_status status = PTC_DEVICE_ERROR;
    bool isRight = false;
  } seen{context, before};
  // As another thread would, while the later call has the only frame.
  auto waitMeanwhile = [](void *data) {
    auto &seen = *static_cast<Seen *>(data);
    seen.status = ptc_synchronize(seen.context.handle);
    seen.isRight = seen.before.isRight();
  };
  Driver::get().fake_on("cuLaunchKernel", waitMeanwhile, &seen);
  REQUIRE(later.call(context) == PTC_OK);
  CHECK(seen.status == PTC_OK);
  CHECK(seen.isRight);
  REQUIRE(ptc_synchronize(context.handle) == PTC_OK);
  CHECK(later.isRight());
}

TEST_CASE("threads with a context and a stream each") {
  Context contexts[2];
  CallersStream streams[4]; // of all threads: a context may have the other thread's when a call begins
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 10; ++j) {
        Context &context = contexts[i % 2];
        RowsOnGpu tensors(1 + i * 10 + j);
        // Two threads share a context: each call takes the stream that was set last.
        if (setStream(context, streams[i]) != PTC_OK || tensors.call(context) != PTC_OK ||
            ptc_synchronize(context.handle) != PTC_OK || !tensors.isRight())
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (Context &context : contexts) {
    ptc_synchronize(context.handle); // before the streams go
    ptc_set_stream(context.handle, nullptr, 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("data decide sizes in the caller's stream") {
  Context context(loopPrograms);
  CallersStream stream;
  REQUIRE(setStream(context, stream) == PTC_OK);
  OnGpu<int64_t> input(Tensor<int64_t>({1}, {4}));
  const DLTensor *inputs[] = {&input.view};
  DLManagedTensor *output = nullptr;
  REQUIRE(ptc_call_new(context.handle, inputs, 1, &output, 1) == PTC_OK);
  REQUIRE(ptc_synchronize(context.handle) == PTC_OK);
  REQUIRE(output->dl_tensor.shape[0] == 81);
  CHECK(output->dl_tensor.device.device_type == kDLCUDA);
  output->deleter(output);
}

TEST_CASE("a symbolic int in memory that the GPU reaches is read in the order of the stream") {
  Context context(fillPrograms);
  CallersStream callers;
  void *stream = nullptr;
  if (GENERATE(false, true)) {
    stream = callers.handle;
    REQUIRE(setStream(context, callers) == PTC_OK);
  }
  OnGpu<int64_t> n(Tensor<int64_t>({}, {3})), later(Tensor<int64_t>({}, {7})), large(Tensor<int64_t>({}, {2000}));
  void *pinned = nullptr;
  callInContext("cuMemHostAlloc", &pinned, sizeof(int64_t), 0u);
  if (GENERATE(false, true)) {
    *static_cast<int64_t *>(pinned) = 3;
    n.view.data = pinned;
    n.view.device = {kDLCUDAHost, 0};
  }
  const DLTensor *inputs[] = {&n.view};
  auto copyToInput = [&](const OnGpu<int64_t> &from) {
    callInContext("cuMemcpyAsync", reinterpret_cast<unsigned long long>(n.view.data), from.memory.address,
                  sizeof(int64_t), stream);
  };
  copyToInput(later);
  int64_t size = 0;
  CHECK(ptc_output_shape(context.handle, inputs, 1, 0, &size, 1) == PTC_OK);
  CHECK(size == 7);

  Tensor<int64_t> y({7});
  CHECK(context.call({&n.view}, {&y.view}) == PTC_OK);
  CHECK(y.values == std::vector<int64_t>{10, 11, 12, 13, 14, 15, 16});

  copyToInput(large);
  CHECK(context.call({&n.view}, {&y.view}) == PTC_MISMATCH);
  CHECK(context.error() == "input 'n' (0): is 2000, allowed: 0..1024 (s0)");
  callInContext("cuMemFreeHost", pinned);
}
