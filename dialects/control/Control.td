//===- Control.td - what runs when the data say so -------------------------===//
//
// The one kind of operation that passes through all stages as it is: it calls
// functions of the module, which are at the same stage as the function that it
// stands in. An argument of such a function with `ptc.weight` is that weight;
// the others are the operation's inputs, in order.
//
//===----------------------------------------------------------------------===//
#ifndef PTC_CONTROL
#define PTC_CONTROL

include "mlir/IR/OpBase.td"
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

#endif // PTC_CONTROL
