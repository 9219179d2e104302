//===- Functions.td - functions that Loop has in place of MLIR's ----------===//
//
// Bodies use the operations of MLIR's math, but for functions that MLIR folds to
// another number than the one that kernels compute.
//
//===----------------------------------------------------------------------===//
#ifndef PTC_LOOP_FUNCTIONS
#define PTC_LOOP_FUNCTIONS

include "dialects/loop/Loop.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Atan2Op : LoopOp<"atan2", [Pure, SameOperandsAndResultType]> {
  let summary = "the angle of the point (x, y), as C's atan2";
  let description = [{
    MLIR folds math.atan2 of two zeros to NaN, where the angle is a zero or a half turn by their signs.
  }];
  let arguments = (ins AnyFloat:$y, AnyFloat:$x);
  let results = (outs AnyFloat:$angle);
  let assemblyFormat = "$y `,` $x attr-dict `:` type($angle)";
}

#endif
