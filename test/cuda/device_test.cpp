// Programs for a GPU under the fake driver: tensors of the host and of the device, faults, loops, errors of the driver.
#include "test/cuda/FakeGpu.h"

#include <algorithm>
#include <thread>

using namespace ptc::test;
using Catch::Contains;
using ptc::runtime::Program;

static Program programs[] = {makeGatherProgram(), makeLoopProgram()};
extern "C" const ptc::runtime::Programs ptc_programs = {&programs[0], 1};
static const ptc::runtime::Programs loopPrograms = {&programs[1], 1};

static ptc_status createContext(ptc_context **context) { return ptc_context_create(context); }

// First, because a driver stays once it is there.
TEST_CASE("without a driver no context is created") {
  if (void *driver = dlopen("libcuda.so.1", RTLD_NOW)) {
    dlclose(driver);
    WARN("this machine has a driver");
    return;
  }
  ptc_context *context = nullptr;
  CHECK(createContext(&context) == PTC_UNSUPPORTED);
  CHECK(context == nullptr);
  CHECK_THAT(ptc_last_error(nullptr), Contains("the model needs an NVIDIA driver: libcuda.so.1: cannot open"));
  CHECK(ptc_get_machine() == nullptr);
  REQUIRE(ptc_get_signature());
  CHECK(ptc_get_signature()->inputs[0].device.device_type == kDLCUDA);
}

TEST_CASE("tensors of the host are brought to the device and back") {
  Context context;
  for (int64_t count : {3, 100, 0, 1}) {
    Rows rows(count);
    CHECK(context.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == PTC_OK);
    CHECK(rows.isRight());
  }
  CHECK(context.total() == 204);
  CHECK(std::string(ptc_get_machine()) == "sm_80");
}

TEST_CASE("tensors of the host may have any strides") {
  Context context;
  Rows rows(2);
  Tensor<float> columns({2, 4}, {1, 5, 2, 6, 3, 7, 4, 8}), wide({2, 8});
  columns.setStrides({1, 2});
  wide.shape[1] = 4;
  wide.setStrides({8, 2});
  CHECK(context.call({&columns.view, &rows.index.view}, {&wide.view}) == PTC_OK);
  CHECK(wide.values == std::vector<float>{5, 0, 12, 0, 21, 0, 32, 0, 1, 0, 4, 0, 9, 0, 16, 0});
}

TEST_CASE("tensors on the device are used where they are") {
  Context context;
  Rows rows(20);
  DeviceMemory x(20 * 16), index(20 * 8), y(20 * 16);
  x.write(rows.x.values.data());
  index.write(rows.index.values.data());
  Rows views(20);
  for (auto [tensor, memory] :
       {std::pair<DLTensor *, DeviceMemory *>{&views.x.view, &x}, {&views.index.view, &index}, {&views.y.view, &y}}) {
    tensor->device = {kDLCUDA, 0};
    tensor->data = memory->data();
  }
  REQUIRE(context.call({&views.x.view, &views.index.view}, {&views.y.view}) == PTC_OK);
  y.read(rows.y.values.data());
  CHECK(rows.isRight());

  SECTION("a call with nothing on the host waits once") {
    int64_t waits = Driver::get().fake_waits();
    CHECK(context.call({&views.x.view, &views.index.view}, {&views.y.view}) == PTC_OK);
    CHECK(Driver::get().fake_waits() == waits + 1);
  }
  SECTION("an output in the place of an input") {
    views.y.view.data = x.data();
    REQUIRE(context.call({&views.x.view, &views.index.view}, {&views.y.view}) == PTC_OK);
    x.read(rows.y.values.data());
    CHECK(rows.isRight());
  }
  SECTION("strides are gathered and scattered there") {
    std::vector<float> columns(80);
    for (int i = 0; i < 80; ++i)
      columns[i % 4 * 20 + i / 4] = rows.x.values[i];
    x.write(columns.data());
    views.x.setStrides({1, 20});
    views.y.setStrides({4, -1});
    views.y.view.byte_offset = 3 * sizeof(float);
    REQUIRE(context.call({&views.x.view, &views.index.view}, {&views.y.view}) == PTC_OK);
    y.read(rows.y.values.data());
    for (int i = 0; i < 20; ++i)
      std::reverse(rows.y.values.begin() + 4 * i, rows.y.values.begin() + 4 * (i + 1));
    CHECK(rows.isRight());
  }
  SECTION("other devices are refused") {
    views.x.view.device.device_id = 1;
    CHECK(context.call({&views.x.view, &views.index.view}, {&views.y.view}) == PTC_MISMATCH);
    CHECK(context.error() == "input 'x' (0): is on DLPack device 2:1, but the model runs on 2:0");
  }
  SECTION("states are copied on the device") {
    views.y.shape = {1};
    views.y.view.ndim = 1;
    views.y.view.shape = views.y.shape.data();
    CHECK(ptc_state_set(context.handle, 0, &views.y.view) == PTC_OK);
    CHECK(context.total() == rows.y.values[0]);
  }
}

