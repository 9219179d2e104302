// The only file that knows CLI11, and so the only one with exceptions.
#include "compiler/Diagnostics.h"
#include "tools/ptc/Commands.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>

#ifndef PTC_VERSION
#define PTC_VERSION "0.1.0"
#endif

namespace ptc {
namespace {

const CLI::Validator kStageName(
    [](std::string &name) { return parseStage(name) ? std::string() : "one of aten, prims, loop, llvm, asm, obj, so"; },
    "STAGE");

/// A name that users may know, of which only one is there so far.
CLI::Validator onlySoFar(std::string name) {
  return CLI::Validator(
      [name](std::string &value) {
        return value == name ? std::string()
                             : "'" + value + "' is not available in this version (only '" + name + "' is)";
      },
      "NAME");
}

/// Options of every command that reads a model.
void addModelOptions(CLI::App &command, Options &options) {
  command.add_option("MODEL", options.model, "A .pt2, .graph, .onnx or .mlir file")->required();
  command.add_option("--weights", options.weights, "Weights of a .graph or .mlir model (safetensors)");
  command
      .add_option("--march", options.march,
                  "native, or an LLVM name such as x86-64-v3; several with commas: a library for all of them")
      ->capture_default_str();
  command.add_option_function<std::string>(
             "--amp", [&options](const std::string &) { options.amp = true; },
             "Mixed precision as torch.autocast's on the CPU: products in bf16, the model's inputs and outputs as they are")
      ->check(onlySoFar("bf16"));
  command.add_flag("!--no-winograd", options.winograd,
                   "Only direct convolutions: no other rounding, and smaller weights");
}

void addGraph(CLI::App &command, Options &options) {
  command.add_option("--graph", options.graph, "Of a capture, this graph alone (from 0)")->check(CLI::NonNegativeNumber);
}

void addCompile(CLI::App &app, Options &options, std::string &emit, bool &fullgraph, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("compile", "Compile a model to a shared library");
  addModelOptions(command, options);
  command.add_option("-o,--output", options.output, "The file to write")->required();
  command.add_option("--emit", emit, "Stop at a stage and write what it made")->check(kStageName);
  command.add_option("--target", "The device to compile for")->check(onlySoFar("cpu"))->default_str("cpu");
  command.add_option("--mode", "How much time to spend for speed")->check(onlySoFar("default"))->default_str("default");
  command.add_flag("--fullgraph,!--no-fullgraph", fullgraph,
                   "Refuse a capture with breaks; --no-fullgraph: a library of each of its graphs, OUT-graphN.so");
  addGraph(command, options);
  command.add_option("--dump-dir", options.dumpDir, "Write the IR after every pass here");
  command.add_flag("--save-temps", options.saveTemps, "Keep what every stage made, beside the output");
  command.add_flag("--verify-each", options.verifyEach, "Verify the IR after every pass");
  command.add_option("--cache", options.cache, "A folder where what is compiled is kept for later compilations");
  command.add_flag("-v,--time", options.time, "Print where the time went");
  command.callback([&] {
    if (!emit.empty())
      options.emit = *parseStage(emit);
    action = [&options, &fullgraph] { return fullgraph ? compile(options) : compileGraphs(options); };
  });
}

void addRun(CLI::App &app, RunOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("run", "Run a compiled model once");
  command.add_option("LIBRARY", options.library, "A compiled model")->required();
  command.add_option("--inputs", options.inputs, "Inputs by name or position (safetensors)")->required();
  command.add_option("--outputs", options.outputs, "The file to write, outputs by position")->required();
  command.add_option("--threads", options.threads, "Number of threads")->check(CLI::Range(0, 1024));
  command.add_option("--profile", options.profile, "Write a Chrome trace of the call");
  command.add_flag("-v,--verbose", options.verbose, "Say which machine's code ran, on how many threads");
  auto *reference =
      command.add_flag("--reference", options.reference, "Evaluate a model (not a library) in double precision");
  command.add_option("--weights", options.weights, "Weights of that model (safetensors)")->needs(reference);
  reference->excludes("--profile");
  command.callback([&] { action = [&options] { return run(options); }; });
}

void addBench(CLI::App &app, BenchOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("bench", "Time a compiled model");
  command.add_option("LIBRARY", options.library, "A compiled model")->required();
  command.add_option("--inputs", options.inputs, "Inputs by name or position (safetensors)");
  command.add_option("--repeat", options.repeat, "Number of timed calls")->check(CLI::Range(1, 1000000000));
  command.add_option("--threads", options.threads, "Number of threads")->check(CLI::Range(0, 1024));
  command.add_flag("--json", options.json, "One JSON object on stdout");
  command.callback([&] { action = [&options] { return bench(options); }; });
}

void addExplain(CLI::App &app, ExplainOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("explain", "Report what a model is made of and becomes");
  addModelOptions(command, options.compile);
  addGraph(command, options.compile);
  CLI::Option *json = command.add_flag("--json", options.json, "One JSON object on stdout");
  CLI::Option *html = command.add_option("--html", options.html, "Write the report as one page for a browser")
                          ->excludes(json);
  command.add_option("--peak-gflops", options.gigaflops, "For the page's roofline: operations (10^9/s) at best")
      ->needs(html)
      ->check(CLI::PositiveNumber);
  command.add_option("--peak-gbs", options.gigabytes, "For the page's roofline: bytes (10^9/s) at best")
      ->needs(html)
      ->check(CLI::PositiveNumber);
  command.callback([&] { action = [&options] { return explain(options); }; });
}

void addCapture(CLI::App &app, CaptureOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("capture", "Capture the graphs of Python code, with its breaks and guards");
  command.add_option("SCRIPT.py:NAME", options.target, "A function or module of a Python script")->required();
  command.add_option("-o,--output", options.output, "The file to write; weights go beside it")->required();
  CLI::Option *arguments = command.add_option(
      "--args", options.arguments, "Its arguments, as in a call; without it the script's example_inputs");
  command.add_flag("--dynamic", options.dynamic, "Symbolic sizes from the first call on");
  command.add_option("--paths", options.paths, "At most so many runs to see both ways of branches (16)")
      ->check(CLI::Range(1, 10000));
  command.add_flag("--fullgraph", options.fullgraph, "A break is an error");
  command.add_option("--python", options.python, "The Python that has torch (PTC_PYTHON, else python3)")
      ->envname("PTC_PYTHON");
  command.callback([&options, &action, arguments] {
    options.hasArguments = arguments->count() != 0;
    action = [&options] { return capture(options); };
  });
}

void addOps(CLI::App &app, OpsOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("ops", "List PyTorch's operators that compile, or tell about one");
  command.add_option("NAME", options.name, "An operator such as add or add.Tensor");
  command.add_flag("--onnx", options.onnx, "ONNX's operators instead");
  command.add_flag("--json", options.json, "JSON on stdout; of all operators, supported or not, with the reason");
  command.callback([&] { action = [&options] { return ops(options); }; });
}

} // namespace

int runCommandLine(int argc, char **argv) {
  CLI::App app("Compiles exported PyTorch models to shared libraries", "ptc");
  app.set_version_flag("--version", "ptc " PTC_VERSION);
  app.require_subcommand(1);

  Options compileOptions;
  std::string emit;
  bool fullgraph = true;
  RunOptions runOptions;
  BenchOptions benchOptions;
  ExplainOptions explainOptions;
  OpsOptions opsOptions;
  CaptureOptions captureOptions;
  std::function<int()> action;
  addCompile(app, compileOptions, emit, fullgraph, action);
  addRun(app, runOptions, action);
  addBench(app, benchOptions, action);
  addExplain(app, explainOptions, action);
  addOps(app, opsOptions, action);
  addCapture(app, captureOptions, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // --help and --version
    printError("command line: " + std::string(error.what()) + " (see ptc --help)");
    return kUsage;
  }
  return action();
}

} // namespace ptc
