//===- MappedTensors.h - a model without the bytes of its weights ------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ptc::import::onnx {

/// The entries of TensorProto.external_data that say where in the model's own file the bytes are.
inline constexpr llvm::StringLiteral kMappedOffset = "ptc.offset", kMappedLength = "ptc.length";

/// A copy of the file, for protobuf to read, in which every large `raw_data` is replaced by its place in the file: the
/// bytes stay mapped, and files of more than protobuf's 2 GiB can be read.
llvm::Expected<std::string> detachRawData(llvm::StringRef file);

} // namespace ptc::import::onnx
