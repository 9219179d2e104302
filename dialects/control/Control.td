//===- Control.td - what runs when the data say so -------------------------===//
//
// The one kind of operation that passes through all stages as it is. `if` and
// `while` call functions of the module, which are at the same stage as the
// function that they stand in. An argument of such a function with `ptc.weight`
// is that weight; the others are the operation's inputs, in order. `external`
// calls what is not in the module at all. `fusion_barrier` says what does not run together.
//
//===----------------------------------------------------------------------===//
#ifndef PTC_CONTROL
#define PTC_CONTROL

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ControlDialect : Dialect {
  let name = "control";
  let cppNamespace = "::ptc::control";
}

def Tensor : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "ranked tensor",
                  "::mlir::RankedTensorType">;

class ControlOp<string mnemonic> : Op<ControlDialect, mnemonic,
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def IfOp : ControlOp<"if"> {
  let summary = "the results of one of two functions";
  let description = [{ `predicate` is a tensor of one bool. Only the function that it chooses runs. }];
  let arguments = (ins Tensor:$predicate, Variadic<Tensor>:$inputs, FlatSymbolRefAttr:$onTrue,
                       FlatSymbolRefAttr:$onFalse);
  let results = (outs Variadic<Tensor>);
  let assemblyFormat = [{
    $predicate `,` $onTrue `,` $onFalse `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
}

def WhileOp : ControlOp<"while"> {
  let summary = "values that a function updates for as long as another says so";
  let description = [{
    The first inputs are the first values of the results. `condition` and `body` are called with the values of now and
    the inputs behind them; the one answers a tensor of one bool, the other the next values.
  }];
  let arguments = (ins Variadic<Tensor>:$inputs, FlatSymbolRefAttr:$condition, FlatSymbolRefAttr:$body);
  let results = (outs Variadic<Tensor>);
  let assemblyFormat = [{
    $condition `,` $body `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
}

def ExternalOp : Op<ControlDialect, "external"> {
  let summary = "what a function computes that the model's caller registers";
  let description = [{
    `callee` is an operator ("mylib::scale.default"), `call` its arguments as JSON (docs/fallback.md), where
    `{"tensor": 0}` is the first input. A result that nobody takes has the type none. Where the operator knows its
    tensors as others than they are here (complex numbers as pairs), `signature` says as which. What the function does
    is not known: so there are no more and no fewer calls of it than in the graph, in the same order.
  }];
  let arguments = (ins StrAttr:$callee, StrAttr:$call, Variadic<Tensor>:$inputs,
                       OptionalAttr<TypeAttrOf<FunctionType>>:$signature);
  let results = (outs Variadic<AnyTypeOf<[Tensor, NoneType]>>);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $callee $call `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// The types that the operator knows its tensors as.
    ::mlir::FunctionType getSeen() {
      return getSignature().value_or(::mlir::FunctionType::get(getContext(), getOperandTypes(), getResultTypes()));
    }
  }];
}

def FusionBarrierOp : Op<ControlDialect, "fusion_barrier", [Pure, SameOperandsAndResultType]> {
  let summary = "x, for readers that are in no kernel with x's maker, nor with its other readers for x's sake";
  let description = [{
    What is computed again reads by way of one what is kept (compiler/graph/train/Rematerialise.h), or Fuse would join
    it with what was computed first. Fuse erases it.
  }];
  let arguments = (ins Tensor:$x);
  let results = (outs Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif // PTC_CONTROL
