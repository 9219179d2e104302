//===- VerifySpec.h - does a ProgramSpec hold together? -------------------===//
#pragma once

#include "compiler/codegen/host/ProgramSpec.h"

#include "llvm/Support/Error.h"

namespace ptc::host {

/// Fails with what is wrong: a defect of the stage before.
llvm::Error verifySpec(const ProgramSpec &spec);

/// The buffer whose address this one has.
int64_t rootOf(const ProgramSpec &spec, int64_t buffer);

/// The copies in an order in which none overwrites what a later one reads; those within a buffer are left
/// out. `needsBarrier[i]`: copy i overwrites what one since the last barrier read. Fails for a cycle.
struct OrderedCopies {
  std::vector<CopySpec> copies;
  std::vector<bool> needsBarrier;
};
llvm::Expected<OrderedCopies> orderCopies(const ProgramSpec &spec);

} // namespace ptc::host
