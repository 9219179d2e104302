#include "compiler/link/Link.h"
#include "compiler/link/Embedded.h"
#include "compiler/link/MemoryFile.h"
#include "compiler/link/WeightSegment.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ArchiveWriter.h"

#include <deque>
#include <mutex>
#include <vector>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace ptc::link {

/// The names that a model exports; all else is hidden, so that two models in one process do not meet.
static constexpr StringLiteral kVersionScript = R"({
  global: ptc_abi_version; ptc_get_api; ptc_get_signature; ptc_info; ptc_status_string; ptc_context_create;
    ptc_context_destroy; ptc_last_error; ptc_call; ptc_call_new; ptc_output_shape; ptc_state_get; ptc_state_set;
    ptc_state_reset; ptc_set_threads; ptc_get_threading; ptc_get_memory; ptc_trim; ptc_profile_start;
    ptc_profile_stop; ptc_set_seed; ptc_get_machine; ptc_get_externals; ptc_get_optional_inputs; ptc_set_function;
    ptc_set_waiting; ptc_get_activity; ptc_context_create_with; ptc_context_create_on; ptc_get_device; ptc_set_stream;
    ptc_get_stream; ptc_synchronize; ptc_set_output_device; ptc_to_device; ptc_shared_workers; ptc_state_find;
    ptc_state_view; ptc_checkpoint_save; ptc_checkpoint_load;
  local: *;
};
)";

static Error runLinker(ArrayRef<std::string> options, ArrayRef<std::string> inputs, StringRef output) {
  std::vector<std::string> arguments = {"ld.lld", "-o", output.str(), "--threads=1", "--color-diagnostics=never"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());

  // lld keeps its state in globals; after a crash of its own it cannot be called again.
  static std::mutex mutex;
  static bool isUsable = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!isUsable)
    return createStringError("the linker failed earlier in this process and cannot run again");
  std::string standard, errors;
  raw_string_ostream standardStream(standard), errorStream(errors);
  lld::Result result = lld::lldMain(pointers, standardStream, errorStream, {{lld::Gnu, &lld::elf::link}});
  isUsable = result.canRunAgain;
  if (result.retCode != 0)
    return createStringError("linking failed: " + StringRef(errors).trim());
  return Error::success();
}

namespace {
/// What lld reads: bytes in memory under a name, and options between them.
struct Inputs {
  std::vector<MemoryFile> files;
  std::deque<std::string> names;
  std::vector<std::string> paths;

  Error add(StringRef content) {
    auto file = MemoryFile::create(content);
    if (!file)
      return file.takeError();
    paths.push_back(file->path());
    files.push_back(std::move(*file));
    return Error::success();
  }
  /// All members of one archive, of which a process may open more than of files.
  Error addArchive(ArrayRef<StringRef> objects) {
    std::vector<NewArchiveMember> members;
    for (auto [i, object] : enumerate(objects)) {
      names.push_back(std::to_string(i) + ".o");
      members.emplace_back(MemoryBufferRef(object, names.back()));
    }
    auto archive = writeArchiveToBuffer(members, SymtabWritingMode::NoSymtab, object::Archive::K_GNU,
                                        /*Deterministic=*/true, /*Thin=*/false);
    if (!archive)
      return archive.takeError();
    paths.push_back("--whole-archive");
    if (Error error = add((*archive)->getBuffer()))
      return error;
    paths.push_back("--no-whole-archive");
    return Error::success();
  }
};
} // namespace

Error mergeObjects(ArrayRef<StringRef> objects, StringRef path) {
  Inputs inputs;
  if (Error error = inputs.addArchive(objects))
    return error;
  return runLinker({"-r"}, inputs.paths, path);
}

Error linkModel(ArrayRef<StringRef> objects, StringRef path, RuntimeParts parts) {
  Inputs inputs;
  if (Error error = inputs.addArchive(objects))
    return error;
  SmallVector<ArrayRef<unsigned char>> embedded = {{ptc_embedded_runtime, ptc_embedded_runtime_size},
                                                   {ptc_embedded_libc, ptc_embedded_libc_size},
                                                   {ptc_embedded_libm, ptc_embedded_libm_size}};
  if (parts.cuda)
    embedded.emplace_back(ptc_embedded_runtime_cuda, ptc_embedded_runtime_cuda_size);
  if (parts.checkpoints)
    embedded.emplace_back(ptc_embedded_runtime_checkpoint, ptc_embedded_runtime_checkpoint_size);
  for (ArrayRef<unsigned char> bytes : embedded)
    if (Error error = inputs.add(toStringRef(bytes)))
      return error;
  auto versionScript = MemoryFile::create(kVersionScript);
  if (!versionScript)
    return versionScript.takeError();
  std::string script = "--version-script=" + versionScript->path();
  std::vector<std::string> options = {"-shared", "--gc-sections", "--icf=all", "-Bsymbolic", "--no-undefined",
                                      "--as-needed", "--hash-style=gnu", "--build-id=none", "-z", "relro", "-z", "now",
                                      "-z", "noexecstack", "-O1", script};
  if (Error error = runLinker(options, inputs.paths, path))
    return error;
  // Where the weights lie in the file is known only now, and a second link costs a few milliseconds.
  Expected<std::optional<uint64_t>> address = findWeightsAddress(path);
  if (!address)
    return address.takeError();
  if (!*address)
    return Error::success();
  options.push_back("--section-start=.lbss=0x" + utohexstr(**address));
  return runLinker(options, inputs.paths, path);
}

} // namespace ptc::link
