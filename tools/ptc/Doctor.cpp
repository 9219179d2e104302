// Whether this machine has what ptc and its libraries use, and what to do where it has not.
#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "compiler/codegen/cpu/Target.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Library.h"
#include "tools/ptc/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>

using namespace llvm;

namespace ptc {
namespace {

enum class Health { Good, Note, Bad };

struct Finding {
  std::string name;
  Health health;
  std::string text;
};

Finding checkProcessor() {
  Expected<cpu::Target> target = cpu::getTarget("native");
  if (!target)
    return {"processor", Health::Bad, toString(target.takeError())};
  std::vector<std::string> units;
  for (StringRef unit : {"avx2", "avx512f", "avx512vnni", "avxvnni", "avx512bf16", "amx-int8", "amx-bf16"})
    if (is_contained(target->features, unit))
      units.push_back(unit.str());
  return {"processor", Health::Good,
          fmt::format("{} with {}; vectors of {} bits, {} processors", target->cpu, fmt::join(units, ", "),
                      target->vectorBytes * 8, std::thread::hardware_concurrency())};
}

/// Not needed: this version compiles for the CPU. Said, because people ask.
Finding checkGpu() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver)
    return {"gpu", Health::Note, "no CUDA driver; not needed, this version compiles for the CPU"};
  auto close = make_scope_exit([&] { dlclose(driver); });
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto count = reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDeviceGetCount"));
  auto name = reinterpret_cast<int (*)(char *, int, int)>(dlsym(driver, "cuDeviceGetName"));
  int devices = 0;
  if (!init || !count || !name || init(0) != 0 || count(&devices) != 0 || devices == 0)
    return {"gpu", Health::Note, "a CUDA driver without a device"};
  char text[128] = "";
  name(text, sizeof text - 1, 0);
  return {"gpu", Health::Note, fmt::format("{} device(s), the first is {}; not used yet", devices, text)};
}

std::string findDefaultCache() {
  const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  return base && *base ? std::string(base) + "/ptc" : std::string(home ? home : "") + "/.cache/ptc";
}

Finding checkCache(const std::string &given) {
  std::string folder = given.empty() ? findDefaultCache() : given;
  if (!sys::fs::exists(folder))
    return {"cache", Health::Note, folder + ": not there; it is made when it is first used"};
  if (!sys::fs::is_directory(folder) || access(folder.c_str(), W_OK | X_OK) != 0)
    return {"cache", Health::Bad, folder + ": is no folder that can be written to (name another with --cache)"};
  uint64_t bytes = 0, files = 0;
  std::error_code error;
  for (sys::fs::recursive_directory_iterator i(folder, error), end; i != end && !error; i.increment(error))
    if (auto status = i->status(); status && status->type() == sys::fs::file_type::regular_file) {
      bytes += status->getSize();
      ++files;
    }
  return {"cache", Health::Good, fmt::format("{}: {} files, {:.1f} MiB", folder, files, bytes / 1048576.0)};
}

/// For `ptc capture` alone.
Finding checkPython(const std::string &given) {
  std::string command = fmt::format(
      "'{}' -c 'import importlib.metadata as m, sys; print(sys.executable, m.version(\"torch\"))' 2>/dev/null",
      given.empty() ? "python3" : given);
  std::string text;
  if (FILE *pipe = popen(command.c_str(), "r")) {
    char buffer[512];
    while (fgets(buffer, sizeof buffer, pipe))
      text += buffer;
    pclose(pipe);
  }
  auto [path, version] = StringRef(text).trim().rsplit(' ');
  if (version.empty())
    return {"python", Health::Note, "no Python with torch; only `ptc capture` needs one (name it in PTC_PYTHON)"};
  return {"python", Health::Good, fmt::format("{} with torch {}", path, version)};
}

constexpr StringLiteral kProbe =
    "func.func @forward(%x: tensor<4096xf32> {ptc.input = \"x\"}) -> (tensor<4096xf32> {ptc.output = \"y\"}) {\n"
    "  %0 = aten.add.Tensor %x, %x {alpha = 1 : i64} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>\n"
    "  return %0 : tensor<4096xf32>\n}\n";

