#include "compiler/import/WeightsFile.h"

#include "compiler/import/Safetensors.h"
#include "compiler/support/InputFile.h"

#include "llvm/Support/MemoryBuffer.h"

using llvm::StringRef;

namespace ptc::import {

llvm::Expected<StoredTensors> openWeights(StringRef path, WeightStore &weights) {
  if (path.empty())
    return StoredTensors();
  InputFile input(path);
  auto file = openInput(input);
  if (!file)
    return file.takeError();
  weights.addInput(std::move(input));
  auto tensors = readSafetensors({(*file)->getBufferStart(), (*file)->getBufferSize()});
  if (!tensors)
    return llvm::createStringError(path + ": " + llvm::toString(tensors.takeError()));
  weights.keep(std::shared_ptr<llvm::MemoryBuffer>(std::move(*file)));
  return tensors;
}

bool isCheckpoint(const StoredTensors &tensors) { return tensors.contains("optimizer.step"); }

} // namespace ptc::import