TEST_CASE("an index out of range is an error, and the next call works") {
  Context context;
  Rows rows(5);
  rows.index.values[3] = 5;
  CHECK(context.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == PTC_INDEX_ERROR);
  CHECK(context.error() == "gather: index out of range in a dimension: 5 is not from 0 to 4, at net.py:7");
  rows.index.values[3] = 1;
  CHECK(context.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == PTC_OK);
  CHECK(rows.isRight());
}

TEST_CASE("a second call like the first allocates nothing") {
  Context context;
  Rows rows(50);
  REQUIRE(context.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == PTC_OK);
  int64_t allocations = Driver::get().fake_all_allocations(), objects = Driver::get().fake_live_objects();
  int64_t pageable = Driver::get().fake_pageable_copies();
  REQUIRE(context.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == PTC_OK);
  CHECK(rows.isRight());
  CHECK(Driver::get().fake_pageable_copies() == pageable);
  CHECK(Driver::get().fake_all_allocations() == allocations);
  CHECK(Driver::get().fake_live_objects() == objects);
  ptc_memory memory;
  REQUIRE(ptc_get_memory(context.handle, &memory) == PTC_OK);
  CHECK(memory.reserved >= 3 * 50 * 16);
  REQUIRE(ptc_trim(context.handle) == PTC_OK);
  REQUIRE(ptc_get_memory(context.handle, &memory) == PTC_OK);
  CHECK(memory.reserved == 0);
  CHECK(Driver::get().fake_live_allocations() < allocations);
}

TEST_CASE("contexts share code and weights, and have states of their own") {
  Driver &driver = Driver::get();
  int64_t allocations = driver.fake_live_allocations(), objects = driver.fake_live_objects();
  {
    Context first;
    int64_t ofOne = driver.fake_live_allocations();
    Context second;
    CHECK(driver.fake_live_allocations() == ofOne + 1); // the second's state
    Rows rows(7);
    CHECK(first.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == PTC_OK);
    CHECK(first.total() == 107);
    CHECK(second.total() == 100);
    CHECK(ptc_state_reset(first.handle) == PTC_OK);
    CHECK(first.total() == 100);
    Tensor<float> value({1}, {5});
    CHECK(ptc_state_set(second.handle, 0, &value.view) == PTC_OK);
    CHECK(second.total() == 5);
    CHECK(ptc_set_seed(second.handle, 1) == PTC_OK);
  }
  CHECK(driver.fake_live_allocations() == allocations);
  CHECK(driver.fake_live_objects() == objects);
}

