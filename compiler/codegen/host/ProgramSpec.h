//===- ProgramSpec.h - what the host part of a model is made from ---------===//
//
// The planned program as the scheduler knows it: tensors, buffers with their
// lifetimes, launches in order. Sizes are AffineExprs over the module's symbols
// (dialects/core). emitHost (Host.h) turns it into the tables that the runtime
// interprets; runtime/Program.h says how each field is used at run time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/TensorMap.h"
#include "dialects/core/SymbolicShape.h"
#include "runtime/Program.h"

#include "llvm/ADT/SmallBitVector.h"

#include <optional>
#include <string>
#include <vector>

namespace ptc::host {

struct InputSpec {
  std::string name;
  mlir::RankedTensorType type;
  int64_t bindsSymbol = -1; ///< a 0-d i64 input whose value defines this symbol
  bool isWritten = false;   ///< the model updates the caller's tensor
  int64_t initial = -1; ///< which weight it is when the caller leaves it out, as only the last inputs can be; -1: none

  bool isOptional() const { return initial >= 0; }
};

struct OutputSpec {
  std::string name;
  mlir::RankedTensorType type;
};

/// A buffer of the model that calls update, the same of all entries. Its first value is `weights[initial]`.
struct StateSpec {
  std::string name;
  mlir::RankedTensorType type;
  int64_t initial = -1;
};

/// A constant tensor by its key in the WeightStore; `bytes` is what it holds there.
struct WeightSpec {
  std::string key;
  uint64_t bytes = 0;
};

using runtime::Storage;

/// A piece of memory that launches work on.
struct BufferSpec {
  Storage storage = Storage::Arena;
  int64_t index = -1;     ///< which input, output, state or weight
  mlir::AffineExpr bytes; ///< arena buffers; the others know it from their tensors
  /// The launches that an arena buffer lives through, both included. Ignored when inPlaceOf is set,
  /// except that the owner's lifetime is extended by it.
  int64_t first = -1, last = -1;
  /// At the same address as this buffer (of any storage; no cycles), which must be as large. An intermediate that ends
  /// up as an output may thus be in place of the output's buffer.
  int64_t inPlaceOf = -1;
};

/// One grid of a kernel on a GPU (runtime::GridEntry).
struct GridSpec {
  std::string function;
  mlir::AffineExpr blocks;
  int64_t threads, sharedBytes;
  int64_t perMultiprocessor = 0;
  std::vector<TensorMap> maps = {};
};

/// A check of an index in data by a kernel (runtime::FaultEntry).
struct FaultSpec {
  std::string text;
  mlir::AffineExpr size;
  bool isWrapped = false;
};

/// One kernel call; launches run in the order of the list.
struct LaunchSpec {
  std::string kernel; ///< symbol of a function with the kernel ABI, in one of the objects linked; empty on a GPU
  std::vector<GridSpec> grids; ///< on a GPU
  std::vector<int64_t> args;   ///< buffers, in the kernel's operand-then-result order
  mlir::AffineExpr tasks;      ///< fixed by shapes alone, so that the threads do not change the result
  mlir::AffineExpr scratch;    ///< bytes for each thread; null: none
  mlir::AffineExpr bytes;      ///< memory traffic, for profiles and to tell small calls; null: 0
  mlir::AffineExpr flops;      ///< null: 0
  /// Whether the launch touches anything that a launch since the last barrier wrote, or writes what
  /// one read. Must be true if in doubt.
  bool barrierBefore = true;
  std::string name;                ///< for people: "fused_add_relu_3"
  std::string operators;           ///< "aten.add.Tensor, aten.relu.default"
  std::string source;              ///< "model.py:12"
  std::string modules;             ///< "encoder.layers.0, encoder.layers.1"
  std::vector<FaultSpec> faults;   ///< of code c at c - 1
};

/// After the last launch buffer `from` is copied to buffer `to`: written states and inputs, and outputs that
/// are an input, a weight, a state or another output. Copies happen in no particular order.
struct CopySpec {
  int64_t from, to;
};

/// A symbol whose value the launches before `launch` compute into a buffer (an i64). Until then it stands for `most`,
/// which it must not exceed, so that all memory is planned when a call begins. Without `most` it has as much room as
/// calls before needed, and one that needs more starts over.
struct SizeDefinitionSpec {
  int64_t symbol, buffer, launch;
  mlir::AffineExpr most;
};

/// Before a launch and a control.
struct Position {
  int64_t launch = 0, control = 0;
};

/// What one thread does when the launches before `launch` are done: the call of a function of the caller's, copies in
/// order, and then a jump to `target`, if there is no condition or its buffer (a bool) holds false. A control stands
/// wherever one jumps to.
struct ControlSpec {
  int64_t launch;
  int64_t condition; ///< a buffer; -1: none
  std::vector<CopySpec> copies;
  Position target;
  int64_t external = -1; ///< of ProgramSpec::externals; -1: none
};

/// A tensor of a call of the caller's function, as that sees it.
struct ExternalTensor {
  int64_t buffer = -1;         ///< -1: a result that nobody takes,
  mlir::RankedTensorType type; ///< which has no type
};

/// A call of a function that the model's caller registers under the name `callee`.
struct ExternalSpec {
  std::string callee;
  std::string call;   ///< its arguments, JSON (docs/fallback.md)
  std::string source; ///< "model.py:12"
  std::vector<ExternalTensor> inputs, outputs;
};

/// Required of every call besides the symbols' ranges and the inputs' shapes: min <= value <= max, or the contrary.
struct GuardSpec {
  mlir::AffineExpr value;
  int64_t min = 0, max = Symbol::kUnbounded;
  std::string text; ///< "s0 is a multiple of 8"
  bool isExcluded = false;
  int64_t definitions = 0; ///< after so many of ProgramSpec::sizeDefinitions its value is known
};

/// The GPU that kernels are for (runtime::DeviceEntry).
struct DeviceSpec {
  int32_t type, major, minor;
  bool isExact, startsEarly;
  std::string image;       ///< PTX
  std::string machineCode; ///< a cubin; empty: none
  std::string assembler;   ///< that made it: "ptxas 13.0.88"
};

struct ProgramSpec {
  std::string name;              ///< of the model
  std::string entry = "forward"; ///< by which callers find it; empty: they do not
  std::string generalOf;         ///< the function whose calls it answers that break a condition there; empty: none
  std::string target = "cpu";
  std::string machine = "x86-64";       ///< that the kernels are for
  std::optional<DeviceSpec> device;     ///< nothing: the CPU
  std::vector<std::string> cpuFeatures; ///< LLVM's names without signs ("avx2"), of what the kernels use
  std::vector<Symbol> symbols;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<StateSpec> states;
  std::vector<WeightSpec> weights;
  std::vector<BufferSpec> buffers;
  std::vector<LaunchSpec> launches;
  llvm::SmallBitVector kernelSymbols; ///< by position: whether a kernel of the launches reads the symbol
  std::vector<CopySpec> copies;
  std::vector<SizeDefinitionSpec> sizeDefinitions; ///< in the order of launches
  std::vector<ControlSpec> controls;               ///< in the order of launches
  std::vector<ExternalSpec> externals;
  std::vector<GuardSpec> guards;
};

} // namespace ptc::host
