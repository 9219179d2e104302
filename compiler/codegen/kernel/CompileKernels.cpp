#include "compiler/codegen/kernel/CompileKernels.h"

#include "compiler/codegen/kernel/WriteModule.h"
#include "compiler/support/Cache.h"
#include "compiler/support/Threads.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <atomic>
#include <chrono>
#include <mutex>

using namespace llvm;

namespace ptc::kernel {

std::string describeSurroundings(mlir::ModuleOp module, StringRef machine) {
  std::string text;
  raw_string_ostream out(text);
  out << machine << '\n';
  if (mlir::Attribute symbols = module->getAttr("ptc.symbols"))
    symbols.print(out);
  return text;
}

Unit makeUnit(loop::KernelOp kernel, StringRef content, StringRef surroundings) {
  std::string hash = hashTexts({surroundings, content});
  std::string symbol = ("ptc_kernel_" + loop::getPlainName(kernel) + "_" + StringRef(hash).take_front(16)).str();
  return {kernel, symbol, hash + " " + symbol};
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

static Expected<SmallVector<char, 0>> compile(size_t unit, const UnitCompiler &compiler, TargetMachine &machine,
                                              KernelTime &time) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  LLVMContext context;
  Module module("kernel", context);
  setUpModule(module, machine);
  auto start = now(), emitted = start;
  {
    static std::mutex mutex; // a fiftieth of LLVM's time
    std::lock_guard<std::mutex> lock(mutex);
    start = now();
    compiler.emit(module, unit);
    emitted = now();
  }
  Expected<SmallVector<char, 0>> file = compiler.write(module, machine);
  time.emit = std::chrono::duration<double, std::milli>(emitted - start).count();
  time.llvm = std::chrono::duration<double, std::milli>(now() - emitted).count();
  return file;
}

Error compileUnits(ArrayRef<Unit> units, const UnitCompiler &compiler, const Cache *cache, ShowKernel show,
                   KernelCode &code) {
  code.files.resize(units.size());
  code.times.resize(units.size());
  std::vector<size_t> todo, work;
  for (auto [i, unit] : enumerate(units)) {
    code.times[i] = {unit.symbol, 0, 0, false};
    work.push_back(guessWork(unit.kernel));
    std::optional<MappedFile> file;
    if (cache)
      file = cache->find(unit.key);
    code.times[i].isCached = file.has_value();
    if (file)
      code.files[i].assign(file->content().begin(), file->content().end());
    else
      todo.push_back(i);
  }
  llvm::stable_sort(todo, [&](size_t a, size_t b) { return work[a] > work[b]; }); // what takes long is not begun last
  std::vector<std::string> failures(units.size());
  std::atomic<size_t> next = 0, done = 0;
  auto run = [&] {
    std::unique_ptr<TargetMachine> machine = compiler.createMachine();
    for (size_t at; (at = next++) < todo.size();) {
      size_t i = todo[at];
      Expected<SmallVector<char, 0>> file = compile(i, compiler, *machine, code.times[i]);
      if (!file) {
        failures[i] = toString(file.takeError());
        continue;
      }
      code.files[i] = std::move(*file);
      if (cache)
        cache->store(units[i].key, {code.files[i].data(), code.files[i].size()});
      if (show)
        show(units[i].symbol, ++done, todo.size());
    }
  };
  // A few kernels are done before another thread has started.
  constexpr size_t kFew = 4;
  runOnThreads(divideCeil(todo.size(), kFew), run);
  for (StringRef failure : failures)
    if (!failure.empty())
      return createStringError(failure);
  return Error::success();
}

} // namespace ptc::kernel
