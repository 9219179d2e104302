// What happens when ptc itself fails: one line, a file that repeats it, status 3. Runs inside a signal handler, on a
// process whose heap may be broken: everything that can be prepared before is, and what cannot runs in a child process.
#include "compiler/Diagnostics.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ptc {

static std::atomic<const char *> activity{"the start"};
static char scriptPath[64], irPath[64];
static std::string reproducerScript;
/// Never destroyed: a crash may come as late as that.
static auto &irWriter = *new std::function<void(llvm::raw_ostream &)>;

void setActivity(const char *what) { activity = what; }
void setReproducer(std::function<void(llvm::raw_ostream &)> write) { irWriter = std::move(write); }

static void writeText(int fd, const char *text) {
  // Nothing is left to be done about a failed write here.
  [[maybe_unused]] ssize_t written = write(fd, text, std::strlen(text));
}

static int openNew(const char *path) { return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); }

/// The command, what it was at, and where. Async-signal-safe, but for the stack.
static bool writeScript() {
  int fd = openNew(scriptPath);
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

/// The IR that the running pass was given. Printing it needs a heap and a stack that may not be there any more, so a
/// child does it, which may crash or hang.
static bool writeIr() {
  if (!irWriter)
    return false;
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    int fd = openNew(irPath);
    if (fd < 0)
      _exit(1);
    writeText(fd, "// Repeat with: ptc-opt --run-reproducer THIS_FILE\n// The command that it comes from is in ");
    writeText(fd, scriptPath);
    writeText(fd, "\n");
    std::thread([&] { // a signal handler's stack is small
      llvm::raw_fd_ostream stream(fd, /*shouldClose=*/false);
      irWriter(stream);
    })
        .join();
    _exit(0);
  }
  int status = 1;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
    return true;
  unlink(irPath);
  return false;
}

/// The file that a report names.
static const char *writeReproducer() {
  bool hasScript = writeScript();
  if (writeIr())
    return irPath;
  return hasScript ? scriptPath : "the command line";
}

static void onCrash(void *) {
  char line[320];
  std::snprintf(line, sizeof line, "ptc: error: internal: a defect of ptc in %s (please report it with %s)\n",
                activity.load(), writeReproducer());
  writeText(STDERR_FILENO, line);
  _exit(kDefect);
}

void printDefect(llvm::StringRef message) {
  printError("internal: " + message.str() + " (a defect of ptc: please report it with " + writeReproducer() + ")");
}

static std::string quote(llvm::StringRef argument) {
  std::string quoted = "'";
  for (char c : argument)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void installCrashHandler(int argc, char **argv) {
  std::snprintf(scriptPath, sizeof scriptPath, "/tmp/ptc-crash-%d.sh", static_cast<int>(getpid()));
  std::snprintf(irPath, sizeof irPath, "/tmp/ptc-crash-%d.mlir", static_cast<int>(getpid()));
  char cwd[4096];
  reproducerScript = "#!/bin/sh\n# Repeats a failure of ptc; add --dump-dir DIR to see the IR after every pass.\ncd ";
  reproducerScript += quote(getcwd(cwd, sizeof cwd) ? cwd : ".") + " && exec";
  for (int i = 0; i < argc; ++i)
    reproducerScript += " " + quote(argv[i]);
  reproducerScript += "\n";

  // LLVM's handler removes files registered with RemoveFileOnSignal, on its own stack, before it calls ours.
  llvm::sys::AddSignalHandler(onCrash, nullptr);
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of what writes it
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
