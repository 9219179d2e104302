#include "compiler/graph/LeaveToCaller.h"

#include "dialects/aten/AtenOp.h"
#include "dialects/aten/ScalarType.h"
#include "dialects/control/Control.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using ptc::aten::AtenOp;
using ptc::aten::Kind;

namespace ptc {

static llvm::Error fail(const Twine &what) { return llvm::createStringError(what); }

/// "aten::add.Tensor", "mylib::scale.default"; empty for what is no operator of a library: a function of Python's, or
/// what takes graphs.
static std::string findCallee(Operation *op) {
  if (auto callee = op->getAttrOfType<StringAttr>("ptc.callee"))
    return callee.str();
  StringRef name = op->getName().stripDialect();
  if (name.starts_with("higher_order.") || op->getNumRegions())
    return "";
  if (!name.consume_front("custom.") && name.count('.') == 1)
    return ("aten::" + name).str();
  auto [library, rest] = name.split('.');
  bool isPython = library == "torch" || library == "operator" || library == "_operator" || library == "builtins" ||
                  library == "math";
  return isPython || rest.count('.') != 1 ? "" : (library + "::" + rest).str();
}

//===----------------------------------------------------------------------===//
// The call as text
//===----------------------------------------------------------------------===//

namespace {
/// Writes a call's arguments. What has no form in JSON is an object with one member.
class CallWriter {
public:
  CallWriter(Operation *op, decompose::B &b) : inputs(op->getOperands()), op(op), b(b) {}

  /// An operator whose schema is known.
  void writeKnown();
  /// Arguments as the importer described them.
  void writeDescribed();

  std::string text;
  SmallVector<Value> inputs; ///< the operation's operands, and numbers
  bool isSound = true;       ///< false: the text of a module had what no importer writes

private:
  void write(Attribute value, Kind kind);
  void writeReal(double value);
  void writeSize(AffineExpr size);
  void writeTensors(const AtenOp &call, const aten::Argument &argument, unsigned first, unsigned count);
  void writeObject(StringRef key, StringRef value) { text += (("{\"" + key + "\":") + value + "}").str(); }
  void writeString(StringRef value) { llvm::raw_string_ostream(text) << llvm::json::Value(value); }
  void writeStringObject(StringRef key, StringRef value) {
    text += ("{\"" + key + "\":").str();
    writeString(value);
    text += '}';
  }
  template <typename Range, typename Write> void writeList(const Range &elements, Write write) {
    text += '[';
    for (auto [i, element] : llvm::enumerate(elements)) {
      text += i ? "," : "";
      write(element);
    }
    text += ']';
  }

