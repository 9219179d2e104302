//===- Cpu.cpp - loop kernels become machine code -------------------------===//
//
// Each loop.kernel becomes one function of the kernel ABI (runtime/Program.h). Kernels that differ only in name and
// locations share one function.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Object.h"
#include "compiler/codegen/kernel/KernelFunction.h"
#include "compiler/codegen/kernel/WriteModule.h"
#include "compiler/support/Cache.h"
#include "compiler/support/Threads.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <atomic>
#include <chrono>
#include <mutex>

using namespace llvm;

namespace ptc::cpu {

namespace {

/// A function to emit: the first kernel of those that are alike.
struct Unit {
  loop::KernelOp kernel;
  KernelPlan plan;
  std::string symbol;
  std::string key; ///< stands for all that decides its code, but for ptc itself
};

} // namespace

/// Of the target and the module: what decides the code of every kernel.
static std::string describeSurroundings(mlir::ModuleOp module, const Target &target) {
  std::string text;
  raw_string_ostream out(text);
  out << target.description << '\n';
  if (mlir::Attribute symbols = module->getAttr("ptc.symbols"))
    symbols.print(out);
  return text;
}

static SmallVector<char, 0> writeText(ArrayRef<Unit> units, const Target &target, CodeForm form) {
  LLVMContext context;
  Module module("kernels", context);
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  kernel::setUpModule(module, *machine);
  for (const Unit &unit : units)
    emitKernel(module, unit.kernel, unit.plan, unit.symbol, target);
  return writeModule(module, *machine, form);
}

static SmallVector<char, 0> compile(const Unit &unit, const Target &target, TargetMachine &machine, KernelTime &time) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  LLVMContext context;
  Module module("kernel", context);
  kernel::setUpModule(module, machine);
  auto start = now(), emitted = start;
  {
    // It makes expressions in MLIR's context, which is not for several threads; a fiftieth of LLVM's time.
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    start = now();
    emitKernel(module, unit.kernel, unit.plan, unit.symbol, target);
    emitted = now();
  }
  SmallVector<char, 0> object = writeModule(module, machine, CodeForm::Object);
  time.emit = std::chrono::duration<double, std::milli>(emitted - start).count();
  time.llvm = std::chrono::duration<double, std::milli>(now() - emitted).count();
  return object;
}

/// How much there is to do, very roughly.
static size_t guessWork(loop::KernelOp kernel) {
  size_t size = 1;
  bool isTemplate = false;
  kernel->walk([&](mlir::Operation *op) {
    ++size;
    isTemplate |= loop::isTemplate(op);
  });
  return isTemplate ? 4 * size + 100 : size;
}

/// Each unit becomes an object of its own, so that it may be found again alone, and so that the objects do not depend
/// on how many threads there are.
static void compileAll(ArrayRef<Unit> units, const Target &target, const Cache *cache, ShowKernel show,
                       KernelCode &code) {
  code.files.resize(units.size());
  code.times.resize(units.size());
  std::vector<size_t> todo, work;
  for (auto [i, unit] : enumerate(units)) {
    code.times[i] = {unit.symbol, 0, 0, false};
    work.push_back(guessWork(unit.kernel));
    std::optional<MappedFile> object;
    if (cache)
      object = cache->find(unit.key);
    code.times[i].isCached = object.has_value();
    if (object)
      code.files[i].assign(object->content().begin(), object->content().end());
    else
      todo.push_back(i);
  }
  llvm::stable_sort(todo, [&](size_t a, size_t b) { return work[a] > work[b]; }); // what takes long is not begun last
  std::atomic<size_t> next = 0, done = 0;
  auto run = [&] {
    std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
    for (size_t at; (at = next++) < todo.size();) {
      size_t i = todo[at];
      code.files[i] = compile(units[i], target, *machine, code.times[i]);
      if (cache)
        cache->store(units[i].key, {code.files[i].data(), code.files[i].size()});
      if (show)
        show(units[i].symbol, ++done, todo.size());
    }
  };
  // A few kernels are done before another thread has started.
  constexpr size_t kFew = 4;
  runOnThreads(divideCeil(todo.size(), kFew), run);
}

Algorithm Target::getAlgorithm(mlir::Operation *kernel) const {
  Expected<KernelPlan> plan = planKernel(cast<loop::KernelOp>(kernel), *this);
  if (plan)
    return plan->algorithm;
  consumeError(plan.takeError()); // which emitKernels reports
  return {};
}

Expected<KernelCode> Target::emitKernels(mlir::ModuleOp module, CodeForm form, const Cache *cache,
                                         ShowKernel show) const {
  KernelCode code;
  std::vector<Unit> units;
  StringMap<size_t> known;
  std::string surroundings = describeSurroundings(module, *this);
  Error error = Error::success();
  module->walk([&](loop::KernelOp kernel) {
    auto [entry, isNew] = known.try_emplace(loop::getContent(kernel), units.size());
    if (isNew) {
      Expected<KernelPlan> plan = planKernel(kernel, *this);
      if (!plan) {
        error = joinErrors(std::move(error), plan.takeError());
        return mlir::WalkResult::interrupt();
      }
      std::string hash = hashTexts({surroundings, entry->first()});
      std::string symbol = ("ptc_kernel_" + loop::getPlainName(kernel) + "_" + StringRef(hash).take_front(16)).str();
      units.push_back({kernel, std::move(*plan), symbol, hash + " " + symbol});
    }
    const Unit &unit = units[entry->second];
    code.kernels[kernel] = {unit.symbol, unit.plan.tasks, unit.plan.scratchBytes, kernel::faultTexts(kernel), {}, {}};
    return mlir::WalkResult::skip();
  });
  if (error)
    return error;
  if (form != CodeForm::Object) {
    code.files.push_back(writeText(units, *this, form));
    return code;
  }
  compileAll(units, *this, cache, show, code);
  return code;
}

} // namespace ptc::cpu
