//===- ImportOnnx.h - an ONNX file => the aten dialect and its weights -------------===//
//
// What ONNX's operators mean is said with ATen's (Table.h); what graphs compute
// from sizes is known while importing (Fold.h) and becomes expressions over the
// model's symbols. Functions are inlined where they are called.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Import.h"

#include "llvm/Support/MemoryBuffer.h"

namespace ptc::import {

llvm::Expected<ImportedModel> importOnnx(std::unique_ptr<llvm::MemoryBuffer> file, llvm::StringRef path,
                                         const ImportOptions &options, mlir::MLIRContext &context);

/// The files of external data that a model reads; none where it is no model.
std::vector<std::string> findExternalData(std::unique_ptr<llvm::MemoryBuffer> file, llvm::StringRef path);

/// The operators of ONNX's own domain that are known, sorted.
std::vector<llvm::StringRef> onnxOperators();

} // namespace ptc::import
