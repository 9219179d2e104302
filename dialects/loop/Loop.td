//===- Loop.td - what the machine iterates over ---------------------------===//
//
// Value-semantic operations over iteration domains, whose bodies are scalar
// code (arith, math, and the index operations below). Tensors are row-major;
// an element type i1 is a byte in memory, ui8 is read as signless i8.
//
// In every affine map of this dialect the dimensions are the map's index
// operands and symbol i is the module's symbol s_i (dialects/core).
//
//===----------------------------------------------------------------------===//
#ifndef PTC_LOOP
#define PTC_LOOP

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def LoopDialect : Dialect {
  let name = "loop";
  let cppNamespace = "::ptc::loop";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let hasConstantMaterializer = 1;
}

class SizesAttrBase<string what, string pred> : Attr<CPred<pred>, what> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}
def SizesAttr : SizesAttrBase<"list of static or symbolic sizes",
    "::llvm::isa<::mlir::DenseI64ArrayAttr, ::mlir::AffineMapAttr>($_self)">;
def SizeAttr : SizesAttrBase<"static or symbolic size",
    "::llvm::isa<::mlir::IntegerAttr, ::mlir::AffineMapAttr>($_self)">;
def Tensor : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "ranked tensor",
                  "::mlir::RankedTensorType">;

class LoopOp<string mnemonic, list<Trait> traits = []> : Op<LoopDialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Scalar code inside bodies
//===----------------------------------------------------------------------===//

def ReadOp : LoopOp<"read", [Pure, AttrSizedOperandSegments]> {
  let summary = "the element of a tensor at map(indices)";
  let description = [{
    With `where`, memory is touched only if the condition holds; else the value
    is `otherwise`. Without it, indices must be in range (see checked_index).
  }];
  let arguments = (ins Tensor:$tensor, Variadic<Index>:$indices, Optional<I1>:$where,
                       Optional<AnyType>:$otherwise, AffineMapAttr:$map);
  let results = (outs AnyType:$value);
  let assemblyFormat = [{
    $tensor `[` $map `]` `(` $indices `)` (`where` $where^ `else` $otherwise `:` type($otherwise))?
    attr-dict `:` type($tensor) `->` type($value)
  }];
  let hasVerifier = 1;
}

def IndexOp : LoopOp<"index", [Pure]> {
  let summary = "an affine map with one result, applied to indices";
  let arguments = (ins Variadic<Index>:$indices, AffineMapAttr:$map);
  let results = (outs Index:$value);
  let assemblyFormat = "`[` $map `]` `(` $indices `)` attr-dict";
  let hasFolder = 1;
}

def CheckedIndexOp : LoopOp<"checked_index", [Pure]> {
  let summary = "`value` clamped to [0, size); the call fails if it was outside";
  let description = "`value` is an integer read from data.";
  let arguments = (ins SignlessIntegerOrIndexLike:$value, SizeAttr:$size);
  let results = (outs Index:$result);
  let assemblyFormat = "$value `:` type($value) `in` $size attr-dict";
}

def SpecialOp : LoopOp<"special", [Pure]> {
  let summary = "a function of runtime/special/Special.h";
  let description = "Of f64, polynomials also of f32, gcd of i64.";
  let arguments = (ins Variadic<AnyTypeOf<[F32, F64, I64]>>:$x, StrAttr:$function);
  let results = (outs AnyTypeOf<[F32, F64, I64]>:$value);
  let assemblyFormat = "$function `(` $x `)` attr-dict `:` type($x) `->` type($value)";
}

def YieldOp : LoopOp<"yield", [Pure, Terminator, ReturnLike]> {
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Iteration
//===----------------------------------------------------------------------===//

def MapOp : LoopOp<"map", [Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "result[i...] = body(i...)";
  let description = "The domain is the results' common shape; block arguments are its indices.";
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Tensor>:$results);
  let assemblyFormat = "$body attr-dict `:` type($results)";
  let hasVerifier = 1;
}

