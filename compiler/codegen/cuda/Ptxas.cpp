#include "compiler/codegen/cuda/Ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc::cuda {

namespace {
/// A file of another program's, in the system's folder for such files, which is removed whatever happens.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (!path.empty())
      sys::DontRemoveFileOnSignal(path);
  }

  Error create(StringRef extension) {
    int descriptor;
    if (std::error_code error = sys::fs::createTemporaryFile("ptc", extension, descriptor, path))
      return createStringError("no temporary file for ptxas: " + error.message());
    sys::RemoveFileOnSignal(path);
    remover.setFile(path);
    sys::fs::closeFile(descriptor);
    return Error::success();
  }
  Error write(StringRef text) const {
    std::error_code error;
    raw_fd_ostream out(path, error);
    out << text;
    out.close();
    if (!error)
      error = out.error();
    out.clear_error();
    return error ? createStringError(path + ": " + error.message()) : Error::success();
  }
  Expected<std::string> read() const {
    auto buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return createStringError(path + ": " + buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }

  SmallString<128> path;

private:
  FileRemover remover;
};
} // namespace

/// What it writes, on either stream. Fails where it does.
static Expected<std::string> run(StringRef program, ArrayRef<StringRef> arguments) {
  TemporaryFile said;
  if (Error error = said.create("txt"))
    return std::move(error);
  SmallVector<StringRef> command = {program};
  append_range(command, arguments);
  StringRef path = said.path;
  std::optional<StringRef> streams[] = {StringRef(), path, path};
  std::string problem;
  int status = sys::ExecuteAndWait(program, command, /*Env=*/std::nullopt, streams, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &problem);
  Expected<std::string> text = said.read();
  if (!text || status == 0)
    return text;
  if (problem.empty())
    problem = StringRef(*text).trim().split('\n').first.str();
  if (problem.empty())
    problem = "exit status " + std::to_string(status);
  return createStringError(program + ": " + problem);
}

Expected<std::string> getPtxasVersion(StringRef program) {
  Expected<std::string> text = run(program, {"--version"});
  if (!text)
    return text.takeError();
  StringRef version = StringRef(*text).split(", V").second.take_while([](char c) { return c == '.' || isdigit(c); });
  if (!StringRef(*text).starts_with("ptxas:") || version.empty())
    return createStringError(program + " is no ptxas");
  return ("ptxas " + version).str();
}

Expected<std::string> runPtxas(StringRef program, StringRef arch, StringRef ptx) {
  TemporaryFile source, cubin;
  for (auto [file, extension] : {std::pair(&source, "ptx"), {&cubin, "cubin"}})
    if (Error error = file->create(extension))
      return std::move(error);
  if (Error error = source.write(ptx))
    return std::move(error);
  std::string option = ("-arch=" + arch).str();
  Expected<std::string> said = run(program, {option, "-o", cubin.path, source.path});
  if (!said)
    return said.takeError();
  Expected<std::string> code = cubin.read();
  if (code && code->empty())
    return createStringError(program + " has written nothing");
  return code;
}

} // namespace ptc::cuda
