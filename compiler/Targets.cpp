#include "compiler/Targets.h"

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cuda/Ptxas.h"
#include "compiler/codegen/cuda/Target.h"
#include "compiler/support/Diagnostics.h"

namespace ptc {

/// The result is right there too, but not what one asks for reduced precision for.
static void warnOfSlowness(const cpu::Target &target, const Options &options) {
  auto warn = [&](llvm::StringRef what, llvm::StringRef option) {
    printWarning("'" + target.name + "' has no instructions for " + what.str() + ": there " + option.str() +
                 " is slower than float32");
  };
  if (options.amp == Amp::Bf16 && !target.hasBf16Dot())
    warn("bfloat16 (AVX512-BF16)", "--amp bf16");
  if (options.amp == Amp::Fp16)
    warn("products of float16", "--amp fp16");
  if (options.quantization == Quantization::Dynamic && !target.hasInt8Dot())
    warn("products of bytes (AVX512-VNNI)", "--quantize int8-dynamic");
}

/// What the options ask for that GPUs do not have yet.
static llvm::Error checkForCuda(const Options &options) {
  auto fail = [](llvm::StringRef what) {
    return llvm::createStringError(what + " is not available with --target cuda in this version");
  };
  if (options.mode == Mode::MaxAutotune || !options.tuningFile.empty())
    return fail("tuning");
  return llvm::Error::success();
}

/// With its version; empty where there is none, or where the options ask for no machine code.
static llvm::Expected<std::string> describeAssembler(const Options &options) {
  if (options.ptxas.empty() || options.emit < Stage::Obj)
    return std::string();
  llvm::Expected<std::string> version = cuda::getPtxasVersion(options.ptxas);
  if (version || options.needsPtxas)
    return version;
  printWarning("no machine code beside PTX: " + llvm::toString(version.takeError()));
  return std::string();
}

static llvm::Expected<Targets> parseGpus(const Options &options) {
  if (llvm::Error error = checkForCuda(options))
    return std::move(error);
  // Of a text there is one: unless it is named, that of the newest GPUs.
  llvm::StringRef usual = cuda::kDefaultArchs;
  if (options.emit < Stage::Obj)
    usual = usual.split(',').first;
  llvm::Expected<std::vector<cuda::Target>> gpus =
      cuda::getTargets(options.gpuArch.empty() ? usual : llvm::StringRef(options.gpuArch));
  if (!gpus)
    return gpus.takeError();
  llvm::Expected<std::string> assembler = describeAssembler(options);
  if (!assembler)
    return assembler.takeError();
  Targets targets;
  for (cuda::Target &gpu : *gpus) {
    gpu.assembler = *assembler;
    gpu.ptxas = options.ptxas;
    if (options.fp32Precision == Fp32Precision::Tf32)
      gpu.useTf32();
    targets.push_back(std::make_unique<const cuda::Target>(std::move(gpu)));
  }
  return targets;
}

bool allMultiplyBytes(const Targets &targets) {
  return llvm::all_of(targets, [](const auto &target) { return target->multipliesBytes; });
}

llvm::Expected<Targets> parseTargets(const Options &options) {
  if (options.device == Device::Cuda)
    return parseGpus(options);
  if (options.fp32Precision == Fp32Precision::Tf32)
    return llvm::createStringError("tf32 is a type of GPUs' tensor cores: --fp32-precision tf32 needs --target cuda");
  llvm::Expected<std::vector<cpu::Target>> machines = cpu::getTargets(options.march);
  if (!machines)
    return machines.takeError();
  Targets targets;
  for (cpu::Target &machine : *machines) {
    warnOfSlowness(machine, options);
    targets.push_back(std::make_unique<const cpu::Target>(std::move(machine)));
  }
  return targets;
}

} // namespace ptc
