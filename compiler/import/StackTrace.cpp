#include "compiler/import/StackTrace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using llvm::StringRef;

namespace ptc::import {

/// torch.nn's `return F.linear(input, …)` is true of every linear layer, and
/// `<eval_with_key>` is code that torch made.
static bool isInsideTorch(StringRef file) {
  return file.starts_with("torch/") || file.contains("-packages/torch/") || file.starts_with("<");
}

void findUserLine(StringRef trace, Source &source) {
  llvm::SmallVector<StringRef> lines;
  trace.split(lines, '\n');
  bool isInnermost = true;
  for (StringRef line : llvm::reverse(lines)) {
    // File "a/b.py", line 12, in forward
    line = line.trim();
    if (!line.consume_front("File \""))
      continue;
    auto [file, rest] = line.split("\", line ");
    unsigned number = 0;
    if (rest.consumeInteger(10, number))
      continue;
    if (isInnermost || !isInsideTorch(file)) {
      source.file = file.str();
      source.line = number;
    }
    if (!isInsideTorch(file))
      return;
    isInnermost = false;
  }
}

std::string innermostModule(StringRef stack) {
  StringRef last = stack.contains(';') ? stack.rsplit(';').second : stack;
  StringRef path = last.split(',').second.rsplit(',').first;
  // torch names modules that it made up itself, and lists as `L['self']…`.
  return path.starts_with("_empty_nn_module_stack") ? std::string() : path.str();
}

} // namespace ptc::import
