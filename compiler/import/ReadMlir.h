//===- ReadMlir.h - the compiler's own text as input -------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/weights/WeightStore.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace ptc::import {

/// Any dialect that is loaded into the context; the dump of a later stage is
/// read back in this way. Parse errors name the line and column.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> readMlir(std::unique_ptr<llvm::MemoryBuffer> file,
                                                           llvm::StringRef path, mlir::MLIRContext &context);

/// Finds the tensors that the arguments with ptc.weight and ptc.state name.
llvm::Error loadArguments(mlir::ModuleOp module, const StoredTensors &tensors, llvm::StringRef weightsName,
                          WeightStore &weights);

} // namespace ptc::import
