//===- Host.h - the program's tables as an LLVM module --------------------===//
#pragma once

#include "compiler/codegen/host/ProgramSpec.h"
#include "runtime/ArenaPlanner.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace ptc::host {

/// The symbol that the weights are found under: memory of WeightLayout::bytes, which compiler/link fills.
inline constexpr llvm::StringLiteral kWeightsSymbol = "ptc_weights";

/// The weights of all programs of a model: what several use is there once.
struct WeightLayout {
  std::vector<WeightSpec> weights;
  std::vector<uint64_t> offsets; ///< of each, rising
  llvm::StringMap<uint64_t> offsetOf; ///< by key
  uint64_t bytes = 0;
};
WeightLayout layoutWeights(llvm::ArrayRef<ProgramSpec> programs);

/// The arena that a program with only static sizes needs; nullopt when sizes are symbolic.
std::optional<int64_t> staticArenaBytes(const ProgramSpec &spec);

/// The arena of a call in which the symbols have these values.
struct ArenaPlan {
  std::vector<runtime::ArenaItem> items; ///< one for each buffer; of one that owns no arena memory, no bytes
  int64_t bytes = 0;
};
ArenaPlan planArena(const ProgramSpec &spec, llvm::ArrayRef<int64_t> symbols);

/// `ptc_programs` of runtime/Program.h with all that it points to: one model for several machines, the most capable
/// first, and of each machine all entries, always in one order. Fails when a symbol's value follows from no input, or
/// when a spec contradicts itself. `info` is the text of the library's note (runtime/Note.h).
llvm::Expected<std::unique_ptr<llvm::Module>> emitHost(llvm::ArrayRef<ProgramSpec> programs, llvm::StringRef info,
                                                       llvm::LLVMContext &context);

} // namespace ptc::host
