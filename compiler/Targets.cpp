#include "compiler/Targets.h"

#include "compiler/codegen/cpu/Target.h"
#include "compiler/support/Diagnostics.h"

namespace ptc {

/// The result is right there too, but not what one asks for reduced precision for.
static void warnOfSlowness(const cpu::Target &target, const Options &options) {
  auto warn = [&](llvm::StringRef what, llvm::StringRef option) {
    printWarning("'" + target.name + "' has no instructions for " + what.str() + ": there " + option.str() +
                 " is slower than float32");
  };
  if (options.amp && !target.hasBf16Dot())
    warn("bfloat16 (AVX512-BF16)", "--amp bf16");
  if (options.quantization == Quantization::Dynamic && !target.hasInt8Dot())
    warn("products of bytes (AVX512-VNNI)", "--quantize int8-dynamic");
}

llvm::Expected<Targets> parseTargets(const Options &options) {
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
