#include "tools/ptc/CompileOptions.h"

#include "compiler/support/Format.h"
#include "compiler/support/OpenSizes.h"

#include "llvm/Support/Regex.h"

namespace ptc {
namespace {

const CLI::Validator kRegex(
    [](std::string &text) {
      std::string why;
      return llvm::Regex(text).isValid(why) ? std::string()
                                            : fmt::format("'{}' is no regular expression: {}", text, why);
    },
    ""); // the type's name says the same

void addDeviceOptions(CLI::App &command, Options &options) {
  command
      .add_option_function<std::string>(
          "--target",
          [&options](const std::string &name) { options.device = name == "cuda" ? Device::Cuda : Device::Cpu; },
          "The device to compile for")
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "cuda"}))
      ->type_name("cpu|cuda")
      ->default_str("cpu");
  command
      .add_option("--gpu-arch", options.gpuArch,
                  "GPU architectures to compile for, with --target cuda; the library runs the best that its GPU knows")
      ->type_name("ARCH,...")
      ->default_str("sm_90a,sm_80");
  command
      .add_option("--ptxas", options.ptxas,
                  "NVIDIA's assembler, which saves the driver its work when a model is loaded: auto (where there is "
                  "one), none, or its file")
      ->type_name("auto|none|FILE")
      ->default_str("auto");
}

/// What a step does with gradients, beside what the optimizer makes of them.
void addTreatment(CLI::App &command, Training &train, CLI::Option *optimizer) {
  command
      .add_option("--group", train.groups,
                  "Other options of the optimizer for parameters whose names match: 'REGEX: KEY=VALUE,...', such as "
                  "'bias$|norm: weight_decay=0'; may be given several times, and the first that matches counts")
      ->type_name("GROUP")
      ->allow_extra_args(false)
      ->needs(optimizer);
  CLI::Option *norm =
      command
          .add_option("--clip-grad-norm", train.clipGradNorm,
                      "Make gradients smaller whose norm, of all of them together, is above this; output grad_norm")
          ->type_name("N")
          ->check(CLI::PositiveNumber)
          ->needs(optimizer);
  command.add_option("--clip-grad-value", train.clipGradValue, "Keep elements of gradients between -N and N")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->excludes(norm)
      ->needs(optimizer);
  command
      .add_option("--ema", train.ema, "Keep averages of parameters as states ema/NAME, with this decay, such as 0.999")
      ->type_name("DECAY")
      ->check(CLI::Range(0.0, 1.0))
      ->needs(optimizer);
  command
      .add_option("--schedule", train.schedule,
                  "How the learning rate goes on, such as cosine:warmup=100,steps=10000; also constant, linear, "
                  "polynomial, exponential, step and multistep")
      ->type_name("SCHEDULE")
      ->needs(optimizer);
  command
      .add_option(
          "--loss-scale", train.lossScale,
          "Multiply the loss by a number, or by one that adapts (dynamic; so it is with --amp fp16), and divide "
          "gradients by it; a step whose gradients are not finite changes nothing")
      ->type_name("dynamic|N")
      ->needs(optimizer);
  command
      .add_flag("--accumulate", train.accumulate,
                "Also entries that add up gradients of several batches (accumulate), and update by their mean (apply)")
      ->needs(optimizer);
}

} // namespace

void addModelOptions(CLI::App &command, Options &options) {
  command.add_option("MODEL", options.model, "A .pt2, .graph, .onnx or .mlir file")->required()->type_name("FILE");
  command
      .add_option(
          "--weights", options.weights,
          "Weights (safetensors): of a .graph or .mlir model, or trained ones in place of a .pt2's or .onnx's own")
      ->type_name("FILE");
  command
      .add_option("--march", options.march,
                  "native, or an LLVM name such as x86-64-v3; several with commas: a library for all of them")
      ->type_name("native|x86-64-v3|x86-64-v4")
      ->capture_default_str();
  addDeviceOptions(command, options);
  command
      .add_option_function<std::string>(
          "--initializers", [&options](const std::string &name) { options.constantInitializers = name == "constant"; },
          "ONNX initializers that the model lists as inputs: given by a call or as in the file, or constant, which "
          "is faster where they are weights")
      ->check(CLI::IsMember(std::vector<std::string>{"overridable", "constant"}))
      ->type_name("overridable|constant")
      ->default_str("overridable");
  CLI::Option *amp = command.add_option_function<std::string>(
      "--amp", [&options](const std::string &name) { options.amp = name == "fp16" ? Amp::Fp16 : Amp::Bf16; },
      "Mixed precision as torch.autocast's on the device: products in bf16 or fp16; inputs and outputs keep their "
      "types");
  amp->check(CLI::IsMember(std::vector<std::string>{"bf16", "fp16"}))->type_name("bf16|fp16");
  command
      .add_option_function<std::string>(
          "--quantize",
          [&options](const std::string &name) {
            options.quantization = name == "int8-weight" ? Quantization::Weights : Quantization::Dynamic;
          },
          "Weights of linear layers in int8: int8-weight (converted where they are multiplied) or int8-dynamic "
          "(multiplied as bytes, with rows quantized when the model runs)")
      ->check(CLI::IsMember(std::vector<std::string>{"int8-weight", "int8-dynamic"}))
      ->type_name("int8-weight|int8-dynamic")
      ->excludes(amp);
  command
      .add_option_function<std::string>(
          "--fp32-precision",
          [&options](const std::string &name) {
            options.fp32Precision = name == "tf32" ? Fp32Precision::Tf32 : Fp32Precision::Ieee;
          },
          "In what products and convolutions of float32 multiply: ieee, or tf32 on a GPU's tensor cores, whose numbers "
          "have 10 bits of fraction")
      ->check(CLI::IsMember(std::vector<std::string>{"ieee", "tf32"}))
      ->type_name("ieee|tf32")
      ->default_str("ieee");
  command.add_flag("!--no-winograd", options.winograd,
                   "Only direct convolutions: no other rounding, and smaller weights");
  command
      .add_option("--opt", options.opt,
                  "0: no rewrites and no fusion, a kernel for each elementary operation, to compare with")
      ->check(CLI::Range(0, 1))
      ->type_name("0|1")
      ->capture_default_str();
  command
      .add_option("--tuning-file", options.tuningFile,
                  "What was measured: kernels in it are compiled as it says; max-autotune adds those that are not")
      ->type_name("FILE");
}

