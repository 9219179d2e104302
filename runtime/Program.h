//===- Program.h - the tables of one compiled model -----------------------===//
//
// compiler/codegen/host emits `ptc_programs` as constant data; the runtime
// interprets one of them. Plain data only: the compiler writes these structs field by
// field (Host.cpp), so a change here is a change there and of kTablesVersion.
//
// Every number that may depend on symbols is a ValueId: a place in the array
// that Program::evaluate fills from the values of the symbols.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

extern "C" {

/// What a kernel may use besides its arguments; one for each thread.
struct ptc_worker {
  void *scratch;   ///< 64-byte aligned, of the size that the launch declares
  uint64_t *fault; ///< becomes the larger of it and a FaultNote when an index is out of range
  int64_t kept;    ///< a kernel's note of what scratch holds; 0 when a step begins
  int32_t thread;
};

/// Runs tasks [begin, end). args: the launch's buffers; symbols[i] = value of s_i.
typedef void (*ptc_kernel)(void *const *args, const int64_t *symbols, ptc_worker *worker, int64_t begin, int64_t end);
}

namespace ptc::runtime {

constexpr uint32_t kTablesVersion = 13;

/// Arena buffers, weights, states and scratch are aligned to this; a caller's inputs and outputs
/// only to their element's size (anything less is copied).
constexpr int64_t kAlignment = 64;

/// The name of the entry of a model that is there to be called and no more.
constexpr char kOnlyEntry[] = "forward";

constexpr int64_t roundToAlignment(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

using ValueId = int32_t;

/// s_i. `input`, `dim` say where a call takes its value from: size = value * scale + offset;
/// dim -1 is the input's own value (a 0-d i64 tensor), input -1 a symbol nobody uses, kFollows one that `evaluate`
/// computes from others.
constexpr int32_t kFollows = -2;
struct SymbolEntry {
  const char *name;
  int64_t min, max; ///< max -1: unbounded
  int64_t scale, offset;
  int32_t input, dim;
};

struct DimEntry {
  const char *text; ///< "8", "2*s0 + 1"
  int64_t min, max; ///< from the symbols' ranges; max -1: unbounded
  ValueId size;
};

/// An input, an output or a state.
struct TensorEntry {
  const char *name;
  const DimEntry *dims;
  int64_t initial; ///< states, and inputs that a caller may leave out: byte offset of the value in the weights
  ValueId bytes;
  int32_t rank;
  uint8_t code, bits; ///< as in DLDataType
  uint8_t isWritten;  ///< inputs: the model updates the caller's tensor
};

enum class Storage : int32_t { Input, Output, State, Weight, Arena };

/// `index`: which input, output or state. `offset`: place of a weight in the weights, or of an
/// arena buffer when the whole arena is static (Program::arenaBytes >= 0). An arena buffer lives
/// from launch `first` to launch `last`, both included. `inPlaceOf` >= 0: at the address of that buffer.
struct BufferEntry {
  Storage storage;
  int32_t index;
  int64_t offset;
  ValueId bytes;
  int32_t first, last;
  int32_t inPlaceOf;
};

/// Boxes of a tensor that a GPU's copy engine brings to shared memory (CUtensorMap), with lines of 128 bytes whose
/// units of 16 are exchanged. Dimensions begin with that whose elements lie side by side: pairs of bytes, or floats,
/// which it rounds to tf32.
constexpr int32_t kMostMapDims = 5, kMostMaps = 4;
struct TensorMapEntry {
  int32_t argument; ///< of the launch: whose memory it is
  int32_t isTf32;
  ValueId offset; ///< bytes to the first element
  int32_t rank;
  const ValueId *sizes;
  const ValueId *strides; ///< bytes; of all dimensions but the first
  const int32_t *box;     ///< sizes of a box
};

/// A check of a kernel.
struct FaultEntry {
  const char *text;  ///< "index out of range in aten.embedding"
  ValueId size;      ///< indices are from 0 to below it
  int32_t isWrapped; ///< what the caller gave as -1 is the last index of all
};

/// One grid of a kernel on a GPU. The function's parameters, 8 bytes each: the launch's args, a pointer to a FaultNote,
/// then the value of every symbol; then the maps, 128 bytes each.
struct GridEntry {
  const char *function;      ///< of the device's image
  ValueId blocks;            ///< along x; 0: nothing to do
  int32_t threads;           ///< of a block
  int32_t sharedBytes;       ///< of a block, beyond what the function declares
  int32_t perMultiprocessor; ///< no more blocks are started, which share the work; 0: as many as there are
  int32_t mapCount;
  const TensorMapEntry *maps;
};

/// One kernel: on the CPU over tasks [0, tasks), dealt to the threads in contiguous ranges; on a GPU grids, one after
/// the other.
struct LaunchEntry {
  ptc_kernel kernel;        ///< null on a GPU
  const int32_t *args;      ///< buffers
  const FaultEntry *faults; ///< of code c at c - 1
  const char *name, *operators, *source;
  const char *modules; ///< "encoder.layers.0": of the user's, which the operators are of
  int32_t argCount, faultCount;
  ValueId tasks, scratch, bytes, flops;
  int32_t barrierBefore; ///< reads or overwrites what a launch since the last barrier touched
  int32_t gridCount;
  const GridEntry *grids;
};

/// The device that the kernels are for, where it is not the CPU.
struct DeviceEntry {
  int32_t type;            ///< as in DLDevice: kDLCUDA
  int32_t major, minor;    ///< least compute capability
  int32_t isExact;         ///< no other one will do ("sm_90a")
  int32_t startsEarly;     ///< kernels wait for those before them by themselves: they may be started while those end
  const char *image;       ///< PTX, with a zero behind it
  const char *machineCode; ///< the same functions as a cubin, for this `major` and later minors; null: none
  const char *assembler;   ///< that made the cubin: "ptxas 13.0.88"; empty: none
};

/// After the last launch, the bytes of buffer `from` go to buffer `to` (written inputs and states,
/// outputs that are inputs, weights or other outputs), in the order of the list.
struct CopyEntry {
  int32_t from, to;
  int32_t barrierBefore; ///< overwrites what a copy since the last barrier read
};

/// min <= value <= max, or, with `isExcluded`, not so; else the call fails with `text`.
struct GuardEntry {
  const char *text;
  int64_t min, max; ///< max -1: unbounded
  ValueId value;
  int32_t isExcluded;
  int32_t definitions; ///< after so many of the sizes that data define it is known, and checked before any launch more
};

/// A symbol that data decide: before launch `launch` it takes the value (an i64) that lies in `buffer`. Until then
/// it is `most`, by which memory is planned, or, where that is -1, the frame's room (Frame::plan).
struct SizeDefinitionEntry {
  int32_t symbol, buffer, launch;
  ValueId most;
};

/// What one thread does before launch `launch`: calls a function of the caller's (`external` >= 0), copies buffers
/// (pairs from, to) in order, and goes on before launch `targetLaunch` and control `targetControl`, unless
/// `condition` >= 0 and that buffer, a bool, holds true.
struct ControlEntry {
  const int32_t *copies;
  int32_t copyCount;
  int32_t launch, condition, targetLaunch, targetControl;
  int32_t external;
};

/// A call of a function of the caller's: its inputs, then its outputs, each with its buffer. An output that is not
/// needed has rank -1 and no buffer.
struct ExternalEntry {
  const char *name, *call, *source;
  const TensorEntry *tensors;
  const int32_t *buffers;
  int32_t inputCount, outputCount;
  int32_t tensorCount() const { return inputCount + outputCount; }
};

/// One entry of the model for one machine. The entries of a machine share its states, whose list each has whole.
struct Program {
  uint32_t tablesVersion;
  int32_t valueCount;
  const char *name;
  const char *entry;        ///< "forward"; "step", "eval", ...; null: callers do not see it
  const Program *nextEntry; ///< for the same machine; null behind the last one. Those that callers see come first
  const Program *general;   ///< one behind them, which answers calls whose sizes do not fit this one; null: none
  const char *compiler, *target;
  const char *machine;  ///< that the kernels were made for: "x86-64-v3"
  uint64_t cpuFeatures; ///< bit i: kCpuFeatures[i] is needed
  const char *weights;  ///< of all programs of the model
  int64_t weightBytes;  ///< of the machine's entries
  int64_t arenaBytes;   ///< -1: planned when the sizes are known
  /// Fills values[0, valueCount) and the symbols that follow from others; false when a size overflows or divides by
  /// zero.
  bool (*evaluate)(int64_t *symbols, int64_t *values);
  const SymbolEntry *symbols;
  const TensorEntry *inputs, *outputs, *states;
  const BufferEntry *buffers;
  const LaunchEntry *launches;
  const CopyEntry *copies;
  const GuardEntry *guards;
  const SizeDefinitionEntry *sizeDefinitions; ///< in the order of launches
  const ControlEntry *controls;               ///< in the order of launches
  const ExternalEntry *externals;
  const DeviceEntry *device; ///< null: the CPU
  int32_t launchesBefore, externalsBefore; ///< of the entries before this one
  int32_t symbolCount, inputCount;
  int32_t requiredCount; ///< inputs: those behind may be left out
  int32_t outputCount, stateCount;
  int32_t bufferCount, launchCount, copyCount, guardCount, sizeDefinitionCount, controlCount;
  int32_t externalCount;
};

/// The model's first entry for several machines, the most capable first. They differ in kernels and buffers, and in
/// nothing that callers see. All are for devices of one type, or none is for a device.
struct Programs {
  const Program *all;
  int64_t count; ///< at least 1
};

} // namespace ptc::runtime

/// Those of the one model of a library; hidden, so that every model finds its own.
extern "C" __attribute__((visibility("hidden"))) const ptc::runtime::Programs ptc_programs;
