//===- Structure.td - generators, shape changes, indexing -----------------===//
#ifndef PTC_PRIMS_STRUCTURE
#define PTC_PRIMS_STRUCTURE
include "dialects/prims/PrimsBase.td"

def ConstantOp : Plain<"constant", [ConstantLike]> {
  let summary = "a small tensor given element by element";
  let arguments = (ins ElementsAttr:$value);
  let hasFolder = 1;
}
def FullOp : Plain<"full"> {
  let summary = "every element is `value` (IntegerAttr or FloatAttr of the element type; [re, im] for complex)";
  let arguments = (ins AnyAttr:$value, SizesAttr:$sizes);
}
def IotaOp : Plain<"iota"> {
  let summary = "result[i...] = i[dim], as `dtype` (a real number type)";
  let arguments = (ins I64Attr:$dim, SizesAttr:$sizes, TypeAttr:$dtype);
}
def SizeOp : Plain<"size"> {
  let summary = "a 0-d i64 tensor with the value of a size expression";
  let arguments = (ins SizeAttr:$size);
}

def BroadcastInDimOp : Plain<"broadcast_in_dim"> {
  let summary = "operand dimension i becomes result dimension dims[i] (ascending); size-1 dimensions stretch";
  let arguments = (ins Tensor:$x, SizesAttr:$sizes, DenseI64ArrayAttr:$dims);
}
def ReshapeOp : Plain<"reshape"> {
  let summary = "the same elements in row-major order in another shape";
  let arguments = (ins Tensor:$x, SizesAttr:$sizes);
}
def TransposeOp : Plain<"transpose"> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$permutation);
}
def SliceOp : Plain<"slice"> {
  let summary = "starts[i], starts[i] + strides[i], ... below limits[i], in every dimension";
  let description = "0 <= start <= limit <= size; strides are positive constants.";
  let arguments = (ins Tensor:$x, SizesAttr:$starts, SizesAttr:$limits, DenseI64ArrayAttr:$strides);
}
def PadOp : Plain<"pad"> {
  let summary = "`value` around each dimension, and `interior` of it between elements";
  let description = "low and high may be negative (cropping); value is a 0-d tensor.";
  let arguments = (ins Tensor:$x, Tensor:$value, SizesAttr:$low, SizesAttr:$high,
                       DenseI64ArrayAttr:$interior);
}
def ConcatenateOp : Plain<"concatenate"> {
  let summary = "the inputs one after the other along `dim`; at least one input";
  let arguments = (ins Variadic<Tensor>:$inputs, I64Attr:$dim);
}
def ReverseOp : Plain<"reverse"> {
  let summary = "the elements of `dims` in opposite order";
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims);
}

def GatherOp : Plain<"gather"> {
  let summary = "advanced indexing";
  let description = [{
    `indices` are integer tensors of one shape I; indices[j] indexes dimension
    dims[j] of x (dims ascending). The result has shape I followed by x's other
    dimensions in order:
      result[i..., r...] = x with x[dims[j]] = indices[j][i...] and r elsewhere.
    An index outside [0, size) is an error of the call.
  }];
  let arguments = (ins Tensor:$x, Variadic<IntegerTensor>:$indices, DenseI64ArrayAttr:$dims);
}

def CombineAttr : StringBasedAttr<CPred<[{::llvm::is_contained({"set", "sum", "prod", "max", "min"},
    ::llvm::cast<::mlir::StringAttr>($_self).getValue())}]>, "how scatter combines">;
def ScatterOp : Plain<"scatter"> {
  let summary = "x with `updates` combined into the elements that gather would read";
  let description = [{
    Indexing as in gather; updates has gather's result shape. Updates to one
    element are combined in row-major order of i: `set` keeps the last.
  }];
  let arguments = (ins Tensor:$x, Tensor:$updates, Variadic<IntegerTensor>:$indices,
                       DenseI64ArrayAttr:$dims, CombineAttr:$combine);
}

// What a derivative is said to be; behind Differentiate there are none of these.
def StopGradientOp : Plain<"stop_gradient"> {
  let summary = "x, of which no derivative is taken (torch.detach, torch.no_grad)";
  let arguments = (ins Tensor:$x);
}
def WithGradientOp : Plain<"with_gradient", [SingleBlock]> {
  let summary = "`value`, whose derivative by `by` is what the region says";
  let description = [{
    The region takes the cotangent of the value and yields one of each of `by`. It reads values from outside:
    `by`, and what the value was computed by, of which no derivative is taken by way of `value`.
  }];
  let arguments = (ins Tensor:$value, Variadic<Tensor>:$by);
  let regions = (region SizedRegion<1>:$derivative);
  let assemblyFormat = "operands $derivative attr-dict `:` functional-type(operands, results)";
}
def YieldOp : Op<PrimsDialect, "yield", [Pure, Terminator, HasParent<"WithGradientOp">]> {
  let summary = "the cotangents that a derivative gives";
  let arguments = (ins Variadic<Tensor>:$cotangents);
  let assemblyFormat = "operands attr-dict `:` type(operands)";
}
#endif
