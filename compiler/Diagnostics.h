//===- Diagnostics.h - one line for a failure, whatever it came from ------===//
//
// Everything that can go wrong ends as `ptc: error: WHERE: WHAT (HINT)`.
// Passes emit located MLIR diagnostics (their first note is the hint); code
// that has no operation to point at returns an llvm::Error whose text says
// where by itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ptc {

/// Exit statuses, as promised to users.
enum ExitStatus { kDone = 0, kModelAtFault = 1, kUsage = 2, kDefect = 3 };

/// Where a user would look: `net.py:12, node add_3`, `file.mlir:3:7`, `node add_3`.
std::string describe(mlir::Location location);

/// Collects the diagnostics of one context for its lifetime.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext *context);

  void report(llvm::Error error);

  bool hasErrors() const { return !errors.empty(); }
  /// All errors, one line each and no prefix, in the order that they came.
  const std::vector<std::string> &getErrors() const { return errors; }
  /// `where: what (hint)` of the first: what follows it is mostly its echo.
  std::string first() const { return errors.empty() ? "unknown failure" : errors.front(); }

private:
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler;
};

/// Prints `ptc: error: MESSAGE` with line breaks taken out.
void printError(llvm::StringRef message);

/// From here on a crash prints one line that names a reproducer, removes
/// unfinished outputs and exits with kDefect. `argv` must outlive the process.
void installCrashHandler(int argc, char **argv);

/// What a crash report says ptc was doing. Must be a literal or outlive its use.
void setActivity(const char *what);

} // namespace ptc
