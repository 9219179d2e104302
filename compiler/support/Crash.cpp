// What happens when ptc itself fails: one line, a file that repeats it, status 3. Runs inside a signal handler, on a
// process whose heap may be broken: everything that can be prepared before is, and what cannot runs in a child process.
#include "compiler/support/Diagnostics.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ptc {

static std::atomic<const char *> activity{"the start"};
static char scriptPath[512], irPath[512];
static std::string reproducerScript;
/// Never destroyed: a crash may come as late as that.
static auto &irWriter = *new std::function<void(llvm::raw_ostream &)>;

void setActivity(const char *what) { activity = what; }
void setReproducer(std::function<void(llvm::raw_ostream &)> write) { irWriter = std::move(write); }

static void writeText(int fd, const char *text) {
  // Nothing is left to be done about a failed write here.
  [[maybe_unused]] ssize_t written = write(fd, text, std::strlen(text));
}

/// The folder may be everybody's: what lies there already, a link among it, is not ours. The command and the model are
/// the user's alone.
static int openNew(const char *path) {
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

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
  char line[1024];
  std::snprintf(line, sizeof line, "ptc: error: internal: a defect of ptc in %s (please report it with %s)\n",
                activity.load(), writeReproducer());
  writeText(STDERR_FILENO, line);
  _exit(kDefect);
}

//===----------------------------------------------------------------------===//
// Files that are cut while they are read
//===----------------------------------------------------------------------===//

namespace {
/// Kept where a signal handler may look at it.
struct WatchedInput {
  char path[512];
  uint64_t size;
};
} // namespace

static WatchedInput watchedInputs[16];
static std::atomic<unsigned> watchedCount{0};

void watchInput(llvm::StringRef path, uint64_t size) {
  unsigned place = watchedCount;
  if (place == std::size(watchedInputs) || path.size() >= sizeof watchedInputs[0].path)
    return; // a fault has no name then
  std::memcpy(watchedInputs[place].path, path.data(), path.size());
  watchedInputs[place].size = size;
  watchedCount = place + 1;
}

/// A page of a mapped file that is not there: an input was cut, or the linker's output has no room on the disk.
static void onBusError(int, siginfo_t *info, void *) {
  if (info->si_code != BUS_ADRERR)
    return onCrash(nullptr);
  llvm::sys::RunInterruptHandlers();
  const char *name = nullptr;
  struct stat status;
  for (unsigned i = 0; i < watchedCount; ++i)
    if (stat(watchedInputs[i].path, &status) != 0 || uint64_t(status.st_size) < watchedInputs[i].size)
      name = watchedInputs[i].path;
  char line[640];
  if (name)
    std::snprintf(line, sizeof line, "ptc: error: %s: was cut while it was read\n", name);
  else
    std::snprintf(line, sizeof line, "ptc: error: no space left on the device (cannot write the output)\n");
  writeText(STDERR_FILENO, line);
  _exit(kModelAtFault);
}

/// Of a process that has no more memory nothing is left but a line and its end.
static void onNoMemory(void *, const char *, bool) {
  static std::atomic_flag isSaid = ATOMIC_FLAG_INIT;
  if (isSaid.test_and_set())
    pause(); // another thread ends the process
  llvm::sys::RunInterruptHandlers();
  char line[160];
  std::snprintf(line, sizeof line, "ptc: error: no memory is left (it was %s)\n", activity.load());
  writeText(STDERR_FILENO, line);
  _exit(kModelAtFault);
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

/// Files in TMPDIR under names that nobody can guess.
static void choosePaths() {
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder || std::strlen(folder) > sizeof scriptPath - 64)
    folder = "/tmp";
  std::random_device random;
  unsigned first = random(), second = random();
  std::snprintf(scriptPath, sizeof scriptPath, "%s/ptc-crash-%08x%08x.sh", folder, first, second);
  std::snprintf(irPath, sizeof irPath, "%s/ptc-crash-%08x%08x.mlir", folder, first, second);
}

/// A user's wish, or a limit's, and no defect: unfinished outputs go, and then the process.
static void onQuit(int signal) {
  llvm::sys::RunInterruptHandlers();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void installCrashHandler(int argc, char **argv) {
  choosePaths();
  char cwd[4096];
  reproducerScript = "#!/bin/sh\n# Repeats a failure of ptc; add --dump-dir DIR to see the IR after every pass.\ncd ";
  reproducerScript += quote(getcwd(cwd, sizeof cwd) ? cwd : ".") + " && exec";
  for (int i = 0; i < argc; ++i)
    reproducerScript += " " + quote(argv[i]);
  reproducerScript += "\n";

  struct sigaction quitBefore = {}, limitBefore = {};
  sigaction(SIGQUIT, nullptr, &quitBefore);
  sigaction(SIGXCPU, nullptr, &limitBefore);
  // LLVM's handler removes files registered with RemoveFileOnSignal, on its own stack, before it calls ours.
  llvm::sys::AddSignalHandler(onCrash, nullptr);
  std::signal(SIGQUIT, quitBefore.sa_handler == SIG_IGN ? SIG_IGN : onQuit);
  std::signal(SIGXCPU, limitBefore.sa_handler == SIG_IGN ? SIG_IGN : onQuit);
  struct sigaction onBus = {};
  onBus.sa_sigaction = onBusError;
  onBus.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &onBus, nullptr);
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error of what writes it
  llvm::sys::DisableSystemDialogsOnCrash();
  llvm::install_bad_alloc_error_handler(onNoMemory);
  llvm::install_out_of_memory_new_handler();
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) {
        static char text[160];
        std::snprintf(text, sizeof text, "%s: %s", activity.load(), reason);
        for (char *c = text; *c; ++c)
          if (static_cast<unsigned char>(*c) < ' ' || *c == 0x7f)
            *c = ' ';
        activity = text;
        llvm::sys::RunInterruptHandlers();
        onCrash(nullptr);
      },
      nullptr);
}

} // namespace ptc
