//===- ComputeOps.cpp - what TableGen generates for the family ---------------===//

#include "dialects/prims/Compute.h"
#include "dialects/prims/Inference.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/prims/Compute.cpp.inc"

void ptc::prims::PrimsDialect::addCompute() {
  addOperations<
#define GET_OP_LIST
#include "dialects/prims/Compute.cpp.inc"
      >();
}
