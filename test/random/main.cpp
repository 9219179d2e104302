//===- main.cpp - random programs of prims, compiled against evaluated ----===//
//
//   random_prims [--seed FIRST] [--count N] [--seconds S] [--keep FOLDER] [--failures N] [--no-shrink]
//   random_prims --replay FOLDER/NAME
//   random_prims --save FOLDER [--seed FIRST] [--count N]
//   --gradients: their derivatives against differences, not their answers
//
// A failing program is made small and saved as FOLDER/seed-N.mlir with its values beside it. --save writes programs
// with what they may answer, to be run elsewhere (test/cuda/random_programs.py).
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"
#include "test/random/Generate.h"
#include "test/random/Gradient.h"
#include "test/random/Save.h"
#include "test/random/Shrink.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace ptc::test;
using llvm::outs;

namespace {

struct Settings {
  uint64_t seed = 1, count = UINT32_MAX;
  double seconds = 60;
  int failures = 5;
  bool shrinks = true;
  Checker checker = check;
  std::string keep = ".", replay, save;
};

bool parse(int argc, char **argv, Settings &settings) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef name = argv[i];
    if (name == "--no-shrink") {
      settings.shrinks = false;
      continue;
    }
    if (name == "--gradients") {
      settings.checker = checkGradients;
      continue;
    }
    if (i + 1 == argc)
      return false;
    const char *value = argv[++i];
    if (name == "--seed")
      settings.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--count")
      settings.count = std::strtoull(value, nullptr, 10);
    else if (name == "--seconds")
      settings.seconds = std::strtod(value, nullptr);
    else if (name == "--failures")
      settings.failures = std::atoi(value);
    else if (name == "--keep")
      settings.keep = value;
    else if (name == "--replay")
      settings.replay = value;
    else if (name == "--save")
      settings.save = value;
    else
      return false;
  }
  return true;
}

/// A context of its own for each program: memory does not grow, and no program sees another one's.
template <typename F> auto withContext(F f) {
  mlir::DialectRegistry registry;
  ptc::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return f(context);
}

class Hunt {
public:
  Hunt(const Settings &settings, std::string folder) : settings(settings), folder(std::move(folder)) {}
  int run();

private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  bool isOver() const {
    return seed - settings.seed >= settings.count || elapsed() > settings.seconds || failures >= settings.failures;
  }
  /// Programs from `seed` on, in a process that ends at the first failure. Whether it ended without one.
  bool runBatch();
  void report();

  const Settings &settings;
  std::string folder;
  Clock::time_point start = Clock::now();
  uint64_t seed = settings.seed, passed = 0, unsupported = 0;
  int failures = 0;
  std::map<std::string, int> reasons;
};

bool Hunt::runBatch() {
  constexpr int kBatch = 50;
  int ends[2];
  if (pipe(ends))
    return false;
  outs().flush();
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
      std::signal(signal, SIG_DFL);
    withContext([&](mlir::MLIRContext &context) {
      for (int i = 0; i < kBatch && !isOver(); ++i, ++seed) {
        alarm(60);
        Verdict verdict = settings.checker(generateCase(seed, context), folder);
        char outcome = char(verdict.outcome);
        if (write(ends[1], &outcome, 1) != 1 || verdict.isFailure())
          break;
      }
    });
    _exit(0);
  }
  close(ends[1]);
  char outcome;
  bool failed = false;
  while (read(ends[0], &outcome, 1) == 1) {
    failed = Outcome(outcome) != Outcome::Pass && Outcome(outcome) != Outcome::Unsupported;
    if (failed)
      break;
    passed += Outcome(outcome) == Outcome::Pass;
    unsupported += Outcome(outcome) == Outcome::Unsupported;
    ++seed;
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return !failed && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The failure of `seed`, small.
void Hunt::report() {
  withContext([&](mlir::MLIRContext &context) {
    Case program = generateCase(seed, context);
    Verdict verdict = checkApart(program, folder, settings.checker);
    if (!verdict.isFailure()) {
      outs() << "seed " << seed << ": failed once and passes when run again\n";
      return;
    }
    if (settings.shrinks) {
      program = shrink(std::move(program), verdict, folder, settings.checker);
      verdict = checkApart(program, folder, settings.checker);
    }
    std::string base = settings.keep + "/seed-" + std::to_string(seed);
    if (llvm::Error error = saveCase(program, base))
      outs() << llvm::toString(std::move(error)) << '\n';
    outs() << "seed " << seed << ": " << getName(verdict.outcome) << ": " << verdict.why << "\n  random_prims --replay "
           << base << '\n';
    program.module->print(outs());
    outs() << '\n';
    outs().flush();
  });
}

int Hunt::run() {
  while (!isOver()) {
    if (runBatch())
      continue;
    ++failures;
    report();
    ++seed;
  }
  outs() << "seeds " << settings.seed << " to " << seed - 1 << " in " << llvm::format("%.0f", elapsed())
         << " s: " << unsupported << " unsupported\n"
         << passed << " passed, " << failures << " failed\n";
  return failures ? 1 : 0;
}

int replay(const Settings &settings, const std::string &folder) {
  return withContext([&](mlir::MLIRContext &context) {
    auto program = loadCase(settings.replay, context);
    if (!program) {
      outs() << llvm::toString(program.takeError()) << '\n';
      return 2;
    }
    Verdict verdict = checkApart(*program, folder, settings.checker);
    outs() << getName(verdict.outcome) << ": " << verdict.why << '\n';
    return verdict.isFailure() ? 1 : 0;
  });
}

int save(const Settings &settings) {
  if (std::error_code error = llvm::sys::fs::create_directories(settings.save)) {
    outs() << settings.save << ": " << error.message() << '\n';
    return 2;
  }
  uint64_t saved = 0;
  for (uint64_t seed = settings.seed; seed - settings.seed < settings.count; ++seed)
    withContext([&](mlir::MLIRContext &context) {
      std::string base = settings.save + "/seed-" + std::to_string(seed);
      llvm::Error error = saveWithAnswers(generateCase(seed, context), base);
      saved += !error;
      if (error)
        outs() << "seed " << seed << ": " << llvm::toString(std::move(error)) << '\n';
    });
  outs() << saved << " programs saved\n";
  return saved == settings.count ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    llvm::errs() << "usage: random_prims [--seed FIRST] [--count N] [--seconds S] [--keep FOLDER] [--failures N] "
                    "[--no-shrink] [--gradients] | "
                    "--replay FOLDER/NAME | --save FOLDER [--seed FIRST] [--count N]\n";
    return 2;
  }
  if (!settings.save.empty())
    return save(settings);
  llvm::SmallString<64> folder;
  if (llvm::sys::fs::createUniqueDirectory("random_prims", folder))
    return 2;
  std::string path = folder.str().str();
  int status = settings.replay.empty() ? Hunt(settings, path).run() : replay(settings, path);
  (void)llvm::sys::fs::remove_directories(folder);
  return status;
}