def ReduceOp : LoopOp<"reduce", [Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "result[i...] combines body(i..., r...) over r";
  let description = [{
    The domain is the results' common shape followed by `sizes`. kinds[j] is how
    the j-th yielded value is combined: sum, prod, max, min (NaN wins), and, or;
    argmax, argmin give as j-th result the i64 row-major place in `sizes` of the first
    extreme of the j-th yielded value (NaN counts as extreme), argmax_last_nan that of the last NaN. The accumulator
    has the yielded type (the body widens bf16 and f16). The `finish` region maps the combined values to
    the results' elements (arguments: the indices i..., the combined values); without
    blocks it is the identity. `inner` n > 0: the operation is alone in its kernel, and the first n of i... are iterated
    inside of the others: at many of them the body reads the same again, where data tell.
  }];
  let arguments = (ins StrArrayAttr:$kinds, SizesAttr:$sizes, DefaultValuedAttr<I64Attr, "0">:$inner);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$finish);
  let results = (outs Variadic<Tensor>:$results);
  let assemblyFormat = "$kinds `over` $sizes $body (`finish` $finish^)? attr-dict `:` type($results)";
  let hasVerifier = 1;
}

def ScanOp : LoopOp<"scan", [Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "inclusive running combination of body along `dim`";
  let description = [{
    kind: sum, prod, max, min, and, or, logaddexp, argmax, argmin (the place of the last extreme so far).
  }];
  let arguments = (ins StrAttr:$kind, I64Attr:$dim);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Tensor:$result);
  let assemblyFormat = "$kind `along` $dim $body attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def ScatterOp : LoopOp<"scatter", [Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "init with values combined into computed places";
  let description = [{
    For each point of the domain `sizes`, in row-major order, body yields a value and
    then one index per dimension of init; combine is set, sum, prod, max or min.
  }];
  let arguments = (ins Tensor:$init, SizesAttr:$sizes, StrAttr:$combine);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Tensor:$result);
  let assemblyFormat = "$init $combine `over` $sizes $body attr-dict `:` type($init) `->` type($result)";
  let hasVerifier = 1;
}

def SortOp : LoopOp<"sort", [Pure]> {
  let summary = "stable sort along dim, and places";
  let description = "The results may have fewer elements along dim than x: the first of them all.";
  let arguments = (ins Tensor:$x, I64Attr:$dim, BoolAttr:$descending);
  let results = (outs Tensor:$values, Tensor:$indices);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($values) `,` type($indices)";
}

def MatrixOp : LoopOp<"matrix", [Pure]> {
  let summary = "an algorithm of runtime/matrix on every matrix of a batch";
  let arguments = (ins Variadic<Tensor>:$inputs, StrAttr:$algorithm);
  let results = (outs Variadic<Tensor>:$results);
  let assemblyFormat = "$algorithm `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Templates: operations with a kernel of their own and an open epilogue
//===----------------------------------------------------------------------===//
//
// The epilogue region's arguments are the indices of the result domain and the
// accumulated value (f32, or f64 for f64 operands); it yields one value for each
// result, of the domain's shape (but for attention's log-sum-exp). The derivative
// of attention has a kernel of its own, but no epilogue.

class Template<string mnemonic, list<Trait> traits = []> : LoopOp<mnemonic,
    traits # [Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let regions = (region SizedRegion<1>:$epilogue);
  let results = (outs Variadic<Tensor>:$results);
  let hasVerifier = 1;
}

