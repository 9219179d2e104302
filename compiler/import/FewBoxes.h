//===- FewBoxes.h - what torchvision says of nms, and does not mean --------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

namespace ptc::import {

/// torchvision (0.26) says that nms keeps at least two boxes: its function for exports takes a default of PyTorch's
/// (create_unbacked_symint). An export repeats that as a range and as an assertion, by which an image with one object
/// would be refused. Both are taken away; an assertion of the user's own that there are two is the same words, and goes
/// with them.
void admitFewBoxes(ExportedProgram &program);

} // namespace ptc::import
