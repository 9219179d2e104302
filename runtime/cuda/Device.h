//===- Device.h - a program on a GPU ----------------------------------------===//
#pragma once

#include "runtime/Device.h"
#include "runtime/Memory.h"
#include "runtime/Once.h"
#include "runtime/cuda/Driver.h"

namespace ptc::runtime::cuda {

/// The kernels for tensors of any strides, by the bytes of what they move at a time: 1 << i. Loaded when first needed.
struct StridedCopies {
  static constexpr int32_t kSizes = 5;
  Once once;
  CUmodule module;
  CUfunction functions[kSizes];
};

/// The GPU of that number; of kAnyDevice the current context's, else the first. The driver names them as DLPack does.
ptc_status chooseGpu(int32_t number, const Driver *&driver, CUdevice &gpu, Error &error);
ptc_status readCapability(const Driver &driver, CUdevice gpu, int32_t &major, int32_t &minor, Error &error);

struct TensorMemory;

/// The largest number of blocks of a grid, along x.
constexpr int64_t kMostBlocks = INT32_MAX;

/// A program, the first of its entries, in the primary context of a GPU, which CUDA's own runtime and PyTorch use too.
struct CudaDevice : Device {
  const Driver *driver;
  const Program *program;
  CUdevice handle;
  CUcontext context;
  CUmodule module;
  int32_t major, minor; ///< compute capability
  int32_t multiprocessors;
  Array<CUfunction> functionsOfGrids; ///< of the launches of all entries, one after the other
  Array<int32_t> firstGrids;          ///< of each launch, in functionsOfGrids
  StridedCopies stridedCopies;
  TensorMemory *tensorMemory; ///< null until the first tensor is made
  int32_t users;              ///< contexts of the model
  CudaDevice *next;

  static CudaDevice &of(Device &device) { return static_cast<CudaDevice &>(device); }
};

inline CUdeviceptr addressOf(const char *data) { return reinterpret_cast<CUdeviceptr>(data); }
inline CUstream handleOf(Stream *stream) { return reinterpret_cast<CUstream>(stream); }
inline CUevent handleOf(Mark *mark) { return reinterpret_cast<CUevent>(mark); }

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

ptc_status launch(Device &device, Stream *stream, const GridLaunch &grid, Error &error);

ptc_status gather(Device &device, Stream *stream, char *packed, const DLTensor &tensor, Error &error);
ptc_status scatter(Device &device, Stream *stream, const DLTensor &tensor, const char *packed, Error &error);

ptc_status createStream(Device &device, Stream **stream, Error &error);
void destroyStream(Device &device, Stream *stream);
ptc_status checkStream(Device &device, Stream *stream, Error &error);
ptc_status createMark(Device &device, bool isTimed, Mark **mark, Error &error);
void destroyMark(Device &device, Mark *mark);
ptc_status mark(Device &device, Stream *stream, Mark *mark, Error &error);
ptc_status follow(Device &device, Stream *stream, Mark *mark, Error &error);
ptc_status waitFor(Device &device, Mark *mark, Error &error);
ptc_status wait(Device &device, Stream *stream, Error &error);
ptc_status measure(Device &device, Mark *from, Mark *to, int64_t *took, Error &error);

ptc_status createTensor(Device &device, Stream *stream, Stream *deletingStream, const TensorForm &form,
                        DLManagedTensor **tensor, Error &error);
void trimTensors(Device &device);

/// Lets the device's part in the memory of tensors go. Tensors that callers have keep theirs.
void releaseTensorMemory(CudaDevice &device);

/// The grid's maps, of tensors where the parameters say. One that does not begin at a multiple of 16 bytes has none:
/// kernels read it in another way.
ptc_status encodeMaps(const CudaDevice &device, const GridLaunch &grid, CUtensorMap *maps, Error &error);

/// Loads the program's image, and finds the functions of its grids.
ptc_status loadModule(CudaDevice &device, Error &error);

} // namespace ptc::runtime::cuda
