#include "compiler/import/onnx/Graph.h"

#include "compiler/import/onnx/Fold.h"
#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Unsupported.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

bool GraphImporter::fail(const llvm::Twine &where, const llvm::Twine &what) {
  if (text.empty())
    text = (fileName + ": " + where + ": " + what).str();
  return false;
}

static const std::string &nameOf(const std::string &output) { return output; } // of a function
static const std::string &nameOf(const proto::ValueInfoProto &output) { return output.name(); }

template <typename Graph> void GraphImporter::addUsed(const Graph &graph) {
  for (const auto &output : graph.output())
    used.insert(nameOf(output));
  for (const proto::NodeProto &node : graph.node()) {
    for (const std::string &input : node.input())
      if (!input.empty())
        used.insert(input);
    for (const proto::AttributeProto &attribute : node.attribute()) {
      addUsed(attribute.g());
      for (const proto::GraphProto &inner : attribute.graphs())
        addUsed(inner);
    }
  }
}

GraphImporter::GraphImporter(Model &model, Builder &b, StringRef fileName, bool keepsForeignNodes)
    : model(model), b(b), fileName(fileName), keepsForeignNodes(keepsForeignNodes) {
  addUsed(model.graph());
  for (const proto::FunctionProto &function : model.message().functions())
    addUsed(function);
}

