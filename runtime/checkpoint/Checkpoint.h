//===- Checkpoint.h - a context's states as a file -------------------------===//
//
// Safetensors: eight bytes, which say how long the header is; the header, JSON;
// the tensors' bytes, one tensor behind the other. In "__metadata__" of a file
// that ptc wrote, "ptc.hash" is 16 hexadecimal digits: the hash of the header
// (with zeros for these digits), then of every tensor in the order in which they
// lie, each in pieces. Files of other programs have none.
//
// This folder is an object of its own, which only the libraries of models with
// states have: the functions that it exports (StateApi.cpp) stand for weak ones.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Context.h"
#include "runtime/Seal.h"

#include <string.h>

namespace ptc::runtime {

/// Writes all states; the file appears whole or not at all.
ptc_status saveCheckpoint(ptc_context &context, const char *path, Error &error);
/// Sets the states to those of a file, or none of them. `flags`: PTC_CHECKPOINT_PARTIAL, or none.
ptc_status loadCheckpoint(ptc_context &context, const char *path, uint32_t flags, Error &error);

/// A tensor's type and how safetensors calls it.
struct StoredType {
  uint8_t code, bits;
  char name[12];
};

constexpr StoredType kStoredTypes[] = {
    {kDLFloat, 32, "F32"},  {kDLFloat, 64, "F64"},   {kDLFloat, 16, "F16"},     {kDLBfloat, 16, "BF16"},
    {kDLInt, 64, "I64"},    {kDLInt, 32, "I32"},     {kDLInt, 16, "I16"},       {kDLInt, 8, "I8"},
    {kDLUInt, 64, "U64"},   {kDLUInt, 32, "U32"},    {kDLUInt, 16, "U16"},      {kDLUInt, 8, "U8"},
    {6, 8, "BOOL"},         {kDLComplex, 64, "C64"}, {kDLComplex, 128, "C128"}, {10, 8, "F8_E4M3"},
    {11, 8, "F8_E4M3FNUZ"}, {12, 8, "F8_E5M2"},      {13, 8, "F8_E5M2FNUZ"},
};

/// Null where safetensors has no such type.
inline const StoredType *findStoredType(const TensorEntry &state) {
  for (const StoredType &type : kStoredTypes)
    if (type.code == state.code && type.bits == state.bits)
      return &type;
  return nullptr;
}

constexpr int kHashDigits = 16;

/// Goes through `bytes` in the pieces that are hashed. `visit(offset, count)` answers whether to go on.
template <typename Visit> bool forEachPiece(int64_t bytes, Visit visit) {
  for (int64_t at = 0; at < bytes; at += kSealedPiece)
    if (!visit(at, std::min<int64_t>(kSealedPiece, bytes - at)))
      return false;
  return true;
}

/// The end of a path, as messages have room for it.
inline const char *shown(const char *path) {
  constexpr size_t kMost = 160;
  size_t length = strlen(path);
  return length > kMost ? path + length - kMost : path;
}

} // namespace ptc::runtime