void addFallback(CLI::App &command, Options &options) {
  command.add_flag("--fallback", options.fallback,
                   "Leave operators that ptc does not compile to functions that the library's caller registers");
}

void addGraph(CLI::App &command, Options &options) {
  command.add_option("--graph", options.graph, "Of a capture, this graph alone (from 0)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
}

CLI::Option *addSizes(CLI::App &command, std::string &sizes) {
  return command
      .add_option("--shape", sizes,
                  "Open sizes to measure and to explain, by their names or as dimensions of inputs, "
                  "such as batch=8,images.2=224; else the smallest")
      ->type_name("NAME=SIZE,...")
      ->check([](const std::string &text) { return checkSizes(text); });
}

void addTuning(CLI::App &command, Options &options) {
  command
      .add_option_function<std::string>(
          "--mode",
          [&options](const std::string &name) {
            options.mode = name == "max-autotune" ? Mode::MaxAutotune : Mode::Default;
          },
          "How much time to spend for speed: max-autotune measures kernels in several forms on this machine")
      ->check(CLI::IsMember(std::vector<std::string>{"default", "max-autotune"}))
      ->type_name("default|max-autotune")
      ->default_str("default");
  command
      .add_option("--tuning-inputs", options.tuningInputs,
                  "Tensors that max-autotune measures with (safetensors); random ones of --shape's sizes else")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  addSizes(command, options.sizes);
}

void addTraining(CLI::App &command, Training &train) {
  CLI::Option *on = command.add_flag(
      "--train", train.isOn, "Compile a step of training: loss, gradients and what the optimizer makes of them");
  on->excludes("--quantize");
  CLI::Option *optimizer =
      command
          .add_option("--optimizer", train.optimizer,
                      "What changes the weights, such as adamw; without it the library answers gradients")
          ->type_name("NAME")
          ->needs(on);
  command
      .add_option("--optimizer-options", train.optimizerOptions,
                  "What the optimizer begins with, by torch's names, such as lr=1e-3,weight_decay=0.01")
      ->type_name("KEY=VALUE,...")
      ->needs(optimizer);
  command
      .add_option(
          "--loss", train.loss,
          "What the step makes small: a loss of output 0 and a new input 'target', such as cross_entropy or mse; "
          "or output:K. Without it output 0")
      ->type_name("NAME")
      ->needs(optimizer);
  command
      .add_option(
          "--freeze", train.freeze,
          "Leave parameters as they are whose names match this, and take no derivative by them, nor by such inputs; "
          "may be given several times")
      ->type_name("REGEX")
      ->check(kRegex)
      ->allow_extra_args(false)
      ->needs(on);
  command
      .add_flag("--keep-mode", train.keepMode,
                "Leave dropout and batch norm as they were exported, instead of turning them to training")
      ->needs(optimizer);
  command
      .add_option("--memory-budget", train.memoryBudget,
                  "How much of what the backward pass reads is kept for it: 1, all but what is cheap to compute again; "
                  "less, this part of that at most; without it nothing is computed again")
      ->type_name("0..1")
      ->check(CLI::Range(0.0, 1.0))
      ->needs(on);
  command
      .add_option("--memory-limit", train.memoryLimit,
                  "How much memory the step's intermediate tensors take at most, such as 512MiB: as much is computed "
                  "again as it needs")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(CLI::PositiveNumber)
      ->needs(on);
  addTreatment(command, train, optimizer);
}

} // namespace ptc
