// Tensors that the runtime makes on a GPU and copies there and back, and profiles, under the fake driver.
#include "test/cuda/FakeGpu.h"

#include <cstdlib>
#include <sstream>
#include <unistd.h>

using namespace ptc::test;
using Catch::Contains;

static ptc::runtime::Program programs[] = {makeGatherProgram(), makeLoopProgram()};
extern "C" const ptc::runtime::Programs ptc_programs = {&programs[0], 1};
static const ptc::runtime::Programs loopPrograms = {&programs[1], 1};

TEST_CASE("call_new makes outputs where the first input on the GPU is, or where the caller says") {
  int hasPools = GENERATE(1, 0);
  Driver &driver = Driver::get();
  driver.fake_set_pools(hasPools);
  int64_t allocations = driver.fake_live_allocations(), objects = driver.fake_live_objects();
  std::vector<DLManagedTensor *> outputs;
  {
    Context context;
    RowsOnGpu tensors(9);
    Rows host(9);
    auto callNew = [&](const DLTensor &x, const DLTensor &index) {
      const DLTensor *inputs[] = {&x, &index};
      DLManagedTensor *output = nullptr;
      REQUIRE(ptc_call_new(context.handle, inputs, 2, &output, 1) == PTC_OK);
      outputs.push_back(output);
      return output->dl_tensor.device;
    };
    CHECK(callNew(host.x.view, host.index.view).device_type == kDLCPU);
    CHECK(callNew(host.x.view, tensors.index.view).device_type == kDLCUDA);
    DLDevice cpu = {kDLCPU, 0}, gpu = {kDLCUDA, 0}, other = {kDLCUDA, 1};
    REQUIRE(ptc_set_output_device(context.handle, &cpu) == PTC_OK);
    CHECK(callNew(tensors.x.view, tensors.index.view).device_type == kDLCPU);
    REQUIRE(ptc_set_output_device(context.handle, &gpu) == PTC_OK);
    CHECK(callNew(host.x.view, host.index.view).device_type == kDLCUDA);
    CHECK(ptc_set_output_device(context.handle, &other) == PTC_MISMATCH);
    CHECK(context.error() == "outputs cannot be made on DLPack device 2:1: the model runs on 2:0");
    REQUIRE(ptc_set_output_device(context.handle, nullptr) == PTC_OK);
    CHECK(callNew(host.x.view, host.index.view).device_type == kDLCPU);
    CHECK(driver.fake_live_pools() == hasPools);

    CallersStream stream;
    REQUIRE(setStream(context, stream) == PTC_OK);
    CHECK(callNew(tensors.x.view, tensors.index.view).device_type == kDLCUDA);
    driver.fake_fail(hasPools ? "cuMemAllocFromPoolAsync" : "cuMemAlloc", 2);
    const DLTensor *inputs[] = {&tensors.x.view, &tensors.index.view};
    DLManagedTensor *output = nullptr;
    CHECK(ptc_call_new(context.handle, inputs, 2, &output, 1) == PTC_OUT_OF_MEMORY);
    CHECK_THAT(context.error(), Contains("no memory: CUDA device 0 cannot give 144 bytes for a tensor"));
    CHECK(output == nullptr);

    // An output of a call is the input of the next one, and may go before that has run.
    DLManagedTensor *last = outputs.back();
    callNew(last->dl_tensor, tensors.index.view);
    last->deleter(last);
    outputs.erase(outputs.end() - 2);
    REQUIRE(ptc_synchronize(context.handle) == PTC_OK);
    auto twice = readGpu<float>(outputs.back()->dl_tensor.data, 36);
    CHECK(twice[5] == tensors.rows.x.values[5] * 4); // by 2, in either call
    outputs.back()->deleter(outputs.back());         // while its stream is there
    outputs.pop_back();
  }
  // The others outlive the context, and then nothing is left of it.
  for (DLManagedTensor *output : outputs) {
    CHECK(output->dl_tensor.shape[0] == 9);
    output->deleter(output);
  }
  callInContext("cuStreamSynchronize", static_cast<void *>(nullptr)); // in whose order memory is given back
  CHECK(driver.fake_live_pools() == 0);
  CHECK(driver.fake_live_allocations() == allocations);
  CHECK(driver.fake_live_objects() == objects);
  driver.fake_set_pools(1);
}

