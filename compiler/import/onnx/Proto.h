//===- Proto.h - the messages of an ONNX file -------------------------------===//
//
// Made from ONNX's own schema (tools/bazel/onnx.BUILD). Only this folder knows
// them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/DType.h"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-parameter"
#endif
#include "onnx.pb.h"
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#include <string>

namespace ptc::import::onnx {

namespace proto = ::onnx;

/// None: a type that ptc has no tensors of.
std::optional<DType> dtypeOf(int32_t elementType);
/// "float8e8m0", for messages; also of types that ptc has not.
std::string nameOf(int32_t elementType);

} // namespace ptc::import::onnx
