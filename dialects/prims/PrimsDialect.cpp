#include "dialects/prims/Structure.h"

using namespace mlir;

#include "dialects/prims/PrimInterface.cpp.inc"
#include "dialects/prims/PrimsDialect.cpp.inc"

namespace ptc::prims {

void PrimsDialect::initialize() {
  addElementwise();
  addStructure();
  addCompute();
}

Operation *PrimsDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = llvm::dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

} // namespace ptc::prims
