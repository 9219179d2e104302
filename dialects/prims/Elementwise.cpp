//===- Elementwise.cpp - result types -------------------------------------===//

#include "dialects/prims/Elementwise.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/prims/Inference.h"
#include "dialects/prims/reference/SpecialFunctions.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ptc::prims {

LogicalResult AbsOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor a, InferredTypes &types) {
  Type element = getElementTypeOrSelf(a.getX().getType());
  if (auto complex = llvm::dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  types.push_back(makeTensorType(getShape(a.getX()), element));
  return success();
}

LogicalResult SpecialOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  SpecialFunction function = findSpecialFunction(a.getFunction());
  size_t arity = function.unary ? 1 : function.binary || function.integer ? 2 : 0;
  auto fits = [&](Value x) {
    Type element = getElementTypeOrSelf(x.getType());
    return function.integer ? isInteger(element) : isFloat(element);
  };
  if (arity == 0 || a.getX().size() != arity || !llvm::all_of(a.getX(), fits))
    return emitOptionalError(location, getOperationName(), ": there is no special function '", a.getFunction(),
                             "' of ", a.getX().getTypes());
  return inferSameType(location, getOperationName(), a.getOperands(), types);
}

LogicalResult ComplexOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  if (failed(inferSameType(location, getOperationName(), a.getOperands(), types)))
    return failure();
  types.back() = makeTensorType(getShape(types.back()), ComplexType::get(getElementTypeOrSelf(types.back())));
  return success();
}

template <typename Adaptor>
static LogicalResult inferPart(MaybeLocation location, StringRef op, Adaptor a, InferredTypes &types) {
  auto complex = llvm::dyn_cast<ComplexType>(getElementTypeOrSelf(a.getX().getType()));
  if (!complex)
    return emitOptionalError(location, op, ": operand is not complex");
  types.push_back(makeTensorType(getShape(a.getX()), complex.getElementType()));
  return success();
}

LogicalResult RealOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  return inferPart(location, getOperationName(), a, types);
}

LogicalResult ImagOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  return inferPart(location, getOperationName(), a, types);
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  if (failed(inferSameType(location, getOperationName(), a.getOperands().drop_front(), types)))
    return failure();
  auto shape = inferCommonShape(location, getOperationName(), a.getOperands());
  if (!shape)
    return failure();
  types.back() = makeTensorType(*shape, getElementTypeOrSelf(types.back()));
  return success();
}

LogicalResult ConvertOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  if (!isElement(a.getDtype()))
    return emitOptionalError(location, getOperationName(), ": no element type: ", a.getDtype());
  types.push_back(makeTensorType(getShape(a.getX()), a.getDtype()));
  return success();
}

LogicalResult BitcastOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  Type from = getElementTypeOrSelf(a.getX().getType());
  if (!isElement(a.getDtype()) || getElementBytes(from) != getElementBytes(a.getDtype()))
    return emitOptionalError(location, getOperationName(), ": ", from, " and ", a.getDtype(), " differ in width");
  types.push_back(makeTensorType(getShape(a.getX()), a.getDtype()));
  return success();
}

} // namespace ptc::prims
