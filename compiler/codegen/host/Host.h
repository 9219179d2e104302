//===- Host.h - the program's tables as an LLVM module --------------------===//
#pragma once

#include "compiler/codegen/host/ProgramSpec.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace ptc::host {

/// The symbol that the weights are found under: memory of WeightLayout::bytes, which compiler/link fills.
inline constexpr llvm::StringLiteral kWeightsSymbol = "ptc_weights";

/// Where each weight lies, in the order of ProgramSpec::weights.
struct WeightLayout {
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;
};
WeightLayout layoutWeights(llvm::ArrayRef<WeightSpec> weights);

/// Bytes of an element in memory; i1 takes one.
int64_t elementBytes(mlir::Type element);

/// The arena that a program with only static sizes needs; nullopt when sizes are symbolic.
std::optional<int64_t> staticArenaBytes(const ProgramSpec &spec);

/// `ptc_program` of runtime/Program.h with all that it points to. Fails when a symbol's value follows from no
/// input, or when the spec contradicts itself.
llvm::Expected<std::unique_ptr<llvm::Module>> emitHost(const ProgramSpec &spec, llvm::LLVMContext &context);

} // namespace ptc::host
