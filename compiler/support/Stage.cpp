#include "compiler/support/Stage.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace ptc {

static constexpr llvm::StringLiteral kNames[] = {"aten", "prims", "loop", "llvm", "asm", "obj", "so"};

llvm::StringRef getName(Stage stage) { return kNames[static_cast<unsigned>(stage)]; }

std::optional<Stage> parseStage(llvm::StringRef name) {
  if (name == "ptx") // the assembly of GPUs
    return Stage::Asm;
  const auto *found = llvm::find(kNames, name);
  if (found == std::end(kNames))
    return std::nullopt;
  return static_cast<Stage>(found - std::begin(kNames));
}

std::string getTempPath(llvm::StringRef output, Stage stage) {
  static constexpr llvm::StringLiteral kEndings[] = {"aten.mlir", "prims.mlir", "loop.mlir", "ll", "s", "o", "so"};
  llvm::SmallString<128> path(output);
  llvm::sys::path::replace_extension(path, kEndings[static_cast<unsigned>(stage)]);
  return path.str().str();
}

/// The dialects of a stage's operations, beside builtin, func and control which hold them.
static llvm::ArrayRef<llvm::StringLiteral> getDialects(Stage stage) {
  static constexpr llvm::StringLiteral aten[] = {"aten"};
  static constexpr llvm::StringLiteral prims[] = {"prims"};
  // A loop body is scalar code.
  static constexpr llvm::StringLiteral loop[] = {"loop", "arith", "math"};
  switch (stage) {
  case Stage::Aten:
    return aten;
  case Stage::Prims:
    return prims;
  default:
    return loop;
  }
}

static bool isContainer(llvm::StringRef dialect) {
  return dialect == "builtin" || dialect == "func" || dialect == "control";
}

Stage detectStage(ModuleOp module) {
  Stage found = Stage::Aten;
  module.walk([&](Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    if (isContainer(dialect))
      return;
    for (Stage stage : {Stage::Prims, Stage::Loop})
      if (llvm::is_contained(getDialects(stage), dialect))
        found = std::max(found, stage);
  });
  return found;
}

LogicalResult verifyStage(ModuleOp module, Stage stage) {
  llvm::ArrayRef<llvm::StringLiteral> allowed = getDialects(stage);
  WalkResult walked = module.walk([&](Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    if (isContainer(dialect) || llvm::is_contained(allowed, dialect))
      return WalkResult::advance();
    op->emitOpError() << "may not exist when stage '" << getName(stage) << "' is complete";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

} // namespace ptc
