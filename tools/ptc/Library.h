//===- Library.h - a compiled model, opened as its users open it -----------===//
#pragma once

#include "tools/ptc/TensorFile.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <memory>
#include <ptc/ptc.h>
#include <utility>
#include <vector>

namespace ptc {

/// A DLTensor with the memory that it points into.
struct OwnedTensor {
  DLTensor tensor;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
  void *base = nullptr; ///< 64-byte aligned copy of the data
  OwnedTensor() = default;
  OwnedTensor(OwnedTensor &&) = delete;
  ~OwnedTensor();
  /// Aligned as PyTorch's own tensors are, whatever the file did.
  void assign(DLDataType dtype, std::vector<int64_t> sizes, llvm::StringRef content);
};

/// Null: an input that is left out.
using Tensors = std::vector<std::unique_ptr<OwnedTensor>>;
std::vector<const DLTensor *> getPointers(const Tensors &tensors);

class Library {
public:
  static llvm::Expected<Library> open(const std::string &path);
  /// The steps of `open`: the file alone, and then what a call needs.
  static llvm::Expected<Library> openFile(const std::string &path);
  llvm::Error createContext();
  /// What is called from now on; empty: the first entry.
  llvm::Error choose(llvm::StringRef entryName);
  Library(Library &&other) noexcept
      : api(other.api), context(std::exchange(other.context, nullptr)), entry(other.entry),
        path(std::move(other.path)) {}
  ~Library();

  const ptc_signature &signature() const { return entry ? *api->entry_signature(entry) : *api->signature(); }
  bool isForGpu() const { return llvm::StringRef(signature().target) == "cuda"; }
  /// Libraries of earlier versions have none.
  llvm::ArrayRef<ptc_tensor> optionalInputs() const;
  /// The tensors of a file as this model's inputs, by name or position.
  llvm::Expected<Tensors> bind(const TensorFile &file) const;
  /// Those of a file; where `path` is empty, made up in these sizes (MadeInputs.h).
  llvm::Expected<Tensors> readOrMakeInputs(const std::string &path, llvm::StringRef sizes) const;

  /// Whether the library's table has a function: those of earlier versions end sooner.
  template <typename Function> bool has(Function ptc_api::*function) const {
    auto offset = reinterpret_cast<const char *>(&(api->*function)) - reinterpret_cast<const char *>(api);
    return api->size > static_cast<size_t>(offset);
  }

  /// Whose code runs here; libraries of earlier versions do not say.
  const char *machine() const { return has(&ptc_api::machine) ? api->machine() : "an unknown machine"; }

  /// An error with the context's message when `status` is not PTC_OK.
  llvm::Error check(ptc_status status) const;

  const ptc_api *api = nullptr;
  ptc_context *context = nullptr;
  int32_t entry = 0;

  ptc_status callNew(llvm::ArrayRef<const DLTensor *> inputs, llvm::MutableArrayRef<DLManagedTensor *> outputs) const;
  ptc_status call(llvm::ArrayRef<const DLTensor *> inputs, llvm::ArrayRef<DLTensor *> outputs) const;

private:
  explicit Library(std::string path) : path(std::move(path)) {}
  std::string path;
};

} // namespace ptc
