// `ptc run --reference MODEL`: the model's prims, evaluated one by one in double precision, for comparison with what
// was compiled.
#include "compiler/Pipeline.h"
#include "compiler/graph/Decompose.h"
#include "compiler/import/Import.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Times.h"
#include "dialects/prims/reference/Evaluate.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/TensorFile.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace ptc {

static DLDataType getDType(Type element) {
  auto complex = llvm::dyn_cast<ComplexType>(element);
  uint8_t bits = complex ? 2 * complex.getElementType().getIntOrFloatBitWidth() : element.getIntOrFloatBitWidth();
  if (element.isInteger(1))
    return {kDLBoolCode, 8, 1};
  if (element.isBF16())
    return {kDLBfloat, bits, 1};
  if (llvm::isa<Float8E4M3FNType>(element))
    return {kDLFloat8E4M3FN, bits, 1};
  if (llvm::isa<Float8E4M3FNUZType>(element))
    return {kDLFloat8E4M3FNUZ, bits, 1};
  if (llvm::isa<Float8E5M2Type>(element))
    return {kDLFloat8E5M2, bits, 1};
  if (llvm::isa<Float8E5M2FNUZType>(element))
    return {kDLFloat8E5M2FNUZ, bits, 1};
  uint8_t code = complex                           ? kDLComplex
                 : llvm::isa<FloatType>(element)   ? kDLFloat
                 : element.isUnsignedInteger()     ? kDLUInt
                                                   : kDLInt;
  return {code, bits, 1};
}

/// The element type that callers see.
static DLDataType getDType(Type element, DictionaryAttr role) {
  if (role && role.contains("ptc.complex"))
    return getDType(ComplexType::get(element));
  auto float8 = role ? role.getAs<TypeAttr>("ptc.float8") : TypeAttr();
  return getDType(float8 ? float8.getValue() : element);
}

/// The tensors of the file as the user inputs of the function, by name or position; defaults for those that are not
/// there.
static llvm::Expected<std::vector<prims::Tensor>> readInputs(func::FuncOp forward, const TensorFile &file,
                                                             prims::WeightReader readWeight) {
  std::vector<std::string> names;
  size_t required = 0;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    if (auto name = forward.getArgAttrOfType<StringAttr>(i, "ptc.input")) {
      names.push_back(name.str());
      required += !forward.getArgAttr(i, "ptc.default");
    }
  llvm::Expected<std::vector<const FileTensor *>> tensors = file.match(names, required);
  if (!tensors)
    return tensors.takeError();
  std::vector<prims::Tensor> inputs;
  for (BlockArgument argument : forward.getArguments()) {
    auto name = forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.input");
    if (!name)
      continue;
    const FileTensor *found = (*tensors)[inputs.size()];
    auto type = llvm::cast<RankedTensorType>(argument.getType());
    Type element = type.getElementType();
    if (!found) {
      auto key = forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.default");
      llvm::Expected<prims::Tensor> tensor = readWeight(key.getValue(), type);
      if (!tensor)
        return tensor.takeError();
      inputs.push_back(std::move(*tensor));
      continue;
    }
    // A last dimension of 2 holds what the file knows as complex.
    bool isComplex = forward.getArgAttr(argument.getArgNumber(), "ptc.complex") != nullptr;
    DLDataType dtype = getDType(element, forward.getArgAttrDict(argument.getArgNumber()));
    prims::Sizes shape(found->shape.begin(), found->shape.end());
    if (isComplex)
      shape.push_back(2);
    if (dtype.code != found->dtype.code || dtype.bits != found->dtype.bits)
      return llvm::createStringError("input '" + name.getValue() + "' has another dtype than the model takes");
    llvm::Expected<prims::Tensor> tensor =
        prims::Tensor::fromBytes(element, shape, {found->bytes.data(), found->bytes.size()});
    if (!tensor)
      return tensor.takeError();
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}

static llvm::Error writeOutputs(func::FuncOp forward, std::vector<prims::Tensor> &results, llvm::StringRef path) {
  std::vector<std::vector<char>> contents;
  std::vector<DLTensor> tensors;
  for (auto [index, result] : llvm::enumerate(results)) {
    if (!forward.getResultAttr(index, "ptc.output"))
      continue;
    contents.push_back(result.toBytes());
    DLTensor tensor{};
    tensor.data = contents.back().data();
    bool isComplex = forward.getResultAttr(index, "ptc.complex") != nullptr;
    tensor.dtype = getDType(result.element, forward.getResultAttrDict(index));
    tensor.ndim = result.shape.size() - isComplex;
    tensor.shape = result.shape.data();
    tensors.push_back(tensor);
  }
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  return writeTensorFile(path, pointers);
}

/// The function that answers a call with these values of symbols: @forward, or a more general version of it.
static llvm::Expected<func::FuncOp> chooseVersion(func::FuncOp forward, ArrayRef<int64_t> symbols) {
  std::string broken = prims::findBrokenGuard(forward, symbols);
  for (auto other : forward->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (auto of = other->getAttrOfType<StringAttr>("ptc.general_of"); of && !broken.empty())
      if (of == forward.getSymNameAttr())
        broken = prims::findBrokenGuard(forward = other, symbols);
  if (!broken.empty())
    return llvm::createStringError("the inputs' sizes break a condition of the model: " + broken);
  return forward;
}

static llvm::Error evaluateModel(const RunOptions &options, ImportedModel &model) {
  auto forward = model.module->lookupSymbol<func::FuncOp>("forward");
  llvm::Expected<TensorFile> file = TensorFile::open(options.inputs);
  if (!file)
    return file.takeError();
  auto readWeight = [&](llvm::StringRef key, RankedTensorType type) -> llvm::Expected<prims::Tensor> {
    const Weight *weight = model.weights.find(key);
    if (!weight)
      return llvm::createStringError("weight '" + key + "' is missing");
    return prims::Tensor::fromBytes(type.getElementType(), type.getShape(), weight->bytes);
  };
  llvm::Expected<std::vector<prims::Tensor>> inputs = readInputs(forward, *file, readWeight);
  if (!inputs)
    return inputs.takeError();
  llvm::Expected<std::vector<int64_t>> symbols = prims::bindSymbols(forward, *inputs);
  if (!symbols)
    return symbols.takeError();
  llvm::Expected<func::FuncOp> version = chooseVersion(forward, *symbols);
  if (!version)
    return version.takeError();
  llvm::Expected<std::vector<prims::Tensor>> results = prims::evaluate(*version, *inputs, readWeight, *symbols);
  if (!results)
    return results.takeError();
  return writeOutputs(*version, *results, options.outputs);
}

int runReference(const RunOptions &options) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(&context);
  llvm::Expected<ImportedModel> model = importModel(options.library, {options.weights, findResultTypes}, context);
  if (!model) {
    diagnostics.report(model.takeError());
    return diagnostics.printFirst();
  }
  Times times;
  const Options compilation;
  if (failed(Pipeline(model->weights, compilation, /*multipliesBytes=*/false, times).lowerModel(*model->module)))
    return diagnostics.printFirst();
  setActivity("the reference evaluation");
  if (llvm::Error error = evaluateModel(options, *model)) {
    printError(options.library + ": " + llvm::toString(std::move(error)));
    return kModelAtFault;
  }
  return kDone;
}

} // namespace ptc
