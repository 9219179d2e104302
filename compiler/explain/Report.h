//===- Report.h - what a model is made of and becomes ----------------------===//
//
// Works on a graph that cannot be compiled: that is its point. What stands in
// the way is part of the report, and what lies behind it is left out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/explain/Comparison.h"
#include "compiler/import/Import.h"
#include "compiler/support/Options.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class raw_ostream;
}
namespace ptc {

/// A number that may depend on symbols: `text` is "2*s0 + 1" where `value`, for the report's sizes, is 5.
struct Quantity {
  int64_t value = 0;
  std::string text;
};

struct Report {
  struct Break {
    std::string reason, node, source;
  };
  struct Unsupported {
    std::string op;
    std::vector<std::string> sources; ///< each place once
  };
  /// An operator that the library's caller computes.
  struct Fallback {
    std::string op, reason, node, source;
    Quantity bytesIn, bytesOut;
  };
  /// Of a kernel on a GPU.
  struct Grid {
    Quantity blocks;
    unsigned threads;    ///< of a block
    int64_t sharedBytes; ///< of a block
  };
  struct Kernel {
    std::string name, kind, source;
    std::string algorithm, because; ///< as the target's code generation has it
    std::vector<Grid> grids;        ///< on a GPU, one after the other
    std::string tuning;             ///< what measuring decided: "grain 1, rows 7"
    std::string elements;           ///< that products are of, where they are not float32
    std::vector<std::string> ops;
    std::vector<std::string> modules; ///< that the operators are of: "encoder.layers.0"
    Quantity bytes, flops;
    std::optional<double> milliseconds;     ///< of a call, where it was measured
    std::string type;                       ///< of its first result
    std::vector<int64_t> from;              ///< kernels whose results it reads
    std::vector<std::string> reads, writes; ///< the model's inputs and states, its outputs
    int64_t weightBytes = 0;                ///< that it reads
  };
  /// An operator of the graph as it was read.
  struct Node {
    std::string name, op, source;
  };
  /// A piece of the arena, for the report's sizes: alive from kernel `first` to kernel `last`, both included.
  struct Buffer {
    int64_t offset, bytes, first, last;
  };
  struct Tensor {
    std::string name, type;
    bool isOptional = false; ///< an input that a call may leave out
  };

  struct Quantized {
    std::string weight, type, node; ///< one of the nodes that multiply it
    int64_t bytes, quantizedBytes;
    double error; ///< of the weight: relative, root of the mean square
  };

  /// A value of the forward pass that the backward pass needs.
  struct ForwardValue {
    std::string op, type, node, source;
    int64_t bytes, nanoseconds; ///< of memory, and what computing it again takes, roughly
    std::string because;        ///< of one that is computed again
  };
  /// Of a step of training, or of gradients.
  struct TrainingMemory {
    std::optional<double> budget;                  ///< nothing: all that the backward pass reads is saved
    std::vector<std::pair<double, int64_t>> plans; ///< budgets, and planned bytes of intermediate tensors
    std::vector<ForwardValue> saved, repeated;
  };

  struct Machine {
    std::string name;
    int64_t weightBytes; ///< as its kernels read them
    bool isChosen;       ///< by the machine that runs ptc
    std::string code;    ///< of a GPU: "PTX, and machine code by ptxas 12.8.93"
  };

  std::string model;
  int64_t graphs = 1;
  std::vector<Tensor> inputs, outputs, states;
  std::vector<std::string> warnings;  ///< of the import, and of the tuning file
  std::vector<std::string> mutations; ///< inputs and states that a call updates
  int64_t weightCount = 0, weightBytes = 0;
  std::map<std::string, int64_t> ops;
  std::map<std::string, int64_t> lowered; ///< operators that take bfloat16
  std::vector<Break> breaks;
  std::vector<Unsupported> unsupported;
  std::vector<Fallback> fallbacks;
  std::vector<std::string> guards;
  std::vector<std::string> equalities; ///< for calls that break one there is a second version, not part of the report
  std::vector<std::pair<std::string, int64_t>> sizes; ///< What numbers are for: the symbols' values.
  std::vector<Kernel> kernels;
  std::vector<Node> nodes;
  std::vector<Buffer> buffers;
  unsigned vectorBytes = 0; ///< of a register of the first machine
  std::vector<Quantized> quantized;
  std::optional<TrainingMemory> training;
  Quantity peakBytes;            ///< of the arena
  std::vector<Machine> machines; ///< that code is for, the most capable first; kernels are the first one's
  int64_t storedBytes = 0;       ///< of weights in the library: what machines share is there once
  std::optional<Comparison> comparison;
};

/// Adds what was measured of kernels, by their names in milliseconds; a warning says where it was another model.
void addTimes(Report &report, const llvm::StringMap<double> &milliseconds);

/// "1.5 MiB"; with symbols, "1.5 MiB (s0*4096)".
std::string describeBytes(const Quantity &bytes);

/// "1 kernel", "2 kernels".
std::string describeCount(size_t count, llvm::StringRef what);

/// What stands above a part of the report: in bold on a terminal.
void printHeading(llvm::StringRef text, llvm::raw_ostream &out);

/// Only a model that cannot be read is an error.
llvm::Expected<Report> explainModel(const Options &options, mlir::MLIRContext &context);
llvm::Expected<Report> explainImported(ImportedModel model, const Options &options, mlir::MLIRContext &context);

llvm::json::Value toJson(const Report &report);
void print(const Report &report, llvm::raw_ostream &out);

} // namespace ptc
