//===- AtenDialect.cpp ----------------------------------------------------===//
//
// Registration, and one assembly form for all operators:
//
//   %y = aten.add.Tensor %x, %c {alpha = 2 : i64} : (tensor<2xf32>, …) -> tensor<2xf32>
//
// `operand_segments` is printed only where it does not follow from the schema
// and the number of operands (see inferSegments).
//
//===----------------------------------------------------------------------===//

#include "dialects/aten/AtenDialect.h"

#include "dialects/aten/AtenOp.h"
#include "dialects/aten/Verify.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::aten {

/// Required tensors take one operand each, then optional ones in order; a list
/// takes all that is left. Empty when the operands do not fit the schema.
static SmallVector<int32_t> inferSegments(const Schema &schema, unsigned operands) {
  SmallVector<int32_t> segments(schema.arguments.size(), 0);
  unsigned required = 0;
  for (const Argument &a : schema.arguments)
    required += a.isTensor() && !a.isList && !a.isOptional;
  if (operands < required)
    return {};
  unsigned left = operands - required;
  for (auto [argument, segment] : llvm::zip(schema.arguments, segments)) {
    if (!argument.isTensor())
      continue;
    bool isRequired = !argument.isList && !argument.isOptional;
    segment = isRequired ? 1 : argument.isList ? left : std::min(left, 1u);
    left -= isRequired ? 0 : segment;
  }
  return left ? SmallVector<int32_t>() : segments;
}

static void print(Operation *op, OpAsmPrinter &printer) {
  if (op->getNumOperands())
    printer << ' ';
  printer.printOperands(op->getOperands());
  const Schema *schema = lookup(op->getName().getStringRef());
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>(kSegmentsAttr);
  SmallVector<StringRef> elided;
  if (schema && segments && segments.asArrayRef() == ArrayRef(inferSegments(*schema, op->getNumOperands())))
    elided.push_back(kSegmentsAttr);
  printer.printOptionalAttrDict(op->getAttrs(), elided);
  if (op->getNumRegions()) {
    printer << " (";
    llvm::interleaveComma(op->getRegions(), printer.getStream(), [&](Region &r) { printer.printRegion(r); });
    printer << ')';
  }
  printer << " : ";
  printer.printFunctionalType(op);
}

static ParseResult parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) || parser.parseOptionalAttrDict(state.attributes))
    return failure();
  if (succeeded(parser.parseOptionalLParen())) {
    auto parseRegion = [&] { return parser.parseRegion(*state.addRegion()); };
    if (parser.parseCommaSeparatedList(parseRegion) || parser.parseRParen())
      return failure();
  }
  if (parser.parseColonType(type) || parser.resolveOperands(operands, type.getInputs(), loc, state.operands))
    return failure();
  state.addTypes(type.getResults());
  const Schema *schema = lookup(state.name.getStringRef());
  if (schema && !state.attributes.get(kSegmentsAttr)) {
    SmallVector<int32_t> segments = inferSegments(*schema, operands.size());
    if (segments.empty() && !schema->arguments.empty())
      return parser.emitError(loc) << "'" << state.name << "' does not take " << operands.size()
                                   << " tensors: " << schema->str();
    state.addAttribute(kSegmentsAttr, parser.getBuilder().getDenseI32ArrayAttr(segments));
  }
  return success();
}

AtenDialect::AtenDialect(MLIRContext *context)
    : ExtensibleDialect(getDialectNamespace(), context, TypeID::get<AtenDialect>()) {
  // Operators of other registries, or of a newer PyTorch: kept for `explain`.
  allowUnknownOperations();
  for (StringRef name : allNames())
    registerDynamicOp(DynamicOpDefinition::get(
        name, this, [](Operation *op) { return verifyCall(op); }, [](Operation *) { return success(); },
        [](OpAsmParser &parser, OperationState &state) { return parse(parser, state); },
        [](Operation *op, OpAsmPrinter &printer, StringRef) {
          printer << op->getName();
          print(op, printer);
        }));
}

std::optional<Dialect::ParseOpHook> AtenDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook([](OpAsmParser &parser, OperationState &state) { return parse(parser, state); });
}

llvm::unique_function<void(Operation *, OpAsmPrinter &)> AtenDialect::getOperationPrinter(Operation *) const {
  // For unregistered operations, MLIR has printed the name.
  return [](Operation *op, OpAsmPrinter &printer) { print(op, printer); };
}

} // namespace ptc::aten
