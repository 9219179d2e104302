//===- MutateOnnx.h - ONNX models that are changed, and still models -------------===//
//
// Bytes that are changed anywhere seldom are a message any more. Here nodes get
// another operator, other inputs and other attributes; tensors and types other
// sizes: what the importer has to refuse once it has parsed the file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <random>
#include <string>

/// The model with one to four changes; what is no model stays as it is.
std::string mutateOnnx(const std::string &model, std::mt19937 &random);
