#include "tools/ptc/FindPtxas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <vector>

using namespace llvm;

namespace ptc {

static StringRef getVariable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

/// What lies in a folder and has a name that begins with `prefix`, by name.
static std::vector<std::string> listFolders(const Twine &folder, StringRef prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (sys::fs::directory_iterator i(folder, error), end; i != end && !error; i.increment(error))
    if (sys::path::filename(i->path()).starts_with(prefix))
      found.push_back(i->path());
  llvm::sort(found);
  return found;
}

/// Where a Python that lies in `bin` looks for packages: those of its virtual environment or installation, or Debian's.
static std::vector<std::string> getSitePackages(StringRef bin) {
  std::vector<std::string> folders;
  std::string prefix = sys::path::parent_path(bin).str();
  for (const std::string &version : listFolders(prefix + "/lib", "python3"))
    for (StringRef name : {"/site-packages", "/dist-packages"})
      folders.push_back((version + name).str());
  return folders;
}

static void addPythonPackages(std::vector<std::string> &candidates) {
  SmallVector<StringRef> bins;
  getVariable("PATH").split(bins, ':', -1, /*KeepEmpty=*/false);
  std::vector<std::string> sites;
  for (StringRef bin : bins)
    if (sys::fs::can_execute(bin + "/python3"))
      append_range(sites, getSitePackages(bin));
  if (StringRef home = getVariable("HOME"); !home.empty())
    append_range(sites, getSitePackages((home + "/.local/bin").str()));
  for (const std::string &site : sites)
    for (StringRef package : {"triton/backends/nvidia", "torch", "nvidia/cuda_nvcc", "nvidia/cu13"})
      candidates.push_back((site + "/" + package + "/bin/ptxas").str());
}

std::string findPtxas() {
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  std::vector<std::string> candidates;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (StringRef toolkit = getVariable(variable); !toolkit.empty())
      candidates.push_back((toolkit + "/bin/ptxas").str());
  candidates.push_back("/usr/local/cuda/bin/ptxas");
  addPythonPackages(candidates);
  auto found = find_if(candidates, [](const std::string &path) { return sys::fs::can_execute(path); });
  return found == candidates.end() ? "" : *found;
}

} // namespace ptc
