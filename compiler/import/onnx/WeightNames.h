//===- WeightNames.h - what tensors of a file are called as weights -------===//
#pragma once

#include "compiler/import/onnx/Value.h"
#include "compiler/weights/WeightStore.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace ptc::import::onnx {

/// Of one version of a model. Versions share tensors of the file, and no constants.
///
/// A file may give several tensors one name: values of nodes, initializers of two branches. Those behind the first have
/// a number, but for what is the same tensor once more, as in a function that is called twice. Versions need not meet
/// them in one order: what another version gave a name is compared byte by byte.
class WeightNames {
public:
  /// `constants`: how many constants all versions have. `weights`: theirs.
  WeightNames(unsigned &constants, const WeightStore &weights) : constants(constants), weights(weights) {}

  const std::string &of(const Stored &stored);
  /// Of a constant that the importer makes.
  std::string ofConstant();

private:
  bool isAnother(llvm::StringRef name, const StoredTensor &tensor) const;

  using Identity = std::tuple<std::string, const char *, int64_t, std::vector<int64_t>, std::optional<DType>>;
  std::map<Identity, std::string> known;
  llvm::StringSet<> used;
  llvm::StringMap<unsigned> namesakes;
  unsigned &constants;
  const WeightStore &weights;
};

} // namespace ptc::import::onnx