/// Compiles a model of one operator into `folder`.
Error compileProbe(StringRef folder, std::string &library) {
  Options options;
  options.model = (folder + "/probe.mlir").str();
  options.output = library = (folder + "/probe.so").str();
  std::error_code error;
  raw_fd_ostream(options.model, error) << kProbe;
  if (error)
    return createStringError(options.model + ": " + error.message());
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(&context);
  if (succeeded(compileModel(options, context, diagnostics)))
    return Error::success();
  return createStringError(diagnostics.failures().empty() ? "failed" : diagnostics.failures().front().line());
}

/// One call, compared; what threads it has.
Error callProbe(const std::string &path, std::vector<Finding> &findings) {
  Expected<Library> library = Library::open(path);
  if (!library)
    return library.takeError();
  Tensors inputs = library->makeInputs();
  std::vector<const DLTensor *> pointers = getPointers(inputs);
  DLManagedTensor *output = nullptr;
  if (Error error = library->check(library->api->call_new(library->context, pointers.data(), 1, &output, 1)))
    return error;
  const float *x = static_cast<const float *>(inputs.front()->base);
  const float *y = static_cast<const float *>(output->dl_tensor.data);
  bool isRight = true;
  for (unsigned i = 0; i < 4096; ++i)
    isRight &= y[i] == x[i] + x[i] || std::isnan(x[i]);
  output->deleter(output);
  findings.push_back(
      {"compile and run", isRight ? Health::Good : Health::Bad,
       isRight ? "a model of one operator answers what it should" : "a model of one operator answers wrongly"});
  ptc_threading threading{};
  library->api->threading(library->context, &threading);
  findings.push_back(
      {"threads", Health::Good,
       fmt::format("{}, of {}", threading.threads, threading.library ? threading.library : "ptc's pool")});
  return Error::success();
}

void checkCompiler(std::vector<Finding> &findings) {
  SmallString<128> folder;
  if (std::error_code error = sys::fs::createUniqueDirectory("ptc-doctor", folder)) {
    findings.push_back({"compile and run", Health::Bad, "no temporary folder: " + error.message()});
    return;
  }
  auto remove = make_scope_exit([&] { (void)sys::fs::remove_directories(folder); });
  std::string library;
  Error error = compileProbe(folder, library);
  if (!error)
    error = callProbe(library, findings);
  if (error)
    findings.push_back({"compile and run", Health::Bad, toString(std::move(error))});
}

Finding checkLibrary(const std::string &path) {
  Expected<Library> library = Library::open(path);
  if (!library)
    return {"library", Health::Bad, toString(library.takeError())};
  return {"library", Health::Good, path + ": whole, with code for " + library->machine()};
}

StringRef toString(Health health) { return health == Health::Good ? "ok" : health == Health::Note ? "note" : "fail"; }

} // namespace

int doctor(const DoctorOptions &options) {
  std::vector<Finding> findings = {checkProcessor()};
  checkCompiler(findings);
  findings.push_back(checkGpu());
  findings.push_back(checkCache(options.cache));
  findings.push_back(checkPython(options.python));
  for (const std::string &library : options.libraries)
    findings.push_back(checkLibrary(library));
  bool isWell = none_of(findings, [](const Finding &finding) { return finding.health == Health::Bad; });
  if (options.json) {
    json::Array checks;
    for (const Finding &finding : findings)
      checks.push_back(
          json::Object{{"name", finding.name}, {"status", toString(finding.health)}, {"text", finding.text}});
    outs() << formatv("{0:2}", json::Value(json::Object{{"ok", isWell},
                                                        {"version", kVersion},
                                                        {"commit", getCommit()},
                                                        {"llvm", getLlvmVersion()},
                                                        {"checks", std::move(checks)}}))
           << '\n';
    return isWell ? kDone : kModelAtFault;
  }
  outs() << describeVersion() << '\n';
  for (const Finding &finding : findings) {
    outs().changeColor(finding.health == Health::Good   ? raw_ostream::GREEN
                       : finding.health == Health::Note ? raw_ostream::YELLOW
                                                        : raw_ostream::RED);
    print(outs(), "{:<5}", toString(finding.health));
    print(outs().resetColor(), "{:<16} {}\n", finding.name, toPrintable(finding.text));
  }
  return isWell ? kDone : kModelAtFault;
}

} // namespace ptc
