#include "compiler/Diagnostics.h"
#include "tools/ptc/Commands.h"

int main(int argc, char **argv) {
  ptc::installCrashHandler(argc, argv);
  return ptc::runCommandLine(argc, argv);
}
