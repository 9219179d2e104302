#include "compiler/support/Diagnostics.h"

#include "compiler/support/Format.h"
#include "compiler/support/Printed.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ptc {

static void collect(Location location, Place &place) {
  if (auto fused = llvm::dyn_cast<FusedLoc>(location)) {
    if (auto module = llvm::dyn_cast_or_null<StringAttr>(fused.getMetadata()); module && place.module.empty())
      place.module = module.str();
    for (Location part : fused.getLocations())
      collect(part, place);
  } else if (auto name = llvm::dyn_cast<NameLoc>(location)) {
    if (place.node.empty())
      place.node = name.getName().str();
    collect(name.getChildLoc(), place);
  } else if (auto line = llvm::dyn_cast<FileLineColLoc>(location)) {
    if (!place.source.empty())
      return;
    place.source = fmt::format("{}:{}", line.getFilename().getValue(), line.getLine());
    // Python has lines only; a column comes from our own text formats.
    if (line.getColumn() != 0)
      place.source += fmt::format(":{}", line.getColumn());
  } else if (auto call = llvm::dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCallee(), place);
  }
}

Place Place::of(Location location) {
  Place place;
  collect(location, place);
  return place;
}

std::string Place::describe() const {
  std::vector<std::string> parts;
  if (!source.empty())
    parts.push_back(source);
  if (!node.empty())
    parts.push_back("node " + node);
  if (!module.empty() && !parts.empty())
    parts.push_back("module " + module);
  return parts.empty() ? "model" : llvm::join(parts, ", ");
}

std::string Failure::line() const {
  return (saysWhere ? "" : place.describe() + ": ") + what + (hint.empty() ? "" : " (" + hint + ")");
}

Diagnostics::Diagnostics(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          printWarning(Place::of(diagnostic.getLocation()).describe() + ": " + diagnostic.str());
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        Failure failure{Place::of(diagnostic.getLocation()), diagnostic.str(), "", false};
        for (Diagnostic &note : diagnostic.getNotes()) {
          std::string text = note.str();
          // MLIR's habit, and no advice.
          if (llvm::StringRef(text).starts_with("see current operation"))
            continue;
          failure.hint = std::move(text);
          break;
        }
        found.push_back(std::move(failure));
        return success();
      }) {}

void Diagnostics::report(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    found.push_back({{}, info.message(), "", true});
  });
}

/// A verifier's complaint about an operation that no user writes, or a stage that
/// left something behind.
static bool isDefect(const Failure &failure) {
  llvm::StringRef what = failure.what;
  return !failure.saysWhere && what.starts_with("'") && !what.starts_with("'aten.") && !what.starts_with("'func.");
}

bool Diagnostics::isDefect() const { return found.empty() || ptc::isDefect(found.front()); }

ExitStatus Diagnostics::printFirst() const {
  if (!isDefect()) {
    printError(found.front().line());
    return kModelAtFault;
  }
  printDefect(found.empty() ? "a pass failed and did not say why" : found.front().line());
  return kDefect;
}

std::string toPrintable(llvm::StringRef text) {
  // A file may have names of megabytes; what is wrong with them stands before or behind.
  constexpr size_t kMost = 4096, kEnd = 1024;
  std::string result;
  bool isWhole = text.size() <= kMost;
  for (size_t i = 0; i < text.size();) {
    if (!isWhole && i >= kMost - kEnd) {
      isWhole = true; // of what is left
      result += " ... ";
      i = text.size() - kEnd;
    }
    const auto *at = reinterpret_cast<const llvm::UTF8 *>(text.data() + i), *end = text.bytes_end();
    llvm::UTF32 code = 0;
    const llvm::UTF8 *next = at;
    bool isText = llvm::convertUTF8Sequence(&next, end, &code, llvm::strictConversion) == llvm::conversionOK;
    size_t length = isText ? next - at : 1;
    if (isText && (code == '\n' || code == '\r'))
      result += ' ';
    else if (isText && llvm::sys::unicode::isPrintable(code))
      result += text.substr(i, length);
    else if (isText && code > 0xff)
      result += fmt::format("\\u{{{:x}}}", code);
    else
      result += fmt::format("\\x{:02x}", isText ? code : *at);
    i += length;
  }
  return result;
}

void PrintableStream::finish() {
  out << toPrintable(line);
  line.clear();
}

void PrintableStream::write_impl(const char *data, size_t size) {
  for (char c : llvm::StringRef(data, size)) {
    if (c != '\n') {
      line += c;
      continue;
    }
    finish();
    out << '\n';
  }
}

llvm::raw_ostream &PrintableStream::changeColor(Colors color, bool bold, bool background) {
  finish();
  out.changeColor(color, bold, background);
  return *this;
}

llvm::raw_ostream &PrintableStream::resetColor() {
  finish();
  out.resetColor();
  return *this;
}

static bool hasColouredErrors = false;
void setColouredErrors(bool isColoured) { hasColouredErrors = isColoured; }

static Printed printed;
const Printed &getPrinted() { return printed; }

static void printLine(llvm::StringRef kind, llvm::raw_ostream::Colors color, llvm::StringRef message,
                      std::vector<std::string> &lines) {
  std::string line = toPrintable(message.rtrim());
  lines.push_back(line);
  llvm::errs().enable_colors(hasColouredErrors);
  llvm::errs() << "ptc: ";
  llvm::errs().changeColor(color, /*Bold=*/true) << kind << ':';
  llvm::errs().resetColor() << ' ' << line << '\n';
}

void printError(llvm::StringRef message) { printLine("error", llvm::raw_ostream::RED, message, printed.errors); }
void printWarning(llvm::StringRef message) {
  printLine("warning", llvm::raw_ostream::YELLOW, message, printed.warnings);
}

} // namespace ptc