TEST_CASE("states on a device are seen there, saved and loaded") {
  Driver &driver = Driver::get();
  const char *folder = std::getenv("TEST_TMPDIR");
  std::string path = std::string(folder ? folder : "/tmp") + "/states.safetensors";
  Context first, second;
  RowsOnGpu tensors(7);
  CallersStream stream;
  REQUIRE(setStream(first, stream) == PTC_OK);
  REQUIRE(tensors.call(first) == PTC_OK); // perhaps not done when the states are asked for
  REQUIRE(ptc_checkpoint_save(first.handle, path.c_str()) == PTC_OK);
  REQUIRE(ptc_checkpoint_load(second.handle, path.c_str(), 0) == PTC_OK);
  CHECK(second.total() == 107);
  CHECK(ptc_state_find("total") == 0);
  DLTensor live;
  REQUIRE(ptc_state_view(second.handle, 0, &live) == PTC_OK);
  CHECK((live.device.device_type == kDLCUDA && live.ndim == 1 && live.shape[0] == 1));
  CHECK(readGpu<float>(live.data, 1)[0] == 107);

  driver.fake_fail("cuMemcpyHtoDAsync", 719);
  CHECK(ptc_checkpoint_load(second.handle, path.c_str(), 0) == PTC_DEVICE_ERROR);
  driver.fake_fail("cuMemcpyDtoHAsync", 719);
  CHECK(ptc_checkpoint_save(first.handle, (path + ".no").c_str()) == PTC_DEVICE_ERROR);
  CHECK(!std::ifstream(path + ".no"));
  CHECK(ptc_checkpoint_load(second.handle, path.c_str(), 0) == PTC_OK);
  CHECK(second.total() == 107);
}

TEST_CASE("calls from several threads and contexts") {
  Context contexts[2];
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 20; ++j) {
        Rows rows(1 + i * 10 + j);
        if (contexts[i % 2].call({&rows.x.view, &rows.index.view}, {&rows.y.view}) != PTC_OK || !rows.isRight())
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(contexts[0].total() + contexts[1].total() == 200 + 4 * (20 + 190) + 20 * 60);
}

TEST_CASE("data decide how often a loop runs and how large an output is") {
  Context context(loopPrograms);
  for (int64_t n : {0, 2, 8, 3}) {
    Tensor<int64_t> input({1}, {n});
    const DLTensor *inputs[] = {&input.view};
    DLManagedTensor *output = nullptr;
    ptc_status status = ptc_call_new(context.handle, inputs, 1, &output, 1);
    INFO(context.error());
    REQUIRE(status == PTC_OK);
    int64_t size = 1;
    for (int64_t i = 0; i < n; ++i)
      size *= 3;
    const DLTensor &y = output->dl_tensor;
    CHECK(y.device.device_type == kDLCPU);
    CHECK(y.shape[0] == size);
    for (int64_t i = 0; i < size; ++i)
      REQUIRE(static_cast<int64_t *>(y.data)[i] == 10 + i);
    output->deleter(output);
  }
}

TEST_CASE("a GPU that will not do is named") {
  ptc_context *context = nullptr;
  Driver &driver = Driver::get();
  auto refuses = [&](const std::string &message) {
    CHECK(createContext(&context) == PTC_UNSUPPORTED);
    CHECK_THAT(ptc_last_error(nullptr), Contains(message));
    driver.fake_set_gpus(1, 9, 0);
  };
  driver.fake_set_gpus(1, 7, 5);
  refuses("the model has code for sm_80, which CUDA device 0 (Fake GPU, compute capability 7.5) does not run");
  deviceEntry.isExact = 1;
  refuses("the model has code for sm_80, which CUDA device 0 (Fake GPU, compute capability 9.0) does not run");
  deviceEntry.isExact = 0;
  driver.fake_set_gpus(0, 9, 0);
  refuses("the model needs an NVIDIA GPU, and the driver shows none");
  const char *image = deviceEntry.image;
  deviceEntry.image = "//\n// PTX\n//\n\n.version 8.0\n.target sm_90a";
  driver.fake_set_version(11080);
  refuses("the model needs an NVIDIA driver for CUDA 12.0 or later; this one is for 11.8");
  driver.fake_set_version(12000);
  refuses("cannot load the model's code: a PTX JIT compilation failed (218): ptxas: what was given is no library");
  deviceEntry.image = image;
  driver.fake_set_version(13000);
  CHECK(createContext(&context) == PTC_OK);
  ptc_context_destroy(context);
}

