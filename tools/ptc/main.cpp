#include "compiler/support/Diagnostics.h"
#include "tools/ptc/Commands.h"

#include "llvm/Support/raw_ostream.h"

/// What was printed has arrived, or the status says that it has not. Who reads a pipe may have had enough of it.
static int finish(int status) {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  std::error_code error = out.error();
  out.clear_error();
  if (!error)
    return status;
  if (error != std::errc::broken_pipe)
    ptc::printError("standard output: " + error.message());
  return status ? status : ptc::kModelAtFault;
}

int main(int argc, char **argv) {
  ptc::installCrashHandler(argc, argv);
  return finish(ptc::runCommandLine(argc, argv));
}
