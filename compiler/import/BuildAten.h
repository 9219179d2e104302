//===- BuildAten.h - ExportedProgram => the aten dialect --------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/import/Import.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace ptc::import {

/// `fileName` is what errors call the model; `weightsName` the file that the
/// tensors came from, empty when there was none. Only the weights that the
/// function takes are put into `weights`. The types that the program says are
/// compared with those that `options.findTypes` computes, if it is given.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> buildAten(const ExportedProgram &program,
                                                            const StoredTensors &tensors, WeightStore &weights,
                                                            llvm::StringRef fileName, llvm::StringRef weightsName,
                                                            const ImportOptions &options, mlir::MLIRContext &context);

} // namespace ptc::import
