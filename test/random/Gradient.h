//===- Gradient.h - derivatives against central differences ---------------===//
#pragma once

#include "test/random/Check.h"

namespace ptc::test {

/// Differentiates a program (BuildGradients) and compares the derivatives of a random combination of its outputs along
/// random directions of its inputs and weights with differences of the reference, in double precision. Where
/// differences to both sides disagree, there is a kink or a jump, and anything goes. `folder` is not used.
Verdict checkGradients(const Case &program, const std::string &folder);

} // namespace ptc::test
