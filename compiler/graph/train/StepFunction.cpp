#include "compiler/graph/train/StepFunction.h"

#include "compiler/weights/WeightStore.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/Sequence.h"

#include <cstring>

using namespace mlir;

namespace ptc::train {

using decompose::T;

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

/// One element; both parts of a complex number are `value`.
static std::vector<char> encode(Type element, double value) {
  if (auto complex = dyn_cast<ComplexType>(element)) {
    std::vector<char> part = encode(complex.getElementType(), value), both = part;
    both.insert(both.end(), part.begin(), part.end());
    return both;
  }
  auto bytesOf = [](auto number) {
    std::vector<char> bytes(sizeof(number));
    std::memcpy(bytes.data(), &number, sizeof(number));
    return bytes;
  };
  if (element.isInteger(64))
    return bytesOf(int64_t(value));
  return element.isF64() ? bytesOf(value) : bytesOf(float(value));
}

/// `value` in every element, made where the library is written: moments are as large as the model.
static ByteSource repeat(RankedTensorType type, double value) {
  std::vector<char> element = encode(type.getElementType(), value);
  uint64_t unit = element.size();
  return {type.getNumElements() * unit, unit, [element](uint64_t, MutableArrayRef<char> to) {
            for (size_t at = 0; at < to.size(); at += element.size())
              std::memcpy(to.data() + at, element.data(), element.size());
          }};
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

StepFunction::StepFunction(func::FuncOp function, WeightStore &weights)
    : function(function), end(function.front().getTerminator()), where(end->getLoc()), builder(end),
      b(builder, end, scope), weights(weights) {
  scope.symbols = getSymbols(function);
  // Functions of control flow are parts of others.
  for (auto part : function->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (unsigned i = 0; (part == function || part.isPrivate()) && i < part.getNumArguments(); ++i)
      for (StringRef role : {"ptc.weight", "ptc.state"})
        if (auto name = part.getArgAttrOfType<StringAttr>(i, role))
          ofModel.insert(name.getValue());
}

void StepFunction::startPart(StringRef name) { end->setLoc(NameLoc::get(builder.getStringAttr(name), where)); }

T StepFunction::addState(const std::string &name, RankedTensorType type,
                         llvm::function_ref<void(const std::string &name)> addFirst) {
  Value &place = states[name];
  if (place)
    return b.operand(place);
  if (ofModel.contains(name))
    conflict = name;
  else
    addFirst(name);
  unsigned index = function.getNumArguments();
  auto role = builder.getDictionaryAttr(builder.getNamedAttr("ptc.state", builder.getStringAttr(name)));
  if (failed(function.insertArgument(index, type, role, function.getLoc())))
    llvm_unreachable("a function takes one more argument");
  return b.operand(place = function.getArgument(index));
}

T StepFunction::state(const Twine &name, RankedTensorType type, double first) {
  return addState(name.str(), type, [&](const std::string &key) { weights.add(key, type, repeat(type, first)); });
}

T StepFunction::state(const Twine &name, ArrayRef<double> first) {
  auto type = RankedTensorType::get({int64_t(first.size())}, builder.getF64Type());
  return addState(name.str(), type, [&](const std::string &key) {
    auto *bytes = reinterpret_cast<const char *>(first.data());
    weights.add(key, type, std::vector<char>(bytes, bytes + first.size() * sizeof(double)));
  });
}

T StepFunction::stateLike(const Twine &name, StringRef like, RankedTensorType type) {
  return addState(name.str(), type, [&](const std::string &key) {
    const Weight *weight = weights.find(like);
    if (weight && weight->source)
      weights.add(key, type, ByteSource(*weight->source));
    else if (weight) // ptc-opt has no weights
      weights.addView(key, type, weight->bytes);
  });
}

void StepFunction::makeState(BlockArgument argument, StringRef name) {
  unsigned index = argument.getArgNumber();
  function.removeArgAttr(index, builder.getStringAttr("ptc.weight"));
  function.setArgAttr(index, "ptc.state", builder.getStringAttr(name));
  states[name] = argument;
}

void StepFunction::write(const Twine &name, T value) {
  std::string key = name.str();
  if (!written.insert(key).second)
    return;
  if (commits)
    value = b.where(commits, value, b.operand(states.lookup(key)));
  unsigned index = function.getNumResults();
  auto role = builder.getDictionaryAttr(builder.getNamedAttr("ptc.writes_state", builder.getStringAttr(key)));
  if (failed(function.insertResult(index, value.tensor().getType(), role)))
    llvm_unreachable("a function gives one more result");
  end->insertOperands(end->getNumOperands(), value.tensor());
}

void StepFunction::output(StringRef name, T value) {
  unsigned index = 0;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, "ptc.output"))
      index = i + 1;
  auto role = builder.getDictionaryAttr(builder.getNamedAttr("ptc.output", builder.getStringAttr(name)));
  if (failed(function.insertResult(index, value.tensor().getType(), role)))
    llvm_unreachable("a function gives one more result");
  end->insertOperands(index, value.tensor());
}

//===----------------------------------------------------------------------===//
// Parts of complex tensors
//===----------------------------------------------------------------------===//

unsigned countParts(T x) { return isa<ComplexType>(x.dtype()) ? 2 : 1; }

T getPart(T x, unsigned part) {
  if (!isa<ComplexType>(x.dtype()))
    return x;
  return part == 0 ? x.builder().real(x) : x.builder().imag(x);
}

SmallVector<T, 2> partsOf(T x) {
  return llvm::map_to_vector<2>(llvm::seq(countParts(x)), [&](unsigned part) { return getPart(x, part); });
}

T joinParts(ArrayRef<T> parts) {
  return parts.size() == 1 ? parts.front() : parts.front().builder().complex(parts.front(), parts.back());
}

T mapParts(T x, llvm::function_ref<T(T part)> make) { return joinParts(llvm::map_to_vector<2>(partsOf(x), make)); }

} // namespace ptc::train