TEST_CASE("a context may name its GPU") {
  ptc_context *context = nullptr;
  auto refuses = [&](int32_t device, ptc_status status, const std::string &message) {
    CHECK(ptc_context_create_on(device, 0, &context) == status);
    CHECK(ptc_last_error(nullptr) == message);
  };
  Driver::get().fake_set_gpus(2, 9, 0);
  refuses(2, PTC_UNSUPPORTED, "there is no CUDA device 2: the driver shows 2");
  refuses(-2, PTC_INVALID_ARGUMENT, "there is no device -2");
  REQUIRE(ptc_context_create_on(1, 0, &context) == PTC_OK);
  DLDevice place;
  REQUIRE(ptc_get_device(context, &place) == PTC_OK);
  CHECK(place.device_type == kDLCUDA);
  CHECK(place.device_id == 1);
  Rows rows(3);
  rows.x.view.device = {kDLCUDA, 0};
  const DLTensor *inputs[] = {&rows.x.view, &rows.index.view};
  DLTensor *outputs[] = {&rows.y.view};
  CHECK(ptc_call(context, inputs, 2, outputs, 1) == PTC_MISMATCH);
  CHECK(std::string(ptc_last_error(context)) == "input 'x' (0): is on DLPack device 2:0, but the model runs on 2:1");
  rows.x.view.device = {kDLCPU, 0};
  CHECK(ptc_call(context, inputs, 2, outputs, 1) == PTC_OK);
  CHECK(rows.isRight());
  ptc_context_destroy(context);
}

TEST_CASE("of several programs the first is chosen that the GPU runs") {
  Driver &driver = Driver::get();
  ptc::runtime::Program all[] = {ptc::test::makeGatherProgram(), ptc::test::makeGatherProgram()};
  ptc::runtime::DeviceEntry hopper = deviceEntry;
  hopper.major = 9;
  hopper.isExact = 1;
  all[0].device = &hopper;
  all[0].machine = "sm_90a";
  ptc::runtime::Error error = {};
  auto choose = [&](int major, int minor) {
    driver.fake_set_gpus(1, major, minor);
    ptc_context *context = nullptr;
    error = {};
    ptc_context::create({all, 2}, ptc::runtime::kAnyDevice, &context, error);
    std::string machine = context ? context->program->machine : "none";
    ptc_context_destroy(context);
    return machine;
  };
  CHECK(choose(9, 0) == "sm_90a");
  CHECK(choose(8, 6) == "sm_80");
  CHECK(choose(10, 0) == "sm_80");
  CHECK(choose(7, 5) == "none");
  CHECK(error.status == PTC_UNSUPPORTED);
  CHECK(std::string(error.text) == "the model has code for sm_90a, sm_80, which CUDA device 0 (Fake GPU, compute "
                                   "capability 7.5) does not run");
  driver.fake_set_gpus(1, 9, 0);
}

TEST_CASE("a cubin is loaded where the GPU runs it and the driver knows it, else PTX") {
  Driver &driver = Driver::get();
  const ptc::runtime::DeviceEntry before = deviceEntry; // of 8.0
  auto opens = [&](int major, int minor, const char *machineCode, const char *image) {
    deviceEntry.machineCode = machineCode;
    deviceEntry.image = image;
    driver.fake_set_gpus(1, major, minor);
    ptc_context *context = nullptr;
    ptc_status status = createContext(&context);
    ptc_context_destroy(context);
    return status == PTC_OK;
  };
  constexpr const char *kNothing = ".version 8.0";
  CHECK(opens(8, 6, before.image, kNothing));
  CHECK_FALSE(opens(9, 0, before.image, kNothing));
  CHECK(opens(9, 0, kNothing, before.image));
  CHECK(opens(8, 0, kNothing, before.image));
  CHECK_FALSE(opens(8, 0, kNothing, kNothing));
  deviceEntry = before;
  driver.fake_set_gpus(1, 9, 0);
}

