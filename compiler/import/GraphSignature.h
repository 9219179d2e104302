//===- GraphSignature.h - the parts of the text that are no Python -----------===//
//
//   Graph signature:
//       # inputs
//       p_weight: PARAMETER target='weight'
//       x: USER_INPUT
//       # outputs
//       add: USER_OUTPUT
//   Range constraints: {s0: VR[2, 64], u0: VR[0, int_oo]}
//
// and the type annotations "f32[s0, 8]" and "Sym(s0)".
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

namespace ptc::import {

/// One line behind "Graph signature:". Nothing for a blank line or a comment
/// other than "# inputs" and "# outputs", which switch `inOutputs`.
llvm::Error readSignatureLine(llvm::StringRef line, bool &inOutputs, ExportedProgram &program);

/// `{s0: VR[2, 64]}`
llvm::Error readRangeConstraints(llvm::StringRef text, ExportedProgram &program);

/// Fills in what `annotation` says of a value; an annotation that is no type of
/// torch's (`torch.Tensor`) says nothing.
llvm::Error readAnnotation(llvm::StringRef annotation, Definition &definition);

} // namespace ptc::import