TEST_CASE("tensors are copied to the GPU") {
  Context context;
  Tensor<float> matrix({2, 3}, {1, 2, 3, 4, 5, 6}), transposed({3, 2}, {1, 2, 3, 4, 5, 6});
  transposed.setStrides({1, 3});
  CallersStream stream;
  if (GENERATE(0, 1))
    REQUIRE(setStream(context, stream) == PTC_OK);
  auto copy = [&](const DLTensor &tensor) {
    DLManagedTensor *made = nullptr;
    ptc_status status = ptc_to_device(context.handle, &tensor, &made);
    INFO(context.error());
    REQUIRE(status == PTC_OK);
    REQUIRE(ptc_synchronize(context.handle) == PTC_OK);
    const DLTensor &onGpu = made->dl_tensor;
    CHECK(onGpu.device.device_type == kDLCUDA);
    auto values = readGpu<float>(onGpu.data, onGpu.shape[0] * onGpu.shape[1]);
    made->deleter(made);
    return values;
  };
  CHECK(copy(matrix.view) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(copy(transposed.view) == std::vector<float>{1, 4, 2, 5, 3, 6});
  OnGpu<float> onGpu(transposed);
  onGpu.view.strides = transposed.view.strides;
  CHECK(copy(onGpu.view) == std::vector<float>{1, 4, 2, 5, 3, 6});

  DLManagedTensor *made = nullptr;
  DLTensor wrong = matrix.view;
  wrong.dtype.bits = 4;
  CHECK(ptc_to_device(context.handle, &wrong, &made) == PTC_UNSUPPORTED);
  CHECK(context.error() == "a tensor of 2 dimensions and type float4 cannot be copied");
  wrong = matrix.view;
  wrong.device = {kDLCUDA, 3};
  CHECK(ptc_to_device(context.handle, &wrong, &made) == PTC_MISMATCH);
  CHECK(ptc_to_device(context.handle, nullptr, &made) == PTC_INVALID_ARGUMENT);
  Driver::get().fake_fail("cuMemAllocFromPoolAsync", 2);
  CHECK(ptc_to_device(context.handle, &matrix.view, &made) == PTC_OUT_OF_MEMORY);
  CHECK(made == nullptr);
  CHECK(ptc_synchronize(context.handle) == PTC_OK);
}

TEST_CASE("strided tensors of the host are packed where that is fast, and are right either way") {
  Context context;
  // Dense and sparse, broadcast, reversed, and with more dimensions than a kernel takes.
  struct {
    std::vector<int64_t> shape, strides;
  } cases[] = {{{20, 30}, {1, 20}},
               {{20, 3}, {1, 400}},
               {{20, 30}, {0, 1}},
               {{4, 5}, {-1, -4}},
               {{2, 2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128, 256}}};
  std::vector<int32_t> content(2000);
  std::iota(content.begin(), content.end(), 0);
  for (auto &form : cases) {
    INFO(form.shape.size() << " dimensions, the first stride is " << form.strides[0]);
    auto rank = static_cast<int>(form.shape.size());
    DLTensor tensor = {content.data() + 1000, {kDLCPU, 0},         rank, {kDLInt, 32, 1},
                       form.shape.data(),     form.strides.data(), 0};
    int64_t count = 1;
    for (int64_t size : form.shape)
      count *= size;
    std::vector<int32_t> expected(count);
    ptc::runtime::gather(reinterpret_cast<char *>(expected.data()), tensor);
    DLManagedTensor *made = nullptr;
    REQUIRE(ptc_to_device(context.handle, &tensor, &made) == PTC_OK);
    CHECK(readGpu<int32_t>(made->dl_tensor.data, count) == expected);
    made->deleter(made);
  }
}

TEST_CASE("large tensors go through pinned memory in parts") {
  Context context;
  ptc::runtime::Device &device = *context.handle->device;
  ptc::runtime::Error error = {};
  ptc::runtime::DeviceScope scope(&device, error);
  ptc::runtime::PinnedRing ring = {};
  CallersStream stream;
  auto *handle = static_cast<ptc::runtime::Stream *>(stream.handle);
  std::vector<int32_t> from(100000), to(100000);
  std::iota(from.begin(), from.end(), 0);
  DeviceMemory memory(400000);
  auto *data = static_cast<char *>(memory.data());
  int64_t pageable = Driver::get().fake_pageable_copies();
  REQUIRE(ring.reserve(device, 1, error) == PTC_OK); // parts of 4 KiB
  // Two tensors, neither of which ends where a part does.
  REQUIRE(ring.upload(device, handle, data, reinterpret_cast<char *>(from.data()), 10004, error) == PTC_OK);
  REQUIRE(ring.upload(device, handle, data + 10004, reinterpret_cast<char *>(from.data()) + 10004, 389996, error) ==
          PTC_OK);
  std::fill(from.begin(), from.end(), -1);
  ptc::runtime::Landing landings[] = {{reinterpret_cast<char *>(to.data()), data, 12},
                                      {reinterpret_cast<char *>(to.data()) + 12, data + 12, 0},
                                      {reinterpret_cast<char *>(to.data()) + 12, data + 12, 399988}};
  REQUIRE(ring.download(device, handle, landings, 3, error) == PTC_OK);
  for (int32_t i = 0; i < 100000; ++i)
    REQUIRE(to[i] == i);
  CHECK(Driver::get().fake_pageable_copies() == pageable);
  CHECK(ring.size() == 2 * 4096);
  ring.release(device);
}

TEST_CASE("strided tensors on the GPU are copied like those on the host") {
  Context context;
  ptc::runtime::Device &device = *context.handle->device;
  ptc::runtime::Error error = {};
  ptc::runtime::DeviceScope scope(&device, error);
  struct {
    int bits;
    std::vector<int64_t> shape, strides;
    size_t offset;
  } cases[] = {
      {8, {3, 5}, {1, 3}, 0},
      {16, {3, 5}, {1, 3}, 2},
      {32, {3, 4, 5}, {20, 1, 4}, 4},
      {64, {7, 2}, {2, 14}, 8},
      {128, {2, 3}, {1, 2}, 8},
      {32, {4, 8}, {12, 1}, 16}, // rows of 16 bytes
      {32, {4, 8}, {11, 1}, 0},
      {32, {5, 3}, {1, 5}, 3},
      {8, {3, 32}, {1, 3}, 3}, // whole lines of 16 bytes of the row-major memory
      {16, {2, 3, 16}, {48, 1, 3}, 2},
      {32, {5, 8}, {1, 5}, 4},
      {64, {3, 4}, {1, 3}, 8},
      {64, {9}, {-1}, 64},
      {32, {4, 6}, {0, 1}, 0},
      {16, {1, 1}, {7, 9}, 2},
      {8, {}, {}, 5},
      {16, {2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128}, 0}, // eight dimensions, none merges
  };
  for (auto &form : cases) {
    INFO(form.bits << " bits, " << form.shape.size() << " dimensions, offset " << form.offset);
    std::vector<uint8_t> content(8192);
    for (size_t i = 0; i < content.size(); ++i)
      content[i] = static_cast<uint8_t>(i * 7 + i / 256);
    int64_t count = form.bits / 8;
    for (int64_t size : form.shape)
      count *= size;
    auto rank = static_cast<int>(form.shape.size());
    DLTensor tensor = {
        content.data(),    {kDLCPU, 0},         rank,       {kDLUInt, static_cast<uint8_t>(form.bits), 1},
        form.shape.data(), form.strides.data(), form.offset};
    std::vector<char> expected(count), found(count);
    ptc::runtime::gather(expected.data(), tensor);

    DeviceMemory strided(content.size()), packed(count);
    strided.write(content.data());
    DLTensor onGpu = tensor;
    onGpu.data = strided.data();
    onGpu.device = {kDLCUDA, 0};
    auto *data = static_cast<char *>(packed.data());
    REQUIRE(device.functions->gather(device, nullptr, data, onGpu, error) == PTC_OK);
    packed.read(found.data());
    CHECK(found == expected);
    if (form.strides.empty() || form.strides[0] == 0)
      continue;
    for (char &byte : found)
      byte ^= 0x55;
    packed.write(found.data());
    REQUIRE(device.functions->scatter(device, nullptr, onGpu, data, error) == PTC_OK);
    ptc::runtime::scatter(tensor, found.data());
    std::vector<uint8_t> written(content.size());
    strided.read(written.data());
    CHECK(written == content);
  }
  std::vector<int64_t> shape(9, 2), strides;
  for (int64_t i = 0; i < 9; ++i)
    strides.push_back(int64_t(1) << i);
  DLTensor tensor = {&tensor, {kDLCUDA, 0}, 9, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
  CHECK(device.functions->gather(device, nullptr, nullptr, tensor, error) == PTC_UNSUPPORTED);
  CHECK_THAT(error.text, Contains("strides in 9 dimensions that do not merge, but at most 8"));
}

TEST_CASE("a profile has the GPU's kernels on a track of their own") {
  Context context;
  CallersStream stream;
  REQUIRE(setStream(context, stream) == PTC_OK);
  RowsOnGpu tensors(30);
  REQUIRE(tensors.call(context) == PTC_OK);
  REQUIRE(ptc_profile_start(context.handle) == PTC_OK);
  REQUIRE(tensors.call(context) == PTC_OK);
  CHECK(tensors.isRight()); // as the call has waited
  std::string path =
      (std::getenv("TEST_TMPDIR") ? std::getenv("TEST_TMPDIR") : "/tmp") + std::string("/gpu-trace.json");
  REQUIRE(ptc_profile_stop(context.handle, path.c_str()) == PTC_OK);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  CHECK_THAT(text.str(), Contains("\"name\":\"thread_name\"") && Contains("\"name\":\"GPU (calls of frame 0)\""));
  for (const char *kernel : {"scale", "gather", "count"}) {
    size_t event = text.str().find("\"name\":\"" + std::string(kernel) + "\",\"cat\":\"kernel\"");
    REQUIRE(event != std::string::npos);
    CHECK_THAT(text.str().substr(event, 100), Contains("\"tid\":999"));
  }
  CHECK_THAT(text.str(), Contains("\"name\":\"gathering\",\"cat\":\"call\""));

  // Calls after it return at once again.
  int64_t waits = Driver::get().fake_waits();
  REQUIRE(tensors.call(context) == PTC_OK);
  CHECK(Driver::get().fake_waits() == waits);
}

TEST_CASE("a loop of a profiled call is one event for each kernel") {
  Context context(loopPrograms);
  REQUIRE(ptc_profile_start(context.handle) == PTC_OK);
  Tensor<int64_t> input({1}, {6});
  const DLTensor *inputs[] = {&input.view};
  DLManagedTensor *output = nullptr;
  REQUIRE(ptc_call_new(context.handle, inputs, 1, &output, 1) == PTC_OK);
  output->deleter(output);
  std::string path =
      (std::getenv("TEST_TMPDIR") ? std::getenv("TEST_TMPDIR") : "/tmp") + std::string("/loop-trace.json");
  REQUIRE(ptc_profile_stop(context.handle, path.c_str()) == PTC_OK);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  std::string all = text.str();
  size_t first = all.find("\"name\":\"step\"");
  REQUIRE(first != std::string::npos);
  CHECK(all.find("\"name\":\"step\"", first + 1) == std::string::npos);
}
