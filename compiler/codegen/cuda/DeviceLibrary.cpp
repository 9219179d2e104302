//===- DeviceLibrary.cpp - libm and the special functions for GPUs --------===//
//
// Bitcode that library/compile.sh makes of our sources and of libclc when ptc is built.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/DeviceLibrary.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace llvm;

extern "C" {
extern const unsigned char ptc_embedded_device_library[];
extern const unsigned long ptc_embedded_device_library_size;
}

namespace ptc::cuda {

static bool isMissing(const Function &function) {
  return function.isDeclaration() && !function.isIntrinsic() && !function.use_empty();
}

/// Only functions that were made for the same machine are inlined: the library's are for any.
static void forgetMachine(Function &function) {
  for (StringRef name :
       {"target-cpu", "target-features", "no-builtins", "frame-pointer", "stack-protector-buffer-size"})
    function.removeFnAttr(name);
}

/// Kernels do several elements a thread: long code once, beside its calls, in place of a copy for each.
static void callWhatIsLong(Function &function) {
  constexpr unsigned kLong = 95; // exp and log have 80 instructions, sin and pow 250 and more
  if (function.getInstructionCount() > kLong)
    function.addFnAttr(Attribute::NoInline);
}

void linkDeviceLibrary(Module &kernels) {
  if (none_of(kernels, isMissing))
    return;
  StringRef bytes(reinterpret_cast<const char *>(ptc_embedded_device_library), ptc_embedded_device_library_size);
  // Lazily: of bodies that nobody calls only their place is read.
  Expected<std::unique_ptr<Module>> library =
      getLazyBitcodeModule(MemoryBufferRef(bytes, "device library"), kernels.getContext());
  if (!library)
    report_fatal_error(library.takeError());
  (*library)->setTargetTriple(kernels.getTargetTriple());
  (*library)->setDataLayout(kernels.getDataLayout());
  auto makeInternal = [](Module &module, const StringSet<> &linked) {
    internalizeModule(module, [&](const GlobalValue &value) { return !linked.contains(value.getName()); });
  };
  if (Linker::linkModules(kernels, std::move(*library), Linker::LinkOnlyNeeded, makeInternal))
    report_fatal_error("the device library does not fit the kernels");
  for (Function &function : kernels)
    if (function.hasLocalLinkage()) { // kernels are visible
      forgetMachine(function);
      callWhatIsLong(function);
    }
}

} // namespace ptc::cuda
