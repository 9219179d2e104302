//===- OpenMP.h - the OpenMP runtime of the process -----------------------===//
//
// libgomp, libomp or libiomp5, under whatever name the process has loaded it
// (PyTorch bundles one). It says how many threads the calling thread wants, and
// calls run on its threads where PTC_THREADS=openmp asks for that; then the
// system's is loaded if the process has none.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Loader.h"

#include <cstdint>

namespace ptc::runtime {

class OpenMP {
public:
  /// The process's; looked for at the first use, and while memory is short at later ones.
  static const OpenMP &get();

  /// Path of the library, null when there is none.
  const char *path() const { return libraryPath[0] ? libraryPath : nullptr; }

  /// What the runtime would give the calling thread; 0 when there is none.
  int32_t maxThreads() const { return getMaxThreads ? getMaxThreads() : 0; }

  /// Calls body(data, thread) on up to `wanted` threads, the caller's included.
  using Body = void (*)(void *data, int32_t thread);
  void parallel(int32_t wanted, Body body, void *data) const;

private:
  bool find();
  bool use(void *library, const char *path);
  Search useLoaded();
  bool load();

  void (*gompParallel)(void (*function)(void *), void *data, unsigned threads, unsigned flags);
  int (*threadNumber)();
  int (*getMaxThreads)();
  int (*getBlocktime)(); ///< LLVM's and Intel's runtimes: how long threads spin after a region
  void (*setBlocktime)(int);
  char libraryPath[4096];
  int64_t loadAfter; ///< none could be loaded: not before this time again
  friend struct OpenMPStorage;
};

} // namespace ptc::runtime
