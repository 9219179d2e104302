#include "compiler/import/onnx/Node.h"

using llvm::StringRef;

namespace ptc::import::onnx {

const Value &Node::operator[](unsigned i) const {
  static const Value kNothing;
  if (has(i))
    return inputs[i];
  b.fail("input " + llvm::Twine(i) + " is missing");
  return kNothing;
}

const proto::AttributeProto *Node::find(StringRef name) const {
  for (const proto::AttributeProto &attribute : message.attribute())
    if (attribute.name() == name)
      return attribute.ref_attr_name().empty() ? &attribute : given.lookup(attribute.ref_attr_name());
  return nullptr;
}

int64_t Node::integer(StringRef name, int64_t otherwise) const {
  const auto *attribute = find(name);
  return attribute ? attribute->i() : otherwise;
}

double Node::real(StringRef name, double otherwise) const {
  const auto *attribute = find(name);
  return attribute ? double(attribute->f()) : otherwise;
}

std::string Node::text(StringRef name, StringRef otherwise) const {
  const auto *attribute = find(name);
  return attribute ? attribute->s() : otherwise.str();
}

std::optional<Ints> Node::ints(StringRef name) const {
  const auto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return Ints(attribute->ints().begin(), attribute->ints().end());
}

Ints Node::ints(StringRef name, size_t length, int64_t otherwise) const {
  auto given = ints(name);
  if (given && given->size() != length)
    b.fail("attribute '" + name + "' has " + llvm::Twine(given->size()) + " numbers, not " + llvm::Twine(length));
  return given && given->size() == length ? *given : Ints(length, otherwise);
}

std::optional<llvm::SmallVector<double>> Node::reals(StringRef name) const {
  const auto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return llvm::SmallVector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::vector<std::string> Node::texts(StringRef name) const {
  const auto *attribute = find(name);
  if (!attribute)
    return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

llvm::SmallVector<double> Node::numbers(StringRef name) const {
  llvm::SmallVector<double> result;
  const auto *attribute = find(name);
  Value value = attribute ? constant(attribute->t()) : b.none();
  auto literal = value ? decodeLiteral(value.stored->tensor, b.context, INT32_MAX) : std::nullopt;
  if (attribute && !literal)
    b.fail("attribute '" + name + "' is no tensor of numbers");
  for (const Expression &number : literal ? literal->elements : std::vector<Expression>())
    result.push_back(number.kind == Expression::Real ? number.real : double(number.integer));
  return result;
}

mlir::Type Node::elementType(StringRef name) const {
  const auto *attribute = find(name);
  if (!attribute)
    return {};
  if (auto dtype = dtypeOf(attribute->i()))
    return toType(*dtype, b.context);
  b.fail("tensors of " + nameOf(attribute->i()) + " are not supported");
  return b.f32();
}

std::optional<Ints> Node::intsOrInput(StringRef name, unsigned i) const {
  if (has(i))
    return b.ints(inputs[i], name);
  return ints(name);
}

std::optional<Shape> declaredShape(Builder &b, const Node &n) {
  if (n.declared.empty() || !n.declared[0])
    return std::nullopt;
  return b.staticShape(*n.declared[0]);
}

Value forAllAxes(Builder &b, const Value &numbers, const Value &axes, int64_t rank, double otherwise) {
  Value wide = b.to(axes, b.i64());
  wide = b.where(b.call("lt.Scalar", {wide, 0}), wide + double(rank), wide);
  return b.call("scatter.src", {b.full(b.constant(rank), otherwise, b.i64()), 0, wide, b.to(numbers, b.i64())});
}

} // namespace ptc::import::onnx
