#include "compiler/graph/ConstantValues.h"

#include "dialects/prims/PrimsDialect.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace ptc {

llvm::StringRef getWeightKey(Value value) {
  auto argument = llvm::dyn_cast<BlockArgument>(value);
  auto function = argument ? llvm::dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
                           : FunctionOpInterface();
  auto key = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.weight") : StringAttr();
  return key ? key.getValue() : llvm::StringRef();
}

/// Not random, and of sizes that are known.
static bool isDetermined(Operation *op) {
  if (!llvm::isa<prims::PrimInterface>(op) || op->getName().stripDialect() == "random_bits")
    return false;
  for (NamedAttribute attr : op->getAttrs())
    if (llvm::isa<AffineMapAttr>(attr.getValue()))
      return false;
  return llvm::all_of(op->getResultTypes(), [](Type t) { return llvm::cast<RankedTensorType>(t).hasStaticShape(); });
}

bool ConstantValues::contains(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  bool constant = op ? isDetermined(op) && llvm::all_of(op->getOperands(), [&](Value v) { return contains(v); })
                     : !getWeightKey(value).empty();
  return known[value] = constant;
}

} // namespace ptc