TEST_CASE("errors of the driver are the call's, and the next call works") {
  Driver &driver = Driver::get();
  int64_t allocations = driver.fake_live_allocations(), objects = driver.fake_live_objects();
  {
    Context context;
    Rows rows(9);
    auto fails = [&](const char *function, int result, ptc_status status, const std::string &message) {
      driver.fake_fail(function, result);
      CHECK(context.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == status);
      CHECK_THAT(context.error(), Contains(message));
      CHECK(context.call({&rows.x.view, &rows.index.view}, {&rows.y.view}) == PTC_OK);
      CHECK(rows.isRight());
      CHECK(ptc_trim(context.handle) == PTC_OK);
    };
    fails("cuStreamCreate", 2, PTC_OUT_OF_MEMORY, "creating a stream failed");
    fails("cuMemHostAlloc", 2, PTC_OUT_OF_MEMORY, "no memory: CUDA device 0 cannot give");
    fails("cuEventCreate", 2, PTC_OUT_OF_MEMORY, "creating an event failed");
    fails("cuMemAlloc", 2, PTC_OUT_OF_MEMORY, "no memory: CUDA device 0 cannot give");
    fails("cuLaunchKernel", 719, PTC_DEVICE_ERROR,
          "scale failed: unspecified launch failure (CUDA_ERROR_OF_A_TEST, 719)");
    fails("cuLaunchKernel", 9999, PTC_DEVICE_ERROR, "scale failed: error 9999, which the NVIDIA driver does not name");
    fails("cuStreamSynchronize", 719, PTC_DEVICE_ERROR, "the work on the GPU failed: unspecified launch failure");
    fails("cuMemcpyDtoHAsync", 719, PTC_DEVICE_ERROR, "copying from the GPU to the host failed");
    fails("cuCtxPushCurrent", 3, PTC_DEVICE_ERROR, "entering the GPU's context failed");
  }
  ptc_context *context = nullptr;
  for (const char *function : {"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuModuleGetFunction",
                               "cuFuncSetAttribute", "cuMemAlloc", "cuMemcpyHtoDAsync", "cuStreamSynchronize"}) {
    driver.fake_fail(function, 2);
    CHECK(createContext(&context) == PTC_OUT_OF_MEMORY);
  }
  CHECK(driver.fake_live_allocations() == allocations);
  CHECK(driver.fake_live_objects() == objects);
}

TEST_CASE("the calling thread's current context names the GPU") {
  Driver &driver = Driver::get();
  driver.fake_set_gpus(2, 9, 0);
  void *second = nullptr;
  REQUIRE(driver.call("cuDevicePrimaryCtxRetain", &second, 1) == 0);
  REQUIRE(driver.call("cuCtxPushCurrent_v2", second) == 0);
  ptc_context *context = nullptr;
  REQUIRE(createContext(&context) == PTC_OK);
  CHECK(context->device->place.device_id == 1);
  void *current = nullptr;
  driver.call("cuCtxPopCurrent_v2", &current);
  CHECK(current == second);
  Rows rows(4);
  const DLTensor *inputs[] = {&rows.x.view, &rows.index.view};
  DLTensor *outputs[] = {&rows.y.view};
  CHECK(ptc_call(context, inputs, 2, outputs, 1) == PTC_OK);
  CHECK(rows.isRight());
  ptc_context_destroy(context);
  driver.call("cuDevicePrimaryCtxRelease_v2", 1);
}
