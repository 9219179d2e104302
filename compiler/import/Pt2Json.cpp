//===- Pt2Json.cpp --------------------------------------------------------===//
//
// Graphs, the signature, and what is around them; see Pt2Arguments.h for the
// manner of reading.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Pt2Json.h"

#include "compiler/import/Guards.h"
#include "compiler/import/OutputNames.h"
#include "compiler/import/Pt2Arguments.h"
#include "compiler/import/StackTrace.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace ptc::import {
namespace {

constexpr int64_t kSchemaMajor = 8;

class Reader final : public Pt2ArgumentReader {
public:
  bool readProgram(JsonValue v, ExportedProgram &program, Path path);
  bool readPayloads(JsonValue v, std::vector<Payload> &payloads, Path path);

private:
  /// The tables beside a graph that tell what its names stand for.
  struct Tables {
    llvm::StringMap<JsonValue> tensors, numbers;
  };
  static bool readTable(JsonValue graph, StringRef key, llvm::StringMap<JsonValue> &table, Path path);

  bool readGraph(JsonValue v, Graph &graph, Path path) override;
  bool readNode(JsonValue v, const Tables &tables, Node &node, Path path);
  bool readOutputs(JsonValue v, const Tables &tables, Node &node, Path path);
  bool define(const Value &value, const Tables &tables, Definition &out, Path path);
  bool readInputSpec(JsonValue v, InputSpec &spec, Path path);
  bool readOutputSpec(JsonValue v, OutputSpec &spec, Path path);
  bool readRanges(JsonValue v, ExportedProgram &program, Path path);
  bool readPayload(JsonValue v, Payload &payload, Path path);
};

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

bool Reader::define(const Value &value, const Tables &tables, Definition &out, Path path) {
  out.isNone = value.kind == Value::None;
  if (out.isNone)
    return true;
  if (value.kind != Value::Reference)
    return fail(path, "expected a tensor or a symbolic number");
  out.name = value.text;
  if (auto meta = tables.tensors.find(out.name); meta != tables.tensors.end())
    return readTensorMeta(meta->second, out.tensor.emplace(), path);
  if (auto number = tables.numbers.find(out.name); number != tables.numbers.end())
    return readSymbolic(number->second, out.symbolic.emplace(), path);
  detail = "'" + out.name + "'";
  return fail(path, "a value without a type");
}

/// Each output is one value, or a list that an operator returns.
bool Reader::readOutputs(JsonValue v, const Tables &tables, Node &node, Path path) {
  unsigned outputs = 0;
  bool hasList = false;
  bool ok = readListMember(v, "outputs", path, [&](JsonValue output, Path p) {
    Value value;
    if (!readArgument(output, value, p))
      return false;
    ++outputs;
    if (value.kind != Value::List)
      return define(value, tables, node.outputs.emplace_back(), p);
    hasList = true;
    return llvm::all_of(value.elements,
                        [&](const Value &e) { return define(e, tables, node.outputs.emplace_back(), p); });
  });
  node.isSingleOutput = outputs == 1 && !hasList;
  // getitem nodes are dissolved; a result that had none has a made-up name.
  for (Definition &output : node.outputs)
    if (StringRef(output.name).contains("_unused_"))
      output.name.clear();
  return ok;
}

bool Reader::readNode(JsonValue v, const Tables &tables, Node &node, Path path) {
  if (!readStringMember(v, "target", node.target, path))
    return false;
  StringRef target = node.target;
  if (target.consume_front("torch.ops."))
    node.target = target.str();
  else if (target.consume_front("_operator."))
    node.target = ("operator." + target).str();

  bool ok = readListMember(v, "inputs", path, [&](JsonValue input, Path p) {
    NamedValue &argument = node.inputs.emplace_back();
    auto content = member(input, "arg", p);
    constexpr int64_t kPositional = 1;
    if (auto kind = input.get("kind"); kind && kind->integer())
      argument.isPositional = *kind->integer() == kPositional;
    return content && readStringMember(input, "name", argument.name, p) &&
           readArgument(*content, argument.value, p.field("arg"));
  });
  if (!ok || !readOutputs(v, tables, node, path))
    return false;

  if (auto name = v.get("name"); name && name->string())
    node.name = *name->string();
  else if (!node.outputs.empty())
    node.name = node.outputs.front().name;
  if (auto metadata = v.get("metadata")) {
    if (auto trace = metadata->get("stack_trace"); trace && trace->string())
      findUserLine(*trace->string(), node.source);
    if (auto modules = metadata->get("nn_module_stack"); modules && modules->string())
      node.source.module = innermostModule(*modules->string());
  }
  return true;
}

bool Reader::readTable(JsonValue graph, StringRef key, llvm::StringMap<JsonValue> &table, Path path) {
  auto values = graph.get(key);
  if (!values)
    return true;
  if (values->kind() != JsonValue::Object)
    return fail(path.field(key), "expected an object");
  values->forEachMember(
      [&](JsonValue name, JsonValue value) { return table.try_emplace(*name.string(), value), true; });
  return true;
}

bool Reader::readGraph(JsonValue v, Graph &graph, Path path) {
  Tables tables;
  if (!member(v, "tensor_values", path) || !readTable(v, "tensor_values", tables.tensors, path))
    return false;
  for (StringRef key : {"sym_int_values", "sym_float_values", "sym_bool_values"})
    if (!readTable(v, key, tables.numbers, path))
      return false;
  auto readInput = [&](JsonValue input, Path p) {
    Value value;
    if (!readArgument(input, value, p))
      return false;
    Definition &definition = graph.inputs.emplace_back();
    // A number burned into the graph, or an object that no operator takes.
    definition.isNone = value.kind != Value::Reference;
    return definition.isNone || define(value, tables, definition, p);
  };
  auto readNodes = [&](JsonValue node, Path p) { return readNode(node, tables, graph.nodes.emplace_back(), p); };
  auto readOutput = [&](JsonValue output, Path p) { return readArgument(output, graph.outputs.emplace_back(), p); };
  return readListMember(v, "inputs", path, readInput) && readListMember(v, "nodes", path, readNodes) &&
         readListMember(v, "outputs", path, readOutput);
}

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

bool Reader::readInputSpec(JsonValue v, InputSpec &spec, Path path) {
  auto choice = alternative(v, path);
  if (!choice)
    return false;
  StringRef kind = choice->kind;
  Path inner = path.field(kind);
  if (kind == "constant_input") {
    spec.kind = InputKind::ConstantInput;
    return readStringMember(choice->content, "name", spec.name, inner);
  }
  if (kind == "token") {
    spec.kind = InputKind::Token;
    return true;
  }
  auto argument = member(choice->content, "arg", inner);
  if (!argument)
    return false;
  if (kind == "user_input") {
    Value value;
    if (!readArgument(*argument, value, inner.field("arg")))
      return false;
    spec.kind = value.kind == Value::Reference ? InputKind::UserInput : InputKind::ConstantInput;
    spec.name = value.text;
    return true;
  }
  struct Row {
    StringRef kind;
    InputKind input;
    StringRef target;
  };
  for (const Row &row : {Row{"parameter", InputKind::Parameter, "parameter_name"},
                         {"buffer", InputKind::Buffer, "buffer_name"},
                         {"tensor_constant", InputKind::TensorConstant, "tensor_constant_name"},
                         {"custom_obj", InputKind::CustomObject, "custom_obj_name"}})
    if (row.kind == kind) {
      spec.kind = row.input;
      return readStringMember(*argument, "name", spec.name, inner.field("arg")) &&
             readStringMember(choice->content, row.target, spec.target, inner);
    }
  return fail(inner, "unknown kind of input (written by a newer torch?)");
}

bool Reader::readOutputSpec(JsonValue v, OutputSpec &spec, Path path) {
  struct Row {
    StringRef kind;
    OutputKind output;
    StringRef target;
  };
  static constexpr Row kRows[] = {
      {"user_output", OutputKind::UserOutput, ""},
      {"loss_output", OutputKind::UserOutput, ""},
      {"buffer_mutation", OutputKind::BufferMutation, "buffer_name"},
      {"parameter_mutation", OutputKind::ParameterMutation, "parameter_name"},
      {"user_input_mutation", OutputKind::UserInputMutation, "user_input_name"},
      {"gradient_to_parameter", OutputKind::Gradient, "parameter_name"},
      {"gradient_to_user_input", OutputKind::Gradient, "user_input_name"},
      {"token", OutputKind::Token, ""},
  };
  auto choice = alternative(v, path);
  if (!choice)
    return false;
  for (const Row &row : kRows)
    if (row.kind == choice->kind) {
      spec.kind = row.output;
      return row.target.empty() || readStringMember(choice->content, row.target, spec.target, path.field(row.kind));
    }
  return fail(path.field(choice->kind), "unknown kind of output (written by a newer torch?)");
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

bool Reader::readRanges(JsonValue v, ExportedProgram &program, Path path) {
  if (v.kind() != JsonValue::Object)
    return fail(path, "expected an object");
  return v.forEachMember([&](JsonValue name, JsonValue range) {
    Path inner = path.field(name.rawString());
    RangeConstraint &constraint = program.ranges.emplace_back();
    auto min = member(range, "min_val", inner);
    auto max = min ? member(range, "max_val", inner) : std::nullopt;
    // null: open on that side.
    return max && readExpression(*name.string(), constraint.expression, inner) &&
           (min->isNull() || readInteger(*min, constraint.min, inner)) &&
           (max->isNull() || readInteger(*max, constraint.max, inner));
  });
}

/// The first module of the call graph is the model itself.
std::optional<std::string> findOutputTree(JsonValue module) {
  std::optional<std::string> treeSpec;
  auto modules = module.get("module_call_graph");
  if (modules && modules->kind() == JsonValue::Array)
    modules->forEach([&](JsonValue entry, unsigned) {
      auto signature = entry.get("signature");
      auto tree = signature ? signature->get("out_spec") : std::nullopt;
      treeSpec = tree ? tree->string() : std::nullopt;
      return false;
    });
  return treeSpec;
}

bool Reader::readProgram(JsonValue v, ExportedProgram &program, Path path) {
  auto version = member(v, "schema_version", path);
  if (!version)
    return false;
  if (auto major = version->get("major"); !major || major->integer() != kSchemaMajor) {
    detail = "ptc reads version 8, which torch 2.11 writes (export the model again)";
    return fail(path.field("schema_version"), "another version of the format");
  }
  auto module = member(v, "graph_module", path);
  auto graph = module ? member(*module, "graph", path) : std::nullopt;
  auto signature = graph ? member(*module, "signature", path) : std::nullopt;
  auto ranges = signature ? member(v, "range_constraints", path) : std::nullopt;
  program.hasRanges = true;
  auto readInput = [&](JsonValue spec, Path p) { return readInputSpec(spec, program.inputs.emplace_back(), p); };
  auto readOutput = [&](JsonValue spec, Path p) { return readOutputSpec(spec, program.outputs.emplace_back(), p); };
  if (!ranges || !readGraph(*graph, program.graph, path.field("graph")) ||
      !readListMember(*signature, "input_specs", path, readInput) ||
      !readListMember(*signature, "output_specs", path, readOutput) ||
      !readRanges(*ranges, program, path.field("range_constraints")))
    return false;
  if (auto treeSpec = findOutputTree(*module))
    nameOutputs(*treeSpec, program.outputs);
  auto guards = v.get("guards_code");
  return !guards || readList(*guards, path.field("guards_code"), [&](JsonValue guard, Path p) {
    std::string text;
    if (!readString(guard, text, p))
      return false;
    auto condition = parseGuard(text, program);
    if (!condition) {
      detail = llvm::toString(condition.takeError());
      return fail(p, "a condition on sizes that ptc cannot check a call for");
    }
    program.guards.push_back(std::move(*condition));
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

bool Reader::readPayload(JsonValue v, Payload &payload, Path path) {
  if (!readStringMember(v, "path_name", payload.entry, path))
    return false;
  auto meta = v.get("tensor_meta"), pickled = v.get("use_pickle");
  if (!meta || meta->isNull() || (pickled && pickled->boolean().value_or(false))) {
    payload.tensor.dtypeName = "a pickled object";
    return true;
  }
  Path inner = path.field("tensor_meta");
  auto readSize = [&](JsonValue size, int64_t &out, Path p) {
    Expression value;
    if (!readSymbolic(size, value, p))
      return false;
    out = value.integer;
    return value.kind == Expression::Integer || fail(p, "expected an integer");
  };
  auto readSizes = [&](StringRef key, std::vector<int64_t> &out) {
    return readListMember(*meta, key, inner,
                          [&](JsonValue size, Path p) { return readSize(size, out.emplace_back(), p); });
  };
  auto dtype = member(*meta, "dtype", inner);
  auto offset = dtype ? member(*meta, "storage_offset", inner) : std::nullopt;
  if (!offset || !readDType(*dtype, payload.tensor.dtype, inner) || !readSize(*offset, payload.tensor.offset, inner) ||
      !readSizes("sizes", payload.tensor.sizes) || !readSizes("strides", payload.tensor.strides))
    return false;
  payload.tensor.dtypeName = payload.tensor.dtype ? toString(*payload.tensor.dtype).str() : "an unknown dtype";
  return true;
}

bool Reader::readPayloads(JsonValue v, std::vector<Payload> &payloads, Path path) {
  auto config = member(v, "config", path);
  if (!config || config->kind() != JsonValue::Object)
    return config && fail(path.field("config"), "expected an object");
  return config->forEachMember([&](JsonValue name, JsonValue row) {
    Payload &payload = payloads.emplace_back();
    payload.name = *name.string();
    return readPayload(row, payload, path.field(name.rawString()));
  });
}

template <typename Result, typename Read> llvm::Expected<Result> readDocument(StringRef text, Read read) {
  auto document = JsonDocument::parse(text);
  if (!document)
    return document.takeError();
  Result result;
  Reader reader;
  llvm::json::Path::Root root;
  if ((reader.*read)(document->root(), result, root))
    return std::move(result);
  std::string message = llvm::toString(root.getError());
  if (!reader.detail.empty())
    message += ": " + reader.detail;
  return llvm::createStringError(message);
}

} // namespace

llvm::Expected<ExportedProgram> readProgramJson(StringRef text) {
  return readDocument<ExportedProgram>(text, &Reader::readProgram);
}

llvm::Expected<std::vector<Payload>> readPayloadJson(StringRef text) {
  return readDocument<std::vector<Payload>>(text, &Reader::readPayloads);
}

} // namespace ptc::import
