//===- DType.h - element types as PyTorch's files spell them ---------------===//
//
// The importers share this one table; everything behind them uses mlir::Type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace ptc::import {

enum class DType : uint8_t {
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  Float32,
  Float64,
  Complex32,
  Complex64,
  Complex128,
  Bool,
  BFloat16,
  UInt16,
  UInt32,
  UInt64,
  Float8E4M3FN,
  Float8E5M2,
  Float8E4M3FNUZ,
  Float8E5M2FNUZ,
};

constexpr DType kLastDType = DType::Float8E5M2FNUZ;

/// The number that torch.export's JSON uses (torch's ScalarType plus one).
std::optional<DType> dtypeFromSerialized(int64_t number);
/// "f32", "i64", "b8": in the annotations of a printed graph.
std::optional<DType> dtypeFromAbbreviation(llvm::StringRef text);
/// "float32" of torch.float32; also the names "float", "long", "half" ...
std::optional<DType> dtypeFromTorch(llvm::StringRef text);
/// "F32", "BOOL": in a safetensors header.
std::optional<DType> dtypeFromSafetensors(llvm::StringRef text);

/// "float32", for messages.
llvm::StringRef toString(DType dtype);
/// Bytes of one element; bool takes one.
unsigned byteSize(DType dtype);

mlir::Type toType(DType dtype, mlir::MLIRContext *context);

} // namespace ptc::import
