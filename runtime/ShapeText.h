//===- ShapeText.h - what a message about a wrong shape says of both shapes --===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Program.h"

namespace ptc::runtime {

/// Appends to the message "; its shape is [2, 8, 9, 3], the model's [s0, 3, 8, 9]", and where the tensor fits with its
/// dimensions in another order, " (channels last? transpose(0, 3, 1, 2) fits)". Returns the error's status.
ptc_status addShapes(const TensorEntry &entry, const DLTensor &tensor, Error &error);

} // namespace ptc::runtime
