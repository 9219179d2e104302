//===- Tuning.h - what measuring decides about a kernel -------------------===//
//
// How a kernel is cut and by which algorithm it runs follows from its sizes,
// by rules that hold on most machines. Where somebody has measured (see
// compiler/tune), the attribute `ptc.tuning` of the loop.kernel says otherwise:
// a number for each knob that is not left to the rules.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
class Operation;
}

namespace ptc::loop {

enum class Knob {
  Winograd, ///< m of F(m x m, 3 x 3), 2 or 4; 0: the direct form
  Vectors,  ///< registers of columns in a panel of weights
  Rows,     ///< the most rows of a register tile
  Grain,    ///< the work of a task is 2^grain times what it is by the rules
  Bands,    ///< that rows are cut into before columns are
};

constexpr llvm::StringLiteral kTuning = "ptc.tuning";

llvm::ArrayRef<Knob> getKnobs();
/// As it stands in the attribute and in a tuning file.
llvm::StringRef getName(Knob knob);

/// What was measured to be best for the kernel that `op` is, or is in; nothing where the rules decide.
std::optional<int64_t> getTuning(mlir::Operation *op, Knob knob);
/// All that were measured for the kernel: "grain 1, rows 7"; empty where the rules decide.
std::string describeTuning(mlir::Operation *kernel);
void setTuning(mlir::Operation *kernel, Knob knob, int64_t value);

/// `amount` of work for a task, or of tasks (for those pass -grain), as the knob Grain has it; at least one.
int64_t scaleByGrain(int64_t amount, int64_t grain);

} // namespace ptc::loop
