//===- StridedCopy.cpp - tensors of any strides, copied on a GPU -------------===//

#include "runtime/Strided.h"
#include "runtime/cuda/Device.h"

#include <algorithm>
#include <stdio.h>

namespace ptc::runtime::cuda {

/// strided_copy.c, as PTX for all GPUs that ptc compiles for.
static const char kPtx[] =
#include "runtime/cuda/strided_copy_ptx.inc"
    ;

/// The kernels' dimensions. An element that is not aligned takes one.
constexpr int32_t kMostDims = kMostGatheredDims, kThreads = 256;

/// By the logarithm of the bytes that a thread moves.
static ptc_status loadKernels(CudaDevice &device, Error &error) {
  const Driver &driver = *device.driver;
  StridedCopies &copies = device.stridedCopies;
  CUmodule module = nullptr;
  if (ptc_status status = driver.check(driver.cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr),
                                       "loading the kernels for strided tensors", error))
    return status;
  for (int32_t i = 0; i < StridedCopies::kSizes; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "ptc_strided_copy_%d", 1 << i);
    if (ptc_status status = driver.check(driver.cuModuleGetFunction(&copies.functions[i], module, name),
                                         "finding the kernels for strided tensors", error)) {
      driver.cuModuleUnload(module);
      return status;
    }
  }
  copies.module = module;
  return PTC_OK;
}

namespace {
/// What threads move: as many bytes at a time as the tensor's elements, its strides and its alignment allow.
struct Plan {
  int64_t unit; ///< bytes
  int64_t count = 1;
  int32_t rank;
  int64_t sizes[kMaxRank + 1], strides[kMaxRank + 1]; ///< in units

  Plan(const Layout &layout, int64_t elementBytes, uintptr_t alignment) : unit(1), rank(0) {
    // Bytes along the innermost dimension, if elements lie side by side there; else of one element.
    bool isDense = layout.rank > 0 && layout.strides[0] == 1;
    int64_t run = elementBytes * (isDense ? layout.sizes[0] : 1);
    auto fits = [&](int64_t bytes) {
      bool all = run % bytes == 0 && alignment % bytes == 0;
      for (int32_t d = isDense ? 1 : 0; d < layout.rank; ++d)
        all &= layout.strides[d] * elementBytes % bytes == 0;
      return all;
    };
    while (unit < 16 && fits(2 * unit))
      unit *= 2;
    if (run > unit)
      add(run / unit, 1);
    for (int32_t d = isDense ? 1 : 0; d < layout.rank; ++d)
      add(layout.sizes[d], layout.strides[d] * elementBytes / unit);
  }

private:
  void add(int64_t size, int64_t stride) {
    sizes[rank] = size;
    strides[rank++] = stride;
    count *= size;
  }
};
} // namespace

static ptc_status launchCopy(CudaDevice &device, Stream *stream, char *packed, char *tensor, bool reads,
                             const Plan &plan, Error &error) {
  constexpr int64_t kLine = 16; // bytes
  int64_t each = kLine / plan.unit;
  bool lines = plan.sizes[0] % each == 0 && reinterpret_cast<uintptr_t>(packed) % kLine == 0;
  int64_t threads = lines ? plan.count / each : plan.count, blocks = (threads + kThreads - 1) / kThreads;
  if (blocks > kMostBlocks)
    return error.set(PTC_UNSUPPORTED, "copying a strided tensor takes %lld blocks, more than a GPU can start",
                     static_cast<long long>(blocks));
  if (plan.rank > kMostDims)
    return error.set(PTC_UNSUPPORTED,
                     "a tensor on the GPU has strides in %d dimensions that do not merge, but at most %d can be copied",
                     plan.rank, kMostDims);
  Error failure = {};
  if (!device.stridedCopies.once.run([&] { return loadKernels(device, failure) == PTC_OK; })) {
    error = failure;
    return error.status;
  }
  constexpr int32_t kFirst = 6;
  int64_t parameters[kFirst + 2 * kMostDims] = {
      reinterpret_cast<intptr_t>(packed), reinterpret_cast<intptr_t>(tensor), reads, lines, threads, plan.rank};
  std::copy_n(plan.sizes, plan.rank, parameters + kFirst);
  std::copy_n(plan.strides, plan.rank, parameters + kFirst + kMostDims);
  size_t bytes = sizeof(parameters);
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  CUfunction function = device.stridedCopies.functions[__builtin_ctzll(plan.unit)];
  CUresult result = device.driver->cuLaunchKernel(function, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0,
                                                  handleOf(stream), nullptr, extra);
  return device.driver->check(result, "copying a strided tensor", error);
}

static ptc_status copyStrided(Device &device, Stream *stream, char *packed, const DLTensor &tensor, bool reads,
                              Error &error) {
  Layout layout(tensor);
  if (layout.isEmpty)
    return PTC_OK;
  char *data = dataOf(tensor);
  int64_t elementBytes = tensor.dtype.bits / 8;
  if (layout.rank == 0 || (layout.rank == 1 && layout.strides[0] == 1)) {
    int64_t bytes = elementBytes * (layout.rank == 0 ? 1 : layout.sizes[0]);
    return reads ? copy(device, stream, packed, data, bytes, error) : copy(device, stream, data, packed, bytes, error);
  }
  return launchCopy(CudaDevice::of(device), stream, packed, data, reads,
                    Plan(layout, elementBytes, reinterpret_cast<uintptr_t>(data)), error);
}

ptc_status gather(Device &device, Stream *stream, char *packed, const DLTensor &tensor, Error &error) {
  return copyStrided(device, stream, packed, tensor, true, error);
}

ptc_status scatter(Device &device, Stream *stream, const DLTensor &tensor, const char *packed, Error &error) {
  return copyStrided(device, stream, const_cast<char *>(packed), tensor, false, error);
}

} // namespace ptc::runtime::cuda
