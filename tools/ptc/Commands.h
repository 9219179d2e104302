//===- Commands.h - the subcommands of ptc, a file each -------------------===//
#pragma once

#include "compiler/support/Options.h"

#include <string>
#include <vector>

namespace ptc {

struct RunOptions {
  std::string library;
  std::string entry; ///< Of the library; empty: the first.
  std::string inputs;
  std::string cotangents; ///< Of the outputs of a library of gradients, by position; empty: none.
  std::string outputs;
  std::string profile;    ///< A Chrome trace; empty: none.
  std::string weights;    ///< With `reference`: as in Options.
  std::string load, save; ///< Files of the states before and after; empty: none.
  int steps = 1;          ///< How many calls.
  bool reference = false; ///< `library` is a model, to be evaluated and not compiled.
  bool verbose = false;
  int threads = 0; ///< 0: as many as the machine has.
};

struct BenchOptions {
  std::string library;
  std::string entry;  ///< Of the library; empty: the first.
  std::string inputs; ///< Empty: random tensors.
  std::string sizes;  ///< Of these (OpenSizes.h).
  int repeat = 0;     ///< 0: for about two seconds.
  int threads = 0;
  double pause = 0; ///< Milliseconds between calls.
  int callers = 1;  ///< Threads that call at once.
  std::string wait; ///< adaptive, passive or active; empty: as the environment says.
  bool json = false, csv = false;
};

struct ExplainOptions {
  Options compile;
  std::string html;                    ///< The page to write; empty: none.
  std::string profile;                 ///< Of a call of the library (ProfileFile.h); empty: none.
  std::string baseline;                ///< An earlier report to compare with, as JSON; empty: none.
  double gigaflops = 0, gigabytes = 0; ///< For its roofline; 0: of this machine.
  bool json = false;
};

struct CaptureOptions {
  std::string target, output, arguments, python;
  int paths = 0; ///< 0: the script's default
  bool dynamic = false, fullgraph = false, hasArguments = false;
};

struct DoctorOptions {
  std::vector<std::string> libraries;
  std::string cache, python; ///< empty: the usual ones
  bool json = false;
};

struct OpsOptions {
  std::string name; ///< Empty: all.
  bool onnx = false;
  bool json = false;
};

struct InfoOptions {
  std::string library;
  bool json = false;
};

/// Each answers the exit status, having printed its error. Files that a compilation has written are added to `written`.
int compile(const Options &options, std::vector<std::string> &written);
/// A library of each graph of a capture; those that do not compile are named in warnings.
int compileGraphs(const Options &options, std::vector<std::string> &written);
int run(const RunOptions &options);
int bench(const BenchOptions &options);
int explain(const ExplainOptions &options);
int ops(const OpsOptions &options);
int info(const InfoOptions &options);
int doctor(const DoctorOptions &options);
/// Does not come back where there is a Python: the process becomes it.
int capture(const CaptureOptions &options);

/// The way of `run` with RunOptions::reference.
int runReference(const RunOptions &options);

/// Parses, then calls one of the above.
int runCommandLine(int argc, char **argv);

} // namespace ptc
