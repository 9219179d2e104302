//===- Device.h - a program on a GPU ----------------------------------------===//
#pragma once

#include "runtime/Device.h"
#include "runtime/Memory.h"
#include "runtime/cuda/Driver.h"

namespace ptc::runtime::cuda {

/// A program in the primary context of a GPU, which CUDA's own runtime and PyTorch use too.
struct CudaDevice : Device {
  const Driver *driver;
  const Program *program;
  CUdevice handle;
  CUcontext context;
  CUmodule module;
  int32_t major, minor;               ///< compute capability
  Array<CUfunction> functionsOfGrids; ///< of all launches, one after the other
  Array<int32_t> firstGrids;          ///< of each launch, in functionsOfGrids
  int32_t users;                      ///< contexts of the model
  CudaDevice *next;

  static CudaDevice &of(Device &device) { return static_cast<CudaDevice &>(device); }
};

inline CUdeviceptr addressOf(const char *data) { return reinterpret_cast<CUdeviceptr>(data); }
inline CUstream handleOf(Stream *stream) { return reinterpret_cast<CUstream>(stream); }

// The functions of the table, by the file that has them.
ptc_status choose(const Programs &programs, int32_t number, const Program **chosen, Error &error);
ptc_status open(const Program &program, int32_t number, Device **device, Error &error);
void close(Device *device);
ptc_status enter(Device &device, Error &error);
void leave(Device &device);

ptc_status allocate(Device &device, int64_t bytes, char **data, Error &error);
void release(Device &device, char *data);
ptc_status allocateShared(Device &device, int64_t bytes, char **data, Error &error);
void releaseShared(Device &device, char *data);
ptc_status upload(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error);
ptc_status download(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error);
ptc_status copy(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error);

ptc_status createStream(Device &device, Stream **stream, Error &error);
void destroyStream(Device &device, Stream *stream);
ptc_status launch(Device &device, Stream *stream, const GridLaunch &grid, Error &error);
ptc_status wait(Device &device, Stream *stream, Error &error);

/// Loads the program's image, and finds the functions of its grids.
ptc_status loadModule(CudaDevice &device, Error &error);

} // namespace ptc::runtime::cuda
