//===- PrimsBase.td - the prims dialect and its op classes ----------------===//
//
// Prims says what a tensor program is: a closed set of operators without
// implicit broadcasting, type promotion, scalar overloads, mutation or views.
// Sizes may be symbolic (dialects/core/SymbolicShape.h).
//
//===----------------------------------------------------------------------===//
#ifndef PTC_PRIMS_BASE
#define PTC_PRIMS_BASE

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PrimsDialect : Dialect {
  let name = "prims";
  let cppNamespace = "::ptc::prims";
  let summary = "The closed set of tensor primitives";
  let hasConstantMaterializer = 1;
}

// What every prim must implement; nothing has a default, so that forgetting
// one is a compile error.
def PrimInterface : OpInterface<"PrimInterface"> {
  let cppNamespace = "::ptc::prims";
  let methods = [
    InterfaceMethod<[{
      Evaluates the prim on reference tensors (float64 arithmetic for floating
      types, exact integers), the specification of its meaning. Operands have
      the operands' shapes with symbols replaced by their values.
    }], "llvm::Error", "evaluate",
    (ins "::ptc::prims::Evaluation &":$evaluation)>,
  ];
}

class SizesAttrBase<string what> : Attr<
    CPred<"::llvm::isa<::mlir::DenseI64ArrayAttr, ::mlir::AffineMapAttr>($_self)">, what> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}
// A list of sizes, each static or symbolic (ptc::getSizesFromAttr).
def SizesAttr : SizesAttrBase<"list of static or symbolic sizes">;
def SizeAttr : SizesAttrBase<"static or symbolic size"> {
  let predicate = CPred<"::llvm::isa<::mlir::IntegerAttr, ::mlir::AffineMapAttr>($_self)">;
}

def Tensor : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "ranked tensor",
                  "::mlir::RankedTensorType">;

class Prim<string mnemonic, list<Trait> traits = []> : Op<PrimsDialect, mnemonic,
    traits # [Pure, DeclareOpInterfaceMethods<PrimInterface>,
              DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

// Elementwise: all operands and the result have the same shape.
def IsElementwise : NativeOpTrait<"IsElementwise"> { let cppNamespace = "::ptc::prims"; }

class Unary<string mnemonic> : Prim<mnemonic, [IsElementwise]> {
  let arguments = (ins Tensor:$x);
  let results = (outs Tensor:$result);
}
// Result type is the operands' type.
class Binary<string mnemonic> : Prim<mnemonic, [IsElementwise]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs);
  let results = (outs Tensor:$result);
}
// Operands of one type, result of i1 elements.
class Comparison<string mnemonic> : Binary<mnemonic>;
// A test of one operand with i1 elements as result.
class Predicate<string mnemonic> : Unary<mnemonic>;

class Plain<string mnemonic, list<Trait> traits = []> : Prim<mnemonic, traits> {
  let results = (outs Tensor:$result);
}

#endif
