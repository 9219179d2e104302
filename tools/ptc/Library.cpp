#include "tools/ptc/Library.h"

#include "runtime/Seal.h"
#include "tools/ptc/MadeInputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace llvm;

namespace ptc {

static constexpr size_t kAlignment = 64;

OwnedTensor::~OwnedTensor() { std::free(base); }

void OwnedTensor::assign(DLDataType dtype, std::vector<int64_t> sizes, StringRef content) {
  shape = std::move(sizes);
  base = std::aligned_alloc(kAlignment, alignTo(std::max<size_t>(content.size(), 1), kAlignment));
  if (!base)
    report_bad_alloc_error("no memory for an input");
  std::memcpy(base, content.data(), content.size());
  tensor = DLTensor{};
  tensor.data = base;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = static_cast<int>(shape.size());
  tensor.dtype = dtype;
  tensor.shape = shape.data();
}

std::vector<const DLTensor *> getPointers(const Tensors &tensors) {
  std::vector<const DLTensor *> pointers;
  for (const auto &owned : tensors)
    pointers.push_back(owned ? &owned->tensor : nullptr);
  return pointers;
}

Expected<Library> Library::openFile(const std::string &path) {
  auto fail = [&](const Twine &what) {
    return createStringError(path + ": " + what + " (expected a library that ptc compile wrote)");
  };
  // A name without a slash would be looked for in the system's folders.
  SmallString<128> absolute(path);
  if (std::error_code error = sys::fs::make_absolute(absolute))
    return fail(error.message());
  if (!sys::fs::exists(absolute))
    return fail("no such file");
  auto start = MemoryBuffer::getFileSlice(absolute, sizeof(ELF::ElfMagic) - 1, 0);
  if (start && !(*start)->getBuffer().starts_with(ELF::ElfMagic))
    return createStringError(path + ": is no library (ptc compile makes one of a model)");
  char damage[256];
  runtime::checkSeal(absolute.c_str(), /*opened=*/nullptr, damage);
  if (damage[0])
    return createStringError(path + ": " + damage + " (copy or compile it again)");
  void *handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(dlerror());
  auto getApi = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(handle, "ptc_get_api"));
  if (!getApi)
    return fail("it has no ptc_get_api");
  Library library(path);
  library.api = getApi(PTC_ABI_VERSION);
  if (!library.api)
    return fail("it speaks another version of the interface than " + Twine(PTC_ABI_VERSION));
  if (!library.api->signature())
    return createStringError(path + ": no memory for the signature");
  return library;
}

Error Library::createContext() {
  if (ptc_status status = api->context_create(&context)) {
    StringRef hint = isForGpu() ? "" : " (compile it for this machine, or with --march)";
    return createStringError(path + ": " + api->status_string(status) + ": " + api->last_error(nullptr) +
                             (status == PTC_UNSUPPORTED ? hint : ""));
  }
  // Libraries of earlier versions call nothing.
  int32_t count = 0;
  if (const ptc_external *first = has(&ptc_api::externals) ? api->externals(&count) : nullptr)
    return createStringError(path + ": calls the function '" + first->name + "' of its caller" +
                             (first->source[0] ? Twine(" at ") + first->source : Twine()) +
                             ", and ptc has none (a program that opens the library can register it)");
  return Error::success();
}

Expected<Library> Library::open(const std::string &path) {
  Expected<Library> library = openFile(path);
  if (library)
    if (Error error = library->createContext())
      return error;
  return library;
}

Library::~Library() {
  // The library itself stays open: an OpenMP thread may still be on its way out of it.
  if (context)
    api->context_destroy(context);
}

Error Library::choose(StringRef entryName) {
  std::vector<StringRef> names = {"forward"};
  if (has(&ptc_api::entry_name))
    for (names.clear(); const char *name = api->entry_name(names.size());)
      names.push_back(name);
  auto found = find(names, entryName);
  if (!entryName.empty() && found == names.end())
    return createStringError(path + ": has no entry '" + entryName + "' (its entries: " + join(names, ", ") + ")");
  entry = entryName.empty() ? 0 : found - names.begin();
  return Error::success();
}

ptc_status Library::callNew(ArrayRef<const DLTensor *> inputs, MutableArrayRef<DLManagedTensor *> outputs) const {
  return entry ? api->call_entry_new(context, entry, inputs.data(), inputs.size(), outputs.data(), outputs.size())
               : api->call_new(context, inputs.data(), inputs.size(), outputs.data(), outputs.size());
}

ptc_status Library::call(ArrayRef<const DLTensor *> inputs, ArrayRef<DLTensor *> outputs) const {
  return entry ? api->call_entry(context, entry, inputs.data(), inputs.size(), outputs.data(), outputs.size())
               : api->call(context, inputs.data(), inputs.size(), outputs.data(), outputs.size());
}

Error Library::check(ptc_status status) const {
  if (status == PTC_OK)
    return Error::success();
  return createStringError(path + ": " + api->last_error(context) + " (" + api->status_string(status) + ")");
}

ArrayRef<ptc_tensor> Library::optionalInputs() const {
  int32_t count = 0;
  const ptc_tensor *first = entry                            ? api->entry_optional_inputs(entry, &count)
                            : has(&ptc_api::optional_inputs) ? api->optional_inputs(&count)
                                                             : nullptr;
  return {first, static_cast<size_t>(count)};
}

Expected<Tensors> Library::bind(const TensorFile &file) const {
  ArrayRef required(signature().inputs, signature().input_count);
  std::vector<std::string> names;
  for (ArrayRef<ptc_tensor> inputs : {required, optionalInputs()})
    for (const ptc_tensor &input : inputs)
      names.push_back(input.name);
  Expected<std::vector<const FileTensor *>> found = file.match(names, required.size());
  if (!found)
    return createStringError(path + ": " + toString(found.takeError()));
  Tensors inputs;
  for (const FileTensor *tensor : *found) {
    inputs.push_back(tensor ? std::make_unique<OwnedTensor>() : nullptr);
    if (tensor)
      inputs.back()->assign(tensor->dtype, tensor->shape, tensor->bytes);
  }
  return inputs;
}

Expected<Tensors> Library::readOrMakeInputs(const std::string &path, StringRef sizes) const {
  if (path.empty())
    return makeInputs(signature(), sizes);
  Expected<TensorFile> file = TensorFile::open(path);
  return file ? bind(*file) : file.takeError();
}

} // namespace ptc
