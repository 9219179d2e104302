#include "dialects/aten/Verify.h"

#include "dialects/aten/AtenOp.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::aten {

static InFlightDiagnostic failAt(Operation *op, const Schema &schema) {
  InFlightDiagnostic error = op->emitOpError();
  error.attachNote() << "schema: aten." << schema.str();
  return error;
}

/// One tensor argument: how many operands, and for a `Tensor?[]` which.
static LogicalResult verifyTensors(Operation *op, const Schema &schema, const Argument &argument, int32_t count) {
  if (count < 0)
    return failAt(op, schema) << "argument '" << argument.name << "' has a negative number of operands";
  auto present = op->getAttrOfType<DenseBoolArrayAttr>(argument.name + kPresentSuffix.str());
  if (argument.areElementsOptional) {
    if (present && llvm::count(present.asArrayRef(), true) != count)
      return failAt(op, schema) << "'" << argument.name << kPresentSuffix << "' does not agree with the " << count
                                << " operands of '" << argument.name << "'";
    return success();
  }
  if (argument.isList)
    return success();
  if (count > 1)
    return failAt(op, schema) << "argument '" << argument.name << "' takes one tensor, not " << count;
  if (count == 0 && !argument.isOptional && !argument.hasDefault)
    return failAt(op, schema) << "misses tensor argument '" << argument.name << "'";
  return success();
}

static LogicalResult verifyOperands(Operation *op, const Schema &schema) {
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>(kSegmentsAttr);
  if (!segments || segments.size() != int64_t(schema.arguments.size()))
    return failAt(op, schema) << "needs '" << kSegmentsAttr << "' with one number for each of "
                              << schema.arguments.size() << " arguments";
  int64_t total = 0;
  for (auto [argument, count] : llvm::zip(schema.arguments, segments.asArrayRef())) {
    total += count;
    if (argument.isTensor() ? failed(verifyTensors(op, schema, argument, count)) : count != 0)
      return argument.isTensor() ? failure()
                                 : failAt(op, schema) << "argument '" << argument.name << "' is no tensor";
  }
  if (total != int64_t(op->getNumOperands()))
    return failAt(op, schema) << "'" << kSegmentsAttr << "' counts " << total << " operands of "
                              << op->getNumOperands();
  for (Type type : op->getOperandTypes())
    if (!isa<RankedTensorType>(type))
      return failAt(op, schema) << "takes ranked tensors, not " << type;
  return success();
}

static LogicalResult verifyAttribute(Operation *op, const Schema &schema, NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kSegmentsAttr || name.contains('.')) // ptc.…: a note of some pass.
    return success();
  if (const Argument *argument = schema.find(name)) {
    if (!accepts(*argument, attr.getValue()))
      return failAt(op, schema) << "argument '" << name << "' is " << attr.getValue() << ", not "
                                << describe(*argument);
    return success();
  }
  StringRef list = name;
  if (list.consume_back(kPresentSuffix))
    if (const Argument *argument = schema.find(list); argument && argument->areElementsOptional)
      return isa<DenseBoolArrayAttr>(attr.getValue())
                 ? success()
                 : LogicalResult(failAt(op, schema) << "'" << name << "' is no list such as array<i1: true>");
  return failAt(op, schema) << "has no argument '" << name << "'";
}

static LogicalResult verifyResults(Operation *op, const Schema &schema) {
  for (Type type : op->getResultTypes())
    if (!isa<RankedTensorType, NoneType>(type))
      return failAt(op, schema) << "returns ranked tensors, not " << type;
  size_t single = llvm::count_if(schema.returns, [](const Return &r) { return !r.isList; });
  bool hasList = single != schema.returns.size();
  if (hasList ? op->getNumResults() < single : op->getNumResults() != single)
    return failAt(op, schema) << "returns " << (hasList ? "at least " : "") << single << " values, not "
                              << op->getNumResults();
  return success();
}

LogicalResult verifyCall(Operation *op) {
  const Schema *schema = lookup(op->getName().getStringRef());
  if (!schema)
    return success(); // Nothing is known of it.
  if (failed(verifyOperands(op, *schema)))
    return failure();
  for (NamedAttribute attr : op->getAttrs())
    if (failed(verifyAttribute(op, *schema, attr)))
      return failure();
  for (const Argument &argument : schema->arguments)
    if (!argument.isTensor() && !argument.hasDefault && !argument.isOptional && !op->hasAttr(argument.name))
      return failAt(op, *schema) << "misses argument '" << argument.name << "'";
  if (op->getNumRegions() || op->getNumSuccessors())
    return failAt(op, *schema) << "takes no regions";
  return verifyResults(op, *schema);
}

} // namespace ptc::aten
