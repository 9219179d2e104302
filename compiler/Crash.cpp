// What happens when ptc itself fails: one line, a file that repeats it, status 3. Runs inside a signal handler, on a
// process whose heap may be broken: everything that can be prepared before is.
#include "compiler/Diagnostics.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ptc {

static std::atomic<const char *> activity{"the start"};
static char reproducerPath[64];
static std::string reproducerScript;

void setActivity(const char *what) { activity = what; }

static void writeText(int fd, const char *text) {
  // Nothing is left to be done about a failed write here.
  [[maybe_unused]] ssize_t written = write(fd, text, std::strlen(text));
}

/// Answers whether there is a reproducer now. Async-signal-safe, but for the stack.
static bool writeReproducer() {
  int fd = open(reproducerPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0)
    return false;
  writeText(fd, reproducerScript.c_str());
  writeText(fd, "\n# It was: ");
  writeText(fd, activity);
  writeText(fd, "\n: <<'STACK'\n");
  llvm::raw_fd_ostream stream(fd, /*shouldClose=*/false, /*unbuffered=*/true);
  llvm::sys::PrintStackTrace(stream);
  writeText(fd, "STACK\n");
  close(fd);
  return true;
}

static void onCrash(void *) {
  char line[256];
  std::snprintf(line, sizeof line, "ptc: error: internal: a defect of ptc in %s (please report it with %s)\n",
                activity.load(), writeReproducer() ? reproducerPath : "the command line");
  writeText(STDERR_FILENO, line);
  _exit(kDefect);
}

void printDefect(llvm::StringRef message) {
  bool written = writeReproducer();
  printError("internal: " + message.str() + " (a defect of ptc: please report it with " +
             (written ? reproducerPath : "the command line") + ")");
}

static std::string quote(llvm::StringRef argument) {
  std::string quoted = "'";
  for (char c : argument)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void installCrashHandler(int argc, char **argv) {
  std::snprintf(reproducerPath, sizeof reproducerPath, "/tmp/ptc-crash-%d.sh", static_cast<int>(getpid()));
  char cwd[4096];
  reproducerScript = "#!/bin/sh\n# Repeats a failure of ptc; add --dump-dir DIR to see the IR after every pass.\ncd ";
  reproducerScript += quote(getcwd(cwd, sizeof cwd) ? cwd : ".") + " && exec";
  for (int i = 0; i < argc; ++i)
    reproducerScript += " " + quote(argv[i]);
  reproducerScript += "\n";

  // LLVM's handler removes files registered with RemoveFileOnSignal, on its own stack, before it calls ours.
  llvm::sys::AddSignalHandler(onCrash, nullptr);
  llvm::sys::DisableSystemDialogsOnCrash();
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) {
        static char text[160];
        std::snprintf(text, sizeof text, "%s: %s", activity.load(), reason);
        for (char *c = text; *c; ++c)
          if (*c == '\n')
            *c = ' ';
        activity = text;
        llvm::sys::RunInterruptHandlers();
        onCrash(nullptr);
      },
      nullptr);
}

} // namespace ptc
