//===- WeightStore.h - the bytes of parameters, buffers and constants ------===//
//
// A model's weights are found by name, as `ptc.weight` and `ptc.state` spell
// it. Bytes of a file stay where they are mapped; nothing is copied unless a
// tensor was stored in another order than row-major.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/support/InputFile.h"
#include "compiler/weights/ByteSource.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptc {

struct Weight {
  /// Static. An i1 takes one byte an element, as in PyTorch.
  mlir::RankedTensorType type;
  /// Dense, row-major, little-endian; as aligned as the file has it, so read
  /// elements with memcpy.
  llvm::ArrayRef<char> bytes;
  /// Makes the bytes, of which there are none, for the output: there is one where nothing else needs them.
  std::shared_ptr<const ByteSource> source;

  uint64_t size() const { return source ? source->size : bytes.size(); }
};

class WeightStore {
public:
  WeightStore() = default;
  WeightStore(WeightStore &&) = default;
  WeightStore &operator=(WeightStore &&) = default;

  /// Null when there is no such weight.
  const Weight *find(llvm::StringRef key) const;

  /// Bytes made by the compiler: folded or packed tensors.
  const Weight &add(llvm::StringRef key, mlir::RankedTensorType type, std::vector<char> bytes);
  /// Bytes that live in something given to `keep`.
  const Weight &addView(llvm::StringRef key, mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);
  /// Bytes that only the output needs.
  const Weight &add(llvm::StringRef key, mlir::RankedTensorType type, ByteSource source);
  /// Not an error when there is none.
  void remove(llvm::StringRef key);

  /// Keeps a mapped file alive as long as the store.
  void keep(std::shared_ptr<const void> owner) { owners.push_back(std::move(owner)); }

  /// A file that was read for the model, or whose bytes are weights.
  void addInput(InputFile file) { inputs.push_back(std::move(file)); }
  /// Whether all of them are as they were when they were opened; to be called when nothing is read any more.
  llvm::Error checkInputs() const;

  /// A check that reads the weights' bytes (an archive's checksums) and that
  /// importing therefore puts off.
  void addCheck(std::function<llvm::Error()> check) { checks.push_back(std::move(check)); }
  /// Runs the checks; to be called once before an artifact is written. Safe to
  /// run in a thread of its own while the store is not changed.
  llvm::Error verify() const;

  /// Every weight, ordered by key.
  const std::map<std::string, Weight, std::less<>> &all() const { return weights; }
  uint64_t totalBytes() const;

private:
  std::map<std::string, Weight, std::less<>> weights;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::function<llvm::Error()>> checks;
  std::vector<InputFile> inputs;
};

/// The state of a program with random operators, [key, draws so far] in i64, as it is before a seed is set.
void addRandomState(WeightStore &weights, mlir::MLIRContext &context);

} // namespace ptc
