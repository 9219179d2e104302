//===- TensorFile.h - files of tensors, as DLPack has tensors --------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <dlpack/dlpack.h>

#include <memory>
#include <string>
#include <vector>

namespace ptc {

/// DLPack's code of bool; its header has it from 0.7 on.
constexpr uint8_t kDLBoolCode = 6, kDLFloat8E4M3FN = 10, kDLFloat8E4M3FNUZ = 11, kDLFloat8E5M2 = 12,
                  kDLFloat8E5M2FNUZ = 13;

struct FileTensor {
  DLDataType dtype;
  std::vector<int64_t> shape;
  llvm::StringRef bytes;
};

/// A mapped safetensors file, or an .npz of NumPy's, checked whole when opened.
class TensorFile {
public:
  static llvm::Expected<TensorFile> open(llvm::StringRef path);
  /// Takes bytes that lie in `owner`.
  void add(llvm::StringRef name, FileTensor tensor, std::unique_ptr<llvm::MemoryBuffer> owner);

  /// Takes another file's tensors, each under `prefix` and its name, which none may have here.
  llvm::Error include(TensorFile other, llvm::StringRef prefix);

  /// Adds zeros under a name that there is not.
  void addZeros(llvm::StringRef name, DLDataType dtype, std::vector<int64_t> shape);
  void remove(llvm::StringRef name) { tensors.erase(name); }

  /// Null when there is none.
  const FileTensor *find(llvm::StringRef name) const;
  std::vector<std::string> names() const;
  /// The tensors of a model's inputs, each by its name or its position. None may be given twice, or be no input; of
  /// those from `required` on, one that is missing is null.
  llvm::Expected<std::vector<const FileTensor *>> match(llvm::ArrayRef<std::string> inputs, size_t required) const;

private:
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  llvm::StringMap<FileTensor> tensors;
};

/// Bytes of a dense tensor, which must exist (its size does not overflow).
uint64_t getByteSize(DLDataType dtype, llvm::ArrayRef<int64_t> shape);

/// Writes dense tensors, named by position or, where there is one, by name, as safetensors or, where the path ends so,
/// as .npz; the file appears whole or not at all.
llvm::Error writeTensorFile(llvm::StringRef path, llvm::ArrayRef<const DLTensor *> tensors,
                            llvm::ArrayRef<std::string> names = {});

} // namespace ptc
