//===- Stage.h - the names of what a model is on its way to code ----------===//
//
// A stage is a folder, an `--emit` value and a test folder. Up to Loop it is
// IR; what may exist there is stated here and verified where a stage ends.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace llvm {
struct LogicalResult;
}
namespace mlir {
class ModuleOp;
}

namespace ptc {

enum class Stage { Aten, Prims, Loop, Llvm, Asm, Obj, So };

llvm::StringRef getName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

/// Where --save-temps keeps what `stage` made on the way to `output`.
std::string getTempPath(llvm::StringRef output, Stage stage);

/// The stage that a module's operations belong to: the last one whose dialect
/// occurs. This is how an edited dump is fed back in where it was taken.
Stage detectStage(mlir::ModuleOp module);

/// Every operation is one that may exist when `stage` is complete; the error
/// names the first that may not.
llvm::LogicalResult verifyStage(mlir::ModuleOp module, Stage stage);

} // namespace ptc
