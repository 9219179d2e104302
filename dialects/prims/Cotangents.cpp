#include "dialects/prims/Cotangents.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ptc::prims {

llvm::Error Cotangents::refuse(const llvm::Twine &what) const {
  std::string why = what.str();
  return llvm::createStringError(op->getName().getStringRef() + " has no derivative" + (why.empty() ? "" : " " + why));
}

SmallVector<Term> Cotangents::inlined(Region &region) {
  Block &block = region.front();
  IRMapping values;
  for (auto [i, argument] : llvm::enumerate(block.getArguments()))
    values.map(argument, gradOrZero(i).value());
  for (Operation &inner : block.without_terminator())
    at.builder.clone(inner, values);
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return Term(at, values.lookupOrDefault(value)); });
}

} // namespace ptc::prims