std::string describe(const proto::NodeProto &node) {
  std::string name = node.name().empty() && node.output_size() ? node.output(0) : node.name();
  return "node '" + name + "' (" + node.op_type() + ")";
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Value GraphImporter::valueOf(const proto::TensorProto &tensor, StringRef name) {
  auto stored = model.read(tensor, b.weights);
  if (!stored)
    return b.fail("tensor '" + name + "' " + llvm::toString(stored.takeError()));
  Value value = b.none();
  if (auto literal = decodeLiteral(*stored, b.context))
    value = b.literal(std::move(*literal));
  value.stored = std::make_shared<Stored>(Stored{std::move(*stored), name.str(), {}});
  return value;
}

bool GraphImporter::buildInitializers(const proto::GraphProto &graph, Scope &scope) {
  if (graph.sparse_initializer_size())
    return fail("the graph", "sparse tensors are not supported");
  for (const proto::TensorProto &tensor : graph.initializer()) {
    if (scope.binds(tensor.name())) // given
      continue;
    Value value = valueOf(tensor, tensor.name());
    if (b.hasFailed())
      return fail("the graph", b.takeError());
    scope.bind(tensor.name(), value);
  }
  return true;
}

Value GraphImporter::constantOf(const Node &node) {
  for (StringRef other : {"value_string", "value_strings", "sparse_value"})
    if (node.hasAttribute(other))
      return b.fail("constants of text and sparse ones are not supported");
  if (const auto *value = node.find("value"))
    return valueOf(value->t(), value->t().name().empty() ? "constant." + std::to_string(nodeCount) : value->t().name());
  if (auto ints = node.ints("value_ints"))
    return b.literal(*ints);
  if (node.hasAttribute("value_int"))
    return b.literal(Literal{b.i64(), {}, {Expression(node.integer("value_int", 0))}});
  if (node.hasAttribute("value_float"))
    return b.number(node.real("value_float", 0), b.f32());
  if (auto reals = node.reals("value_floats")) {
    Literal literal{b.f32(), {int64_t(reals->size())}, {}};
    for (double real : *reals)
      literal.elements.push_back(Expression::makeReal(real));
    return b.literal(std::move(literal));
  }
  return b.fail("has no value");
}

llvm::Expected<RankedTensorType> GraphImporter::declaredType(const proto::ValueInfoProto &value) {
  if (!value.type().has_tensor_type())
    return llvm::createStringError("is no tensor: sequences, maps and optional values are not supported here");
  const auto &tensor = value.type().tensor_type();
  auto dtype = dtypeOf(tensor.elem_type());
  if (!dtype)
    return llvm::createStringError("tensors of " + nameOf(tensor.elem_type()) + " are not supported");
  if (!tensor.has_shape())
    return llvm::createStringError("has no shape: ptc needs the number of dimensions");
  Shape sizes;
  for (const auto &[i, dim] : llvm::enumerate(tensor.shape().dim())) {
    if (dim.has_dim_value() && dim.dim_value() != -1) {
      if (dim.dim_value() < 0)
        return llvm::createStringError("has a size of " + llvm::Twine(dim.dim_value()));
      sizes.push_back(b.constant(dim.dim_value()));
      continue;
    }
    // A size without a name, or written as -1 or "?", is one of its own.
    bool isNamed = llvm::any_of(dim.dim_param(), llvm::isAlnum);
    std::string name = isNamed ? dim.dim_param() : value.name() + "." + std::to_string(i);
    sizes.push_back(b.affine(Expression::makeSymbol(name)));
  }
  return makeTensorType(sizes, toType(*dtype, b.context));
}

std::optional<RankedTensorType> GraphImporter::inputType(const proto::ValueInfoProto &input) {
  auto type = declaredType(input);
  if (type)
    return *type;
  fail("input '" + input.name() + "'", llvm::toString(type.takeError()));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static bool isElementwise(StringRef type) {
  return llvm::is_contained(
      {"Identity", "Cast", "CastLike", "Sqrt", "Log", "Exp", "Neg", "Abs", "Not", "Sigmoid", "Tanh", "Relu"}, type);
}

bool GraphImporter::build(const proto::GraphProto &graph, Scope &scope, const Frame &frame) {
  if (frame.depth > kMaxDepth)
    return fail("the graph", "graphs are inside each other more than " + llvm::Twine(kMaxDepth) + " deep");
  if (!buildInitializers(graph, scope))
    return false;
  for (const auto *list : {&graph.output(), &graph.value_info()})
    for (const proto::ValueInfoProto &value : *list) {
      infos[value.name()] = &value;
      const auto &type = value.type().tensor_type();
      Ints sizes;
      for (const auto &dim : type.shape().dim())
        if (dim.has_dim_value() && dim.dim_value() >= 0)
          sizes.push_back(dim.dim_value());
      if (type.has_shape() && int(sizes.size()) == type.shape().dim_size())
        declared[value.name()] = sizes;
    }
  // What an operator on each element answers has the sizes of what it takes.
  for (const proto::NodeProto &node : llvm::reverse(graph.node()))
    if (node.input_size() && node.output_size() && isElementwise(node.op_type()))
      if (auto found = declared.find(node.output(0)); found != declared.end())
        declared.try_emplace(node.input(0), Ints(found->second));
  for (const proto::NodeProto &node : graph.node())
    if (!buildNode(node, scope, frame))
      return false;
  return true;
}

bool GraphImporter::buildNode(const proto::NodeProto &node, Scope &scope, const Frame &frame) {
  if (++nodeCount > kMaxNodes)
    return fail(describe(node), "more than " + llvm::Twine(kMaxNodes) + " nodes after inlining");
  Values inputs;
  for (const std::string &name : node.input()) {
    const Value *value = name.empty() ? nullptr : scope.find(name);
    if (!name.empty() && !value)
      return fail(describe(node), "input '" + name + "' is not defined before it is used");
    inputs.push_back(value ? *value : b.none());
  }
  std::string name = node.name().empty() && node.output_size() ? node.output(0) : node.name();
  Location before = b.location;
  b.location = NameLoc::get(b.builder.getStringAttr(name.empty() ? node.op_type() : name));
  auto results = keepsForeignNodes ? buildOrKeep(node, inputs, scope, frame)
                                   : buildKnowingLittle(node, std::move(inputs), scope, frame);
  b.location = before;
  if (b.hasFailed())
    return fail(describe(node), b.takeError());
  if (!results)
    return fail(describe(node), "an unknown failure");
  for (int i = 0; i < node.output_size(); ++i) {
    bool isThere = i < int(results->size()) && (*results)[i];
    if (!isThere && used.contains(node.output(i)))
      return fail(describe(node), "output '" + node.output(i) + "' is not supported");
    if (isThere)
      scope.bind(node.output(i), (*results)[i]);
  }
  b.symbols.publish(b.module);
  return true;
}

/// Operators that an opset up to the sixth made others of: earlier ones took an attribute for an input, or meant
/// something else by leaving it out. (What the sixth alone took from many, `consumed_inputs`, said nothing of the
/// result.)
static int64_t firstKnownOpset(StringRef type) {
  return llvm::StringSwitch<int64_t>(type)
      .Cases({"GlobalLpPool", "LpPool", "Pad", "Split"}, 2)
      .Case("GRU", 3)
      .Case("Concat", 4)
      .Case("Reshape", 5)
      .Cases({"BatchNormalization", "Cast", "Dropout", "Tile"}, 6)
      .Default(1);
}

std::optional<Values> GraphImporter::buildResults(const proto::NodeProto &message, Values inputs, bool believes,
                                                  Scope &scope, const Frame &frame) {
  Node node(b, message, std::move(inputs), frame.opset, frame.attributes);
  node.used = &used;
  for (const std::string &output : message.output()) {
    auto found = believes ? declared.find(output) : declared.end();
    node.declared.push_back(found == declared.end() ? std::nullopt : std::optional(found->second));
  }
  node.constant = [&](const proto::TensorProto &tensor) {
    return valueOf(tensor, "constant." + std::to_string(nodeCount));
  };
  StringRef domain = message.domain(), type = message.op_type();
  if (const proto::FunctionProto *function = model.function(domain, type))
    return callFunction(*function, node, frame);
  if (!domain.empty() && domain != "ai.onnx") {
    if (const Row *row = table().find((domain + "." + type).str()))
      return (*row)(b, node);
    missesOperator = true;
    b.fail(explainUnsupported(domain, type, !keepsForeignNodes && declaresResults(message)));
    return std::nullopt;
  }
  if (frame.opset == 0) {
    b.fail("operator " + type + " is of a version that the model does not say (opset_import)");
    return std::nullopt;
  }
  if (int64_t first = firstKnownOpset(type); frame.opset < first) {
    b.fail("operator " + type + " of opset " + llvm::Twine(frame.opset) + " is another than that of opset " +
           llvm::Twine(first) + " (convert the model with onnx.version_converter)");
    return std::nullopt;
  }
  if (type == "Constant")
    return Values{constantOf(node)};
  if (type == "If")
    return buildIf(node, scope, frame);
  if (type == "Loop")
    return buildLoop(node, scope, frame);
  if (type == "Scan")
    return buildScan(node, scope, frame);
  if (type == "SequenceMap")
    return buildSequenceMap(node, scope, frame);
  if (auto folded = foldLiterals(b, type, node))
    return Values{*folded};
  const Row *row = table().find(type);
  if (!row) {
    missesOperator = true;
    b.fail(explainUnsupported(domain, type, !keepsForeignNodes && declaresResults(message)));
    return std::nullopt;
  }
  return (*row)(b, node);
}

Values GraphImporter::callFunction(const proto::FunctionProto &function, const Node &node, const Frame &frame) {
  Frame inner{std::max<int64_t>(ownOpset(function), 0), {}, frame.depth + 1};
  if (inner.opset == 0)
    inner.opset = model.opset();
  if (inner.depth > kMaxDepth)
    return {b.fail("functions call each other more than " + llvm::Twine(kMaxDepth) + " deep")};
  for (const std::string &name : function.attribute())
    if (const auto *attribute = node.find(name))
      inner.attributes[name] = attribute;
  // Attributes with defaults are newer than Debian's form of the file: protobuf keeps them as they are.
  std::vector<proto::AttributeProto> defaults = model.defaultAttributes(function);
  for (const proto::AttributeProto &attribute : defaults) {
    const auto *value = node.find(attribute.name());
    inner.attributes[attribute.name()] = value ? value : &attribute;
  }
  Scope scope;
  for (int i = 0; i < function.input_size(); ++i)
    scope.bind(function.input(i), node.input(i));
  for (const proto::NodeProto &inside : function.node())
    if (!buildNode(inside, scope, inner))
      return {b.fail("in function " + function.name() + ": " + text)};
  Values results;
  for (const std::string &name : function.output()) {
    const Value *value = scope.find(name);
    results.push_back(value ? *value : b.none());
  }
  return results;
}

} // namespace ptc::import::onnx
