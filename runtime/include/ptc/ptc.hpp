//===- ptc.hpp - a compiled model as a C++ value ----------------------------===//
//
// ptc.h in C++17: models and tensors that free themselves, errors that are
// exceptions, views of memory with its sizes. This header is all there is.
//
//     ptc::Model model("./digits.so");
//     std::vector<float> images(2 * 64);
//     ptc::Results results = model(ptc::view(images, {2, 1, 8, 8}));
//     for (float probability : results[0].values<float>()) ...
//
// Several inputs are model({x, y}), or by name model({{"x", x}, {"y", y}}); a
// result by name is results["logits"].
//
// A model may be called from several threads at once. Link with libdl where
// libc is older than glibc 2.34.
//
//===----------------------------------------------------------------------===//
#ifndef PTC_PTC_HPP
#define PTC_PTC_HPP

#include <complex>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <ptc/ptc.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace ptc {

/// What a function of ptc.h refused.
class Error : public std::runtime_error {
public:
  Error(ptc_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
  ptc_status status() const { return status_; }

private:
  ptc_status status_;
};

/// std::span, which C++17 lacks: elements of somebody else's.
template <class T> class Span {
public:
  Span() = default;
  Span(T *data, size_t size) : data_(data), size_(size) {}
  template <class C, class = decltype(std::declval<C &>().data())>
  Span(C &&container) : data_(container.data()), size_(container.size()) {}
  T *data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T *begin() const { return data_; }
  T *end() const { return data_ + size_; }
  T &operator[](size_t index) const { return data_[index]; }

private:
  T *data_ = nullptr;
  size_t size_ = 0;
};

/// DLPack's type of a C++ type. Types without one (half floats) are given to `View` by hand.
template <class T> constexpr DLDataType typeOf() {
  constexpr uint8_t kBits = sizeof(T) * 8;
  if (std::is_same<T, bool>::value)
    return {6, 8, 1};
  if (std::is_same<T, std::complex<float>>::value || std::is_same<T, std::complex<double>>::value)
    return {kDLComplex, kBits, 1};
  static_assert(std::is_arithmetic<T>::value || std::is_same<T, std::complex<float>>::value ||
                    std::is_same<T, std::complex<double>>::value,
                "DLPack has no type for this one");
  return {uint8_t(std::is_floating_point<T>::value ? kDLFloat : std::is_signed<T>::value ? kDLInt : kDLUInt), kBits, 1};
}

inline int64_t elements(Span<const int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), [](int64_t a, int64_t b) { return a * b; });
}

/// Memory of the caller's, with its type and sizes; strides in elements, none for row-major.
class View {
public:
  /// Of const memory: a model may read it, and refuses to write to it.
  /// No tensor: an input that a call leaves out.
  View() : isGiven_(false), tensor_() {}
  View(const void *data, DLDataType type, std::vector<int64_t> shape, std::vector<int64_t> strides = {})
      : View(const_cast<void *>(data), type, std::move(shape), std::move(strides)) {
    isReadOnly_ = true;
  }
  View(void *data, DLDataType type, std::vector<int64_t> shape, std::vector<int64_t> strides = {})
      : shape_(std::move(shape)), strides_(std::move(strides)),
        tensor_{data, {kDLCPU, 0}, 0, type, nullptr, nullptr, 0} {
    if (!strides_.empty() && strides_.size() != shape_.size())
      throw std::invalid_argument("ptc: a view needs as many strides as sizes");
  }

  /// Points into this object: valid as long as it is. Null where there is none.
  const DLTensor *tensor() const { return const_cast<View *>(this)->tensor(); }
  DLTensor *tensor() {
    if (!isGiven_)
      return nullptr;
    tensor_.ndim = int32_t(shape_.size());
    tensor_.shape = shape_.data();
    tensor_.strides = strides_.empty() ? nullptr : strides_.data();
    return &tensor_;
  }
  /// The same memory, which is a GPU's: {kDLCUDA, number}.
  View on(DLDevice device) const {
    View view = *this;
    view.tensor_.device = device;
    return view;
  }
  Span<const int64_t> shape() const { return {shape_.data(), shape_.size()}; }
  bool isReadOnly() const { return isReadOnly_; }

private:
  std::vector<int64_t> shape_, strides_;
  bool isReadOnly_ = false, isGiven_ = true;
  DLTensor tensor_;
};

