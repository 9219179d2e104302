//===- TransposedNest.h - maps that read along one loop, write along another //
//
// A transpose, and whatever is computed on its way: vectors lie along the loop that reads walk element by element, and
// tiles of results are transposed in registers, so that stores are whole vectors along the loop that the results
// walk. Gathers, or scatters, of an element a lane would take as many accesses as there are elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/nest/NestPlan.h"
#include "compiler/codegen/kernel/Lanes.h"

namespace ptc::cpu {

struct CpuFrame;

/// Emits the last two outer loops of a plan that transposes (NestPlan::transposes), the first of them from `begin` up
/// to `end`. `dims`: the indices of the loops around them.
void emitTransposed(CpuFrame &frame, const NestPlan &plan, llvm::ArrayRef<Lanes> dims, llvm::Value *begin,
                    llvm::Value *end);

} // namespace ptc::cpu
