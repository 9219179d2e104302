#include "compiler/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ptc {

namespace {
/// The parts of a location that a user can look up.
struct Place {
  std::string file;
  std::string node;

  void collect(Location location) {
    if (auto fused = llvm::dyn_cast<FusedLoc>(location)) {
      for (Location part : fused.getLocations())
        collect(part);
    } else if (auto name = llvm::dyn_cast<NameLoc>(location)) {
      if (node.empty())
        node = name.getName().str();
      collect(name.getChildLoc());
    } else if (auto line = llvm::dyn_cast<FileLineColLoc>(location)) {
      if (!file.empty())
        return;
      file = line.getFilename().str() + ":" + std::to_string(line.getLine());
      // Python has lines only; a column comes from our own text parsers.
      if (line.getColumn() != 0)
        file += ":" + std::to_string(line.getColumn());
    } else if (auto call = llvm::dyn_cast<CallSiteLoc>(location)) {
      collect(call.getCallee());
    }
  }
};
} // namespace

std::string describe(Location location) {
  Place place;
  place.collect(location);
  if (place.node.empty())
    return place.file.empty() ? "model" : place.file;
  std::string node = "node " + place.node;
  return place.file.empty() ? node : place.file + ", " + node;
}

Diagnostics::Diagnostics(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        std::string line = describe(diagnostic.getLocation()) + ": " + diagnostic.str();
        auto notes = diagnostic.getNotes();
        // "see current operation" is MLIR's habit and no advice.
        for (Diagnostic &note : notes) {
          std::string hint = note.str();
          if (llvm::StringRef(hint).starts_with("see current operation"))
            continue;
          line += " (" + hint + ")";
          break;
        }
        errors.push_back(std::move(line));
        return success();
      }) {}

void Diagnostics::report(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) { errors.push_back(info.message()); });
}

void printError(llvm::StringRef message) {
  std::string line;
  for (char c : message.rtrim())
    line += c == '\n' || c == '\r' ? ' ' : c;
  llvm::errs() << "ptc: error: " << line << '\n';
}

} // namespace ptc
