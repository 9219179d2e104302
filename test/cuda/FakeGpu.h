//===- FakeGpu.h - the fake driver, and contexts and tensors under it --------===//
//
// A test that includes this defines `ptc_programs`, of which the first is the
// gathering program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Context.h"
#include "test/cuda/DevicePrograms.h"
#include "test/cuda/fake_driver.h"
#include "test/link/Loaded.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>

namespace ptc::test {

/// The fake driver, which the runtime then finds by its name.
struct Driver {
  void *library = dlopen("test/cuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  std::vector<char> image;

#define DRIVER_FUNCTION(NAME) decltype(&NAME) NAME = reinterpret_cast<decltype(&::NAME)>(dlsym(library, #NAME));
  DRIVER_FUNCTION(fake_live_allocations)
  DRIVER_FUNCTION(fake_all_allocations)
  DRIVER_FUNCTION(fake_live_objects)
  DRIVER_FUNCTION(fake_launches)
  DRIVER_FUNCTION(fake_waits)
  DRIVER_FUNCTION(fake_live_pools)
  DRIVER_FUNCTION(fake_pageable_copies)
  DRIVER_FUNCTION(fake_set_gpus)
  DRIVER_FUNCTION(fake_set_version)
  DRIVER_FUNCTION(fake_set_pools)
  DRIVER_FUNCTION(fake_set_capturing)
  DRIVER_FUNCTION(fake_fail)
  DRIVER_FUNCTION(fake_on)
#undef DRIVER_FUNCTION

  Driver() {
    REQUIRE(library);
    std::ifstream file("test/cuda/kernels.so", std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(file), {});
    REQUIRE(image.size() > 0);
    deviceEntry.image = image.data();
  }
  template <typename... Args> int call(const char *name, Args... args) const {
    return reinterpret_cast<int (*)(Args...)>(dlsym(library, name))(args...);
  }
  static Driver &get() {
    static Driver driver;
    return driver;
  }
};

/// Calls a function of the driver's in GPU 0's primary context.
template <typename... Args> void callInContext(const char *function, Args... args) {
  Driver &driver = Driver::get();
  void *context = nullptr;
  driver.call("cuDevicePrimaryCtxRetain", &context, 0);
  driver.call("cuCtxPushCurrent_v2", context);
  int result = driver.call(function, args...);
  driver.call("cuCtxPopCurrent_v2", &context);
  driver.call("cuDevicePrimaryCtxRelease_v2", 0);
  REQUIRE(result == 0);
}

/// What lies in GPU 0's memory, behind all work of the default stream.
template <typename T> std::vector<T> readGpu(const void *data, size_t count) {
  std::vector<T> values(count);
  void *stream = nullptr;
  callInContext("cuMemcpyDtoHAsync_v2", static_cast<void *>(values.data()), reinterpret_cast<unsigned long long>(data),
                count * sizeof(T), stream);
  callInContext("cuStreamSynchronize", stream);
  return values;
}

/// Memory of GPU 0, as a caller would have taken it.
struct DeviceMemory {
  unsigned long long address = 0;
  size_t bytes;
  explicit DeviceMemory(size_t size) : bytes(size) { callInContext("cuMemAlloc_v2", &address, bytes); }
  ~DeviceMemory() { callInContext("cuMemFree_v2", address); }
  DeviceMemory(const DeviceMemory &) = delete;
  void *data() const { return reinterpret_cast<void *>(address); }
  void write(const void *from) {
    void *stream = nullptr;
    callInContext("cuMemcpyHtoDAsync_v2", address, from, bytes, stream);
    callInContext("cuStreamSynchronize", stream);
  }
  void read(void *to) const {
    std::vector<char> values = readGpu<char>(data(), bytes);
    std::copy(values.begin(), values.end(), static_cast<char *>(to));
  }
};

struct Context {
  ptc_context *handle = nullptr;
  explicit Context(const runtime::Programs &model = ptc_programs) {
    Driver::get().fake_set_gpus(1, 9, 0);
    runtime::Error error = {};
    ptc_context::create(model, runtime::kAnyDevice, &handle, error);
    INFO(error.text);
    REQUIRE(handle);
  }
  ~Context() { ptc_context_destroy(handle); }
  Context(const Context &) = delete;

  ptc_status call(std::vector<const DLTensor *> inputs, std::vector<DLTensor *> outputs) const {
    return ptc_call(handle, inputs.data(), inputs.size(), outputs.data(), outputs.size());
  }
  std::string error() const { return ptc_last_error(handle); }
  float total() const {
    Tensor<float> value({1});
    REQUIRE(ptc_state_get(handle, 0, &value.view) == PTC_OK);
    return value.values[0];
  }
};

/// Inputs and what they give: rows in reverse order, times w.
struct Rows {
  int64_t count;
  Tensor<float> x, y;
  Tensor<int64_t> index;
  explicit Rows(int64_t rows) : count(rows), x({rows, 4}), y({rows, 4}), index({rows}) {
    std::iota(x.values.begin(), x.values.end(), 1.f);
    for (int64_t i = 0; i < rows; ++i)
      index.values[i] = rows - 1 - i;
  }
  bool isRight(const float *found) const {
    for (int64_t i = 0; i < count * 4; ++i)
      if (found[i] != x.values[(count - 1 - i / 4) * 4 + i % 4] * (i % 4 + 1))
        return false;
    return true;
  }
  bool isRight() const { return isRight(y.values.data()); }
};

/// A stream of the caller's, as PyTorch's are: in no order with the default stream.
struct CallersStream {
  void *handle = nullptr;
  CallersStream() { callInContext("cuStreamCreate", &handle, 1u); }
  ~CallersStream() { callInContext("cuStreamDestroy_v2", handle); }
  CallersStream(const CallersStream &) = delete;
  void wait() const { callInContext("cuStreamSynchronize", handle); }
};

/// GPU 0's memory with the values of a tensor.
template <typename T> struct OnGpu {
  DeviceMemory memory;
  std::vector<int64_t> shape;
  DLTensor view;
  explicit OnGpu(const Tensor<T> &tensor)
      : memory(std::max<size_t>(tensor.values.size(), 1) * sizeof(T)), shape(tensor.shape), view(tensor.view) {
    memory.write(tensor.values.data());
    view.data = memory.data();
    view.device = {kDLCUDA, 0};
    view.shape = shape.data();
  }
  OnGpu(const OnGpu &) = delete;
  std::vector<T> values() const { return readGpu<T>(memory.data(), memory.bytes / sizeof(T)); }
};

/// A call's tensors on the GPU.
struct RowsOnGpu {
  Rows rows;
  OnGpu<float> x, y;
  OnGpu<int64_t> index;
  explicit RowsOnGpu(int64_t count) : rows(count), x(rows.x), y(rows.y), index(rows.index) {}

  ptc_status call(Context &context) { return context.call({&x.view, &index.view}, {&y.view}); }
  bool isRight() { return rows.isRight(y.values().data()); }
};

inline ptc_status setStream(Context &context, const CallersStream &stream) {
  return ptc_set_stream(context.handle, stream.handle, 1);
}

} // namespace ptc::test
