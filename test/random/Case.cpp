#include "test/random/Case.h"

#include "compiler/import/Import.h"
#include "test/random/DLTensors.h"
#include "tools/ptc/TensorFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ptc::test {

static llvm::Error saveTensors(const Tensors &tensors, const std::string &path) {
  DLTensors views(tensors);
  return writeTensorFile(path, views.pointers());
}

static std::string callPath(const std::string &base, size_t call) {
  return base + ".call" + std::to_string(call) + ".safetensors";
}

std::vector<std::string> filesOf(const Case &program, const std::string &base) {
  std::vector<std::string> names{base + ".mlir", base + ".safetensors"};
  for (size_t i = 0; i < program.calls.size(); ++i)
    names.push_back(callPath(base, i));
  return names;
}

llvm::Error saveCase(const Case &program, const std::string &base) {
  std::error_code error;
  llvm::raw_fd_ostream out(base + ".mlir", error);
  if (error)
    return llvm::createStringError(error, base);
  ModuleOp(program.module.get()).print(out);
  out << '\n';
  if (!program.weights.empty())
    if (llvm::Error failed = saveTensors(program.weights, base + ".safetensors"))
      return failed;
  for (size_t i = 0; i < program.calls.size(); ++i)
    if (llvm::Error failed = saveTensors(program.calls[i], callPath(base, i)))
      return failed;
  return llvm::Error::success();
}

/// The tensors of a file, named by position, as the arguments with this role.
static llvm::Expected<Tensors> loadTensors(func::FuncOp function, StringRef role, const std::string &path) {
  Tensors tensors;
  auto file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  for (BlockArgument argument : function.getArguments()) {
    if (!function.getArgAttr(argument.getArgNumber(), role))
      continue;
    const FileTensor *found = file->find(std::to_string(tensors.size()));
    if (!found)
      return llvm::createStringError(path + ": lacks tensor " + std::to_string(tensors.size()));
    auto tensor = prims::Tensor::fromBytes(llvm::cast<RankedTensorType>(argument.getType()).getElementType(),
                                           found->shape, {found->bytes.data(), found->bytes.size()});
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

llvm::Expected<Case> loadCase(const std::string &base, MLIRContext &context) {
  auto model = importModel(base + ".mlir", {}, context);
  if (!model)
    return model.takeError();
  Case program{std::move(model->module), {}, {}};
  if (llvm::sys::fs::exists(base + ".safetensors")) {
    auto weights = loadTensors(program.forward(), "ptc.weight", base + ".safetensors");
    if (!weights)
      return weights.takeError();
    program.weights = std::move(*weights);
  }
  for (size_t i = 0; llvm::sys::fs::exists(callPath(base, i)); ++i) {
    auto inputs = loadTensors(program.forward(), "ptc.input", callPath(base, i));
    if (!inputs)
      return inputs.takeError();
    program.calls.push_back(std::move(*inputs));
  }
  return program;
}

} // namespace ptc::test
