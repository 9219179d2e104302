#include "test/codegen/Jit.h"

#include "compiler/codegen/cpu/Target.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"
#include "runtime/FaultNote.h"
#include "runtime/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <set>

namespace ptc::test {

struct Jit::State {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<KernelInfo> kernels;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

Jit::Jit(const std::string &text) : state(std::make_unique<State>()) {
  llvm::ExitOnError check("Jit: ");
  state->context
      .loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, loop::LoopDialect>();
  state->module = mlir::parseSourceString<mlir::ModuleOp>(text, &state->context);
  if (!state->module)
    std::abort();
  cpu::Target target = check(cpu::getTarget("native"));
  KernelCode code = check(target.emitKernels(*state->module, CodeForm::Object, /*cache=*/nullptr, /*show=*/nullptr));
  state->module->walk([&](loop::KernelOp kernel) { state->kernels.push_back(code.kernels[kernel]); });
  state->jit = check(llvm::orc::LLJITBuilder().create());
  for (auto &file : code.files)
    check(state->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy({file.data(), file.size()})));
}

Jit::~Jit() = default;

int64_t Jit::tasks(const std::vector<int64_t> &symbols, unsigned kernel) const {
  return evaluate(state->kernels[kernel].tasks, symbols);
}

unsigned Jit::functions() const {
  std::set<std::string> symbols;
  for (const KernelInfo &kernel : state->kernels)
    symbols.insert(kernel.symbol);
  return symbols.size();
}

int32_t Jit::run(const std::vector<void *> &buffers, const std::vector<int64_t> &symbols, unsigned kernel) {
  const KernelInfo &info = state->kernels[kernel];
  llvm::orc::ExecutionSession &session = state->jit->getExecutionSession();
  auto found = session.lookup({{&state->jit->getMainJITDylib(), llvm::orc::JITDylibLookupFlags::MatchAllSymbols}},
                              state->jit->mangleAndIntern(info.symbol));
  auto function = llvm::ExitOnError("Jit: ")(std::move(found)).getAddress().toPtr<ptc_kernel>();
  size_t bytes = (evaluate(info.scratchBytes, symbols) + 127) / 64 * 64;
  std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, bytes), &std::free);
  uint64_t fault = 0;
  ptc_worker worker{scratch.get(), &fault, 0};
  // Two ranges, as two threads would have.
  int64_t count = tasks(symbols, kernel);
  function(buffers.data(), symbols.data(), &worker, count / 2, count);
  function(buffers.data(), symbols.data(), &worker, 0, count / 2);
  return fault ? runtime::FaultNote(fault).code : 0;
}

} // namespace ptc::test
