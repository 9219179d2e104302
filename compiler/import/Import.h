//===- Import.h - a model's file => the aten dialect and its weights -------===//
//
// What holds afterwards: one module with `func.func @forward` in the aten
// dialect, every size an expression over `ptc.symbols`, every argument and
// result with its role (docs/file-formats.md), every weight that the function
// takes in the WeightStore with the argument's type.
//
// The importers read files that nobody vouches for. Whatever is wrong with one
// is an llvm::Error "WHERE: WHAT (HINT)"; memory stays proportional to the
// file's size.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Capture.h"
#include "compiler/weights/WeightStore.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <string>

namespace ptc {

/// The types of an aten operation's results, or why it has none.
using FindTypes = llvm::Expected<llvm::SmallVector<mlir::Type>> (*)(mlir::Operation *op);

struct ImportOptions {
  /// Safetensors; empty: a `.graph` or `.mlir` looks for NAME.safetensors and
  /// then model.safetensors beside itself, a `.pt2` or `.onnx` has its own, which a file takes the place of.
  std::string weights;
  /// ONNX says little of types: those that the decomposition table computes (findResultTypes) are the model's. No
  /// ONNX can be read without it. What torch says of types is compared with it.
  FindTypes findTypes = nullptr;
  /// Which of a capture's graphs. Without it a capture is a model only if it is one graph without breaks.
  std::optional<unsigned> graph = std::nullopt;
  /// Of ONNX, also those that the model lists as inputs.
  bool constantInitializers = false;
  /// Of ONNX, nodes that ptc does not compile stay operations of their own, where the model says the types of their
  /// results: for a report, or to leave them to the caller. (What torch exports has all types.)
  bool keepsForeignNodes = false;
  /// Parameters that require gradients are marked ptc.trainable; of ONNX, floating initializers, which no call gives
  /// then.
  bool training = false;
  /// Regular expressions; parameters with such names are not trainable. One that finds none is an error.
  std::vector<std::string> freeze = {};
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WeightStore weights;
  std::vector<std::string> warnings; ///< what users may not expect of it
};

enum class ModelKind { Pt2, GraphText, Capture, Mlir, Onnx, Unknown };

/// By what is inside; the file's name is not looked at.
ModelKind detectModelKind(llvm::StringRef content);

/// The files that importModel reads besides the model's.
std::vector<std::string> findWeights(llvm::StringRef path, llvm::StringRef content, const ImportOptions &options);

/// A capture and the file that its graphs' texts lie in.
struct CaptureFile {
  std::unique_ptr<llvm::MemoryBuffer> file;
  Capture capture;
};

/// Nothing where the file holds a model of another kind.
llvm::Expected<std::optional<CaptureFile>> openCapture(llvm::StringRef path);

/// One of a capture's graphs, without reading the file again.
llvm::Expected<ImportedModel> importGraph(const CaptureFile &file, unsigned graph, llvm::StringRef path,
                                          const ImportOptions &options, mlir::MLIRContext &context);

/// Loads the dialects it needs into `context`.
llvm::Expected<ImportedModel> importModel(llvm::StringRef path, const ImportOptions &options,
                                          mlir::MLIRContext &context);

} // namespace ptc
