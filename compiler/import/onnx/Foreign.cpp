//===- Foreign.cpp - nodes that ptc does not compile --------------------------===//
//
// com.example.Scale(x, bias) {alpha = 2.0}  =>
// aten.custom.onnx.Scale.default %x, %bias {arg0 = 0 : index, arg1 = 1 : index, alpha = 2.0 : f64}
//
// The operation is what one of an unknown torch operator is (docs/fallback.md): its name for callers is in ptc.callee,
// why it is not compiled in ptc.reason. Of its results only the model can say the types.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Graph.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

/// As rows build it; where they refuse, an operation of its own, and nothing of what the row began.
std::optional<Values> GraphImporter::buildOrKeep(const proto::NodeProto &message, const Values &inputs, Scope &scope,
                                                 const Frame &frame) {
  Trial trial(b);
  size_t guards = b.symbols.countGuards();
  auto results = buildKnowingLittle(message, inputs, scope, frame);
  if (!b.hasFailed())
    return results;
  std::string reason = b.takeError();
  text.clear();
  trial.undo();
  b.symbols.keepGuards(guards);
  return buildForeign(message, Node(b, message, inputs, frame.opset, frame.attributes), reason);
}

bool GraphImporter::declaresResults(const proto::NodeProto &node) const {
  return llvm::all_of(node.output(), [&](const std::string &output) {
    const proto::ValueInfoProto *info = infos.lookup(output);
    return output.empty() || (info && info->type().tensor_type().has_shape());
  });
}

/// The attribute's value; null where an operation has no form for it. A tensor joins the operands.
static Attribute describeAttribute(const proto::AttributeProto &attribute, OpBuilder &builder,
                                   llvm::function_ref<Attribute(const proto::TensorProto &)> addTensor) {
  auto list = [&](const auto &values, auto describe) {
    return builder.getArrayAttr(
        llvm::map_to_vector(values, [&](const auto &value) -> Attribute { return describe(value); }));
  };
  auto real = [&](float value) { return builder.getF64FloatAttr(value); };
  auto integer = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto string = [&](const std::string &value) { return builder.getStringAttr(llvm::json::fixUTF8(value)); };
  switch (attribute.type()) {
  case proto::AttributeProto::FLOAT:
    return real(attribute.f());
  case proto::AttributeProto::INT:
    return integer(attribute.i());
  case proto::AttributeProto::STRING:
    return string(attribute.s());
  case proto::AttributeProto::TENSOR:
    return addTensor(attribute.t());
  case proto::AttributeProto::FLOATS:
    return list(attribute.floats(), real);
  case proto::AttributeProto::INTS:
    return list(attribute.ints(), integer);
  case proto::AttributeProto::STRINGS:
    return list(attribute.strings(), string);
  default:
    return {};
  }
}

Values GraphImporter::buildForeign(const proto::NodeProto &message, const Node &node, StringRef reason) {
  auto refuse = [&](const llvm::Twine &why) {
    b.fail(reason + "; it cannot be left to the caller: " + why);
    return Values();
  };
  llvm::SmallVector<Type> types;
  for (const std::string &output : message.output()) {
    if (output.empty()) {
      types.push_back(b.builder.getNoneType());
      continue;
    }
    const proto::ValueInfoProto *info = infos.lookup(output);
    if (!info)
      return refuse("the model does not say the type of its result '" + output +
                    "' (onnx.shape_inference.infer_shapes adds types)");
    auto type = declaredType(*info);
    if (!type)
      return refuse("its result '" + output + "' " + llvm::toString(type.takeError()));
    types.push_back(*type);
  }

  llvm::SmallVector<mlir::Value> operands;
  auto add = [&](const Value &value) -> Attribute {
    operands.push_back(b.tensor(value));
    return b.builder.getIndexAttr(operands.size() - 1);
  };
  NamedAttrList attributes;
  for (unsigned i = 0; i < node.count(); ++i)
    attributes.set("arg" + std::to_string(i), node.has(i) ? add(node.input(i)) : b.builder.getUnitAttr());
  for (const proto::AttributeProto &own : message.attribute()) {
    const proto::AttributeProto *attribute = node.find(own.name());
    if (!attribute)
      continue; // of a function, whose call leaves it out
    Attribute value = describeAttribute(*attribute, b.builder, [&](const proto::TensorProto &tensor) {
      return add(valueOf(tensor, "constant." + std::to_string(nodeCount)));
    });
    // A name with a dot is the compiler's own.
    if (!value || own.name().empty() || StringRef(own.name()).contains('.') || attributes.get(own.name()))
      return refuse("its attribute '" + own.name() + "' has no form as text");
    attributes.set(own.name(), value);
  }
  if (b.hasFailed())
    return refuse(b.takeError());

  std::string domain = message.domain().empty() ? "ai.onnx" : message.domain();
  attributes.set("ptc.callee", b.builder.getStringAttr(domain + "::" + message.op_type()));
  attributes.set("ptc.reason", b.builder.getStringAttr(reason));
  Operation *op = aten::createUnknown(b.builder, b.location, "aten.custom.onnx." + message.op_type() + ".default",
                                      operands, attributes, types);
  Values results;
  for (mlir::Value result : op->getResults())
    results.push_back(isa<NoneType>(result.getType()) ? b.none() : b.wrap(result));
  return results;
}

} // namespace ptc::import::onnx