  Operation *op;
  decompose::B &b;
};
} // namespace

/// With a point, so that it does not come back as an integer.
void CallWriter::writeReal(double value) {
  if (!std::isfinite(value))
    return writeObject("float", std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
  SmallString<32> digits;
  llvm::APFloat(value).toString(digits);
  text += digits;
  if (digits.find_first_of(".eE") == StringRef::npos)
    text += ".0";
}

/// A number that calls decide is a tensor like others.
void CallWriter::writeSize(AffineExpr size) {
  if (auto known = getConstant(size)) {
    text += std::to_string(*known);
    return;
  }
  writeObject("int", std::to_string(inputs.size()));
  inputs.push_back(b.full({}, decompose::T(size), b.i64()).tensor());
}

void CallWriter::write(Attribute value, Kind kind) {
  if (!value || isa<UnitAttr>(value)) {
    text += "null";
  } else if (auto boolean = dyn_cast<BoolAttr>(value)) {
    text += boolean.getValue() ? "true" : "false";
  } else if (auto place = dyn_cast<IntegerAttr>(value); place && place.getType().isIndex()) {
    isSound &= place.getInt() >= 0 && place.getInt() < int64_t(op->getNumOperands());
    writeObject("tensor", std::to_string(place.getInt()));
  } else if (AffineExpr size = isa<IntegerAttr, AffineMapAttr>(value) ? getSizeFromAttr(value) : AffineExpr()) {
    writeSize(size);
  } else if (auto real = dyn_cast<FloatAttr>(value)) {
    writeReal(real.getValueAsDouble());
  } else if (auto type = dyn_cast<TypeAttr>(value)) {
    writeStringObject("dtype", aten::toScalarType(type.getValue()));
  } else if (auto string = dyn_cast<StringAttr>(value)) {
    StringRef key = kind == Kind::Device         ? "device"
                    : kind == Kind::Layout       ? "layout"
                    : kind == Kind::MemoryFormat ? "memory_format"
                                                 : "";
    key.empty() ? writeString(string) : writeStringObject(key, string);
  } else if (auto reals = dyn_cast<DenseF64ArrayAttr>(value)) {
    bool isComplex = kind == Kind::Scalar;
    text += isComplex ? "{\"complex\":" : "";
    writeList(reals.asArrayRef(), [&](double one) { writeReal(one); });
    text += isComplex ? "}" : "";
  } else if (auto booleans = dyn_cast<DenseBoolArrayAttr>(value)) {
    writeList(booleans.asArrayRef(), [&](bool one) { text += one ? "true" : "false"; });
  } else if (auto list = dyn_cast<ArrayAttr>(value)) {
    writeList(list, [&](Attribute one) { write(one, kind); });
  } else if (auto sizes = getSizesFromAttr(value)) {
    writeList(*sizes, [&](AffineExpr size) { writeSize(size); });
  } else if (auto object = dyn_cast<DictionaryAttr>(value)) {
    // What the importer says that it is: {device = "cpu"}, {tensor = 0, result = 1}.
    text += '{';
    for (auto [i, member] : llvm::enumerate(object)) {
      text += i ? "," : "";
      writeString(member.getName().getValue());
      text += ':';
      auto place = dyn_cast<IntegerAttr>(member.getValue());
      place ? (void)(text += std::to_string(place.getInt())) : write(member.getValue(), Kind::Other);
    }
    text += '}';
  } else {
    isSound = false;
  }
}

void CallWriter::writeTensors(const AtenOp &call, const aten::Argument &argument, unsigned first, unsigned count) {
  auto writeOne = [&](unsigned place) { writeObject("tensor", std::to_string(place)); };
  if (!argument.isList)
    return count ? writeOne(first) : (void)(text += "null");
  writeList(call.tensors(argument.name), [&](Value element) { element ? writeOne(first++) : (void)(text += "null"); });
}

/// By position up to the first argument that is not given, by name from there.
void CallWriter::writeKnown() {
  AtenOp call(op);
  ArrayRef<int32_t> segments = op->getAttrOfType<DenseI32ArrayAttr>(aten::kSegmentsAttr).asArrayRef();
  bool isNamed = false, isFirst = true;
  unsigned operand = 0;
  text = "{\"args\":[";
  for (auto [argument, count] : llvm::zip(call.schema().arguments, segments)) {
    unsigned first = operand;
    operand += count;
    Attribute value = argument.isTensor() ? Attribute() : call.attribute(argument.name);
    bool isGiven = argument.isTensor() ? !call.isNone(argument.name) || !argument.hasDefault : bool(value);
    if (!isNamed && (!isGiven || argument.isKeywordOnly)) {
      text += "],\"kwargs\":{";
      isNamed = isFirst = true;
    }
    if (!isGiven)
      continue;
    text += isFirst ? "" : ",";
    isFirst = false;
    if (isNamed) {
      writeString(argument.name);
      text += ':';
    }
    argument.isTensor() ? writeTensors(call, argument, first, count) : write(value, argument.kind);
  }
  text += isNamed ? "}}" : "],\"kwargs\":{}}";
}

void CallWriter::writeDescribed() {
  text = "{\"args\":[";
  unsigned position = 0;
  auto key = [](unsigned i) { return "arg" + std::to_string(i); };
  for (; Attribute value = op->getAttr(key(position)); ++position) {
    text += position ? "," : "";
    write(value, Kind::Scalar);
  }
  text += "],\"kwargs\":{";
  bool isFirst = true;
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    unsigned number;
    StringRef digits = name;
    bool isPositional = digits.consume_front("arg") && !digits.getAsInteger(10, number) && number < position;
    if (isPositional || name.contains('.'))
      continue;
    text += isFirst ? "" : ",";
    isFirst = false;
    writeString(name);
    text += ':';
    write(attribute.getValue(), Kind::Scalar);
  }
  text += "}}";
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The symbols that are known when the operation runs: of inputs, and of what was computed before.
static llvm::SmallBitVector findKnownSymbols(Operation *op, const decompose::Scope &scope) {
  llvm::SmallBitVector known(scope.symbols.size());
  auto forward = op->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>("forward");
  for (unsigned i = 0; forward && i < forward.getNumArguments(); ++i) {
    for (AffineExpr size : getShape(forward.getArgumentTypes()[i]))
      markSymbols(size, known);
    if (auto binds = forward.getArgAttrOfType<IntegerAttr>(i, "ptc.binds"))
      known.set(binds.getInt());
  }
  for (const decompose::DefinedSize &size : scope.defined)
    known.set(size.symbol);
  for (auto [i, symbol] : llvm::enumerate(scope.symbols))
    if (symbol.extremum)
      known.set(i);
  return known;
}

/// Why the sizes of the results are not known before the function runs; empty when they are.
static std::string findUnknownSize(Operation *op, const decompose::Scope &scope) {
  llvm::SmallBitVector known = findKnownSymbols(op, scope);
  std::string why;
  for (OpResult result : op->getResults()) {
    if (result.use_empty() || isa<NoneType>(result.getType()))
      continue;
    for (AffineExpr size : getShape(result))
      size.walk([&](AffineExpr part) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(part); symbol && !known.test(symbol.getPosition()))
          why = "the size " + scope.symbols[symbol.getPosition()].name + " of its result " +
                std::to_string(result.getResultNumber()) + " would be known only when it has run";
      });
  }
  return why;
}

