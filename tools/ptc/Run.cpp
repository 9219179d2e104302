#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Library.h"
#include "tools/ptc/Outputs.h"

#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace ptc {

/// Gradients are named after what they are by (BuildGradients.h); the model's own outputs go by position.
static std::string nameOfGradient(StringRef output) {
  return output.starts_with("grad.") || output.starts_with("gradient.") ? output.str() : "";
}

static Error runLibrary(const RunOptions &options) {
  Expected<Library> library = Library::open(options.library);
  if (!library)
    return library.takeError();
  Expected<TensorFile> file = TensorFile::open(options.inputs);
  if (!file)
    return file.takeError();
  if (!options.cotangents.empty()) {
    Expected<TensorFile> cotangents = TensorFile::open(options.cotangents);
    if (!cotangents)
      return cotangents.takeError();
    if (Error error = file->include(std::move(*cotangents), "cotangent."))
      return error;
  }
  Expected<Tensors> inputs = library->bind(*file);
  if (!inputs)
    return inputs.takeError();

  const ptc_api &api = *library->api;
  if (Error error = library->check(api.set_threads(library->context, options.threads)))
    return error;
  if (!options.profile.empty())
    if (Error error = library->check(api.profile_start(library->context)))
      return error;

  std::vector<const DLTensor *> pointers = getPointers(*inputs);
  std::vector<DLManagedTensor *> outputs(library->signature().output_count, nullptr);
  scope_exit release([&] {
    for (DLManagedTensor *output : outputs)
      if (output)
        output->deleter(output);
  });
  if (Error error = library->check(
          api.call_new(library->context, pointers.data(), pointers.size(), outputs.data(), outputs.size())))
    return error;
  if (!options.profile.empty())
    if (Error error = library->check(api.profile_stop(library->context, options.profile.c_str())))
      return error;

  if (options.verbose) {
    ptc_threading threading{};
    api.threading(library->context, &threading);
    print(errs(), "{}: code for {}, {} threads of {}\n", toPrintable(library->signature().model), library->machine(),
          threading.threads, threading.library ? threading.library : "the pool");
  }
  std::vector<const DLTensor *> results;
  std::vector<std::string> names;
  for (auto [i, output] : enumerate(outputs)) {
    results.push_back(&output->dl_tensor);
    names.push_back(nameOfGradient(library->signature().outputs[i].name));
  }
  return writeTensorFile(options.outputs, results, names);
}

int run(const RunOptions &options) {
  std::vector<std::string> read = {options.library, options.inputs, options.weights, options.cotangents};
  if (!isApart("--outputs", options.outputs, read) || !isApart("--profile", options.profile, read))
    return kUsage;
  if (options.reference)
    return runReference(options);
  setActivity("a run");
  if (Error error = runLibrary(options)) {
    printError(toString(std::move(error)));
    return kModelAtFault;
  }
  return kDone;
}

} // namespace ptc
