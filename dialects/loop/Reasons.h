//===- Reasons.h - why a pass decided as it did ----------------------------===//
//
// For `ptc explain`. A reason stands in the operation's location, which passes keep and which is no part of a kernel's
// content (getContent): no reason changes code, the name of a kernel or the key of a tuning entry.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class Operation;
}

namespace ptc::loop {

/// Notes at the operation why it is as it is: "stride 2: no minimal filtering".
void addReason(mlir::Operation *op, const llvm::Twine &reason);

/// All reasons that the operation has, the earliest first.
std::vector<std::string> getReasons(mlir::Operation *op);

/// In the words of a reason: "1.5 MiB", "33.6 MFLOP", "3x3".
std::string describeBytes(int64_t bytes);
std::string describeFlops(int64_t flops);
std::string describeSizes(llvm::ArrayRef<int64_t> sizes);

} // namespace ptc::loop
