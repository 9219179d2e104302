//===- ProgramBuilder.h - how a module becomes the host's tables ----------===//
#pragma once

#include "compiler/codegen/BuildProgram.h"
#include "dialects/control/Control.h"
#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace ptc {

/// One use builds one program. Its parts: BuildProgram.cpp (what there is), ProgramControl.cpp (in which order it
/// runs), Lifetimes.cpp (what waits and lives how long).
class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp entry, const KernelCode &code)
      : module(entry->getParentOfType<mlir::ModuleOp>()), function(entry), result(entry.front().getTerminator()),
        code(code) {}

  llvm::Expected<host::ProgramSpec> build(const Target &target, llvm::StringRef name);

private:
  void addArgument(mlir::BlockArgument argument);
  int64_t addWeight(mlir::BlockArgument argument, llvm::StringRef key);
  int64_t addWeightBuffer(mlir::BlockArgument argument, llvm::StringRef key);
  int64_t addArenaBuffer(mlir::Type type);
  void addOutputs();
  void addBody(mlir::Block &block);
  void addKernelBuffers(loop::KernelOp kernel);
  void addIf(control::IfOp op);
  void addWhile(control::WhileOp op);
  void addExternal(control::ExternalOp op);
  std::vector<host::CopySpec> addBranch(mlir::func::FuncOp branch, llvm::ArrayRef<int64_t> inputs,
                                        llvm::ArrayRef<int64_t> results);
  void bindArguments(mlir::func::FuncOp called, llvm::ArrayRef<int64_t> inputs);
  llvm::SmallVector<int64_t> resultBuffers(mlir::Operation *op);
  /// The place of the next launch and the next control.
  host::Position here() const { return {int64_t(kernels.size()), int64_t(spec.controls.size())}; }
  int64_t addControl(int64_t condition, std::vector<host::CopySpec> copies);
  void addReturned(unsigned index);
  void addSizeDefinitions();
  void addLaunch(loop::KernelOp kernel, const KernelInfo &info, bool barrier);
  void placeBarriers();
  void setLifetimes();
  void setLifetimesByControl();
  bool isKnown(mlir::AffineExpr size) const;
  void addGuards();

  int64_t addBuffer(host::BufferSpec buffer) {
    spec.buffers.push_back(buffer);
    return spec.buffers.size() - 1;
  }
  /// The buffer whose memory this one is in.
  int64_t root(int64_t buffer) const {
    while (spec.buffers[buffer].inPlaceOf >= 0)
      buffer = spec.buffers[buffer].inPlaceOf;
    return buffer;
  }
  llvm::StringRef resultRole(unsigned index, llvm::StringRef role) {
    auto attr = function.getResultAttrOfType<mlir::StringAttr>(index, role);
    return attr ? attr.getValue() : llvm::StringRef();
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  mlir::Operation *result;
  const KernelCode &code;
  llvm::SmallVector<loop::KernelOp> kernels; ///< one a launch
  llvm::SmallVector<std::pair<int64_t, int64_t>> loops; ///< launches that may run again, inner loops first
  llvm::SmallVector<int64_t> groups; ///< of each launch: how many barriers come before it
  host::ProgramSpec spec;
  llvm::DenseMap<mlir::Value, int64_t> buffers;
  llvm::StringMap<int64_t> states, inputs; ///< buffers by name
  llvm::StringMap<int64_t> weights; ///< of spec.weights, by key
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> copied; ///< outputs that no kernel writes
};

} // namespace ptc
