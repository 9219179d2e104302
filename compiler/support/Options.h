//===- Options.h - everything a user may ask of one compilation -----------===//
//
// Filled in by tools/ptc, passed down by reference; nothing in compiler/ reads
// the environment or has options of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/support/Device.h"
#include "compiler/support/Stage.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ptc {

/// Of the weights of linear layers: as they are; in int8, converted where they are multiplied; or multiplied as bytes
/// with activations that are quantized when the model runs.
enum class Quantization { None, Weights, Dynamic };

/// The type that products take in mixed precision, as torch.autocast has it on the device.
enum class Amp { None, Bf16, Fp16 };

/// In what products and convolutions of float32 multiply: in float32 as IEEE has it, or rounded to 10 bits of fraction
/// on the tensor cores of a GPU, with sums in float32.
enum class Fp32Precision { Ieee, Tf32 };

/// What time there is to make the model fast: as rules have it, or as measuring on this machine has it.
enum class Mode { Default, MaxAutotune };

/// Of the user's Python files, in libraries and what they say of themselves.
enum class SourcePaths { Relative, Full, None };

/// A step of training instead of a call: the loss, its gradients, and what an optimizer makes of the weights.
struct Training {
  bool isOn = false;               ///< --train; the others say nothing without it.
  std::string loss;                ///< A name that AddLoss knows, or output:K; empty: output 0.
  std::string optimizer;           ///< Empty: the gradients are results, and no weight changes.
  std::string optimizerOptions;    ///< As given: "lr=1e-3,weight_decay=0.01".
  std::vector<std::string> freeze; ///< Regular expressions; parameters with such names stay as they are.
  bool keepMode = false;           ///< Dropout and batch norm as they were exported, and not as in training.
  std::vector<std::string> groups; ///< As given, of parameters with options of their own: "REGEX: lr=1e-4".
  std::string clipGradNorm;        ///< A number; empty: gradients are as large as they are.
  std::string clipGradValue;       ///< As above, of each element.
  std::string ema;                 ///< How much of parameters' averages a step leaves; empty: there are none.
  std::string schedule;            ///< Of the learning rate, as given: "cosine:steps=1000"; empty: it stays.
  std::string lossScale;           ///< A number, or dynamic; empty: dynamic with Amp::Fp16, else none.
  bool accumulate = false;         ///< Also entries that add up gradients, and update by their mean.
  /// From 0 to 1: what the backward pass finds saved; nothing: all that it reads.
  std::optional<double> memoryBudget;
  /// Bytes that a call's intermediate tensors take at most; 0: as many as it needs.
  int64_t memoryLimit = 0;
};

struct Options {
  std::string model;
  std::string output;
  std::string weights; ///< A safetensors file beside the model; empty: by the model's name.
  Device device = Device::Cpu;
  std::string march = "native"; ///< CPUs' names, with commas between them.
  std::string gpuArch;     ///< Of Device::Cuda: architectures, with commas between them; empty: cuda::kDefaultArchs.
  std::string ptxas;       ///< NVIDIA's assembler: code of machines lies beside PTX. Empty: none.
  bool needsPtxas = false; ///< Where it fails, so does the compilation; else a warning says that there is PTX alone.
  std::string cache;       ///< A folder of what was compiled before (Cache.h); empty: none.
  uint64_t cacheSize = uint64_t(5) << 30; ///< Bytes that it takes at most.
  bool constantInitializers = false; ///< Of ONNX, also those that the model lists as inputs.
  unsigned opt = 1;                  ///< 0: no rewrites and no fusion, a kernel for each prim; to compare with.
  Mode mode = Mode::Default;
  std::string tuningFile;   ///< What was measured before (tune/TuningFile.h); MaxAutotune adds to it. Empty: none.
  std::string tuningInputs; ///< Tensors to measure with (safetensors); empty: random ones of the chosen sizes.
  std::string sizes;        ///< What a model's open sizes are where one is needed (OpenSizes.h); else the smallest.
  Stage emit = Stage::So;
  std::optional<unsigned> graph; ///< Of a capture; nothing: it must be one graph without breaks.

  bool progress = false; ///< A line on stderr that says what a long compilation is at.
  bool time = false;     ///< A table of where the time went, on stderr.
  bool fallback = false; ///< What ptc cannot compile is left to functions of the model's caller.
  Amp amp = Amp::None;
  Quantization quantization = Quantization::None;
  Fp32Precision fp32Precision = Fp32Precision::Ieee;
  bool winograd = true;       ///< 3 x 3 convolutions by minimal filtering, where it is faster.
  bool verifyEach = false;    ///< Verify the IR after every pass, not only at the ends of stages.
  bool saveTemps = false;     ///< Keep what every stage made beside the output.
  std::string name = "model"; ///< That the library gives itself.
  std::string compiler = "ptc"; ///< By what name and version it calls what made it.
  SourcePaths sourcePaths = SourcePaths::Relative;
  /// Folders of the user's files, and what the library calls them instead.
  std::vector<std::pair<std::string, std::string>> sourcePrefixes;
  std::string dumpDir; ///< The IR after every pass, numbered; empty: none.
  Training train;
};

} // namespace ptc
