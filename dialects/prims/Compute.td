//===- Compute.td - reductions, scans, sorting, contractions, composites --===//
#ifndef PTC_PRIMS_COMPUTE
#define PTC_PRIMS_COMPUTE
include "dialects/prims/PrimsBase.td"

def ReduceKindAttr : StringBasedAttr<CPred<[{::llvm::is_contained({"sum", "prod", "max", "min", "and", "or"},
    ::llvm::cast<::mlir::StringAttr>($_self).getValue())}]>, "reduction">;

def ScanKindAttr : StringBasedAttr<CPred<[{::llvm::is_contained({"sum", "prod", "max", "min", "and", "or", "logaddexp"},
    ::llvm::cast<::mlir::StringAttr>($_self).getValue())}]>, "running combination">;

def ReduceOp : Plain<"reduce"> {
  let summary = "combines the elements along `dims`, which vanish from the shape";
  let description = [{
    The result has x's element type. bf16 and f16 accumulate in f32. max and
    min propagate NaN. An empty sum is 0, product 1, and true, or false; max
    and min of nothing are the type's lowest and highest value.
  }];
  let arguments = (ins Tensor:$x, ReduceKindAttr:$kind, DenseI64ArrayAttr:$dims);
}
def ArgReduceOp : Plain<"arg_reduce"> {
  let summary = "i64 index along `dim` of the first max or min (NaN counts as extreme); `dim` vanishes";
  let arguments = (ins Tensor:$x, ReduceKindAttr:$kind, I64Attr:$dim);
}
def ScanOp : Plain<"scan"> {
  let summary = "inclusive running combination along `dim`; logaddexp: log(exp(a) + exp(b)), of floats";
  let arguments = (ins Tensor:$x, ScanKindAttr:$kind, I64Attr:$dim);
}
def ArgScanOp : Plain<"arg_scan"> {
  let summary = "i64 index of the running max or min along `dim`, the last one among equals (cummax, cummin)";
  let arguments = (ins Tensor:$x, ReduceKindAttr:$kind, I64Attr:$dim);
}
def ReduceWindowOp : Plain<"reduce_window"> {
  let summary = "reduce over sliding windows of every dimension; padding holds the neutral element";
  let description = [{
    result[o] combines x[o * stride + w * dilation - low] for w in window.
    size = floor((n + low + high - dilation * (window - 1) - 1) / stride) + 1.
  }];
  let arguments = (ins Tensor:$x, ReduceKindAttr:$kind, SizesAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
}
def ArgReduceWindowOp : Plain<"arg_reduce_window"> {
  let summary = "i64 row-major index, within the last `spatial` dimensions of x, of each window's maximum";
  let description = "The first of equal maxima, but the last NaN, as of torch.nn.functional.max_pool2d.";
  let arguments = (ins Tensor:$x, SizesAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, I64Attr:$spatial);
}

def SortOp : Prim<"sort"> {
  let summary = "stable sort along `dim`: values and their i64 places in x; NaN is the greatest";
  let arguments = (ins Tensor:$x, I64Attr:$dim, BoolAttr:$descending);
  let results = (outs Tensor:$values, Tensor:$indices);
}
def TopKOp : Prim<"top_k"> {
  let summary = "the k greatest (or least) along `dim`, in order, and their i64 places";
  let arguments = (ins Tensor:$x, SizeAttr:$k, I64Attr:$dim, BoolAttr:$largest);
  let results = (outs Tensor:$values, Tensor:$indices);
}

def ContractOp : Plain<"contract"> {
  let summary = "sum over products: matmul and its batched and transposed forms";
  let description = [{
    lhs_batch[i] pairs with rhs_batch[i], lhs_contract[i] with rhs_contract[i];
    the others are free. Result: batch dimensions, lhs's free dimensions in
    order, rhs's free dimensions in order. The sums of bf16/f16 are f32, so that
    who adds a bias to them rounds once; else the result has the operands' element
    type, and bools are joined by or.
  }];
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
}
def ConvolutionOp : Plain<"convolution"> {
  let summary = "n-d cross-correlation (1-d to 3-d)";
  let description = [{
    channels_last = false: x [N, C, spatial...], w [O, C/groups, kernel...],
    result [N, O, spatial...]. channels_last = true: x [N, spatial..., C],
    w [kernel..., C/groups, O], result [N, spatial..., O]. Bias is a separate
    add, and the result of bf16/f16 is f32. `input_dilation` d inserts d-1 zeros between input elements before padding
    (transposed convolution). low/high padding may be negative.
    out = floor(((n - 1) * input_dilation + 1 + low + high - dilation * (k - 1) - 1) / stride) + 1.
  }];
  let arguments = (ins Tensor:$x, Tensor:$w, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$input_dilations, I64Attr:$groups, BoolAttr:$channels_last);
}
def AttentionOp : Prim<"attention"> {
  let summary = "softmax(scale * q k^T + mask) v, kept whole because a kernel exists";
  let description = [{
    q [B..., Hq, Lq, E], k [B..., Hk, Lk, E], v [B..., Hk, Lk, Ev]; Hq is a multiple of
    Hk (grouped queries: query head h uses h / (Hq/Hk)). mask is absent, or of a
    floating type (added) or i1 (false: excluded), with rank of q and each dimension
    of size 1 or that of [B..., Hq, Lq, Lk]. causal: key j <= query i only (top-left aligned).
    A row whose scores are all -inf gives 0 (PyTorch's safe softmax), with `empty_is_nan` NaN (plain softmax).
    `with_logsumexp`: the second result is log(sum of exp(score)) of each row, [B..., Hq, Lq] of f32 (of f64, f64), for
    attention_gradient; +inf where all scores are -inf, so that exp(score - logsumexp) is the weight, 0, there too.
  }];
  let arguments = (ins Tensor:$q, Tensor:$k, Tensor:$v, Optional<Tensor>:$mask, F64Attr:$scale, BoolAttr:$causal,
      UnitAttr:$empty_is_nan, UnitAttr:$with_logsumexp);
  let results = (outs Tensor:$result, Optional<Tensor>:$logsumexp);
}
def AttentionGradientOp : Prim<"attention_gradient"> {
  let summary = "the derivatives by attention's q, k and v, with weights computed again from the rows' logsumexp";
  let description = [{
    Operands as of attention; `grad` is its result's cotangent, `logsumexp` what it gives, and `delta`, of that type,
    sum(grad * result) over the features. With p = exp(scale * q k^T + mask - logsumexp) and
    s = scale * p * (grad v^T - delta), both 0 for excluded scores (-inf): dq = s k, dk = s^T q, dv = p^T grad, the
    latter two summed over the query heads that share a key head. There is no derivative by the mask.
  }];
  let arguments = (ins Tensor:$q, Tensor:$k, Tensor:$v, Tensor:$grad, Tensor:$logsumexp, Tensor:$delta,
      Optional<Tensor>:$mask, F64Attr:$scale, BoolAttr:$causal);
  let results = (outs Tensor:$dq, Tensor:$dk, Tensor:$dv);
}
def MatrixOp : Prim<"matrix"> {
  let summary = "an algorithm on every matrix of a batch: a factorization, a triangular solve, a spectrum, ...";
  let description = [{
    runtime/matrix/Algorithms.h lists the algorithms with the shapes of their operands and results. The dimensions
    before those are the batch, the same for all. Everything is f32, or everything f64. (Transforms of complex
    numbers have a last dimension of 2.) `smaller` is the size k of algorithms whose results have one.
  }];
  let arguments = (ins Variadic<FloatTensor>:$inputs, StrAttr:$algorithm, OptionalAttr<SizeAttr>:$smaller);
  let results = (outs Variadic<Tensor>:$results);
}
def RandomBitsOp : Plain<"random_bits"> {
  let summary = "Philox4x32-10: element i has word i mod 4 of counter (i div 4, draws + stream) for the key";
  let description = [{
    seed: i64 tensor [2] of key and number of draws before this call; `stream` counts the draws of
    one call. Result i32.
  }];
  let arguments = (ins IntegerTensor:$seed, SizesAttr:$sizes, I64Attr:$stream);
}
#endif
