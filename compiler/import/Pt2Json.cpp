//===- Pt2Json.cpp --------------------------------------------------------===//
//
// One function for each class of the schema, `read(value, result, path)`, in
// LLVM's manner: false after having reported at `path`, so that an error names
// the very element, "graph.nodes[3].inputs[0].arg".
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Pt2Json.h"

#include "compiler/import/Guards.h"
#include "compiler/import/JsonText.h"
#include "compiler/import/StackTrace.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace json = llvm::json;
using llvm::StringRef;

namespace ptc::import {
namespace {

constexpr int64_t kSchemaMajor = 8;

class Reader {
public:
  bool readProgram(const json::Value &v, ExportedProgram &program, json::Path path);
  bool readPayloads(const json::Value &v, std::vector<Payload> &payloads, json::Path path);

  /// What a literal message could not say.
  std::string detail;

private:
  //===--------------------------------------------------------------------===//
  // JSON itself
  //===--------------------------------------------------------------------===//

  static bool fail(json::Path path, llvm::StringLiteral message) {
    path.report(message);
    return false;
  }

  /// A member that must be there; null after reporting.
  static const json::Value *member(const json::Value &v, StringRef key, json::Path path) {
    const json::Object *object = v.getAsObject();
    if (!object)
      fail(path, "expected an object");
    else if (const json::Value *found = object->get(key))
      return found;
    else
      fail(path.field(key), "missing");
    return nullptr;
  }

