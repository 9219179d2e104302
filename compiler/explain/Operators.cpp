#include "compiler/explain/Operators.h"

#include "compiler/Pipeline.h"
#include "compiler/explain/OperatorExample.h"
#include "compiler/graph/Decompose.h"
#include "compiler/graph/FunctionalizeWrites.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Times.h"
#include "compiler/weights/WeightStore.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ptc {

using import::DType;

OperatorSupport describeSupport(const aten::Schema &schema) {
  if (isSupported(schema.name))
    return {&schema, true, "", ""};
  const aten::Schema *functional = schema.mutates() ? findFunctional(schema) : nullptr;
  if (functional && isSupported(functional->name))
    return {&schema, true, functional->name, ""};
  return {&schema, false, "", explainUnsupported(functional ? functional : &schema)};
}

llvm::Expected<std::vector<const aten::Schema *>> findOperators(StringRef name) {
  auto [library, operation] = name.split("::");
  std::string dotted = operation.empty() ? name.str() : (library + "." + operation).str();
  StringRef plain = dotted;
  plain.consume_front("aten.");
  std::vector<const aten::Schema *> found;
  for (StringRef candidate : aten::allNames())
    if (candidate == plain || candidate.rsplit('.').first == plain)
      found.push_back(aten::lookup(candidate));
  if (!found.empty())
    return found;
  std::vector<StringRef> near = aten::suggest(plain);
  return llvm::createStringError("'" + name + "' is not an operator of PyTorch" +
                                 (near.empty() ? "" : " (did you mean " + llvm::join(near, ", ") + "?)"));
}

//===----------------------------------------------------------------------===//
// An example, compiled
//===----------------------------------------------------------------------===//

static constexpr DType kDTypes[] = {DType::Float32, DType::Float64, DType::BFloat16,  DType::Float16,
                                    DType::Int64,   DType::Int32,   DType::Int16,     DType::Int8,
                                    DType::UInt8,   DType::Bool,    DType::Complex64, DType::Complex128};

/// "float32[4, 4]"
static std::string describeType(Type type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto tensor = cast<RankedTensorType>(type);
  auto dtype =
      llvm::find_if(kDTypes, [&](DType d) { return import::toType(d, type.getContext()) == tensor.getElementType(); });
  if (dtype == std::end(kDTypes))
    out << tensor.getElementType();
  else
    out << import::toString(*dtype);
  out << '[';
  llvm::interleaveComma(tensor.getShape(), out,
                        [&](int64_t size) { ShapedType::isDynamic(size) ? out << '?' : out << size; });
  out << ']';
  return text;
}

static OperatorExample describeExample(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("forward");
  OperatorExample example;
  for (Type type : function.getArgumentTypes())
    example.inputs.push_back(describeType(type));
  for (Type type : function.getResultTypes())
    example.outputs.push_back(describeType(type));
  return example;
}

static std::vector<std::string> namesOfPrims(ModuleOp module) {
  std::vector<std::string> names;
  module.walk([&](Operation *op) {
    std::string name = op->getName().stripDialect().str();
    if (op->getName().getDialectNamespace() == "prims" && !llvm::is_contained(names, name))
      names.push_back(std::move(name));
  });
  return names;
}

OperatorReport describeOperator(const aten::Schema &schema, MLIRContext &context) {
  OperatorReport report{describeSupport(schema), {}, {}};
  if (!report.support.isSupported || !report.support.through.empty())
    return report;
  auto arguments = findExampleArguments(schema, &context);
  if (!arguments)
    return report;
  Diagnostics refusals(&context); // What an element type cannot do is not the reader's error.
  const Options options;
  Times times;
  for (DType dtype : kDTypes) {
    OwningOpRef<ModuleOp> module = makeExample(schema, *arguments, dtype, &context);
    if (!module)
      continue;
    OperatorExample example = describeExample(*module);
    WeightStore weights;
    Pipeline pipeline(weights, options, /*multipliesBytes=*/false, times);
    if (failed(pipeline.lowerModel(*module)))
      continue;
    example.prims = namesOfPrims(*module);
    if (failed(pipeline.lowerForDevice(*module, Device::Cpu)))
      continue;
    if (report.dtypes.empty())
      report.example = std::move(example);
    report.dtypes.push_back(import::toString(dtype).str());
  }
  return report;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

llvm::json::Value toJson(const OperatorSupport &support) {
  llvm::json::Object object{{"name", support.schema->name},
                            {"supported", support.isSupported},
                            {"core", support.schema->has(aten::Mark::Core)}};
  if (!support.through.empty())
    object["through"] = support.through;
  if (!support.isSupported)
    object["reason"] = support.reason;
  return object;
}

llvm::json::Value toJson(const OperatorReport &report) {
  llvm::json::Value value = toJson(report.support);
  llvm::json::Object &object = *value.getAsObject();
  object["schema"] = report.support.schema->str();
  object["dtypes"] = llvm::json::Array(report.dtypes);
  object["example"] = llvm::json::Object{{"inputs", llvm::json::Array(report.example.inputs)},
                                         {"outputs", llvm::json::Array(report.example.outputs)},
                                         {"prims", llvm::json::Array(report.example.prims)}};
  return value;
}

void print(const OperatorReport &report, llvm::raw_ostream &out) {
  const OperatorSupport &support = report.support;
  out << support.schema->str() << '\n';
  if (!support.isSupported) {
    out << "  not supported: " << support.reason << '\n';
    return;
  }
  if (!support.through.empty()) {
    out << "  as " << support.through << ", whose result takes the place of what it writes\n";
    return;
  }
  if (report.dtypes.empty()) {
    out << "  supported; needs particular arguments, so there is no example\n";
    return;
  }
  const OperatorExample &example = report.example;
  out << "  example  " << llvm::join(example.inputs, ", ") << " -> " << llvm::join(example.outputs, ", ") << '\n'
      << "  prims    " << (example.prims.empty() ? "none: its result is its argument" : llvm::join(example.prims, ", "))
      << '\n'
      << "  dtypes   " << llvm::join(report.dtypes, ", ") << '\n';
}

} // namespace ptc
