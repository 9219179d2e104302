#include "compiler/weights/WeightStore.h"

#include "runtime/RandomState.h"

namespace ptc {

const Weight *WeightStore::find(llvm::StringRef key) const {
  auto found = weights.find(std::string_view(key));
  return found == weights.end() ? nullptr : &found->second;
}

const Weight &WeightStore::add(llvm::StringRef key, mlir::RankedTensorType type, std::vector<char> bytes) {
  auto owned = std::make_shared<const std::vector<char>>(std::move(bytes));
  keep(owned);
  return addView(key, type, *owned);
}

const Weight &WeightStore::addView(llvm::StringRef key, mlir::RankedTensorType type, llvm::ArrayRef<char> bytes) {
  return weights.insert_or_assign(key.str(), Weight{type, bytes, nullptr}).first->second;
}

const Weight &WeightStore::add(llvm::StringRef key, mlir::RankedTensorType type, ByteSource source) {
  auto shared = std::make_shared<const ByteSource>(std::move(source));
  return weights.insert_or_assign(key.str(), Weight{type, {}, std::move(shared)}).first->second;
}

void WeightStore::remove(llvm::StringRef key) {
  auto found = weights.find(std::string_view(key));
  if (found != weights.end())
    weights.erase(found);
}

llvm::Error WeightStore::verify() const {
  for (const auto &check : checks)
    if (llvm::Error error = check())
      return error;
  return llvm::Error::success();
}

llvm::Error WeightStore::checkInputs() const {
  for (const InputFile &input : inputs)
    if (llvm::Error error = input.check())
      return error;
  return llvm::Error::success();
}

uint64_t WeightStore::totalBytes() const {
  uint64_t total = 0;
  for (const auto &[key, weight] : weights)
    total += weight.size();
  return total;
}

void addRandomState(WeightStore &weights, mlir::MLIRContext &context) {
  const int64_t initial[2] = {runtime::kDefaultSeed, 0};
  auto type = mlir::RankedTensorType::get({2}, mlir::IntegerType::get(&context, 64));
  auto *bytes = reinterpret_cast<const char *>(initial);
  weights.add(runtime::kRandomState, type, std::vector<char>(bytes, bytes + sizeof(initial)));
}

} // namespace ptc
