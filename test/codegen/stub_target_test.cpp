// A machine of another device, all of it in this file: what a back end has to bring, and that nothing of the CPU's
// reaches it.
#include "compiler/Pipeline.h"
#include "compiler/codegen/host/ProgramSpec.h"
#include "compiler/codegen/kernel/Emit.h"
#include "compiler/codegen/kernel/ScalarType.h"
#include "compiler/support/Times.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/loop/Loop.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

#include <catch2/catch.hpp>

namespace {

/// No step of the pipeline is for it alone.
constexpr auto kStubDevice = static_cast<ptc::Device>(1000);

/// Emits nothing that could be linked, and counts kernels.
struct StubTarget : ptc::Target {
  StubTarget() {
    device = kStubDevice;
    name = description = loopKey = "stub";
  }

  llvm::Expected<ptc::KernelCode> emitKernels(mlir::ModuleOp module, ptc::CodeForm, const ptc::Cache *,
                                              ptc::ShowKernel show) const override {
    ptc::KernelCode code;
    module.walk([&](ptc::loop::KernelOp kernel) {
      auto one = mlir::getAffineConstantExpr(1, module.getContext());
      code.kernels[kernel] = {("stub_" + kernel.getName()).str(), one, one, {}};
      emit(kernel);
      show(kernel.getName(), code.kernels.size(), 0);
    });
    return code;
  }
  ptc::Algorithm getAlgorithm(mlir::Operation *) const override { return {"counted", ""}; }
  bool runsHere() const override { return false; }
  void require(ptc::host::ProgramSpec &spec) const override { spec.target = "stub"; }

  /// Zeros each result's first elements, by what every device shares.
  static void emit(ptc::loop::KernelOp kernel) {
    llvm::LLVMContext context;
    llvm::Module module("kernel", context);
    auto *pointer = llvm::PointerType::get(context, 0);
    llvm::SmallVector<llvm::Type *> arguments(kernel->getNumResults(), pointer);
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), arguments, /*isVarArg=*/false);
    auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel.getName(), module);
    ptc::kernel::Ir b(llvm::BasicBlock::Create(context, "entry", function));
    for (auto [argument, result] : llvm::zip(function->args(), kernel->getResults())) {
      llvm::Type *element = ptc::kernel::memoryType(context, result.getType());
      ptc::kernel::emitLoop(b, b.getInt64(0), b.getInt64(8), 1, [&](llvm::Value *i) {
        b.CreateStore(llvm::Constant::getNullValue(element), ptc::kernel::emitAddress(b, element, &argument, i));
      });
    }
    b.CreateRetVoid();
    REQUIRE_FALSE(llvm::verifyFunction(*function));
  }
};

constexpr const char *kModel = R"(
func.func @forward(%x: tensor<64x256xf32> {ptc.input = "x"}, %w: tensor<256x100xf32> {ptc.weight = "w"})
    -> (tensor<64x100xf32> {ptc.output = "y"}, tensor<64xf32> {ptc.output = "z"}) {
  %0 = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>,
                              rhs_contract = array<i64: 0>}
      : (tensor<64x256xf32>, tensor<256x100xf32>) -> tensor<64x100xf32>
  %1 = prims.tanh %0 : (tensor<64x100xf32>) -> tensor<64x100xf32>
  %2 = prims.reduce %x {kind = "max", dims = array<i64: 1>} : (tensor<64x256xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<64x100xf32>, tensor<64xf32>
}
)";

} // namespace

TEST_CASE("a machine of another device takes a model to its kernels, and meets no weights packed for a CPU") {
  mlir::DialectRegistry registry;
  ptc::registerDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(kModel, &context);
  REQUIRE(module);
  ptc::WeightStore weights;
  std::vector<float> zeros(256 * 100);
  auto type = mlir::RankedTensorType::get({256, 100}, mlir::Float32Type::get(&context));
  weights.addView("w", type, {reinterpret_cast<const char *>(zeros.data()), zeros.size() * sizeof(float)});
  ptc::Options options;
  options.emit = ptc::Stage::Loop;
  ptc::Times times;
  ptc::Pipeline pipeline(weights, options, /*multipliesBytes=*/false, times);
  StubTarget target;
  REQUIRE(mlir::succeeded(pipeline.lowerModel(*module)));
  REQUIRE(mlir::succeeded(pipeline.lowerForDevice(*module, target.device)));
  REQUIRE(mlir::succeeded(pipeline.lowerForTarget(*module, target)));

  size_t shown = 0;
  auto show = [&](llvm::StringRef, size_t done, size_t) { shown = done; };
  llvm::Expected<ptc::KernelCode> code = target.emitKernels(*module, ptc::CodeForm::Object, nullptr, show);
  REQUIRE(bool(code));
  CHECK(code->kernels.size() == 2);
  CHECK(shown == 2);
  bool isPacked = false;
  module->walk([&](ptc::loop::ContractOp op) { isPacked |= op.getRhsPanel() != 0; });
  CHECK_FALSE(isPacked);
}
