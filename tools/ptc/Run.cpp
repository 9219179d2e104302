#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Library.h"
#include "tools/ptc/Outputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace ptc {

/// Gradients are named after what they are by (BuildGradients.h); the model's own outputs go by position.
static std::string nameOfGradient(StringRef output) {
  return output.starts_with("grad.") || output.starts_with("gradient.") ? output.str() : "";
}

/// As in torch.autograd.grad, a cotangent that is not given is zeros, and that of an output which depends on nothing
/// whose derivative is asked for says nothing.
static Error includeCotangents(const Library &library, StringRef path, TensorFile &file) {
  Expected<TensorFile> given = TensorFile::open(path);
  if (!given)
    return given.takeError();
  const ptc_signature &model = library.signature();
  ArrayRef inputs(model.inputs, model.input_count);
  auto isInput = [&](StringRef name) {
    return any_of(inputs, [&](const ptc_tensor &input) { return name == input.name; });
  };
  size_t outputs = count_if(ArrayRef(model.outputs, model.output_count),
                            [](const ptc_tensor &output) { return nameOfGradient(output.name).empty(); });
  constexpr StringLiteral kPrefix = "cotangent.";
  for (const std::string &name : given->names())
    if (size_t output; llvm::to_integer(name, output) && output < outputs && !isInput((kPrefix + name).str()))
      given->remove(name);
  if (Error error = file.include(std::move(*given), kPrefix))
    return error;
  for (const ptc_tensor &input : inputs) {
    ArrayRef dims(input.dims, input.ndim);
    bool isStatic = all_of(dims, [](const ptc_dim &dim) { return dim.min == dim.max; });
    if (!StringRef(input.name).starts_with(kPrefix) || file.find(input.name) || !isStatic)
      continue;
    std::vector<int64_t> shape;
    for (const ptc_dim &dim : dims)
      shape.push_back(dim.min);
    file.addZeros(input.name, input.dtype, std::move(shape));
  }
  return Error::success();
}

namespace {
/// The outputs of one call.
class Outputs {
public:
  explicit Outputs(const Library &library) : library(library), tensors(library.signature().output_count, nullptr) {}
  Outputs(const Outputs &) = delete;
  ~Outputs() { release(); }

  Error call(ArrayRef<const DLTensor *> inputs) {
    release();
    return library.check(library.callNew(inputs, tensors));
  }
  /// The number that a step of training makes small, if there is one.
  std::optional<double> loss() const {
    for (auto [i, output] : enumerate(tensors)) {
      const DLTensor &tensor = output->dl_tensor;
      if (StringRef(library.signature().outputs[i].name) != "loss" || tensor.ndim != 0 || tensor.dtype.code != kDLFloat)
        continue;
      const char *data = static_cast<const char *>(tensor.data) + tensor.byte_offset;
      if (tensor.dtype.bits == 32)
        return bit_cast<float>(support::endian::read32le(data));
      if (tensor.dtype.bits == 64)
        return bit_cast<double>(support::endian::read64le(data));
    }
    return std::nullopt;
  }
  ArrayRef<DLManagedTensor *> all() const { return tensors; }

private:
  void release() {
    for (DLManagedTensor *&tensor : tensors)
      if (DLManagedTensor *old = std::exchange(tensor, nullptr))
        old->deleter(old);
  }
  const Library &library;
  std::vector<DLManagedTensor *> tensors;
};
} // namespace

static Error loadStates(const Library &library, const std::string &path) {
  if (path.empty())
    return Error::success();
  if (!library.has(&ptc_api::checkpoint_load))
    return createStringError("an earlier version of ptc compiled the library: it has no checkpoints");
  return library.check(library.api->checkpoint_load(library.context, path.c_str(), 0));
}

static Error saveStates(const Library &library, const std::string &path) {
  if (path.empty())
    return Error::success();
  if (!library.has(&ptc_api::checkpoint_save))
    return createStringError("an earlier version of ptc compiled the library: it has no checkpoints");
  return library.check(library.api->checkpoint_save(library.context, path.c_str()));
}

/// The calls; of many, what the loss was at the first, at every tenth part and at the last.
static Error callInSteps(const RunOptions &options, ArrayRef<const DLTensor *> inputs, Outputs &outputs) {
  int part = std::max(options.steps / 10, 1);
  for (int step = 1; step <= options.steps; ++step) {
    if (Error error = outputs.call(inputs))
      return error;
    std::optional<double> loss = outputs.loss();
    if (loss && options.steps > 1 && (step == 1 || step % part == 0 || step == options.steps))
      print(outs(), "step {}: loss {:.6g}\n", step, *loss);
  }
  outs().flush();
  return Error::success();
}

static Error runLibrary(const RunOptions &options) {
  Expected<Library> library = Library::open(options.library);
  if (!library)
    return library.takeError();
  if (Error error = library->choose(options.entry))
    return error;
  Expected<TensorFile> file = TensorFile::open(options.inputs);
  if (!file)
    return file.takeError();
  if (!options.cotangents.empty())
    if (Error error = includeCotangents(*library, options.cotangents, *file))
      return error;
  Expected<Tensors> inputs = library->bind(*file);
  if (!inputs)
    return inputs.takeError();

  const ptc_api &api = *library->api;
  if (Error error = library->check(api.set_threads(library->context, options.threads)))
    return error;
  if (!options.profile.empty())
    if (Error error = library->check(api.profile_start(library->context)))
      return error;

  if (Error error = loadStates(*library, options.load))
    return error;

  Outputs outputs(*library);
  if (Error error = callInSteps(options, getPointers(*inputs), outputs))
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
  for (auto [i, output] : enumerate(outputs.all())) {
    results.push_back(&output->dl_tensor);
    names.push_back(nameOfGradient(library->signature().outputs[i].name));
  }
  if (Error error = writeTensorFile(options.outputs, results, names))
    return error;
  return saveStates(*library, options.save);
}

int run(const RunOptions &options) {
  std::vector<std::string> read = {options.library, options.inputs, options.weights, options.cotangents};
  // What was loaded is read whole before it is saved over.
  if (!isApart("--save", options.save, read))
    return kUsage;
  read.push_back(options.load);
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