def ContractOp : Template<"contract"> {
  let summary = "acc[b..., m..., n...] = sum over k of lhs[lhs_map] * rhs[rhs_map]";
  let description = [{
    The full domain is (b..., m..., n..., k...): the result's shape (batch_rank, m_rank, n_rank
    dimensions) followed by k_sizes. lhs_map does not use n, rhs_map does not use m. Both are of one type; or rhs is i8
    and lhs f32, and rhs is converted; or rhs is i8 and lhs ui8, and sums are i32.
    `rhs_panel` p > 0: rhs is a weight packed as [batch..., ceil(N/p), K, p] (zero-padded), and rhs_map
    is ignored. `rhs_group` g > 1, for instructions that add up products of neighbouring k: packed as
    [batch..., ceil(N/p), K/g, p, g], where the innermost k of more than one element is padded to whole groups, or,
    with `rhs_step` s > 0, for the CPU's matrix unit, to whole steps of s.
    With `rhs_bf16x3` rhs is bf16 terms, [ceil(N/p), ...] as compiler/codegen/cpu/pack/Bf16x3Weights.h says: three
    of f32, one of bf16. With f32 there may then be a `scale`, by which elements of lhs are multiplied first:
    scale_map is as lhs_map is. With `rhs_splittable` a kernel may split the packed f32 weight into such terms when it
    runs: all numbers are below bf16x3::kLargest.
  }];
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, AffineMapAttr:$lhs_map, AffineMapAttr:$rhs_map, I64Attr:$batch_rank,
      I64Attr:$m_rank, I64Attr:$n_rank, SizesAttr:$k_sizes, DefaultValuedAttr<I64Attr, "0">:$rhs_panel,
      DefaultValuedAttr<I64Attr, "1">:$rhs_group, DefaultValuedAttr<I64Attr, "0">:$rhs_step, UnitAttr:$rhs_bf16x3,
      UnitAttr:$rhs_splittable, Optional<Tensor>:$scale, OptionalAttr<AffineMapAttr>:$scale_map);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                "::mlir::AffineMap":$lhs_map, "::mlir::AffineMap":$rhs_map, "uint64_t":$batch_rank,
                                "uint64_t":$m_rank, "uint64_t":$n_rank, "::mlir::Attribute":$k_sizes),
                            [{
    build($_builder, $_state, results, lhs, rhs, lhs_map, rhs_map, batch_rank, m_rank, n_rank, k_sizes,
          /*rhs_panel=*/0, /*rhs_group=*/1, /*rhs_step=*/0, /*rhs_bf16x3=*/false, /*rhs_splittable=*/false,
          /*scale=*/nullptr, /*scale_map=*/nullptr);
  }]>];
  let assemblyFormat = [{
    (`scale` $scale^ `[` $scale_map `]` `:` type($scale))? $lhs `[` $lhs_map `]` `,` $rhs `[` $rhs_map `]`
    `batch` $batch_rank `m` $m_rank `n` $n_rank `k` $k_sizes
    $epilogue attr-dict `:` type($lhs) `,` type($rhs) `->` type($results)
  }];
}

def ConvolutionOp : Template<"convolution"> {
  let summary = "channels-last convolution: x [N, spatial..., C], w [kernel..., C/groups, O]";
  let description = [{
    The domain is [N, spatial..., O]. Attributes as in prims.convolution (input dilation is gone).
    `w_panel` p > 0: w is packed as [groups, ceil((O/groups)/p), kernel..., C/groups, p] (1: for a few outputs), with
    `w_group` g > 1 as [groups, ceil((O/groups)/p), kernel..., ceil(C/groups/g), p, g]. Groups narrower than a vector
    (C/groups == O/groups, a power of two; 1 is depthwise) are packed as one:
    [1, ceil(O/p), kernel..., C/groups, p]. `winograd` m > 0: w is packed as [ceil(O/p) * ((m + 2) (m + 2) + 9),
    C, p]: transformed for tiles of m x m outputs, and as it was (compiler/codegen/cpu/pack/Winograd.h).
    With `x_channels_first` x is [N, C, spatial...] (one group only). Of unsigned bytes by bytes (i8, ui8) the
    sums are i32; GPUs take bytes as the weight of f32, too.
  }];
  let arguments = (ins Tensor:$x, Tensor:$w, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       DenseI64ArrayAttr:$kernel, DefaultValuedAttr<I64Attr, "0">:$w_panel,
                       DefaultValuedAttr<I64Attr, "0">:$winograd, DefaultValuedAttr<I64Attr, "1">:$w_group,
                       UnitAttr:$x_channels_first);
  let assemblyFormat = "$x `,` $w $epilogue attr-dict `:` type($x) `,` type($w) `->` type($results)";
}

