#include "compiler/import/Pt2Arguments.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using llvm::StringRef;

namespace ptc::import {

using Reader = Pt2ArgumentReader;

//===----------------------------------------------------------------------===//
// JSON itself
//===----------------------------------------------------------------------===//

std::optional<JsonValue> Reader::member(JsonValue v, StringRef key, Path path) {
  auto found = v.get(key);
  if (v.kind() != JsonValue::Object)
    fail(path, "expected an object");
  else if (!found)
    fail(path.field(key), "missing");
  return found;
}

bool Reader::readString(JsonValue v, std::string &out, Path path) {
  auto text = v.string();
  if (!text)
    return fail(path, "expected a string");
  out = std::move(*text);
  return true;
}

bool Reader::readStringMember(JsonValue v, StringRef key, std::string &out, Path path) {
  auto text = member(v, key, path);
  return text && readString(*text, out, path.field(key));
}

bool Reader::readInteger(JsonValue v, int64_t &out, Path path) {
  auto integer = v.integer();
  if (!integer)
    return fail(path, "expected an integer of 64 bits");
  out = *integer;
  return true;
}

/// Infinities and NaN are strings, since JSON has none.
bool Reader::readReal(JsonValue v, double &out, Path path) {
  StringRef text = v.kind() == JsonValue::String ? v.rawString() : "";
  if (auto number = v.number())
    out = *number;
  else if (text == "Infinity" || text == "-Infinity")
    out = (text.front() == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
  else if (text == "NaN")
    out = std::numeric_limits<double>::quiet_NaN();
  else
    return fail(path, "expected a number");
  return true;
}

bool Reader::readList(JsonValue v, Path path, llvm::function_ref<bool(JsonValue, Path)> read) {
  if (v.kind() != JsonValue::Array)
    return fail(path, "expected a list");
  return v.forEach([&](JsonValue element, unsigned i) { return read(element, path.index(i)); });
}

bool Reader::readListMember(JsonValue v, StringRef key, Path path, llvm::function_ref<bool(JsonValue, Path)> read) {
  auto list = member(v, key, path);
  return list && readList(*list, path.field(key), read);
}

std::optional<Reader::Alternative> Reader::alternative(JsonValue v, Path path) {
  std::optional<Alternative> chosen;
  unsigned count = 0;
  if (v.kind() == JsonValue::Object)
    v.forEachMember([&](JsonValue key, JsonValue value) {
      // Other versions of torch spell the other alternatives out as null.
      if (!value.isNull()) {
        chosen = Alternative{key.rawString(), value};
        ++count;
      }
      return true;
    });
  if (count == 1)
    return chosen;
  fail(path, "expected an object with one member");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

bool Reader::readExpression(StringRef text, Expression &out, Path path) {
  auto [cached, isNew] = expressions.try_emplace(text);
  if (isNew) {
    auto parsed = parseExpression(text);
    if (!parsed) {
      detail = llvm::toString(parsed.takeError());
      return fail(path, "not a symbolic expression");
    }
    cached->second = std::move(*parsed);
  }
  out = cached->second;
  return true;
}

/// SymInt, SymFloat, SymBool.
bool Reader::readSymbolic(JsonValue v, Expression &out, Path path) {
  auto choice = alternative(v, path);
  if (!choice)
    return false;
  Path inner = path.field(choice->kind);
  if (choice->kind == "as_int")
    return readInteger(choice->content, out.integer, inner);
  if (choice->kind == "as_bool") {
    out = Expression::makeBoolean(choice->content.boolean().value_or(false));
    return choice->content.boolean() || fail(inner, "expected true or false");
  }
  if (choice->kind == "as_float") {
    out = Expression::makeReal(0);
    return readReal(choice->content, out.real, inner);
  }
  if (choice->kind != "as_expr")
    return fail(inner, "unknown kind of symbolic number");
  std::string text;
  return readStringMember(choice->content, "expr_str", text, inner) && readExpression(text, out, inner);
}

bool Reader::readDType(JsonValue v, std::optional<DType> &out, Path path) {
  int64_t number;
  if (!readInteger(v, number, path))
    return false;
  out = dtypeFromSerialized(number);
  if (!out)
    detail = "number " + std::to_string(number) + " of torch's list";
  return true;
}

bool Reader::readTensorMeta(JsonValue v, TensorMeta &meta, Path path) {
  auto number = member(v, "dtype", path);
  std::optional<DType> dtype;
  if (!number || !readDType(*number, dtype, path.field("dtype")))
    return false;
  if (!dtype)
    return fail(path.field("dtype"), "unknown element type");
  meta.dtype = *dtype;
  constexpr int64_t kStrided = 7;
  if (auto layout = v.get("layout"); layout && layout->integer() != kStrided)
    return fail(path.field("layout"), "only strided tensors are supported, not sparse ones");
  if (auto requiresGrad = v.get("requires_grad"))
    meta.requiresGrad = requiresGrad->boolean().value_or(true);
  return readListMember(v, "sizes", path,
                        [&](JsonValue size, Path p) { return readSymbolic(size, meta.sizes.emplace_back(), p); });
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

bool Reader::readValues(JsonValue v, Value &out, Path path, Read read) {
  out.kind = Value::List;
  return readList(v, path,
                  [&](JsonValue element, Path p) { return (this->*read)(element, out.elements.emplace_back(), p); });
}

bool Reader::readReference(JsonValue v, Value &out, Path path) {
  out.kind = Value::Reference;
  return readStringMember(v, "name", out.text, path);
}

bool Reader::readReferences(JsonValue v, Value &out, Path path) {
  return readValues(v, out, path, &Reader::readReference);
}

/// {"as_name": …} or {"as_int": …}, also of floats and bools.
bool Reader::readSymbolicArgument(JsonValue v, Value &out, Path path) {
  auto choice = alternative(v, path);
  if (!choice)
    return false;
  if (choice->kind != "as_name")
    return readArgument(v, out, path);
  out.kind = Value::Reference;
  return readString(choice->content, out.text, path.field("as_name"));
}

bool Reader::readIntegerValue(JsonValue v, Value &out, Path path) {
  out.kind = Value::Integer;
  return readInteger(v, out.integer, path);
}

bool Reader::readIntegers(JsonValue v, Value &out, Path path) {
  return readValues(v, out, path, &Reader::readIntegerValue);
}

bool Reader::readRealValue(JsonValue v, Value &out, Path path) {
  out.kind = Value::Real;
  return readReal(v, out.real, path);
}

bool Reader::readBooleanValue(JsonValue v, Value &out, Path path) {
  auto boolean = v.boolean();
  out.kind = Value::Boolean;
  out.integer = boolean.value_or(false);
  return boolean || fail(path, "expected true or false");
}

bool Reader::readStringValue(JsonValue v, Value &out, Path path) {
  out.kind = Value::String;
  return readString(v, out.text, path);
}

bool Reader::readScalarType(JsonValue v, Value &out, Path path) {
  std::optional<DType> dtype;
  if (!readDType(v, dtype, path))
    return false;
  if (!dtype)
    return fail(path, "unknown element type");
  out.kind = Value::ScalarType;
  out.dtype = *dtype;
  return true;
}

bool Reader::readLayout(JsonValue v, Value &out, Path path) {
  static constexpr StringRef kNames[] = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                         "sparse_bsr", "sparse_bsc", "_mkldnn",    "strided"};
  int64_t number;
  if (!readInteger(v, number, path))
    return false;
  if (number < 0 || number >= int64_t(std::size(kNames)))
    return fail(path, "unknown layout");
  out = Value::make(Value::Layout, kNames[number]);
  return true;
}

bool Reader::readMemoryFormat(JsonValue v, Value &out, Path path) {
  static constexpr StringRef kNames[] = {"unknown", "contiguous_format", "channels_last", "channels_last_3d",
                                         "preserve_format"};
  int64_t number;
  if (!readInteger(v, number, path))
    return false;
  if (number < 0 || number >= int64_t(std::size(kNames)))
    return fail(path, "unknown memory format");
  out = Value::make(Value::MemoryFormat, kNames[number]);
  return true;
}

bool Reader::readDevice(JsonValue v, Value &out, Path path) {
  out.kind = Value::Device;
  if (!readStringMember(v, "type", out.text, path))
    return false;
  if (auto index = v.get("index"); index && index->integer())
    out.text += ":" + std::to_string(*index->integer());
  return true;
}

bool Reader::readComplex(JsonValue v, Value &out, Path path) {
  out.kind = Value::Complex;
  auto real = member(v, "real", path);
  auto imaginary = real ? member(v, "imag", path) : std::nullopt;
  return imaginary && readReal(*real, out.real, path.field("real")) &&
         readReal(*imaginary, out.imaginary, path.field("imag"));
}

bool Reader::readSubgraph(JsonValue v, Value &out, Path path) {
  out.kind = Value::Subgraph;
  out.graph = std::make_shared<Graph>();
  auto graph = member(v, "graph", path);
  return graph && readStringMember(v, "name", out.text, path) && readGraph(*graph, *out.graph, path.field("graph"));
}

bool Reader::readNone(JsonValue, Value &out, Path) {
  out.kind = Value::None;
  return true;
}

bool Reader::readArgument(JsonValue v, Value &out, Path path) {
  struct Row {
    StringRef kind;
    Read read;
    bool isList = false;
  };
  static constexpr Row kRows[] = {
      {"as_tensor", &Reader::readReference},
      {"as_tensors", &Reader::readReference, true},
      {"as_int", &Reader::readIntegerValue},
      {"as_ints", &Reader::readIntegerValue, true},
      {"as_float", &Reader::readRealValue},
      {"as_floats", &Reader::readRealValue, true},
      {"as_bool", &Reader::readBooleanValue},
      {"as_bools", &Reader::readBooleanValue, true},
      {"as_none", &Reader::readNone},
      {"as_string", &Reader::readStringValue},
      {"as_strings", &Reader::readStringValue, true},
      {"as_sym_int", &Reader::readSymbolicArgument},
      {"as_sym_ints", &Reader::readSymbolicArgument, true},
      {"as_sym_float", &Reader::readSymbolicArgument},
      {"as_sym_floats", &Reader::readSymbolicArgument, true},
      {"as_sym_bool", &Reader::readSymbolicArgument},
      {"as_sym_bools", &Reader::readSymbolicArgument, true},
      {"as_scalar_type", &Reader::readScalarType},
      {"as_device", &Reader::readDevice},
      {"as_layout", &Reader::readLayout},
      {"as_memory_format", &Reader::readMemoryFormat},
      {"as_complex", &Reader::readComplex},
      {"as_graph", &Reader::readSubgraph},
      {"as_optional_tensor", &Reader::readArgument},
      {"as_optional_tensors", &Reader::readArgument, true},
      {"as_nested_tensors", &Reader::readReferences, true},
      {"as_int_lists", &Reader::readIntegers, true},
  };
  auto choice = alternative(v, path);
  if (!choice)
    return false;
  Path inner = path.field(choice->kind);
  for (const Row &row : kRows)
    if (row.kind == choice->kind)
      return row.isList ? readValues(choice->content, out, inner, row.read)
                        : (this->*row.read)(choice->content, out, inner);
  if (llvm::is_contained({"as_custom_obj", "as_operator", "as_string_to_argument"}, choice->kind)) {
    auto name = choice->content.string(); // an operator's is "torch.ops.mylib.scale.default", as in a printed graph
    out = Value::make(Value::Opaque, name ? *name : choice->kind.drop_front(3));
    return true;
  }
  return fail(inner, "unknown kind of argument (written by a newer torch?)");
}

} // namespace ptc::import