/// `count` elements from `data` on, row-major.
template <class T> View view(T *data, size_t count, std::vector<int64_t> shape) {
  using Element = typename std::remove_const<T>::type;
  if (elements(shape) != int64_t(count))
    throw std::invalid_argument("ptc: a view of " + std::to_string(count) + " elements whose sizes say " +
                                std::to_string(elements(shape)));
  return View(data, typeOf<Element>(), std::move(shape));
}

/// All of a vector, an array or a span; without sizes it is one dimension.
template <class C>
auto view(C &container, std::vector<int64_t> shape) -> decltype(view(container.data(), size_t(), {})) {
  return view(container.data(), container.size(), std::move(shape));
}
template <class C> auto view(C &container) -> decltype(view(container.data(), size_t(), {})) {
  return view(container.data(), container.size(), {int64_t(container.size())});
}

/// One number, for inputs without dimensions.
template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> View scalar(T &value) {
  return view(&value, 1, {});
}

/// A result: memory of the model's, freed with this object. It may outlive the model.
class Tensor {
public:
  Tensor(DLManagedTensor *managed, std::shared_ptr<void> library, const char *name = "")
      : library_(std::move(library)), managed_(managed, [](DLManagedTensor *made) { made->deleter(made); }),
        name_(name) {}

  /// The output's, in the model; valid as long as this object.
  const char *name() const { return name_; }
  const DLTensor &tensor() const { return managed_->dl_tensor; }
  DLDataType type() const { return tensor().dtype; }
  Span<const int64_t> shape() const { return {tensor().shape, size_t(tensor().ndim)}; }
  DLDevice device() const { return tensor().device; }

  /// As an input of a call, for as long as this tensor is there.
  View view() const {
    const DLTensor &made = tensor();
    std::vector<int64_t> sizes(made.shape, made.shape + made.ndim);
    return View(static_cast<char *>(made.data) + made.byte_offset, made.dtype, std::move(sizes)).on(made.device);
  }

  /// The elements, row-major. Throws where T is not their type, or where they are in a GPU's memory.
  template <class T> Span<T> values() const {
    if (device().device_type != kDLCPU)
      throw std::invalid_argument("ptc: a result in a GPU's memory, read on the host");
    DLDataType wanted = typeOf<T>(), found = type();
    if (wanted.code != found.code || wanted.bits != found.bits)
      throw std::invalid_argument("ptc: a result of DLPack's type " + std::to_string(found.code) + " with " +
                                  std::to_string(found.bits) + " bits, read as " + std::to_string(wanted.code) +
                                  " with " + std::to_string(wanted.bits));
    auto *bytes = static_cast<char *>(tensor().data) + tensor().byte_offset;
    return {reinterpret_cast<T *>(bytes), size_t(elements(shape()))};
  }

  /// Gives the tensor away, as DLPack's consumers take it. The library must stay open then: keep a Model.
  DLManagedTensor *release() { return managed_.release(); }

private:
  std::shared_ptr<void> library_; // its code frees the memory, so it goes last
  std::unique_ptr<DLManagedTensor, void (*)(DLManagedTensor *)> managed_;
  const char *name_;
};

/// What a call answers: the outputs in the model's order, which their names find as well.
class Results : public std::vector<Tensor> {
public:
  using std::vector<Tensor>::vector;
  using std::vector<Tensor>::operator[];

  Tensor &operator[](const std::string &name) { return *find(*this, name); }
  const Tensor &operator[](const std::string &name) const { return *find(*this, name); }

private:
  template <class Self> static auto find(Self &results, const std::string &name) -> decltype(results.data()) {
    std::string known;
    for (auto &result : results) {
      if (name == result.name())
        return &result;
      known += (known.empty() ? "" : ", ") + std::string(result.name());
    }
    throw Error(PTC_INVALID_ARGUMENT, "the model has no output '" + name + "' (its outputs: " + known + ")");
  }
};

