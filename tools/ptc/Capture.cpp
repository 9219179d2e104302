// The capture itself is Python's to do: the program carries the package, as a zip archive, and becomes the Python that
// runs it.
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Outputs.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" {
extern const unsigned char ptc_embedded_capture[];
extern const unsigned long ptc_embedded_capture_size;
}

namespace ptc {

/// A file without a name, in which the Python to come finds the package. -1 and errno where there can be none.
static int openPackage() {
  int file = memfd_create("ptc_capture.zip", 0);
  const unsigned char *next = ptc_embedded_capture, *end = next + ptc_embedded_capture_size;
  while (file >= 0 && next != end) {
    ssize_t written = write(file, next, end - next);
    if (written < 0)
      return -1;
    next += written;
  }
  return file;
}

int capture(const CaptureOptions &options) {
  if (!isApart("--output", options.output, llvm::StringRef(options.target).rsplit(':').first.str()))
    return kUsage;
  std::string python = options.python.empty() ? "python3" : options.python;
  int package = openPackage();
  if (package < 0) {
    printError(fmt::format("capture: {}", std::strerror(errno)));
    return kUsage;
  }
  std::string script = fmt::format("import sys; sys.path.append('{0}'); from ptc_capture.command import main; "
                                   "sys.path.remove('{0}'); sys.exit(main())",
                                   fmt::format("/proc/self/fd/{}", package));
  std::vector<std::string> words = {python, "-c", script, options.target, "--output=" + options.output};
  if (options.hasArguments)
    words.push_back("--args=" + options.arguments);
  if (options.paths)
    words.push_back(fmt::format("--paths={}", options.paths));
  if (options.dynamic)
    words.push_back("--dynamic");
  if (options.fullgraph)
    words.push_back("--fullgraph");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(python.c_str(), argv.data());
  printError(
      fmt::format("{}: {} (capture runs your script in Python: name one that has torch with --python or PTC_PYTHON)",
                  python, std::strerror(errno)));
  return kUsage;
}

} // namespace ptc
