#include "compiler/codegen/cuda/Image.h"

#include "compiler/codegen/cuda/DeviceLibrary.h"
#include "compiler/codegen/cuda/MaskedLoads.h"
#include "compiler/codegen/cuda/NegatedExtrema.h"
#include "compiler/codegen/cuda/WideShifts.h"
#include "compiler/codegen/kernel/WriteModule.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Target/TargetMachine.h"

#include <cstring>

using namespace llvm;

namespace ptc::cuda {

/// LLVM's own pipeline: its code for GPUs wants small loops unrolled and everything in registers.
static void optimise(Module &module, TargetMachine &machine) {
  kernel::PassAnalyses analyses(machine);
  hideSharedPlaces(module);
  analyses.builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, analyses.modules);
  showSharedPlaces(module);
  expandConstantMasks(module);
}

static bool isKernel(const Function &function) { return function.getCallingConv() == CallingConv::PTX_Kernel; }

/// Puts the kernel's name before those of all that is not a kernel: functions of the device library, shared memory,
/// tables that LLVM's passes have made of constants.
static void nameAfterKernel(Module &module) {
  auto kernel = find_if(module, isKernel);
  if (kernel == module.end())
    return;
  for (GlobalValue &value : module.global_values())
    if (value.hasLocalLinkage())
      value.setName(kernel->getName() + "_" + value.getName());
}

/// Kernels let those behind them be started, and wait for those before them (programmatic dependent launch of CUDA).
/// Tensors' addresses come out of the wait: what LLVM takes for invariant is not read before it. Nor is it read by
/// ld.global.nc, whose memory must be constant from the kernel's start on: a kernel before may write it behind that,
/// and a multiprocessor's cache would keep what was there. The wait is an acquire for other loads.
static void waitForKernelsBefore(Module &module) {
  LLVMContext &context = module.getContext();
  auto *global = PointerType::get(context, NVPTXAS::ADDRESS_SPACE_GLOBAL);
  auto *nothing = FunctionType::get(Type::getVoidTy(context), false), *same = FunctionType::get(global, global, false);
  for (Function &function : make_filter_range(module, isKernel)) {
    for (Instruction &instruction : instructions(function))
      instruction.setMetadata(LLVMContext::MD_invariant_load, nullptr);
    BasicBlock &entry = function.getEntryBlock();
    IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    b.CreateCall(InlineAsm::get(nothing, "griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;", "~{memory}",
                                /*hasSideEffects=*/true));
    for (Argument &argument : function.args()) {
      if (!argument.getType()->isPointerTy() || argument.hasByValAttr())
        continue;
      Value *before = b.CreateAddrSpaceCast(&argument, global);
      Value *behind = b.CreateCall(InlineAsm::get(same, "", "=l,0", /*hasSideEffects=*/true), before);
      argument.replaceUsesWithIf(b.CreateAddrSpaceCast(behind, argument.getType()),
                                 [&](Use &use) { return use.getUser() != before; });
    }
  }
}

/// Without LLVM's comments that number calls: the numbers are the process's, whose threads compile side by side.
static void dropCallNumbers(SmallVectorImpl<char> &ptx) {
  constexpr StringLiteral kComment = " // callseq ";
  StringRef text(ptx.data(), ptx.size());
  size_t kept = 0;
  while (!text.empty()) {
    size_t at = text.find(kComment);
    std::memmove(ptx.data() + kept, text.data(), at == StringRef::npos ? text.size() : at);
    kept += at == StringRef::npos ? text.size() : at;
    text = at == StringRef::npos ? "" : text.drop_front(at).drop_until([](char c) { return c == '\n'; });
  }
  ptx.resize(kept);
}

Expected<SmallVector<char, 0>> writeImage(Module &module, TargetMachine &machine, const Target &target, CodeForm form) {
  kernel::verifyKernels(module);
  linkDeviceLibrary(module);
  optimise(module, machine);
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return createStringError("no CUDA code for the function '" + function.getName() + "'");
  nameAfterKernel(module);
  if (form == CodeForm::Llvm)
    return kernel::writeModule(module, machine, form);
  negateOutsideExtrema(module);
  hideWideShiftAmounts(module);
  if (target.startsEarly())
    waitForKernelsBefore(module);
  SmallVector<char, 0> ptx = kernel::writeModule(module, machine, CodeForm::Assembly);
  dropCallNumbers(ptx);
  return std::move(ptx);
}

/// Version, machine and size of addresses, which each module begins with.
static StringRef getHeader(StringRef ptx) {
  constexpr StringLiteral kLast = ".address_size 64\n";
  size_t at = ptx.find(kLast);
  if (at == StringRef::npos)
    report_fatal_error("PTX without a header");
  return ptx.take_front(at + kLast.size());
}

std::string joinImages(ArrayRef<SmallVector<char, 0>> images) {
  std::string joined;
  for (const SmallVector<char, 0> &image : images) {
    StringRef text(image.data(), image.size()), header = getHeader(text);
    if (joined.empty())
      joined = header.str();
    if (!StringRef(joined).starts_with(header))
      report_fatal_error("PTX for several machines cannot be one module");
    joined += text.drop_front(header.size());
  }
  return joined;
}

} // namespace ptc::cuda
