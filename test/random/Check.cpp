#include "test/random/Check.h"

#include "compiler/Compile.h"
#include "compiler/support/Diagnostics.h"
#include "test/random/DLTensors.h"
#include "test/random/Expect.h"
#include "tools/ptc/Library.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace ptc::test {

const char *getName(Outcome outcome) {
  switch (outcome) {
  case Outcome::Pass:
    return "pass";
  case Outcome::Unsupported:
    return "unsupported";
  case Outcome::BadCase:
    return "bad case";
  case Outcome::Refused:
    return "refused";
  case Outcome::Wrong:
    return "wrong";
  case Outcome::Crash:
    return "crash";
  case Outcome::Timeout:
    return "timeout";
  }
  return "";
}

/// One call with new outputs.
static llvm::Expected<Tensors> call(const Library &library, const Tensors &inputs, ArrayRef<Type> types, int threads) {
  DLTensors views(inputs);
  if (llvm::Error error = library.check(library.api->set_threads(library.context, threads)))
    return error;
  std::vector<DLManagedTensor *> outputs(types.size(), nullptr);
  llvm::scope_exit release([&] {
    for (DLManagedTensor *output : outputs)
      if (output)
        output->deleter(output);
  });
  auto pointers = views.pointers();
  if (llvm::Error error = library.check(
          library.api->call_new(library.context, pointers.data(), pointers.size(), outputs.data(), outputs.size())))
    return error;
  Tensors answers;
  for (auto [output, type] : llvm::zip(outputs, types)) {
    const DLTensor &tensor = output->dl_tensor;
    ArrayRef<int64_t> shape(tensor.shape, tensor.ndim);
    uint64_t bytes = getByteSize(tensor.dtype, shape);
    const char *data = static_cast<const char *>(tensor.data) + tensor.byte_offset;
    auto answer =
        prims::Tensor::fromBytes(llvm::cast<RankedTensorType>(type).getElementType(), shape, {data, size_t(bytes)});
    if (!answer)
      return answer.takeError();
    answers.push_back(std::move(*answer));
  }
  return answers;
}

static bool areSame(const Tensors &a, const Tensors &b) {
  return llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
    return std::get<0>(pair).shape == std::get<1>(pair).shape &&
           std::get<0>(pair).toBytes() == std::get<1>(pair).toBytes();
  });
}

static bool isUnsupported(const std::string &why) {
  return why.find("not supported") != std::string::npos || why.find("no lowering to loops") != std::string::npos;
}

/// Compares answers with what runs of the reference span; where they differ, with what many more runs do.
static Verdict compare(const Case &program, size_t callNumber, const Tensors &answers) {
  const Tensors &inputs = program.calls[callNumber];
  Verdict verdict;
  for (auto [runs, scale] : {std::pair{6, 1.0}, std::pair{60, 2.0}, std::pair{300, 4.0}}) {
    auto expectation = expect(program, inputs, runs, scale, /*seed=*/runs);
    if (!expectation)
      return {Outcome::BadCase, llvm::toString(expectation.takeError())};
    verdict = {};
    for (size_t i = 0; i < answers.size() && !verdict.isFailure(); ++i)
      if (std::string why = expectation->results[i].compare(answers[i]); !why.empty())
        verdict = {Outcome::Wrong, "call " + std::to_string(callNumber) + ", output " + std::to_string(i) + ": " + why,
                   int(callNumber), int(i)};
    if (!verdict.isFailure())
      return verdict;
  }
  return verdict;
}

Verdict check(const Case &program, const std::string &folder) {
  // A library stays open, and dlopen knows it by its name.
  static int next = 0;
  std::string base = folder + "/" + std::to_string(getpid()) + "-" + std::to_string(next++);
  llvm::scope_exit removeFiles([&] {
    for (const std::string &path : filesOf(program, base))
      (void)llvm::sys::fs::remove(path);
    (void)llvm::sys::fs::remove(base + ".so");
  });
  if (llvm::Error error = saveCase(program, base))
    return {Outcome::BadCase, llvm::toString(std::move(error))};
  MLIRContext &context = *ModuleOp(program.module.get()).getContext();
  Options options;
  options.model = base + ".mlir";
  options.output = base + ".so";
  {
    Diagnostics diagnostics(&context);
    if (failed(compileModel(options, context, diagnostics))) {
      std::string why = diagnostics.failures().empty() ? "no reason given" : diagnostics.failures().front().line();
      return {isUnsupported(why) ? Outcome::Unsupported : Outcome::Refused, why};
    }
  }
  auto library = Library::open(options.output);
  if (!library)
    return {Outcome::Refused, llvm::toString(library.takeError())};
  func::FuncOp forward = program.forward();
  for (size_t i = 0; i < program.calls.size(); ++i) {
    auto answers = call(*library, program.calls[i], forward.getResultTypes(), /*threads=*/4);
    if (!answers) {
      auto expectation = expect(program, program.calls[i], 1, 0, 0);
      if (!expectation)
        return {Outcome::BadCase, llvm::toString(expectation.takeError())};
      return {Outcome::Refused, llvm::toString(answers.takeError()), int(i)};
    }
    auto again = call(*library, program.calls[i], forward.getResultTypes(), /*threads=*/1);
    if (!again || !areSame(*answers, *again)) {
      llvm::consumeError(again ? llvm::Error::success() : again.takeError());
      return {Outcome::Wrong, "call " + std::to_string(i) + " answers otherwise with another number of threads",
              int(i)};
    }
    if (Verdict verdict = compare(program, i, *answers); verdict.isFailure())
      return verdict;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// In a process of its own
//===----------------------------------------------------------------------===//

static std::string readAll(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, got);
  return text;
}

Verdict checkApart(const Case &program, const std::string &folder, Checker checker) {
  constexpr unsigned kSeconds = 60;
  int ends[2];
  if (pipe(ends))
    return {Outcome::BadCase, "no pipe"};
  pid_t child = fork();
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
      std::signal(signal, SIG_DFL);
    alarm(kSeconds);
    Verdict verdict = checker(program, folder);
    std::string text(1, char(verdict.outcome));
    text += std::to_string(verdict.call) + " " + std::to_string(verdict.output) + " " + verdict.why;
    ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == ssize_t(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return {Outcome::Timeout, "takes more than " + std::to_string(kSeconds) + " seconds"};
  if (text.empty())
    return {Outcome::Crash, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit"};
  Verdict verdict{Outcome(text[0]), {}};
  int used = 0;
  sscanf(text.c_str() + 1, "%d %d %n", &verdict.call, &verdict.output, &used);
  verdict.why = text.substr(1 + used);
  return verdict;
}

} // namespace ptc::test
