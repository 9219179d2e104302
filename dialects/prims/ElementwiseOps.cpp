//===- ElementwiseOps.cpp - what TableGen generates for the family ---------------===//

#include "dialects/prims/Elementwise.h"
#include "dialects/prims/Inference.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/prims/Elementwise.cpp.inc"

void ptc::prims::PrimsDialect::addElementwise() {
  addOperations<
#define GET_OP_LIST
#include "dialects/prims/Elementwise.cpp.inc"
      >();
}
