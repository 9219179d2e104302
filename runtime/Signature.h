//===- Signature.h - what callers see of the tables -------------------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Program.h"

namespace ptc::runtime {

/// An entry of the model. Machines differ in nothing of it.
struct EntryDescription {
  const Program *program; ///< for the first machine
  ptc_signature signature;
  const ptc_tensor *optional; ///< the inputs behind those of the signature
  int32_t optionalCount;
};

/// Made at the first use, in one piece that stays as long as the library. Null when there is no such entry, or no
/// memory.
const EntryDescription *describeEntry(const Programs &programs, int32_t entry);

/// Where all entries call functions of the caller's, entry by entry. Null when there is no such place, or no memory.
const ptc_external *describeExternals(const Programs &programs, int32_t *count);

} // namespace ptc::runtime