/// The inputs of a call: one, several in the model's order, or by name. It refers to views of the caller's, for as long
/// as the call takes.
class Inputs {
public:
  Inputs() = default;
  Inputs(const View &only) : views_{&only} {}
  Inputs(std::initializer_list<View> views) : Inputs(views.begin(), views.size()) {}
  Inputs(const std::vector<View> &views) : Inputs(views.data(), views.size()) {}
  Inputs(std::initializer_list<std::pair<const char *, View>> named) { addNamed(named); }
  Inputs(const std::map<std::string, View> &named) { addNamed(named); }

private:
  friend class Model;
  Inputs(const View *first, size_t count) {
    for (size_t i = 0; i < count; ++i)
      views_.push_back(first + i);
  }
  template <class Named> void addNamed(const Named &named) {
    isByName_ = true;
    for (const auto &entry : named) {
      names_.push_back(entry.first);
      views_.push_back(&entry.second);
    }
  }

  std::vector<const View *> views_;
  std::vector<std::string> names_; // of the views, where they are by name
  bool isByName_ = false;
};

/// A call of a function that the model leaves to its caller: which place in the model it is, and the tensors,
/// row-major. Outputs that the model does not need are null.
struct Call {
  const ptc_external &external;
  Span<DLTensor *const> inputs, outputs;

  /// The elements of one of these tensors. Throws where T is not their type.
  template <class T> static Span<T> values(const DLTensor &tensor) {
    DLDataType wanted = typeOf<typename std::remove_const<T>::type>();
    if (wanted.code != tensor.dtype.code || wanted.bits != tensor.dtype.bits)
      throw std::invalid_argument("a tensor of DLPack's type " + std::to_string(tensor.dtype.code) + " with " +
                                  std::to_string(tensor.dtype.bits) + " bits");
    return {static_cast<T *>(tensor.data), size_t(elements({tensor.shape, size_t(tensor.ndim)}))};
  }
};

/// What a model keeps between calls under one name: a weight that it trains, a moment, a learning rate. Valid as long
/// as its model is.
class State {
public:
  const ptc_tensor &info() const { return info_; }
  std::vector<int64_t> shape() const {
    std::vector<int64_t> sizes;
    for (int32_t d = 0; d < info_.ndim; ++d)
      sizes.push_back(info_.dims[d].min);
    return sizes;
  }

  void get(View value) const {
    if (value.isReadOnly())
      throw Error(PTC_MISMATCH, "the tensor for state '" + std::string(info_.name) + "': its memory is const");
    check(api_->state_get(context_, index_, value.tensor()));
  }
  void set(const View &value) const { check(api_->state_set(context_, index_, value.tensor())); }

  /// All elements, row-major. The model throws where T is not their type.
  template <class T> std::vector<T> values() const {
    std::vector<int64_t> sizes = shape();
    std::vector<T> copy(size_t(elements({sizes.data(), sizes.size()})));
    get(ptc::view(copy, sizes));
    return copy;
  }
  template <class T> void set(const std::vector<T> &values) const { set(ptc::view(values, shape())); }

  /// Of a state without dimensions: the number, whatever its type is.
  template <class T = double> T number() const {
    return visit([&](auto zero) {
      get(scalar(zero));
      return T(zero);
    });
  }
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> void set(T value) const {
    visit([&](auto converted) {
      converted = decltype(converted)(value);
      set(scalar(converted));
      return 0;
    });
  }

  /// The state's own memory, on the model's device: not to be read or written while a call runs.
  View view() const {
    DLTensor live;
    check(api_->state_view(context_, index_, &live));
    return View(live.data, live.dtype, shape()).on(live.device);
  }

private:
  friend class Model;
  State(const ptc_api *api, ptc_context *context, int32_t index)
      : api_(api), context_(context), index_(index), info_(api->signature()->states[index]) {}

