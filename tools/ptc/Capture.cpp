// The capture itself is Python's to do: the program carries the script and becomes the Python that runs it.
#include "compiler/Diagnostics.h"
#include "tools/ptc/Commands.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <vector>

extern "C" {
extern const unsigned char ptc_embedded_capture[];
extern const unsigned long ptc_embedded_capture_size;
}

namespace ptc {

int capture(const CaptureOptions &options) {
  std::string python = options.python.empty() ? "python3" : options.python;
  std::string script(reinterpret_cast<const char *>(ptc_embedded_capture), ptc_embedded_capture_size);
  std::vector<std::string> words = {python, "-c", script, options.target, "--output=" + options.output};
  if (options.hasArguments)
    words.push_back("--args=" + options.arguments);
  if (options.paths)
    words.push_back("--paths=" + std::to_string(options.paths));
  if (options.dynamic)
    words.push_back("--dynamic");
  if (options.fullgraph)
    words.push_back("--fullgraph");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(python.c_str(), argv.data());
  printError(python + ": " + std::strerror(errno) +
             " (capture runs your script in Python: name one that has torch with --python or PTC_PYTHON)");
  return kUsage;
}

} // namespace ptc
