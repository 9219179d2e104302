//===- Cpu.cpp ------------------------------------------------------------===//

#include "compiler/codegen/cpu/Cpu.h"

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Object.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <thread>

using namespace llvm;

namespace ptc::cpu {

namespace {

/// A function to emit: the first kernel of those that are alike.
struct Unit {
  loop::KernelOp kernel;
  KernelPlan plan;
  std::string symbol;
};

} // namespace

/// The kernel as text, without its name: what is alike prints alike.
static std::string contentOf(loop::KernelOp kernel) {
  std::string text;
  raw_string_ostream out(text);
  kernel->print(out, mlir::OpPrintingFlags().useLocalScope().assumeVerified());
  text.erase(0, text.find(kernel.getName()) + kernel.getName().size());
  // Operands have no names here; but one may be passed twice.
  DenseMap<mlir::Value, size_t> first;
  for (auto [i, input] : enumerate(kernel.getInputs()))
    out << ' ' << first.try_emplace(input, i).first->second;
  return text;
}

static SmallVector<char, 0> compile(ArrayRef<const Unit *> units, const Target &target, CodeForm form) {
  LLVMContext context;
  Module module("kernels", context);
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  setUpModule(module, *machine);
  for (const Unit *unit : units)
    emitKernel(module, unit->kernel, unit->plan, unit->symbol, target);
  return writeModule(module, *machine, form);
}

/// Deals the units to two lists of about equal work, always alike: the object files must not depend on the machine.
static std::vector<SmallVector<const Unit *>> split(ArrayRef<Unit> units) {
  std::vector<SmallVector<const Unit *>> lists(2);
  size_t work[2] = {0, 0};
  for (const Unit &unit : units) {
    size_t size = 1;
    bool isTemplate = false;
    loop::KernelOp kernel = unit.kernel;
    kernel->walk([&](mlir::Operation *op) {
      ++size;
      isTemplate |= loop::isTemplate(op);
    });
    unsigned to = work[1] < work[0];
    work[to] += isTemplate ? 4 * size + 100 : size;
    lists[to].push_back(&unit);
  }
  return lists;
}

Expected<KernelCode> emitKernels(mlir::ModuleOp module, const Target &target, CodeForm form) {
  KernelCode code;
  std::vector<Unit> units;
  StringMap<size_t> known;
  RegisterFile registers{target.vectorBytes, target.vectorRegisters};
  Error error = Error::success();
  module->walk([&](loop::KernelOp kernel) {
    auto [entry, isNew] = known.try_emplace(contentOf(kernel), units.size());
    if (isNew) {
      Expected<KernelPlan> plan = planKernel(kernel, registers);
      if (!plan) {
        error = joinErrors(std::move(error), plan.takeError());
        return mlir::WalkResult::interrupt();
      }
      units.push_back({kernel, std::move(*plan), ("ptc_kernel_" + Twine(units.size()) + "_" + kernel.getName()).str()});
    }
    const Unit &unit = units[entry->second];
    code.kernels[kernel] = {unit.symbol, unit.plan.tasks, unit.plan.scratchBytes, faultTexts(kernel)};
    return mlir::WalkResult::skip();
  });
  if (error)
    return error;
  // Few kernels are done before a second thread has started; text stays in one piece.
  constexpr size_t kFew = 4;
  if (form != CodeForm::Object || units.size() <= kFew) {
    SmallVector<const Unit *> all;
    for (const Unit &unit : units)
      all.push_back(&unit);
    code.files.push_back(compile(all, target, form));
    return code;
  }
  auto lists = split(units);
  code.files.resize(lists.size());
  std::thread other([&] { code.files[1] = compile(lists[1], target, form); });
  code.files[0] = compile(lists[0], target, form);
  other.join();
  return code;
}

} // namespace ptc::cpu
