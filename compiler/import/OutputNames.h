//===- OutputNames.h - what a module calls its results ----------------------===//
//
// A module that returns a dict, a dataclass or a ModelOutput names its results:
// torch.export writes the keys into the tree of its outputs (torch.utils._pytree,
// treespec_dumps).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ptc::import {

/// Names the user outputs of `outputs` by their paths in `treeSpec`: "logits", "hidden_states.0". A result that no key
/// leads to keeps the name of its value, and so do all of them where the tree is not of these outputs.
void nameOutputs(llvm::StringRef treeSpec, llvm::MutableArrayRef<OutputSpec> outputs);

} // namespace ptc::import
