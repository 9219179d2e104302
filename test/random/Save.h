//===- Save.h - programs with what they may answer, for other machines ----===//
#pragma once

#include "test/random/Case.h"

namespace ptc::test {

/// Saves a case as saveCase() does, and for each of its calls BASE.expectN.safetensors: of each output the lowest and
/// the highest value (as float64 or int64) and the classes of Span, in this order, named by position. The span is that
/// of the last and widest comparison of check(), on a GPU.
llvm::Error saveWithAnswers(const Case &program, const std::string &base);

} // namespace ptc::test