def AttentionOp : Template<"attention"> {
  let summary = "acc[b..., h, i, e] of softmax(scale * q k^T + mask) v, never writing the scores";
  let description = [{
    The domain is the result's shape: (b..., h, i, e), or, with `queries_first`, (b..., i, h, e). The maps give the
    places in the tensors: q_map of (b..., h, i, e), k_map and v_map of (b..., h div group, j, e), mask_map of
    (b..., h, i, j). Log-sum-exps are [b..., h, i].
    key_size: number of keys j; head_size: features e of q and k; group: query heads per key head.
    empty_is_nan as in prims.attention. `with_logsumexp`: its second result is one more, behind those that the epilogue
    yields.
  }];
  let arguments = (ins Tensor:$q, Tensor:$k, Tensor:$v, Optional<Tensor>:$mask, AffineMapAttr:$q_map,
      AffineMapAttr:$k_map, AffineMapAttr:$v_map, OptionalAttr<AffineMapAttr>:$mask_map, F64Attr:$scale,
      BoolAttr:$causal, SizeAttr:$key_size, SizeAttr:$head_size, I64Attr:$group, UnitAttr:$empty_is_nan,
      UnitAttr:$with_logsumexp, UnitAttr:$queries_first);
  let assemblyFormat = [{
    $q `[` $q_map `]` `,` $k `[` $k_map `]` `,` $v `[` $v_map `]` (`mask` $mask^ `[` $mask_map `]` `:` type($mask))?
    $epilogue attr-dict `:` type($q) `,` type($k) `,` type($v) `->` type($results)
  }];
}

def AttentionGradientOp : LoopOp<"attention_gradient", [Pure]> {
  let summary = "prims.attention_gradient, never writing the scores";
  let description = [{
    Keys are cut into `parts`, each of which adds to dq for itself: dq is [parts, b..., h, i, e] of f32 (of f64, f64),
    whose sum over the parts is the derivative. dk is [b..., h div group, j, e], dv [b..., h div group, j, ev]. The maps
    give the places in the tensors: q_map of (b..., h, i, e), grad_map of (b..., h, i, ev), k_map and v_map of dk's and
    dv's indices, mask_map of (b..., h, i, j). logsumexp and delta are [b..., h, i] of dq's element type.
  }];
  let arguments = (ins Tensor:$q, Tensor:$k, Tensor:$v, Tensor:$grad, Tensor:$logsumexp, Tensor:$delta,
      Optional<Tensor>:$mask, AffineMapAttr:$q_map, AffineMapAttr:$k_map, AffineMapAttr:$v_map, AffineMapAttr:$grad_map,
      OptionalAttr<AffineMapAttr>:$mask_map, F64Attr:$scale, BoolAttr:$causal, I64Attr:$group);
  let results = (outs Tensor:$dq, Tensor:$dk, Tensor:$dv);
  let assemblyFormat = [{
    $q `[` $q_map `]` `,` $k `[` $k_map `]` `,` $v `[` $v_map `]` `,` $grad `[` $grad_map `]` `,` $logsumexp `,` $delta
    (`mask` $mask^ `[` $mask_map `]` `:` type($mask))? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($grad) `,` type($logsumexp) `,` type($delta)
    `->` type($dq) `,` type($dk) `,` type($dv)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def KernelOp : LoopOp<"kernel", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operations of this dialect that run as one launch";
  let description = [{
    Block arguments stand for the operands, the yielded tensors are the results. The
    first `outer` dimensions of every member (map, reduce, scan) are the same; members read each
    other's results only at the identical outer indices, so that one iteration of the
    outer dimensions runs all members in order; results that are not yielded exist only for one
    such iteration (registers or scratch). A template or sort, scatter or matrix is alone in its kernel, but for a
    fused convolution: a contract [n, h, w, channels], and a grouped convolution (isGrouped) over h and w that alone
    reads it. Of the contract's result only the rows exist that the task at hand needs.

    Codegen's arguments (args[]) are the operands, then the results. in_place[r] >= 0: result r is
    written over operand in_place[r].
  }];
  let arguments = (ins Variadic<Tensor>:$inputs, StrAttr:$name, I64Attr:$outer,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$in_place);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Tensor>:$results);
  let assemblyFormat = "$name `outer` $outer `(` $inputs `)` $body attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

#endif
