#include "compiler/import/DType.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace ptc::import {
namespace {

struct Row {
  DType dtype;
  int serialized; ///< -1: torch.export cannot write it.
  llvm::StringLiteral torch, shortName, abbreviation, safetensors;
  unsigned bytes;
};

constexpr Row kRows[] = {
    {DType::UInt8, 1, "uint8", "byte", "u8", "U8", 1},
    {DType::Int8, 2, "int8", "char", "i8", "I8", 1},
    {DType::Int16, 3, "int16", "short", "i16", "I16", 2},
    {DType::Int32, 4, "int32", "int", "i32", "I32", 4},
    {DType::Int64, 5, "int64", "long", "i64", "I64", 8},
    {DType::Float16, 6, "float16", "half", "f16", "F16", 2},
    {DType::Float32, 7, "float32", "float", "f32", "F32", 4},
    {DType::Float64, 8, "float64", "double", "f64", "F64", 8},
    {DType::Complex32, 9, "complex32", "chalf", "c32", "C32", 4},
    {DType::Complex64, 10, "complex64", "cfloat", "c64", "C64", 8},
    {DType::Complex128, 11, "complex128", "cdouble", "c128", "C128", 16},
    {DType::Bool, 12, "bool", "", "b8", "BOOL", 1},
    {DType::BFloat16, 13, "bfloat16", "", "bf16", "BF16", 2},
    {DType::UInt16, 28, "uint16", "", "u16", "U16", 2},
    {DType::UInt32, -1, "uint32", "", "u32", "U32", 4},
    {DType::UInt64, -1, "uint64", "", "u64", "U64", 8},
    {DType::Float8E4M3FN, 29, "float8_e4m3fn", "", "f8e4m3fn", "F8_E4M3", 1},
    {DType::Float8E5M2, 30, "float8_e5m2", "", "f8e5m2", "F8_E5M2", 1},
    {DType::Float8E4M3FNUZ, 31, "float8_e4m3fnuz", "", "f8e4m3fnuz", "F8_E4M3FNUZ", 1},
    {DType::Float8E5M2FNUZ, 32, "float8_e5m2fnuz", "", "f8e5m2fnuz", "F8_E5M2FNUZ", 1},
};

const Row &row(DType dtype) { return kRows[unsigned(dtype)]; }

template <typename Predicate> std::optional<DType> find(Predicate matches) {
  for (const Row &row : kRows)
    if (matches(row))
      return row.dtype;
  return std::nullopt;
}

} // namespace

std::optional<DType> dtypeFromSerialized(int64_t number) {
  return number <= 0 ? std::nullopt : find([&](const Row &r) { return r.serialized == number; });
}

std::optional<DType> dtypeFromAbbreviation(llvm::StringRef text) {
  return find([&](const Row &r) { return r.abbreviation == text; });
}

std::optional<DType> dtypeFromTorch(llvm::StringRef text) {
  return find([&](const Row &r) { return r.torch == text || (!text.empty() && r.shortName == text); });
}

std::optional<DType> dtypeFromSafetensors(llvm::StringRef text) {
  return find([&](const Row &r) { return r.safetensors == text; });
}

llvm::StringRef toString(DType dtype) { return row(dtype).torch; }
unsigned byteSize(DType dtype) { return row(dtype).bytes; }

Type toType(DType dtype, MLIRContext *context) {
  Builder b(context);
  switch (dtype) {
  case DType::UInt8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case DType::UInt16:
    return b.getIntegerType(16, /*isSigned=*/false);
  case DType::UInt32:
    return b.getIntegerType(32, /*isSigned=*/false);
  case DType::UInt64:
    return b.getIntegerType(64, /*isSigned=*/false);
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
    return b.getIntegerType(byteSize(dtype) * 8);
  case DType::Bool:
    return b.getI1Type();
  case DType::Float16:
    return b.getF16Type();
  case DType::BFloat16:
    return b.getBF16Type();
  case DType::Float32:
    return b.getF32Type();
  case DType::Float64:
    return b.getF64Type();
  case DType::Complex32:
    return ComplexType::get(b.getF16Type());
  case DType::Complex64:
    return ComplexType::get(b.getF32Type());
  case DType::Complex128:
    return ComplexType::get(b.getF64Type());
  case DType::Float8E4M3FN:
    return b.getType<Float8E4M3FNType>();
  case DType::Float8E5M2:
    return b.getType<Float8E5M2Type>();
  case DType::Float8E4M3FNUZ:
    return b.getType<Float8E4M3FNUZType>();
  case DType::Float8E5M2FNUZ:
    return b.getType<Float8E5M2FNUZType>();
  }
  llvm_unreachable("every dtype has a type");
}

} // namespace ptc::import
