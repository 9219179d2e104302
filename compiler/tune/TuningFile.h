//===- TuningFile.h - what was measured, kept -----------------------------===//
//
// A JSON file that may be committed and is read by later compilations:
//
//   {"ptc_tuning": 2,
//    "kernels": {
//      "<key>": {"kernel": "conv2d", "machine": "znver5", "threads": 2,
//                "tuning": {"winograd": 0}, "ns": 410000, "ns_by_rules": 520000}, ...}}
//
// A key stands for a kernel's content and the machine that its code is for, not
// for the model: a kernel that another model has too is found again. An entry
// without knobs says that the rules were best.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/loop/Tuning.h"

#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace ptc {

/// The knobs that are not left to the rules.
using Tuning = std::map<loop::Knob, int64_t>;

struct TunedKernel {
  std::string kernel, machine; ///< for people
  int64_t threads = 0;         ///< that it was measured with
  Tuning tuning;
  double milliseconds = 0, byRules = 0; ///< of one run
};

class TuningFile {
public:
  /// Of no entries where there is no file. Fails, and names the entry, where one is not what this compiler writes.
  static llvm::Expected<TuningFile> read(llvm::StringRef path);
  /// Whole or not at all.
  llvm::Error write(llvm::StringRef path) const;

  size_t size() const { return kernels.size(); }
  const TunedKernel *find(llvm::StringRef key) const;
  void set(llvm::StringRef key, TunedKernel kernel) { kernels[key.str()] = std::move(kernel); }

private:
  std::map<std::string, TunedKernel, std::less<>> kernels;
};

} // namespace ptc
