#include "compiler/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc {

OutputFile::OutputFile(StringRef path)
    : path(path), temporaryPath((path + ".tmp" + Twine(sys::Process::getProcessId())).str()) {
  sys::RemoveFileOnSignal(temporaryPath);
}

OutputFile::~OutputFile() {
  sys::fs::remove(temporaryPath);
  sys::DontRemoveFileOnSignal(temporaryPath);
}

Error OutputFile::commit() {
  if (std::error_code error = sys::fs::rename(temporaryPath, path))
    return createStringError(error, path + ": " + error.message() + " (cannot write the output)");
  return Error::success();
}

Error writeOutputFile(StringRef path, function_ref<void(raw_ostream &)> write) {
  // A device such as /dev/stdout cannot be replaced by a file.
  sys::fs::file_status status;
  bool isDevice = !sys::fs::status(path, status) && sys::fs::exists(status) && !sys::fs::is_regular_file(status);
  OutputFile file(path);
  std::error_code error;
  raw_fd_ostream stream(isDevice ? path : StringRef(file.temporary()), error);
  if (!error) {
    write(stream);
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return createStringError(error, path + ": " + error.message() + " (cannot write the output)");
  return isDevice ? Error::success() : file.commit();
}

} // namespace ptc
