//===- StructureOps.cpp - what TableGen generates for the family ---------------===//

#include "dialects/prims/Structure.h"
#include "dialects/prims/Inference.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/prims/Structure.cpp.inc"

void ptc::prims::PrimsDialect::addStructure() {
  addOperations<
#define GET_OP_LIST
#include "dialects/prims/Structure.cpp.inc"
      >();
}
