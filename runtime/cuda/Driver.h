//===- Driver.h - the part of NVIDIA's driver that the runtime calls --------===//
//
// libcuda.so.1 is opened when the first context is created, so that a library needs
// it only there. Its types and functions are declared here under their own names:
// neither ptc nor a model needs CUDA's headers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Error.h"

#include <cstddef>
#include <cstdint>

namespace ptc::runtime::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;
using CUcontext = CUctx_st *;
using CUmodule = CUmod_st *;
using CUfunction = CUfunc_st *;
using CUstream = CUstream_st *;
using CUevent = CUevent_st *;
using CUmemoryPool = CUmemPoolHandle_st *;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
};
enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
};
enum CUjit_option : int { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
enum CUfunction_attribute : int { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };
enum CUmemPool_attribute : int { CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4 };
enum : unsigned {
  CU_STREAM_DEFAULT = 0, ///< ordered with the default stream
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_MEMHOSTALLOC_PORTABLE = 1,
  CU_MEMHOSTALLOC_DEVICEMAP = 2,
};
/// What a pool is made of: memory of one GPU that no other process sees.
struct CUmemPoolProps {
  int allocType = 1; ///< CU_MEM_ALLOCATION_TYPE_PINNED
  int handleTypes = 0;
  int locationType = 1; ///< CU_MEM_LOCATION_TYPE_DEVICE
  int locationId = 0;
  void *securityAttributes = nullptr;
  unsigned char reserved[64] = {};
};

/// A tensor as the copy engine reads it, in a form of the driver's.
struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};
enum CUtensorMapDataType : int { CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11 };
enum CUtensorMapInterleave : int { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle : int { CU_TENSOR_MAP_SWIZZLE_128B = 3 };
enum CUtensorMapL2promotion : int { CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3 };
enum CUtensorMapFloatOOBfill : int { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

/// What `extra` of cuLaunchKernel is made of, for parameters in one piece.
inline void *const CU_LAUNCH_PARAM_END = nullptr;
inline void *const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void *>(1);
inline void *const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void *>(2);

/// What a launch asks for.
enum CUlaunchAttributeID : int { CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
struct alignas(8) CUlaunchAttribute {
  CUlaunchAttributeID id;
  alignas(8) int value;
  unsigned char reserved[60];
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

/// F(name in the library, name without its version, parameters).
#define PTC_DRIVER_FUNCTIONS(F)                                                                                        \
  F(cuInit, cuInit, (unsigned))                                                                                        \
  F(cuDriverGetVersion, cuDriverGetVersion, (int *))                                                                   \
  F(cuGetErrorName, cuGetErrorName, (CUresult, const char **))                                                         \
  F(cuGetErrorString, cuGetErrorString, (CUresult, const char **))                                                     \
  F(cuDeviceGet, cuDeviceGet, (CUdevice *, int))                                                                       \
  F(cuDeviceGetCount, cuDeviceGetCount, (int *))                                                                       \
  F(cuDeviceGetName, cuDeviceGetName, (char *, int, CUdevice))                                                         \
  F(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))                                 \
  F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                       \
  F(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, (CUdevice))                                               \
  F(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext *))                                                                   \
  F(cuCtxGetDevice, cuCtxGetDevice, (CUdevice *))                                                                      \
  F(cuCtxPushCurrent_v2, cuCtxPushCurrent, (CUcontext))                                                                \
  F(cuCtxPopCurrent_v2, cuCtxPopCurrent, (CUcontext *))                                                                \
  F(cuModuleLoadDataEx, cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, CUjit_option *, void **))             \
  F(cuModuleUnload, cuModuleUnload, (CUmodule))                                                                        \
  F(cuModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                  \
  F(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int))                                   \
  F(cuMemAlloc_v2, cuMemAlloc, (CUdeviceptr *, size_t))                                                                \
  F(cuMemFree_v2, cuMemFree, (CUdeviceptr))                                                                            \
  F(cuMemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))                                                       \
  F(cuMemFreeHost, cuMemFreeHost, (void *))                                                                            \
  F(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, (CUdeviceptr, const void *, size_t, CUstream))                            \
  F(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, (void *, CUdeviceptr, size_t, CUstream))                                  \
  F(cuMemcpyAsync, cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                        \
  F(cuStreamCreate, cuStreamCreate, (CUstream *, unsigned))                                                            \
  F(cuStreamDestroy_v2, cuStreamDestroy, (CUstream))                                                                   \
  F(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                                              \
  F(cuStreamIsCapturing, cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus *))                                     \
  F(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                               \
  F(cuEventCreate, cuEventCreate, (CUevent *, unsigned))                                                               \
  F(cuEventDestroy_v2, cuEventDestroy, (CUevent))                                                                      \
  F(cuEventRecord, cuEventRecord, (CUevent, CUstream))                                                                 \
  F(cuEventSynchronize, cuEventSynchronize, (CUevent))                                                                 \
  F(cuEventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))                                               \
  F(cuLaunchKernel, cuLaunchKernel,                                                                                    \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

/// Of drivers for CUDA 11.2 and later.
#define PTC_DRIVER_POOL_FUNCTIONS(F)                                                                                   \
  F(cuMemPoolCreate, cuMemPoolCreate, (CUmemoryPool *, const CUmemPoolProps *))                                        \
  F(cuMemPoolDestroy, cuMemPoolDestroy, (CUmemoryPool))                                                                \
  F(cuMemPoolSetAttribute, cuMemPoolSetAttribute, (CUmemoryPool, CUmemPool_attribute, void *))                         \
  F(cuMemPoolTrimTo, cuMemPoolTrimTo, (CUmemoryPool, size_t))                                                          \
  F(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, (CUdeviceptr *, size_t, CUmemoryPool, CUstream))                 \
  F(cuMemFreeAsync, cuMemFreeAsync, (CUdeviceptr, CUstream))

/// Of drivers for CUDA 11.8 and later, as all for GPUs of compute capability 9.0 are.
#define PTC_DRIVER_ATTRIBUTE_FUNCTIONS(F)                                                                              \
  F(cuLaunchKernelEx, cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))

/// Of drivers for CUDA 12.0 and later.
#define PTC_DRIVER_MAP_FUNCTIONS(F)                                                                                    \
  F(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                                    \
    (CUtensorMap *, CUtensorMapDataType, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,       \
     const uint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))

/// The functions, once `load` has succeeded.
struct Driver {
#define PTC_DECLARE(symbol, name, parameters) CUresult(*name) parameters;
  PTC_DRIVER_FUNCTIONS(PTC_DECLARE)
  PTC_DRIVER_POOL_FUNCTIONS(PTC_DECLARE)
  PTC_DRIVER_ATTRIBUTE_FUNCTIONS(PTC_DECLARE)
  PTC_DRIVER_MAP_FUNCTIONS(PTC_DECLARE)
#undef PTC_DECLARE
  bool hasPools, hasAttributes, hasMaps; ///< all of their functions are there

  /// Opens the driver, unless that is done. It stays open as long as the process: it does not bear being closed.
  static ptc_status load(const Driver *&driver, Error &error);

  /// PTC_OK, or the error of an answer of the driver's to `what` ("launching 'kernel'").
  ptc_status check(CUresult result, const char *what, Error &error) const;
  /// "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", in the driver's words; null where it has none.
  const char *nameOf(CUresult result) const;
  const char *textOf(CUresult result) const;
};

} // namespace ptc::runtime::cuda
