// Whether this machine has what ptc and its libraries use, and what to do where it has not.
#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cuda/LocalDriver.h"
#include "compiler/codegen/cuda/Ptxas.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/FindPtxas.h"
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
  json::Object details = {}; ///< for programs, beside the text
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

Finding checkGpu() {
  constexpr const char *kNotNeeded = "; models compile for GPUs all the same, and run where there is one";
  Expected<cuda::LocalDriver> driver = cuda::askDriver();
  if (!driver)
    return {"gpu", Health::Note, toString(driver.takeError()) + kNotNeeded};
  std::string cuda = fmt::format("{}.{}", driver->major, driver->minor), ptx = driver->newestPtx();
  json::Object details{{"driver", driver->release}, {"cuda", cuda}, {"newest_ptx", ptx}};
  std::string taken = ptx.empty() ? "" : ", takes PTX up to " + ptx;
  std::string version = fmt::format("driver {} (CUDA {}{})",
                                    driver->release.empty() ? "of unknown release" : driver->release, cuda, taken);
  if (driver->gpus.empty())
    return {"gpu", Health::Note, version + " without a GPU" + kNotNeeded, std::move(details)};
  const cuda::LocalGpu &gpu = driver->gpus.front();
  details["gpus"] = static_cast<int64_t>(driver->gpus.size());
  details["gpu"] = gpu.name;
  details["compute_capability"] = fmt::format("{}.{}", gpu.major, gpu.minor);
  std::string count = driver->gpus.size() > 1 ? fmt::format("the first of {}: ", driver->gpus.size()) : "";
  std::string text = fmt::format("{}{}, compute capability {}.{}, {:.1f} GiB; {}", count, gpu.name, gpu.major,
                                 gpu.minor, gpu.bytes / double(1 << 30), version);
  // What sm_80 and its PTX need.
  if (gpu.major < 8)
    return {"gpu", Health::Note, text + "; ptc's code needs compute capability 8.0", std::move(details)};
  if (driver->major < 11)
    return {"gpu", Health::Note, text + "; ptc's code needs a driver of CUDA 11.0 or later", std::move(details)};
  return {"gpu", Health::Good, text, std::move(details)};
}

/// For libraries that are loaded sooner.
Finding checkPtxas() {
  std::string file = findPtxas();
  if (file.empty())
    return {"ptxas", Health::Note, "none found: the driver assembles the PTX of models when they are loaded"};
  Expected<std::string> version = cuda::getPtxasVersion(file);
  if (!version)
    return {"ptxas", Health::Note, toString(version.takeError())};
  return {"ptxas", Health::Good, file + " (" + *version + ")", json::Object{{"file", file}, {"version", *version}}};
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
  Expected<Tensors> inputs = library->readOrMakeInputs("", "");
  if (!inputs)
    return inputs.takeError();
  std::vector<const DLTensor *> pointers = getPointers(*inputs);
  DLManagedTensor *output = nullptr;
  if (Error error = library->check(library->api->call_new(library->context, pointers.data(), 1, &output, 1)))
    return error;
  const float *x = static_cast<const float *>(inputs->front()->base);
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
  findings.push_back(checkPtxas());
  findings.push_back(checkCache(options.cache));
  findings.push_back(checkPython(options.python));
  for (const std::string &library : options.libraries)
    findings.push_back(checkLibrary(library));
  bool isWell = none_of(findings, [](const Finding &finding) { return finding.health == Health::Bad; });
  if (options.json) {
    json::Array checks;
    for (Finding &finding : findings) {
      finding.details["name"] = finding.name;
      finding.details["status"] = toString(finding.health);
      finding.details["text"] = finding.text;
      checks.push_back(std::move(finding.details));
    }
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
