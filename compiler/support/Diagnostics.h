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
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <vector>

namespace ptc {

/// Exit statuses, as promised to users.
enum ExitStatus { kDone = 0, kModelAtFault = 1, kUsage = 2, kDefect = 3 };

/// The parts of a location that a user can look up; empty when unknown.
struct Place {
  std::string source; ///< "net.py:12", and for our own text formats "file.mlir:3:7"
  std::string node;   ///< of the exported graph: "add_3"
  std::string module; ///< that the node is of, where the export says: "encoder.layers.0"

  static Place of(mlir::Location location);
  /// `net.py:12, node add_3, module encoder.layers.0`, `file.mlir:3:7`, `node add_3`, or `model`.
  std::string describe() const;
};

struct Failure {
  Place place;
  std::string what, hint;
  bool saysWhere = false; ///< `what` does so by itself, as an llvm::Error's text

  /// `WHERE: WHAT (HINT)`
  std::string line() const;
};

/// Collects the diagnostics of one context for its lifetime.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext *context);

  /// An error that says where by itself.
  void report(llvm::Error error);

  /// In the order that they came. What follows the first is mostly its echo.
  const std::vector<Failure> &failures() const { return found; }

  /// The first failure is ours, or none says why.
  bool isDefect() const;

  /// Prints the first failure and answers the exit status: the model's fault,
  /// or, where IR of our own making does not verify, ours.
  ExitStatus printFirst() const;

private:
  std::vector<Failure> found;
  mlir::ScopedDiagnosticHandler handler;
};

/// Whether errors and warnings are coloured: not unless this was called.
void setColouredErrors(bool isColoured);

/// Text of a file as one line that no terminal obeys: other characters are written as \x1b, and very long text is
/// shortened.
std::string toPrintable(llvm::StringRef text);

/// Writes each line as toPrintable has it; colours are the program's own, and stay.
class PrintableStream : public llvm::raw_ostream {
public:
  explicit PrintableStream(llvm::raw_ostream &out) : llvm::raw_ostream(/*unbuffered=*/true), out(out) {}
  ~PrintableStream() override { finish(); }

  llvm::raw_ostream &changeColor(Colors color, bool bold, bool background) override;
  llvm::raw_ostream &resetColor() override;

private:
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return out.tell() + line.size(); }
  void finish();

  llvm::raw_ostream &out;
  std::string line;
};

/// Prints `ptc: error: MESSAGE`, printable.
void printError(llvm::StringRef message);

/// `ptc: warning: MESSAGE`: what was asked for is done, but not as one would expect.
void printWarning(llvm::StringRef message);

/// Prints the error of a defect of ptc itself, and writes the reproducer that it
/// names: IR, where there is any (setReproducer), else a script.
void printDefect(llvm::StringRef message);

/// A file that is read through memory: where it is cut meanwhile, the fault is an error that names it.
void watchInput(llvm::StringRef path, uint64_t size);

/// From here on a crash prints one line that names a reproducer, removes
/// unfinished outputs and exits with kDefect. `argv` must outlive the process.
void installCrashHandler(int argc, char **argv);

/// What a crash report says ptc was doing. Must be a literal or outlive its use.
void setActivity(const char *what);

/// Until the next call, a crash report comes with what `write` writes: IR that repeats the crash in ptc-opt. Null: with
/// no IR. What it refers to must be alive while it is set.
void setReproducer(std::function<void(llvm::raw_ostream &)> write);

} // namespace ptc