std::string whyNotLeft(Operation *op, const decompose::Scope &scope) {
  if (op->getName().getStringRef() == "aten.higher_order.auto_functionalized_v2")
    return "it updates a part of a tensor (give it the whole tensor, or clone the part)";
  if (findCallee(op).empty())
    return "it is no operator of a library, which a caller could register a function for";
  if (op->hasAttr("ptc.binds"))
    return "it answers a number, which sizes may depend on";
  if (op->use_empty())
    return "nobody takes a result of it: what it writes to its arguments would be lost "
           "(ExportedProgram.run_decompositions() before saving makes that a result)";
  return findUnknownSize(op, scope);
}

llvm::Error leaveToCaller(Operation *op, decompose::B &b, const decompose::Scope &scope, StringRef reason) {
  if (std::string why = whyNotLeft(op, scope); !why.empty())
    return fail(why);
  CallWriter writer(op, b);
  AtenOp::isKnown(op) ? writer.writeKnown() : writer.writeDescribed();
  if (!writer.isSound)
    return fail("its arguments have no form as text");
  SmallVector<Type> types;
  for (OpResult result : op->getResults())
    types.push_back(result.use_empty() ? NoneType::get(op->getContext()) : result.getType());
  OpBuilder builder(op);
  auto external = control::ExternalOp::create(builder, op->getLoc(), types, builder.getStringAttr(findCallee(op)),
                                              builder.getStringAttr(writer.text), writer.inputs, TypeAttr());
  external->setAttr("ptc.reason", builder.getStringAttr(reason));
  op->replaceAllUsesWith(external);
  op->erase();
  return llvm::Error::success();
}

} // namespace ptc
