//===- FunctionNames.h - torch's functions as candidates for ATen operators ---===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "dialects/aten/Schema.h"

namespace ptc::import {

/// Graphs that were traced but not exported call `torch.relu`, methods and
/// Python's operators. The overloads that such a call may mean, best first;
/// empty for a function that is no operator of the same name.
std::vector<const aten::Schema *> findOverloads(llvm::StringRef target);

/// The call as an operator would take it: x.view(2, 3) is view(x, [2, 3]),
/// `inplace=False` says nothing.
Node asOperatorCall(const Node &node, bool packIntegers);

} // namespace ptc::import
