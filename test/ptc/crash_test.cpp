// What users see of a defect of ptc: one line, status 3, and a file with which ptc-opt repeats it.
#include "compiler/PassTrace.h"
#include "compiler/Pipeline.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Times.h"
#include "tools/ptc-opt/TestFail.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr const char *kModel = "func.func @forward(%x: tensor<4xf32> {ptc.input = \"x\"}) -> tensor<4xf32> {\n"
                               "  return %x : tensor<4xf32>\n}\n";

/// What ptc does, with a pass that has a defect.
int runDefectivePass(const std::string &how) {
  std::string name = "ptc";
  char *argv[] = {name.data()};
  ptc::installCrashHandler(1, argv);
  ptc::registerTestFailPass();
  mlir::DialectRegistry registry;
  ptc::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  ptc::Diagnostics diagnostics(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kModel, &context);
  mlir::PassManager manager(&context);
  ptc::Options options;
  ptc::Times times;
  int count = 0;
  ptc::tracePasses(manager, options, times, count);
  if (failed(mlir::parsePassPipeline("ptc-test-fail{how=" + how + "}", manager)))
    return 99;
  return succeeded(manager.run(*module)) ? 0 : diagnostics.printFirst();
}

struct Outcome {
  int status = -1;
  std::string text;
};

/// In a process of its own; its stderr.
Outcome runInChild(const std::string &how) {
  std::array<int, 2> ends;
  REQUIRE(pipe(ends.data()) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    _exit(runDefectivePass(how));
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.text.append(buffer, n);
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

std::string readFile(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("a defect in a pass leaves IR that repeats it") {
  std::string how = GENERATE("silently", "signal", "fatal");
  CAPTURE(how);
  Outcome outcome = runInChild(how);
  CAPTURE(outcome.text);
  CHECK(outcome.status == ptc::kDefect);
  CHECK(outcome.text.substr(0, 23) == "ptc: error: internal: a");
  CHECK(outcome.text.find('\n') == outcome.text.size() - 1);

  size_t begin = outcome.text.find("/tmp/ptc-crash-");
  REQUIRE(begin != std::string::npos);
  std::string path = outcome.text.substr(begin, outcome.text.find(')', begin) - begin);
  REQUIRE(path.substr(path.size() - 5) == ".mlir");
  std::string ir = readFile(path);
  CAPTURE(ir);
  CHECK(ir.find("builtin.module(ptc-test-fail{how=" + how + "}") != std::string::npos);
  CHECK(ir.find("func.func @forward") != std::string::npos);
  CHECK(ir.find("test.changed") == std::string::npos);

  std::string command = "tools/ptc-opt/ptc-opt --run-reproducer " + path + " >/dev/null 2>&1";
  CHECK(std::system(command.c_str()) != 0);
  // Without the defect it passes: what fails is the pass, not the file.
  CHECK(std::system(("tools/ptc-opt/ptc-opt " + path + " >/dev/null").c_str()) == 0);
  std::remove(path.c_str());
  std::remove((path.substr(0, path.size() - 5) + ".sh").c_str());
}
