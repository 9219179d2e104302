//===- CompileReport.h - a compilation as JSON, for programs --------------===//
#pragma once

#include "compiler/support/Options.h"

#include <chrono>
#include <string>
#include <vector>

namespace ptc {

/// Of `ptc compile --json FILE`: what was written, how long it took, and what the user was told. A compilation that
/// fails has a report too. Members: `model`; `status`, the exit status; `seconds`; `warnings` and `errors`, lines; and
/// `outputs`, each with its `file`, `file_bytes` and, where it is a library, all that `ptc info --json` says.
class CompileReport {
public:
  /// The time begins; `file` may be empty: no report.
  explicit CompileReport(std::string file) : file(std::move(file)), begun(std::chrono::steady_clock::now()) {}

  /// Whether the report can be written, and overwrites nothing that the compilation reads or writes; if not, an error
  /// has been printed.
  bool isApart(const Options &options) const;

  /// Writes the report. Answers `status`, or, where the report cannot be written, that of the error.
  int finish(const std::string &model, const std::vector<std::string> &outputs, int status) const;

private:
  std::string file;
  std::chrono::steady_clock::time_point begun;
};

} // namespace ptc
