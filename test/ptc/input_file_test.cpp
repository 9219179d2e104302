// Files that others write over, or cut, while they are read.
#include "compiler/support/Diagnostics.h"
#include "compiler/support/InputFile.h"

#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct File {
  std::string path = (std::filesystem::temp_directory_path() / ("ptc-input-" + std::to_string(getpid()))).string();
  File() { write(std::string(1 << 20, 'x')); }
  ~File() { std::filesystem::remove(path); }
  void write(const std::string &content) { std::ofstream(path, std::ios::binary) << content; }
};

/// How a process ends that does this under ptc's handlers, and what it says.
template <class F> std::pair<int, std::string> runInChild(F body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::string name = "ptc";
    char *argv[] = {name.data()};
    ptc::installCrashHandler(1, argv);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, count);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {status, text};
}

} // namespace

TEST_CASE("a file that is written over is told") {
  File file;
  ptc::InputFile input(file.path);
  CHECK_FALSE(llvm::errorToBool(input.check()));
  usleep(20'000); // a clock tick of the file system
  file.write(std::string(1 << 20, 'y'));
  CHECK(llvm::toString(input.check()) == file.path + ": was changed while it was read (compile it again)");
  ptc::InputFile again(file.path);
  std::filesystem::remove(file.path);
  CHECK(llvm::errorToBool(again.check()));
}

TEST_CASE("a file that is cut while it is read is an error in one line") {
  File file;
  auto [status, text] = runInChild([&] {
    auto buffer = ptc::openInput(ptc::InputFile(file.path));
    std::filesystem::resize_file(file.path, 0);
    volatile char last = (*buffer)->getBuffer().back();
    (void)last;
  });
  CHECK(WEXITSTATUS(status) == ptc::kModelAtFault);
  CHECK(text == "ptc: error: " + file.path + ": was cut while it was read\n");
}

TEST_CASE("who is told to quit has no defect") {
  auto [status, text] = runInChild([] { raise(SIGQUIT); });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGQUIT);
  CHECK(text.empty());
}
