//===- Backend.h - loop => code -------------------------------------------===//
#pragma once

#include "compiler/Variants.h"

namespace ptc {

class Cache;

/// Before: a model at the end of stage Loop, for one or several targets.
/// After:  options.output is what options.emit names (llvm, asm, obj or so),
///         whole or not at all. Kernels are looked for in the cache (null: none).
/// Answers warnings: of which machine code is missing, because the assembler failed where it was not asked for by name.
llvm::Expected<std::vector<std::string>> emitCode(llvm::ArrayRef<Variant> variants, const WeightStore &weights,
                                                  const Options &options, const Cache *cache, Times &times);

/// A library at `path` to be measured: its weights' checksums are left to the one that is kept.
llvm::Error emitCandidate(const Variant &variant, const WeightStore &weights, const Options &options,
                          llvm::StringRef path, const Cache *cache);

} // namespace ptc