  /// With a zero of the state's type, which must be a number's.
  template <class Visit> auto visit(Visit visit) const {
    DLDataType type = info_.dtype;
    if (info_.ndim == 0 && type.code == kDLFloat && type.bits == 64)
      return visit(double());
    if (info_.ndim == 0 && type.code == kDLFloat && type.bits == 32)
      return visit(float());
    if (info_.ndim == 0 && type.code == kDLInt && type.bits == 64)
      return visit(int64_t());
    throw Error(PTC_MISMATCH, "state '" + std::string(info_.name) + "' is not a number of 32 or 64 bits");
  }
  void check(ptc_status status) const {
    if (status != PTC_OK)
      throw Error(status, api_->last_error(context_));
  }

  const ptc_api *api_;
  ptc_context *context_;
  int32_t index_;
  const ptc_tensor &info_;
};

/// A compiled model with a context of its own: states, working memory, number of threads. What it takes and answers is
/// that of its first entry.
class Model {
public:
  /// Opens a library that `ptc compile` wrote: the file that is there now, even if another was opened under its name.
  /// `flags`: PTC_CHECK_FILE, or none. `device`: the number of a GPU; -1: the current one, or else the first.
  explicit Model(const std::string &path, uint32_t flags = 0, int32_t device = -1) {
    std::string opened, there = spellFile(path);
    do {
      opened = there;
      void *handle = dlopen(opened.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle)
        throw Error(PTC_INVALID_ARGUMENT, withPath(dlerror(), opened, path));
      library_ = std::shared_ptr<void>(handle, [](void *library) { dlclose(library); });
      there = spellFile(path);
    } while (there != opened); // replaced meanwhile
    auto get = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(library_.get(), "ptc_get_api"));
    if (!get)
      throw Error(PTC_INVALID_ARGUMENT, path + ": no library that ptc compiled");
    start(get(PTC_ABI_VERSION), path, flags, device);
  }

  /// The model that the program is linked with: `ptc::Model model(ptc_get_api)`.
  explicit Model(const ptc_api *(*get)(uint32_t)) { start(get(PTC_ABI_VERSION), "the linked model", 0, -1); }

  /// Another entry of the library: `step.entry("eval")`. It shares all with this model, as copies do.
  Model entry(const std::string &name) const {
    require(offsetof(ptc_api, call_entry), "entries");
    Model found = *this;
    found.entry_ = api_->entry_find(name.c_str());
    if (found.entry_ >= 0)
      return found;
    std::string known;
    for (const std::string &one : entries())
      known += (known.empty() ? "" : ", ") + one;
    throw Error(PTC_INVALID_ARGUMENT, "the library has no entry '" + name + "' (its entries: " + known + ")");
  }
  /// Their names; in libraries of earlier versions that of the only one.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    if (api_->size <= offsetof(ptc_api, entry_name))
      return {"forward"};
    while (const char *name = api_->entry_name(int32_t(names.size())))
      names.push_back(name);
    return names;
  }

  const ptc_signature &signature() const { return entry_ ? *api_->entry_signature(entry_) : *api_->signature(); }
  Span<const ptc_tensor> inputs() const { return {signature().inputs, size_t(signature().input_count)}; }
  /// Inputs that a call may give behind the others, or leave out; none in libraries of earlier versions.
  Span<const ptc_tensor> optionalInputs() const {
    int32_t count = 0;
    const ptc_tensor *first = entry_ ? api_->entry_optional_inputs(entry_, &count)
                              : api_->size > offsetof(ptc_api, optional_inputs) ? api_->optional_inputs(&count)
                                                                                : nullptr;
    return {first, size_t(count)};
  }
  Span<const ptc_tensor> outputs() const { return {signature().outputs, size_t(signature().output_count)}; }
  Span<const ptc_tensor> states() const { return {signature().states, size_t(signature().state_count)}; }
  /// Whose code runs here, as "x86-64-v4"; null in libraries of earlier versions.
  const char *machine() const { return api_->size > offsetof(ptc_api, machine) ? api_->machine() : nullptr; }

  /// Runs the model into tensors of its own.
  Results operator()(const Inputs &inputs) const {
    std::vector<const DLTensor *> given = pointers(inputs, true);
    Span<const ptc_tensor> infos = outputs();
    std::vector<DLManagedTensor *> made(infos.size());
    auto counts = std::make_pair(int32_t(given.size()), int32_t(made.size()));
    check(entry_ ? api_->call_entry_new(context_.get(), entry_, given.data(), counts.first, made.data(), counts.second)
                 : api_->call_new(context_.get(), given.data(), counts.first, made.data(), counts.second));
    Results results;
    results.reserve(made.size());
    for (DLManagedTensor *output : made)
      results.emplace_back(output, library_, infos[results.size()].name);
    return results;
  }

  /// Runs the model into memory of the caller's.
  void run(const Inputs &inputs, std::vector<View> &outputs) const {
    std::vector<const DLTensor *> given = pointers(inputs, true);
    std::vector<DLTensor *> taken;
    for (View &output : outputs) {
      requireWritable(output, "output", taken.size());
      taken.push_back(output.tensor());
    }
    auto counts = std::make_pair(int32_t(given.size()), int32_t(taken.size()));
    check(entry_ ? api_->call_entry(context_.get(), entry_, given.data(), counts.first, taken.data(), counts.second)
                 : api_->call(context_.get(), given.data(), counts.first, taken.data(), counts.second));
  }

  /// The sizes that an output will have for these inputs.
  std::vector<int64_t> outputShape(const Inputs &inputs, int32_t output) const {
    if (output < 0 || size_t(output) >= outputs().size())
      throw Error(PTC_INVALID_ARGUMENT, "the model has no output " + std::to_string(output));
    std::vector<const DLTensor *> given = pointers(inputs, false);
    std::vector<int64_t> shape(size_t(outputs()[size_t(output)].ndim));
    auto counts = std::make_pair(int32_t(given.size()), int32_t(shape.size()));
    check(entry_ ? api_->entry_output_shape(context_.get(), entry_, given.data(), counts.first, output, shape.data(),
                                            counts.second)
                 : api_->output_shape(context_.get(), given.data(), counts.first, output, shape.data(), counts.second));
    return shape;
  }

  /// The places where the model calls functions of its caller's; none in libraries of earlier versions.
  Span<const ptc_external> externals() const {
    int32_t count = 0;
    const ptc_external *first = api_->size > offsetof(ptc_api, externals) ? api_->externals(&count) : nullptr;
    return {first, size_t(count)};
  }
  /// Registers what calls use for the operator `name`; an exception that it throws is the call's error. Not while a
  /// call runs. Copies of this model share it.
  void setFunction(const std::string &name, std::function<void(const Call &)> function) {
    if (externals().empty())
      throw Error(PTC_INVALID_ARGUMENT, "the model calls no external function '" + name + "'");
    auto kept = std::make_unique<std::function<void(const Call &)>>(std::move(function));
    check(api_->set_function(context_.get(), name.c_str(), callFunction, kept.get()));
    (*functions_)[name] = std::move(kept);
  }

  // States are the buffers that calls update, by their place in states().
  void getState(int32_t state, View value) const {
    requireWritable(value, "the tensor for state", size_t(state));
    check(api_->state_get(context_.get(), state, value.tensor()));
  }
  void setState(int32_t state, const View &value) { check(api_->state_set(context_.get(), state, value.tensor())); }
  void resetStates() { check(api_->state_reset(context_.get())); }
  /// The state of that name: `model.state("optimizer.lr").set(1e-4)`.
  State state(const std::string &name) const {
    require(offsetof(ptc_api, state_view), "state_view");
    int32_t index = api_->state_find(name.c_str());
    if (index < 0)
      throw Error(PTC_INVALID_ARGUMENT, "the model has no state '" + name + "'");
    return State(api_, context_.get(), index);
  }
  /// Writes all states to a file (safetensors), which appears whole or not at all.
  void save(const std::string &path) const {
    require(offsetof(ptc_api, checkpoint_save), "checkpoint_save");
    check(api_->checkpoint_save(context_.get(), path.c_str()));
  }
  /// Sets the states to those of such a file; `flags`: PTC_CHECKPOINT_PARTIAL. Where it throws, none has changed.
  void load(const std::string &path, uint32_t flags = 0) {
    require(offsetof(ptc_api, checkpoint_load), "checkpoint_load");
    check(api_->checkpoint_load(context_.get(), path.c_str(), flags));
  }
  /// Starts the model's random numbers anew.
  void seed(uint64_t value) { check(api_->set_seed(context_.get(), value)); }

  /// How many threads a call may use; 0: as many as OMP_NUM_THREADS or an OpenMP runtime says, else one a processor.
  void setThreads(int32_t count) { check(api_->set_threads(context_.get(), count)); }
  /// How threads wait for each other, and for the next call.
  void setWaiting(ptc_waiting waiting) {
    require(offsetof(ptc_api, set_waiting), "set_waiting");
    check(api_->set_waiting(context_.get(), waiting));
  }
  /// What calls have used.
  ptc_activity activity() const {
    require(offsetof(ptc_api, activity), "activity");
    ptc_activity activity;
    check(api_->activity(context_.get(), &activity));
    return activity;
  }
  ptc_memory memory() const {
    ptc_memory memory;
    check(api_->memory(context_.get(), &memory));
    return memory;
  }
  /// Gives working memory that no call is using back to the system.
  void trim() { check(api_->trim(context_.get())); }

  /// Where the model runs; the CPU in libraries of earlier versions.
  DLDevice device() const {
    DLDevice device = {kDLCPU, 0};
    if (api_->size > offsetof(ptc_api, device))
      check(api_->device(context_.get(), &device));
    return device;
  }
  /// The CUDA stream that later calls give their work to, and return before it is done; null is the default stream.
  void setStream(void *stream) {
    require(offsetof(ptc_api, set_stream), "set_stream");
    check(api_->set_stream(context_.get(), stream, 1));
  }
  /// Later calls return when their results are there, as at first.
  void useOwnStream() {
    require(offsetof(ptc_api, set_stream), "set_stream");
    check(api_->set_stream(context_.get(), nullptr, 0));
  }
  /// Waits for the work of all calls. Throws what of it has failed.
  void synchronize() const {
    require(offsetof(ptc_api, synchronize), "synchronize");
    check(api_->synchronize(context_.get()));
  }
  /// Where results are made: on device(), or {kDLCPU, 0}. At first where the first input on a GPU is, else on the host.
  void setOutputDevice(DLDevice device) {
    require(offsetof(ptc_api, set_output_device), "set_output_device");
    check(api_->set_output_device(context_.get(), &device));
  }
  /// A row-major copy on device().
  Tensor toDevice(const View &view) const {
    require(offsetof(ptc_api, to_device), "to_device");
    DLManagedTensor *copy = nullptr;
    check(api_->to_device(context_.get(), view.tensor(), &copy));
    return Tensor(copy, library_);
  }

  /// Records the calls between the two; the trace is for ui.perfetto.dev.
  void startProfile() { check(api_->profile_start(context_.get())); }
  void stopProfile(const std::string &path) { check(api_->profile_stop(context_.get(), path.c_str())); }