  static bool readString(const json::Value &v, std::string &out, json::Path path) {
    auto text = v.getAsString();
    if (!text)
      return fail(path, "expected a string");
    out = text->str();
    return true;
  }
  static bool readInteger(const json::Value &v, int64_t &out, json::Path path) {
    auto integer = v.getAsInteger();
    if (!integer)
      return fail(path, "expected an integer of 64 bits");
    out = *integer;
    return true;
  }
  static bool readBoolean(const json::Value &v, bool &out, json::Path path) {
    auto boolean = v.getAsBoolean();
    if (!boolean)
      return fail(path, "expected true or false");
    out = *boolean;
    return true;
  }
  /// Infinities and NaN are strings, since JSON has none.
  static bool readReal(const json::Value &v, double &out, json::Path path) {
    if (auto number = v.getAsNumber())
      out = *number;
    else if (auto text = v.getAsString(); text && (*text == "Infinity" || *text == "-Infinity"))
      out = (text->front() == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
    else if (text && *text == "NaN")
      out = std::numeric_limits<double>::quiet_NaN();
    else
      return fail(path, "expected a number");
    return true;
  }

  /// `read(element, index's path)` for each element.
  template <typename Read> static bool readList(const json::Value &v, json::Path path, Read read) {
    const json::Array *array = v.getAsArray();
    if (!array)
      return fail(path, "expected a list");
    for (size_t i = 0; i < array->size(); ++i)
      if (!read((*array)[i], path.index(i)))
        return false;
    return true;
  }
  template <typename Read> static bool readListMember(const json::Value &v, StringRef key, json::Path path, Read read) {
    const json::Value *list = member(v, key, path);
    return list && readList(*list, path.field(key), read);
  }
  static bool readStringMember(const json::Value &v, StringRef key, std::string &out, json::Path path) {
    const json::Value *text = member(v, key, path);
    return text && readString(*text, out, path.field(key));
  }

  /// A union is an object with one member, named for the alternative. Python
  /// dictionaries of other versions may spell the others out as null.
  static const json::Object::value_type *alternative(const json::Value &v, json::Path path) {
    const json::Object *object = v.getAsObject();
    const json::Object::value_type *chosen = nullptr;
    if (object)
      for (const auto &entry : *object)
        if (entry.second.kind() != json::Value::Null) {
          if (chosen)
            return fail(path, "expected one alternative, found several"), nullptr;
          chosen = &entry;
        }
    if (!chosen)
      fail(path, "expected an object with one member");
    return chosen;
  }

  //===--------------------------------------------------------------------===//
  // Sizes
  //===--------------------------------------------------------------------===//

  bool readExpressionText(StringRef text, Expression &out, json::Path path) {
    auto [cached, isNew] = expressions.try_emplace(text);
    if (isNew) {
      auto parsed = parseExpression(text);
      if (!parsed) {
        detail = llvm::toString(parsed.takeError());
        expressions.erase(cached);
        return fail(path, "not a symbolic expression");
      }
      cached->second = std::move(*parsed);
    }
    out = cached->second;
    return true;
  }

  /// SymInt, SymFloat, SymBool.
  bool readSymbolic(const json::Value &v, Expression &out, json::Path path) {
    const auto *choice = alternative(v, path);
    if (!choice)
      return false;
    StringRef kind = choice->first;
    json::Path inner = path.field(kind);
    if (kind == "as_int")
      return readInteger(choice->second, out.integer, inner);
    if (kind == "as_bool") {
      bool value = false;
      bool ok = readBoolean(choice->second, value, inner);
      out = Expression::makeBoolean(value);
      return ok;
    }
    if (kind == "as_float") {
      out = Expression::makeReal(0);
      return readReal(choice->second, out.real, inner);
    }
    if (kind != "as_expr")
      return fail(inner, "unknown kind of symbolic number");
    std::string text;
    return readStringMember(choice->second, "expr_str", text, inner) &&
           readExpressionText(text, out, inner.field("expr_str"));
  }

  bool readDType(const json::Value &v, std::optional<DType> &out, json::Path path) {
    int64_t number;
    if (!readInteger(v, number, path))
      return false;
    out = dtypeFromSerialized(number);
    if (!out)
      detail = "number " + std::to_string(number) + " of torch's list";
    return true;
  }

  bool readTensorMeta(const json::Value &v, TensorMeta &meta, json::Path path) {
    const json::Value *number = member(v, "dtype", path);
    std::optional<DType> dtype;
    if (!number || !readDType(*number, dtype, path.field("dtype")))
      return false;
    if (!dtype)
      return fail(path.field("dtype"), "unknown element type");
    meta.dtype = *dtype;
    if (const json::Value *layout = v.getAsObject()->get("layout"); layout && layout->getAsInteger() != 7)
      return fail(path.field("layout"), "only strided tensors are supported, not sparse ones");
    return readListMember(v, "sizes", path, [&](const json::Value &size, json::Path p) {
      return readSymbolic(size, meta.sizes.emplace_back(), p);
    });
  }

  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  bool readReference(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::Reference;
    return readStringMember(v, "name", out.text, path);
  }
  /// {"as_name": …} or {"as_int": …}, also of floats and bools.
  bool readSymbolicArgument(const json::Value &v, Value &out, json::Path path) {
    const auto *choice = alternative(v, path);
    if (!choice)
      return false;
    if (StringRef(choice->first) != "as_name")
      return readArgument(v, out, path);
    out.kind = Value::Reference;
    return readString(choice->second, out.text, path.field("as_name"));
  }
  template <typename Read> bool readValues(const json::Value &v, Value &out, json::Path path, Read read) {
    out.kind = Value::List;
    return readList(v, path,
                    [&](const json::Value &e, json::Path p) { return (this->*read)(e, out.elements.emplace_back(), p); });
  }
  bool readIntegerValue(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::Integer;
    return readInteger(v, out.integer, path);
  }
  bool readRealValue(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::Real;
    return readReal(v, out.real, path);
  }
  bool readBooleanValue(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::Boolean;
    bool value = false;
    bool ok = readBoolean(v, value, path);
    out.integer = value;
    return ok;
  }
  bool readStringValue(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::String;
    return readString(v, out.text, path);
  }
  bool readReferences(const json::Value &v, Value &out, json::Path path) {
    return readValues(v, out, path, &Reader::readReference);
  }
  bool readIntegers(const json::Value &v, Value &out, json::Path path) {
    return readValues(v, out, path, &Reader::readIntegerValue);
  }

  bool readScalarType(const json::Value &v, Value &out, json::Path path) {
    std::optional<DType> dtype;
    if (!readDType(v, dtype, path))
      return false;
    if (!dtype)
      return fail(path, "unknown element type");
    out.kind = Value::ScalarType;
    out.dtype = *dtype;
    return true;
  }
  bool readEnum(const json::Value &v, Value &out, Value::Kind kind, llvm::ArrayRef<StringRef> names, json::Path path) {
    int64_t number;
    if (!readInteger(v, number, path))
      return false;
    if (number < 0 || number >= int64_t(names.size()))
      return fail(path, "unknown number");
    out = Value::make(kind, names[number]);
    return true;
  }
  bool readDevice(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::Device;
    if (!readStringMember(v, "type", out.text, path))
      return false;
    if (auto index = v.getAsObject()->getInteger("index"))
      out.text += ":" + std::to_string(*index);
    return true;
  }
  bool readComplex(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::Complex;
    const json::Value *real = member(v, "real", path), *imag = member(v, "imag", path);
    return real && imag && readReal(*real, out.real, path.field("real")) &&
           readReal(*imag, out.imaginary, path.field("imag"));
  }
  bool readSubgraph(const json::Value &v, Value &out, json::Path path) {
    out.kind = Value::Subgraph;
    out.graph = std::make_shared<Graph>();
    const json::Value *graph = member(v, "graph", path);
    return graph && readStringMember(v, "name", out.text, path) && readGraph(*graph, *out.graph, path.field("graph"));
  }

  bool readArgument(const json::Value &v, Value &out, json::Path path);

  //===--------------------------------------------------------------------===//
  // Graphs
  //===--------------------------------------------------------------------===//

  /// The tables beside a graph that tell what its names stand for.
  struct Tables {
    const json::Object *tensors = nullptr, *numbers[3] = {};
  };

  /// A graph's input, a node's output: "as_tensor", "as_tensors", "as_sym_int".
  bool readDefinitions(const json::Value &v, const Tables &tables, std::vector<Definition> &out, json::Path path);
  bool define(const Value &value, const Tables &tables, Definition &out, json::Path path);
  bool readNode(const json::Value &v, const Tables &tables, Node &node, json::Path path);
  bool readGraph(const json::Value &v, Graph &graph, json::Path path);
  bool readInputSpec(const json::Value &v, InputSpec &spec, json::Path path);
  bool readOutputSpec(const json::Value &v, OutputSpec &spec, json::Path path);
  bool readRanges(const json::Value &v, ExportedProgram &program, json::Path path);
  bool readGuards(const json::Value &v, ExportedProgram &program, json::Path path);

  llvm::StringMap<Expression> expressions;
};

bool Reader::readArgument(const json::Value &v, Value &out, json::Path path) {
  const auto *choice = alternative(v, path);
  if (!choice)
    return false;
  StringRef kind = choice->first;
  const json::Value &content = choice->second;
  json::Path inner = path.field(kind);

  struct Alternative {
    StringRef kind;
    bool (Reader::*read)(const json::Value &, Value &, json::Path);
  };
  static constexpr Alternative kAlternatives[] = {
      {"as_tensor", &Reader::readReference},        {"as_tensors", &Reader::readReferences},
      {"as_int", &Reader::readIntegerValue},        {"as_ints", &Reader::readIntegers},
      {"as_float", &Reader::readRealValue},         {"as_bool", &Reader::readBooleanValue},
      {"as_string", &Reader::readStringValue},      {"as_sym_int", &Reader::readSymbolicArgument},
      {"as_sym_float", &Reader::readSymbolicArgument}, {"as_sym_bool", &Reader::readSymbolicArgument},
      {"as_scalar_type", &Reader::readScalarType},  {"as_device", &Reader::readDevice},
      {"as_graph", &Reader::readSubgraph},          {"as_complex", &Reader::readComplex},
      {"as_optional_tensor", &Reader::readArgument},
  };
  static constexpr Alternative kLists[] = {
      {"as_floats", &Reader::readRealValue},           {"as_bools", &Reader::readBooleanValue},
      {"as_strings", &Reader::readStringValue},        {"as_sym_ints", &Reader::readSymbolicArgument},
      {"as_sym_floats", &Reader::readSymbolicArgument}, {"as_sym_bools", &Reader::readSymbolicArgument},
      {"as_optional_tensors", &Reader::readArgument},  {"as_nested_tensors", &Reader::readReferences},
      {"as_int_lists", &Reader::readIntegers},
  };
  for (const Alternative &a : kAlternatives)
    if (a.kind == kind)
      return (this->*a.read)(content, out, inner);
  for (const Alternative &a : kLists)
    if (a.kind == kind)
      return readValues(content, out, inner, a.read);
  if (kind == "as_none") {
    out.kind = Value::None;
    return true;
  }
  if (kind == "as_layout")
    return readEnum(content, out, Value::Layout,
                    {"unknown", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn",
                     "strided"},
                    inner);
  if (kind == "as_memory_format")
    return readEnum(content, out, Value::MemoryFormat,
                    {"unknown", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format"}, inner);
  if (kind == "as_custom_obj" || kind == "as_operator" || kind == "as_string_to_argument") {
    out = Value::make(Value::Opaque, kind.drop_front(3));
    return true;
  }
  return fail(inner, "unknown kind of argument (written by a newer torch?)");
}

bool Reader::define(const Value &value, const Tables &tables, Definition &out, json::Path path) {
  if (value.kind == Value::None) {
    out.isNone = true;
    return true;
  }
  if (value.kind != Value::Reference)
    return fail(path, "expected a tensor or a symbolic number");
  out.name = value.text;
  if (const json::Value *meta = tables.tensors->get(out.name))
    return readTensorMeta(*meta, out.tensor.emplace(), path);
  for (const json::Object *numbers : tables.numbers)
    if (const json::Value *number = numbers ? numbers->get(out.name) : nullptr)
      return readSymbolic(*number, out.symbolic.emplace(), path);
  detail = "'" + out.name + "'";
  return fail(path, "a value without a type");
}

bool Reader::readDefinitions(const json::Value &v, const Tables &tables, std::vector<Definition> &out,
                             json::Path path) {
  Value value;
  if (!readArgument(v, value, path))
    return false;
  if (value.kind != Value::List)
    return define(value, tables, out.emplace_back(), path);
  for (const Value &element : value.elements)
    if (!define(element, tables, out.emplace_back(), path))
      return false;
  return true;
}

bool Reader::readNode(const json::Value &v, const Tables &tables, Node &node, json::Path path) {
  if (!readStringMember(v, "target", node.target, path))
    return false;
  StringRef target = node.target;
  if (target.consume_front("torch.ops."))
    node.target = target.str();
  else if (target.consume_front("_operator."))
    node.target = ("operator." + target).str();

  bool ok = readListMember(v, "inputs", path, [&](const json::Value &input, json::Path p) {
    NamedValue &argument = node.inputs.emplace_back();
    const json::Value *arg = member(input, "arg", p);
    return arg && readStringMember(input, "name", argument.name, p) && readArgument(*arg, argument.value, p.field("arg"));
  });
  if (!ok)
    return false;
  size_t lists = 0, outputs = 0;
  ok = readListMember(v, "outputs", path, [&](const json::Value &output, json::Path p) {
    ++outputs;
    lists += output.getAsObject() && output.getAsObject()->get("as_tensors");
    return readDefinitions(output, tables, node.outputs, p);
  });
  if (!ok)
    return false;
  node.isSingleOutput = outputs == 1 && lists == 0;
  // getitem nodes have been dissolved: a result that had none has a made-up name.
  for (Definition &output : node.outputs)
    if (StringRef(output.name).contains("_unused_"))
      output.name.clear();

  if (auto name = v.getAsObject()->getString("name"))
    node.name = name->str();
  else if (!node.outputs.empty())
    node.name = node.outputs.front().name;
  if (const json::Object *metadata = v.getAsObject()->getObject("metadata")) {
    if (auto trace = metadata->getString("stack_trace"))
      findUserLine(*trace, node.source);
    if (auto modules = metadata->getString("nn_module_stack"))
      node.source.module = innermostModule(*modules);
  }
  return true;
}

bool Reader::readGraph(const json::Value &v, Graph &graph, json::Path path) {
  const json::Value *tensors = member(v, "tensor_values", path);
  if (!tensors)
    return false;
  Tables tables;
  tables.tensors = tensors->getAsObject();
  if (!tables.tensors)
    return fail(path.field("tensor_values"), "expected an object");
  const json::Object &object = *v.getAsObject();
  tables.numbers[0] = object.getObject("sym_int_values");
  tables.numbers[1] = object.getObject("sym_float_values");
  tables.numbers[2] = object.getObject("sym_bool_values");

  return readListMember(v, "inputs", path,
                        [&](const json::Value &input, json::Path p) {
                          Value value;
                          if (!readArgument(input, value, p))
                            return false;
                          Definition &definition = graph.inputs.emplace_back();
                          // A number burned into the graph, or an object that no operator takes.
                          if (value.kind != Value::Reference) {
                            definition.isNone = true;
                            return true;
                          }
                          return define(value, tables, definition, p);
                        }) &&
         readListMember(v, "nodes", path,
                        [&](const json::Value &node, json::Path p) {
                          return readNode(node, tables, graph.nodes.emplace_back(), p);
                        }) &&
         readListMember(v, "outputs", path, [&](const json::Value &output, json::Path p) {
           return readArgument(output, graph.outputs.emplace_back(), p);
         });
}

//===----------------------------------------------------------------------===//
// The signature and what is around it
//===----------------------------------------------------------------------===//

bool Reader::readInputSpec(const json::Value &v, InputSpec &spec, json::Path path) {
  const auto *choice = alternative(v, path);
  if (!choice)
    return false;
  StringRef kind = choice->first;
  const json::Value &content = choice->second;
  json::Path inner = path.field(kind);
  if (kind == "constant_input") {
    spec.kind = InputKind::ConstantInput;
    return readStringMember(content, "name", spec.name, inner);
  }
  if (kind == "token") {
    spec.kind = InputKind::Token;
    return true;
  }
  const json::Value *arg = member(content, "arg", inner);
  if (!arg)
    return false;
  if (kind == "user_input") {
    Value value;
    if (!readArgument(*arg, value, inner.field("arg")))
      return false;
    spec.kind = value.kind == Value::Reference ? InputKind::UserInput : InputKind::ConstantInput;
    spec.name = value.text;
    return true;
  }
  auto weight = [&](InputKind inputKind, StringRef key) {
    spec.kind = inputKind;
    return readStringMember(*arg, "name", spec.name, inner.field("arg")) &&
           readStringMember(content, key, spec.target, inner);
  };
  if (kind == "parameter")
    return weight(InputKind::Parameter, "parameter_name");
  if (kind == "buffer")
    return weight(InputKind::Buffer, "buffer_name");
  if (kind == "tensor_constant")
    return weight(InputKind::TensorConstant, "tensor_constant_name");
  if (kind == "custom_obj")
    return weight(InputKind::CustomObject, "custom_obj_name");
  return fail(inner, "unknown kind of input (written by a newer torch?)");
}

bool Reader::readOutputSpec(const json::Value &v, OutputSpec &spec, json::Path path) {
  const auto *choice = alternative(v, path);
  if (!choice)
    return false;
  StringRef kind = choice->first;
  auto mutation = [&](OutputKind outputKind, StringRef key) {
    spec.kind = outputKind;
    return readStringMember(choice->second, key, spec.target, path.field(kind));
  };
  if (kind == "user_output" || kind == "loss_output")
    return true;
  if (kind == "buffer_mutation")
    return mutation(OutputKind::BufferMutation, "buffer_name");
  if (kind == "parameter_mutation")
    return mutation(OutputKind::ParameterMutation, "parameter_name");
  if (kind == "user_input_mutation")
    return mutation(OutputKind::UserInputMutation, "user_input_name");
  if (kind == "gradient_to_parameter")
    return mutation(OutputKind::Gradient, "parameter_name");
  if (kind == "gradient_to_user_input")
    return mutation(OutputKind::Gradient, "user_input_name");
  if (kind == "token") {
    spec.kind = OutputKind::Token;
    return true;
  }
  return fail(path.field(kind), "unknown kind of output (written by a newer torch?)");
}

bool Reader::readRanges(const json::Value &v, ExportedProgram &program, json::Path path) {
  const json::Object *ranges = v.getAsObject();
  if (!ranges)
    return fail(path, "expected an object");
  // The object's own order is by hash.
  std::vector<StringRef> names;
  for (const auto &entry : *ranges)
    names.push_back(entry.first);
  llvm::sort(names);
  for (StringRef name : names) {
    json::Path inner = path.field(name);
    const json::Value &range = *ranges->get(name);
    RangeConstraint &constraint = program.ranges.emplace_back();
    const json::Value *min = member(range, "min_val", inner), *max = min ? member(range, "max_val", inner) : nullptr;
    if (!max || !readExpressionText(name, constraint.expression, inner))
      return false;
    // null: open on that side.
    if ((min->kind() != json::Value::Null && !readInteger(*min, constraint.min, inner)) ||
        (max->kind() != json::Value::Null && !readInteger(*max, constraint.max, inner)))
      return false;
  }
  return true;
}

bool Reader::readGuards(const json::Value &v, ExportedProgram &program, json::Path path) {
  return readList(v, path, [&](const json::Value &guard, json::Path p) {
    std::string text;
    if (!readString(guard, text, p))
      return false;
    program.guards.push_back(parseGuard(text, program));
    return true;
  });
}

bool Reader::readProgram(const json::Value &v, ExportedProgram &program, json::Path path) {
  const json::Value *version = member(v, "schema_version", path);
  if (!version)
    return false;
  auto major = version->getAsObject() ? version->getAsObject()->getInteger("major") : std::nullopt;
  if (major != kSchemaMajor) {
    detail = "ptc reads version 8, which torch 2.11 writes (export the model again)";
    return fail(path.field("schema_version"), "another version of the format");
  }
  const json::Value *module = member(v, "graph_module", path);
  const json::Value *graph = module ? member(*module, "graph", path) : nullptr;
  const json::Value *signature = graph ? member(*module, "signature", path) : nullptr;
  const json::Value *ranges = signature ? member(v, "range_constraints", path) : nullptr;
  program.hasRanges = true;
  bool ok = ranges && readGraph(*graph, program.graph, path.field("graph")) &&
            readListMember(*signature, "input_specs", path,
                           [&](const json::Value &spec, json::Path p) {
                             return readInputSpec(spec, program.inputs.emplace_back(), p);
                           }) &&
            readListMember(*signature, "output_specs", path,
                           [&](const json::Value &spec, json::Path p) {
                             return readOutputSpec(spec, program.outputs.emplace_back(), p);
                           }) &&
            readRanges(*ranges, program, path.field("range_constraints"));
  if (!ok)
    return false;
  const json::Value *guards = v.getAsObject()->get("guards_code");
  return !guards || readGuards(*guards, program, path.field("guards_code"));
}

bool Reader::readPayloads(const json::Value &v, std::vector<Payload> &payloads, json::Path path) {
  const json::Value *config = member(v, "config", path);
  const json::Object *rows = config ? config->getAsObject() : nullptr;
  if (!rows)
    return config && fail(path.field("config"), "expected an object");
  for (const auto &row : *rows) {
    Payload &payload = payloads.emplace_back();
    payload.name = StringRef(row.first).str();
    json::Path inner = path.field(row.first);
    if (!readStringMember(row.second, "path_name", payload.entry, inner))
      return false;
    const json::Value *meta = row.second.getAsObject()->get("tensor_meta");
    if (row.second.getAsObject()->getBoolean("use_pickle").value_or(false) || !meta || !meta->getAsObject()) {
      payload.tensor.dtypeName = "a pickled object";
      continue;
    }
    inner = inner.field("tensor_meta");
    auto readSizes = [&](StringRef key, std::vector<int64_t> &out) {
      return readListMember(*meta, key, inner, [&](const json::Value &size, json::Path p) {
        Expression value;
        if (!readSymbolic(size, value, p))
          return false;
        out.push_back(value.integer);
        return value.kind == Expression::Integer || fail(p, "expected an integer");
      });
    };
    const json::Value *dtype = member(*meta, "dtype", inner), *offset = member(*meta, "storage_offset", inner);
    Expression start;
    if (!dtype || !offset || !readDType(*dtype, payload.tensor.dtype, inner) ||
        !readSymbolic(*offset, start, inner.field("storage_offset")) || !readSizes("sizes", payload.tensor.sizes) ||
        !readSizes("strides", payload.tensor.strides))
      return false;
    if (start.kind != Expression::Integer)
      return fail(inner.field("storage_offset"), "expected an integer");
    payload.tensor.offset = start.integer;
    payload.tensor.dtypeName = payload.tensor.dtype ? toString(*payload.tensor.dtype).str() : detail;
  }
  return true;
}

template <typename Result, typename Read> llvm::Expected<Result> readDocument(StringRef text, Read read) {
  auto document = parseJson(text);
  if (!document)
    return document.takeError();
  Result result;
  Reader reader;
  json::Path::Root root;
  if ((reader.*read)(*document, result, root))
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
