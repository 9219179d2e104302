//===- CreatePrim.h - prims whose operands may not fit --------------------===//
//
// MLIR ends the process where a created operation's types cannot be inferred.
// Here they are inferred first, and what is wrong leaves the row as a Misfit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/prims/Prims.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace ptc::decompose {

template <class Op, class... Arguments> Op B::create(Arguments &&...arguments) {
  mlir::OperationState state(loc(), Op::getOperationName());
  constexpr bool hasTwoResults = Op::template hasTrait<mlir::OpTrait::NResults<2>::Impl>();
  llvm::SmallVector<mlir::Type, 2> types(hasTwoResults ? 2 : 1, builder.getNoneType()); // until they are known
  Op::build(builder, state, mlir::TypeRange(types), std::forward<Arguments>(arguments)...);
  state.types.clear();

  std::string why;
  mlir::ScopedDiagnosticHandler handler(context(), [&](mlir::Diagnostic &diagnostic) { why = diagnostic.str(); });
  if (mlir::failed(Op::inferReturnTypes(context(), state.location, state.operands,
                                        state.attributes.getDictionary(context()), state.getRawProperties(),
                                        state.regions, state.types)))
    throwMisfit(why);
  for (mlir::Type type : state.types)
    if (auto tensor = llvm::cast<mlir::RankedTensorType>(type); !getTensorBytes(tensor)) {
      llvm::raw_string_ostream(why) << Op::getOperationName() << " would give " << tensor << ", which no memory holds";
      throwMisfit(why);
    }
  mlir::Operation *op = builder.create(state);
  if (mlir::failed(op->getName().verifyInvariants(op)))
    throwMisfit(why);
  return llvm::cast<Op>(op);
}

} // namespace ptc::decompose
