//===- Device.h - a machine beside the CPU that runs launches --------------===//
//
// The runtime knows such devices by a table of functions. CUDA's (runtime/cuda), and
// what the runtime does by way of the table (runtime/device), are a second object,
// which only the libraries of programs for devices have: its symbols are weak.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Program.h"

/// A symbol of the second object: null in a library without. Hidden, so that no other library's is found.
#define PTC_OF_DEVICES __attribute__((weak, visibility("hidden")))

namespace ptc::runtime {

struct DeviceFunctions;

/// A program on a device of this process. Code and weights are there once, for all contexts. What implements the
/// functions extends it.
struct Device {
  const DeviceFunctions *functions;
  DLDevice place;
  char *weights; ///< in the device's memory, laid out as Program::weights
};

/// What is enqueued in it is done in order. Null stands for the device's default stream.
struct Stream;

/// A place in a stream's work.
struct Mark;

/// Work for a stream: one of the grids of a launch.
struct GridLaunch {
  const Program *program; ///< an entry of that of the device
  int32_t launch, grid;   ///< launches[launch].grids[grid] of the program
  int64_t blocks;       ///< at least 1
  const int64_t *parameters;
  int32_t parameterCount;
  const int64_t *values; ///< of Program::evaluate
  void **places;         ///< room for as many as there are parameters, and kMostMaps
};

struct TensorForm;

/// In place of a device's number: the calling thread's current one, or else the first.
constexpr int32_t kAnyDevice = -1;

/// Of the tensors that a device gathers and scatters: dimensions whose strides do not merge.
constexpr int32_t kMostGatheredDims = 8;

/// Each says in `error` why it failed. Addresses of device memory are char pointers that the host does not follow.
struct DeviceFunctions {
  int32_t type; ///< as in DLDevice

  /// The first of the programs that the device of that number (or kAnyDevice) can run.
  ptc_status (*choose)(const Programs &programs, int32_t number, const Program **chosen, Error &error);
  /// Loads all entries, of which `program` is the first, and their weights there, unless another context has.
  ptc_status (*open)(const Program &program, int32_t number, Device **device, Error &error);
  /// For each `open`; the last one unloads.
  void (*close)(Device *device);

  /// All functions below are called between these two, on one thread. They may be nested.
  ptc_status (*enter)(Device &device, Error &error);
  void (*leave)(Device &device);

  ptc_status (*allocate)(Device &device, int64_t bytes, char **data, Error &error);
  void (*release)(Device &device, char *data);
  /// Memory of the host's, zeroed, that kernels reach at the same address.
  ptc_status (*allocateShared)(Device &device, int64_t bytes, char **data, Error &error);
  void (*releaseShared)(Device &device, char *data);
  ptc_status (*createStream)(Device &device, Stream **stream, Error &error);
  void (*destroyStream)(Device &device, Stream *stream);
  /// PTC_UNSUPPORTED where a stream of the caller's does not do work as it gets it: it is being captured into a graph.
  ptc_status (*checkStream)(Device &device, Stream *stream, Error &error);
  ptc_status (*createMark)(Device &device, bool isTimed, Mark **mark, Error &error);
  void (*destroyMark)(Device &device, Mark *mark);

  /// These enqueue work, and may return before it is done: memory of the host's stays as it is until then. `copy` is
  /// for all memory that the device reaches.
  ptc_status (*upload)(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error);
  ptc_status (*download)(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error);
  ptc_status (*copy)(Device &device, Stream *stream, char *to, const char *from, int64_t bytes, Error &error);
  ptc_status (*launch)(Device &device, Stream *stream, const GridLaunch &grid, Error &error);
  /// Between row-major memory of the device's and a tensor that the device reaches, of any strides and alignment.
  ptc_status (*gather)(Device &device, Stream *stream, char *packed, const DLTensor &tensor, Error &error);
  ptc_status (*scatter)(Device &device, Stream *stream, const DLTensor &tensor, const char *packed, Error &error);

  /// The mark is behind all that is enqueued so far.
  ptc_status (*mark)(Device &device, Stream *stream, Mark *mark, Error &error);
  /// What the stream is given from now on begins when the mark is reached.
  ptc_status (*follow)(Device &device, Stream *stream, Mark *mark, Error &error);
  /// Until the mark is reached, or all that is enqueued is done; answers what of it has failed.
  ptc_status (*waitFor)(Device &device, Mark *mark, Error &error);
  ptc_status (*wait)(Device &device, Stream *stream, Error &error);
  /// Nanoseconds between two timed marks that are reached.
  ptc_status (*measure)(Device &device, Mark *from, Mark *to, int64_t *took, Error &error);

  /// A row-major tensor that may be used in the order of `stream`, and whose deleter gives its memory back in the
  /// order of `deletingStream`. It outlives the device.
  ptc_status (*createTensor)(Device &device, Stream *stream, Stream *deletingStream, const TensorForm &form,
                             DLManagedTensor **tensor, Error &error);
  /// Gives back what deleted tensors have left.
  void (*trimTensors)(Device &device);
};

/// The thread uses the device while this lives. Of no effect without a device.
class DeviceScope {
public:
  DeviceScope(Device *used, Error &error)
      : device(used), status(used ? used->functions->enter(*used, error) : PTC_OK) {}
  ~DeviceScope() {
    if (device && status == PTC_OK)
      device->functions->leave(*device);
  }
  DeviceScope(const DeviceScope &) = delete;

private:
  Device *device;

public:
  const ptc_status status;
};

/// Whether kernels on the device reach memory that DLPack calls so. All other of the host's is brought to it.
inline bool isMemoryOf(const Device &device, DLDevice memory) {
  return memory.device_type == kDLCUDAManaged || memory.device_type == kDLCUDAHost ||
         (memory.device_type == device.place.device_type && memory.device_id == device.place.device_id);
}

} // namespace ptc::runtime

extern "C" PTC_OF_DEVICES const ptc::runtime::DeviceFunctions ptc_cuda;

namespace ptc::runtime {

/// The functions of the devices that the entry is for; null where the library has none.
inline const DeviceFunctions *findFunctions(const DeviceEntry &entry) {
  return &ptc_cuda && ptc_cuda.type == entry.type ? &ptc_cuda : nullptr;
}

} // namespace ptc::runtime
