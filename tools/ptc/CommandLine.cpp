// This file and CompileOptions.cpp alone know CLI11, and so they alone have exceptions.
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/CommandText.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/CompileOptions.h"
#include "tools/ptc/CompileReport.h"
#include "tools/ptc/FindPtxas.h"
#include "tools/ptc/Version.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <sstream>
#include <unistd.h>

namespace ptc {
namespace {

/// A terminal that can write over a line.
bool isForPeople(int descriptor) {
  const char *terminal = getenv("TERM");
  return isatty(descriptor) && terminal && std::string(terminal) != "dumb";
}

/// As services for it set: GitHub, GitLab, Jenkins' plugins and others.
bool isContinuousIntegration() {
  const char *value = getenv("CI");
  return value && *value && llvm::StringRef(value) != "false" && llvm::StringRef(value) != "0";
}

const CLI::Validator kStageName(
    [](std::string &name) {
      return parseStage(name) ? std::string() : "one of aten, prims, loop, llvm, asm, ptx, obj, so";
    },
    ""); // the type's name says the same

/// What --ptxas means here; what was asked for by name must do its work.
void resolvePtxas(Options &options) {
  bool isAuto = options.ptxas.empty() || options.ptxas == "auto";
  options.needsPtxas = !isAuto && options.ptxas != "none";
  if (options.needsPtxas)
    return;
  options.ptxas = isAuto && options.device == Device::Cuda ? findPtxas() : "";
}

void addCompile(CLI::App &app, Options &options, std::string &emit, bool &fullgraph, std::string &report,
                std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("compile", "Compile a model to a shared library");
  addModelOptions(command, options);
  command.add_option("-o,--output", options.output, "The file to write; - is stdout")->required()->type_name("FILE");
  command.add_option("--name", options.name, "The name that the library gives itself")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--source-paths",
          [&options](const std::string &name) {
            options.sourcePaths = name == "full"   ? SourcePaths::Full
                                  : name == "none" ? SourcePaths::None
                                                   : SourcePaths::Relative;
          },
          "How the library names the model's Python files: relative to the folder that they share, in full, or not")
      ->check(CLI::IsMember(std::vector<std::string>{"full", "relative", "none"}))
      ->type_name("full|relative|none")
      ->default_str("relative");
  command
      .add_option_function<std::vector<std::string>>(
          "--source-prefix",
          [&options](const std::vector<std::string> &prefixes) {
            for (const std::string &prefix : prefixes) {
              auto [from, to] = llvm::StringRef(prefix).split('=');
              options.sourcePrefixes.emplace_back(from.str(), to.str());
            }
          },
          "A folder of the model's Python files, and what the library calls it instead")
      ->type_name("FROM=TO")
      ->check([](const std::string &prefix) {
        return llvm::StringRef(prefix).find('=') + 1 > 1 ? "" : "'" + prefix + "' is not FROM=TO";
      });
  command.add_option("--emit", emit, "Stop at a stage and write what it made")
      ->check(kStageName)
      ->type_name("aten|prims|loop|llvm|asm|ptx|obj|so");
  addTuning(command, options);
  command.add_flag("--fullgraph,!--no-fullgraph", fullgraph,
                   "Refuse a capture with breaks; --no-fullgraph: a library of each of its graphs, OUT-graphN.so");
  addFallback(command, options);
  addGraph(command, options);
  addTraining(command, options.train);
  command.add_option("--dump-dir", options.dumpDir, "Write the IR after every pass here")->type_name("DIR");
  command.add_flag("--save-temps", options.saveTemps, "Keep what every stage made, beside the output");
  command.add_flag("--verify-each", options.verifyEach, "Verify the IR after every pass");
  command.add_option("--cache", options.cache, "A folder where what is compiled is kept for later compilations")
      ->type_name("DIR");
  command
      .add_option("--cache-size", options.cacheSize,
                  "How much the cache holds at most: what was used least recently goes")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->default_str("5GiB");
  command.add_flag("-v,--time", options.time, "Print where the time went");
  command
      .add_option("--json", report, "Write what came of it here: outputs, hash, machines, seconds, warnings, errors")
      ->type_name("FILE");
  command.footer("Examples:\n"
                 "  ptc compile model.pt2 -o model.so\n"
                 "  ptc compile model.onnx -o model.so --march x86-64-v3,x86-64-v4\n"
                 "  ptc compile model.pt2 -o model.so --target cuda\n"
                 "  ptc compile model.graph -o model.mlir --emit prims\n"
                 "  ptc compile model.pt2 -o model.so --mode max-autotune --tuning-file model.tuning.json\n"
                 "  ptc compile model.pt2 -o step.so --train --loss cross_entropy --optimizer adamw\n"
                 "  ptc compile model.pt2 -o model.so --time --cache ~/.cache/ptc");
  command.callback([&] {
    options.progress = isForPeople(STDERR_FILENO);
    if (!emit.empty())
      options.emit = *parseStage(emit);
    if (emit == "ptx" && options.device != Device::Cuda)
      throw CLI::ValidationError("--emit", "ptx is the assembly of --target cuda");
    resolvePtxas(options);
    CLI::Option *wish = command.get_option("--fullgraph");
    if (options.fallback && wish->count() && fullgraph)
      throw CLI::ExcludesError("--fallback", "--fullgraph");
    if (options.train.isOn && !fullgraph)
      throw CLI::ExcludesError("--train", "--no-fullgraph");
    if (options.output == "-" && (options.saveTemps || !fullgraph))
      throw CLI::ExcludesError("--output -", options.saveTemps ? "--save-temps" : "--no-fullgraph");
    bool isForThisMachine =
        options.device == Device::Cpu && options.emit >= Stage::Obj && !command.get_option("--march")->count();
    action = [&, isForThisMachine] {
      CompileReport timed(report);
      if (!timed.isApart(options))
        return int(kUsage);
      if (isForThisMachine && isContinuousIntegration())
        printWarning("the library is for this machine's processor, and others may lack what it uses (--march "
                     "x86-64-v3,x86-64-v4 is for most; --march native says that this one is meant)");
      std::vector<std::string> written;
      int status = fullgraph ? compile(options, written) : compileGraphs(options, written);
      return timed.finish(options.model, written, status);
    };
  });
}

/// Of libraries that have several.
CLI::Option *addEntry(CLI::App &command, std::string &entry) {
  return command.add_option("--entry", entry, "What of the library is called: step, eval (the first if left out)")
      ->type_name("NAME");
}

void addRun(CLI::App &app, RunOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("run", "Run a compiled model, or so many steps of training");
  command.add_option("LIBRARY", options.library, "A compiled model")->required()->type_name("FILE");
  auto *entry = addEntry(command, options.entry);
  command.add_option("--inputs", options.inputs, "Inputs by name or position (.safetensors or .npz)")
      ->required()
      ->type_name("FILE");
  auto *cotangents = command
                         .add_option("--cotangents", options.cotangents,
                                     "Of a library of gradients (--train), what the outputs' derivatives are, by "
                                     "position of the output (safetensors)")
                         ->type_name("FILE");
  command
      .add_option("--outputs", options.outputs,
                  "The file to write: outputs by position, gradients as grad.POSITION of the input and gradient.NAME "
                  "of the parameter")
      ->required()
      ->type_name("FILE");
  auto *load = command
                   .add_option("--load", options.load,
                               "Set the library's states first to what --save wrote, or another program (safetensors)")
                   ->type_name("FILE");
  auto *save =
      command.add_option("--save", options.save, "Write the states that the library is left with (safetensors)")
          ->type_name("FILE");
  auto *steps = command
                    .add_option("--steps", options.steps,
                                "Call so many times with the same inputs, and print the loss of every tenth part; the "
                                "outputs are the last call's")
                    ->check(CLI::Range(1, 1000000000))
                    ->type_name("N");
  command.add_option("--threads", options.threads, "Number of threads")->check(CLI::Range(0, 1024))->type_name("N");
  command.add_option("--profile", options.profile, "Write a Chrome trace of the call")->type_name("FILE");
  command.add_flag("-v,--verbose", options.verbose, "Say which machine's code ran, on how many threads");
  auto *reference =
      command.add_flag("--reference", options.reference, "Evaluate a model (not a library) in double precision");
  command.add_option("--weights", options.weights, "Weights of that model (safetensors)")
      ->needs(reference)
      ->type_name("FILE");
  reference->excludes("--profile")
      ->excludes(cotangents)
      ->excludes(entry)
      ->excludes(load)
      ->excludes(save)
      ->excludes(steps);
  command.footer(
      "Examples:\n"
      "  ptc run model.so --inputs in.safetensors --outputs out.safetensors\n"
      "  ptc run model.so --inputs in.safetensors --outputs out.safetensors --profile trace.json\n"
      "  ptc run step.so --inputs in.safetensors --outputs out.safetensors --steps 100 --save a.safetensors\n"
      "  ptc run --reference model.pt2 --inputs in.safetensors --outputs expected.safetensors");
  command.callback([&] { action = [&options] { return run(options); }; });
}

void addBench(CLI::App &app, BenchOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("bench", "Time a compiled model");
  command.add_option("LIBRARY", options.library, "A compiled model")->required()->type_name("FILE");
  addEntry(command, options.entry);
  CLI::Option *inputs =
      command.add_option("--inputs", options.inputs, "Inputs by name or position (.safetensors or .npz)");
  inputs->type_name("FILE");
  addSizes(command, options.sizes)->excludes(inputs);
  command.add_option("--repeat", options.repeat, "Number of timed calls")
      ->check(CLI::Range(1, 1000000000))
      ->type_name("N");
  command.add_option("--threads", options.threads, "Number of threads")->check(CLI::Range(0, 1024))->type_name("N");
  command.add_option("--pause", options.pause, "Time between two calls of a caller, as a service has it")
      ->check(CLI::Range(0.0, 1e5))
      ->type_name("MS");
  command.add_option("--callers", options.callers, "Threads that call the model at once")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command.add_option("--wait", options.wait, "How threads wait for their next work")
      ->check(CLI::IsMember({"adaptive", "passive", "active"}))
      ->type_name("MODE");
  CLI::Option *json = command.add_flag("--json", options.json, "One JSON object on stdout");
  command.add_flag("--csv", options.csv, "A line of names and a line of values on stdout")->excludes(json);
  command.footer("Examples:\n  ptc bench model.so\n  ptc bench model.so --repeat 1000 --threads 1 --json\n"
                 "  ptc bench model.so --pause 20 --callers 4\n  ptc bench model.so --shape batch=8");
  command.callback([&] { action = [&options] { return bench(options); }; });
}

void addExplain(CLI::App &app, ExplainOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("explain", "Report what a model is made of and becomes");
  addModelOptions(command, options.compile);
  addSizes(command, options.compile.sizes);
  addFallback(command, options.compile);
  addGraph(command, options.compile);
  addTraining(command, options.compile.train);
  CLI::Option *json = command.add_flag("--json", options.json, "One JSON object on stdout");
  command
      .add_option("--profile", options.profile, "What ptc run --profile has measured: kernels' times beside the others")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  command
      .add_option(
          "--compare", options.baseline,
          "An earlier report (--json) of the model, for another machine, version or choice of options: kernels of "
          "both beside each other")
      ->check(CLI::ExistingFile)
      ->type_name("FILE");
  CLI::Option *html = command.add_option("--html", options.html, "Write the report as one page for a browser")
                          ->type_name("FILE")
                          ->excludes(json);
  command.add_option("--peak-gflops", options.gigaflops, "For the page's roofline: operations (10^9/s) at best")
      ->needs(html)
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command.add_option("--peak-gbs", options.gigabytes, "For the page's roofline: bytes (10^9/s) at best")
      ->needs(html)
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command.footer("Examples:\n"
                 "  ptc explain model.pt2\n"
                 "  ptc explain model.pt2 --html report.html\n"
                 "  ptc explain model.pt2 --html report.html --profile trace.json\n"
                 "  ptc explain model.pt2 --html report.html --compare before.json\n"
                 "  ptc explain model.pt2 --target cuda\n"
                 "  ptc explain captured.graph --graph 2 --json");
  command.callback([&] {
    resolvePtxas(options.compile);
    bool isKnown = options.gigaflops > 0 && options.gigabytes > 0;
    if (!options.html.empty() && options.compile.device == Device::Cuda && !isKnown)
      throw CLI::ValidationError("--html", "a page of a GPU's kernels needs --peak-gflops and --peak-gbs, which this "
                                           "machine's processors say nothing of");
    action = [&options] { return explain(options); };
  });
}

void addCapture(CLI::App &app, CaptureOptions &options, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("capture", "Capture the graphs of Python code, with its breaks and guards");
  command.add_option("SCRIPT.py:NAME", options.target, "A function or module of a Python script")
      ->required()
      ->type_name("FILE");
  command.add_option("-o,--output", options.output, "The file to write; weights go beside it")
      ->required()
      ->type_name("FILE");
  CLI::Option *arguments = command.add_option("--args", options.arguments,
                                              "Its arguments, as in a call; without it the script's example_inputs");
  arguments->type_name("EXPR");
  command.add_flag("--dynamic", options.dynamic, "Symbolic sizes from the first call on");
  command.add_option("--paths", options.paths, "At most so many runs to see both ways of branches (16)")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  command.add_flag("--fullgraph", options.fullgraph, "A break is an error");
  command.add_option("--python", options.python, "The Python that has torch (PTC_PYTHON, else python3)")
      ->envname("PTC_PYTHON")
      ->type_name("FILE");
  command.footer("Examples:\n"
                 "  ptc capture script.py:model -o model.graph\n"
                 "  ptc capture script.py:f -o f.graph --args \"torch.randn(2, 8), flag=True\"\n"
                 "  ptc explain model.graph");
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
  command.footer("Examples:\n  ptc ops\n  ptc ops softmax\n  ptc ops add.Tensor --json");
  command.callback([&] { action = [&options] { return ops(options); }; });
}

void addInfo(CLI::App &app, InfoOptions &options, std::function<int()> &action) {
  CLI::App &command =
      *app.add_subcommand("info", "Tell what a compiled model takes, answers and has, without running it");
  command.add_option("LIBRARY", options.library, "A library that ptc compile wrote")->required()->type_name("FILE");
  command.add_flag("--json", options.json, "JSON on stdout");
  command.footer("Examples:\n  ptc info model.so\n  ptc info model.so --json");
  command.callback([&] { action = [&options] { return info(options); }; });
}

void addDoctor(CLI::App &app, DoctorOptions &options, std::function<int()> &action) {
  CLI::App &command =
      *app.add_subcommand("doctor", "Check what ptc uses of this machine: ISA, threads, GPU, cache, Python");
  command.add_option("LIBRARY", options.libraries, "Compiled models: whether they are whole, and run here")
      ->type_name("FILE");
  command.add_option("--cache", options.cache, "The cache's folder (~/.cache/ptc)")->type_name("DIR");
  command.add_option("--python", options.python, "The Python that has torch (PTC_PYTHON, else python3)")
      ->envname("PTC_PYTHON")
      ->type_name("FILE");
  command.add_flag("--json", options.json, "One JSON object on stdout");
  command.footer("Examples:\n  ptc doctor\n  ptc doctor model.so --json");
  command.callback([&] { action = [&options] { return doctor(options); }; });
}

//===----------------------------------------------------------------------===//
// The command line as text
//===----------------------------------------------------------------------===//

OptionText describe(const CLI::Option &option) {
  OptionText text;
  for (const std::string &name : option.get_snames())
    text.names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    text.names.push_back("--" + name);
  if (text.names.empty())
    text.names.push_back(option.get_name(/*positional=*/true));
  if (option.get_items_expected_max() > 0)
    text.argument = option.get_type_name().substr(0, option.get_type_name().find(':')); // without what is checked
  text.help = option.get_description();
  text.isRequired = option.get_required();
  return text;
}

CommandText describe(const CLI::App &app) {
  CommandText text{app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  if (size_t title = text.examples.find('\n'); title != std::string::npos)
    text.examples.erase(0, title + 1); // "Examples:"
  for (const CLI::Option *option : app.get_options())
    (option->get_positional() ? text.operands : text.options).push_back(describe(*option));
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    text.commands.push_back(describe(*command));
  return text;
}

/// The option or command that was meant, where one is wrong.
std::string describeUnknown(const CLI::App &app) {
  std::vector<CLI::App *> chosen = app.get_subcommands();
  CommandText program = describe(app), here = chosen.empty() ? program : describe(*chosen.front());
  for (const std::string &word : app.remaining(/*recurse=*/true)) {
    bool isOption = word.size() > 1 && word[0] == '-';
    std::vector<std::string> candidates;
    if (isOption)
      for (const std::vector<OptionText> &options : {here.options, program.options})
        for (const OptionText &option : options)
          candidates.insert(candidates.end(), option.names.begin(), option.names.end());
    else if (chosen.empty())
      for (const CommandText &command : program.commands)
        candidates.push_back(command.name);
    else
      return fmt::format("'{}' is one argument too many for ptc {}", word, here.name);
    std::string plain = word.substr(0, word.find('='));
    std::string near = suggest(plain, candidates);
    return fmt::format("unknown {} '{}'{}{}", isOption ? "option" : "command", plain,
                       chosen.empty() ? "" : " of ptc " + here.name,
                       near.empty() ? "" : ", did you mean '" + near + "'?");
  }
  return "";
}

void addCompletion(CLI::App &app, std::string &shell, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("completion", "Print a script with which a shell completes ptc's commands");
  command.add_option("SHELL", shell, "Which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("bash|zsh|fish");
  command.footer("Examples:\n"
                 "  source <(ptc completion bash)\n"
                 "  ptc completion zsh > ~/.zfunc/_ptc\n"
                 "  ptc completion fish > ~/.config/fish/completions/ptc.fish");
  command.callback([&] {
    action = [&] {
      printCompletion(describe(app), shell, llvm::outs());
      return kDone;
    };
  });
}

void addManual(CLI::App &app, std::function<int()> &action) {
  CLI::App &command = *app.add_subcommand("man", "Print the manual page");
  command.footer("Examples:\n  ptc man | man -l -");
  command.callback([&] {
    action = [&] {
      printManual(describe(app), describeVersion(), llvm::outs());
      return kDone;
    };
  });
}

/// NO_COLOR (no-color.org) is a wish, the option an order.
void chooseColour(const std::string &wish) {
  const char *noColour = getenv("NO_COLOR");
  bool isWanted = wish != "never" && !(noColour && *noColour);
  llvm::outs().enable_colors(wish == "always" || (isWanted && isForPeople(STDOUT_FILENO)));
  setColouredErrors(wish == "always" || (isWanted && isForPeople(STDERR_FILENO)));
}

} // namespace

int runCommandLine(int argc, char **argv) {
  CLI::App app("Compiles exported PyTorch models to shared libraries", "ptc");
  app.set_version_flag("--version", describeVersion());
  app.require_subcommand(1);
  app.footer("Examples:\n"
             "  ptc compile model.pt2 -o model.so\n"
             "  ptc run model.so --inputs in.safetensors --outputs out.safetensors\n"
             "  ptc explain model.pt2 --html report.html\n"
             "`ptc COMMAND --help` says more of each.");
  std::string colour = "auto";
  app.add_option("--color", colour, "Colour on a terminal (auto), always or never; NO_COLOR is heeded")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("auto|always|never");
  app.fallthrough(); // --color may stand behind the command as well

  Options compileOptions;
  compileOptions.compiler = fmt::format("ptc {}", kVersion);
  std::string emit, report, shell;
  bool fullgraph = true;
  RunOptions runOptions;
  BenchOptions benchOptions;
  ExplainOptions explainOptions;
  InfoOptions infoOptions;
  OpsOptions opsOptions;
  CaptureOptions captureOptions;
  DoctorOptions doctorOptions;
  std::function<int()> action;
  addCompile(app, compileOptions, emit, fullgraph, report, action);
  addRun(app, runOptions, action);
  addBench(app, benchOptions, action);
  addExplain(app, explainOptions, action);
  addInfo(app, infoOptions, action);
  addOps(app, opsOptions, action);
  addCapture(app, captureOptions, action);
  addDoctor(app, doctorOptions, action);
  addCompletion(app, shell, action);
  addManual(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) { // --help and --version
      std::ostringstream text;
      app.exit(error, text, text);
      llvm::outs() << text.str();
      return kDone;
    }
    chooseColour(colour);
    std::vector<CLI::App *> chosen = app.get_subcommands();
    std::string unknown = describeUnknown(app);
    printError(fmt::format("command line: {} (see ptc {}--help)", unknown.empty() ? error.what() : unknown,
                           chosen.empty() ? "" : chosen.front()->get_name() + " "));
    return kUsage;
  }
  chooseColour(colour);
  return action();
}

} // namespace ptc