private:
  /// A path of a file that no other file has: dlopen knows a library by its path, and would answer with the old one
  /// where the file was written anew. Between folder and name it spells device and inode in steps that lead nowhere,
  /// "/." for a one and "/" for a zero. It is absolute, as models look for each other to share threads.
  static std::string spellFile(const std::string &path) {
    struct stat file;
    std::unique_ptr<char, void (*)(void *)> real(realpath(path.c_str(), nullptr), std::free);
    if (path.find('/') == std::string::npos || !real || stat(real.get(), &file) != 0)
      return path; // dlopen looks for it in the system's folders, or says what is wrong
    std::string steps, absolute = real.get();
    for (uint64_t number : {uint64_t(file.st_dev), uint64_t(file.st_ino)})
      for (int bit = 63; bit >= 0; --bit)
        steps += number >> bit & 1 ? "/." : "/";
    return absolute.insert(absolute.rfind('/'), steps);
  }

  /// A message of dlopen's, with the path that the caller gave.
  static std::string withPath(std::string message, const std::string &spelled, const std::string &path) {
    size_t found = message.find(spelled);
    return found == std::string::npos ? message : message.replace(found, spelled.size(), path);
  }

  void start(const ptc_api *api, const std::string &name, uint32_t flags, int32_t device) {
    if (!api || (flags && api->size <= offsetof(ptc_api, context_create_with)) ||
        (device >= 0 && api->size <= offsetof(ptc_api, context_create_on)))
      throw Error(PTC_UNSUPPORTED, name + ": speaks another version of the interface");
    api_ = api;
    if (!api_->signature())
      throw Error(PTC_OUT_OF_MEMORY, name + ": no memory for the signature");
    ptc_context *created = nullptr;
    if (ptc_status status = device >= 0 ? api_->context_create_on(device, flags, &created)
                            : flags     ? api_->context_create_with(flags, &created)
                                        : api_->context_create(&created))
      throw Error(status, name + ": " + api_->last_error(nullptr));
    // Destroyed before the library is closed, whoever holds that.
    context_ = {created, [library = library_, api](ptc_context *context) { api->context_destroy(context); }};
  }

  using Functions = std::map<std::string, std::unique_ptr<std::function<void(const Call &)>>>;

  static int32_t callFunction(void *function, const ptc_external *external, DLTensor *const *inputs,
                              DLTensor *const *outputs, char *message, size_t size) {
    try {
      (*static_cast<std::function<void(const Call &)> *>(function))(
          {*external, {inputs, size_t(external->input_count)}, {outputs, size_t(external->output_count)}});
      return 0;
    } catch (const std::exception &error) {
      std::snprintf(message, size, "%s", error.what());
    } catch (...) {
      std::snprintf(message, size, "an exception that is no std::exception");
    }
    return 1;
  }

  static void requireWritable(const View &view, const std::string &what, size_t index) {
    if (view.isReadOnly())
      throw Error(PTC_MISMATCH,
                  what + " " + std::to_string(index) + ": its memory is const, and the model writes to it");
  }

  /// The inputs in the model's order; null for those that are not given. `isCall`: it may write to some of them.
  std::vector<const DLTensor *> pointers(const Inputs &given, bool isCall) const {
    Span<const ptc_tensor> required = inputs();
    size_t count = given.isByName_ ? required.size() + optionalInputs().size() : given.views_.size();
    std::vector<const DLTensor *> found(count);
    for (size_t i = 0; i < given.views_.size(); ++i) {
      size_t place = given.isByName_ ? findInput(given.names_[i]) : i;
      if (isCall && place < required.size() && required[place].flags & PTC_TENSOR_WRITTEN)
        requireWritable(*given.views_[i], "input", place);
      if (found[place])
        throw Error(PTC_INVALID_ARGUMENT, "input '" + given.names_[i] + "' is given twice");
      found[place] = given.views_[i]->tensor();
    }
    return found;
  }

  size_t findInput(const std::string &name) const {
    std::string known;
    size_t index = 0;
    for (Span<const ptc_tensor> some : {inputs(), optionalInputs()})
      for (const ptc_tensor &input : some) {
        if (name == input.name)
          return index;
        known += (index++ ? ", " : "") + std::string(input.name);
      }
    throw Error(PTC_INVALID_ARGUMENT, "the model has no input '" + name + "' (its inputs: " + known + ")");
  }

  /// Libraries of earlier versions lack the last functions of the table.
  void require(size_t offset, const char *function) const {
    if (api_->size <= offset)
      throw Error(PTC_UNSUPPORTED,
                  std::string("an earlier version of ptc compiled the library: it has no ") + function);
  }

  void check(ptc_status status) const {
    if (status != PTC_OK)
      throw Error(status, api_->last_error(context_.get()));
  }

  std::shared_ptr<void> library_;
  const ptc_api *api_ = nullptr;
  int32_t entry_ = 0;
  std::shared_ptr<Functions> functions_ = std::make_shared<Functions>();
  std::shared_ptr<ptc_context> context_; // copies of a Model share it
};

} // namespace ptc

#endif // PTC_PTC_HPP
