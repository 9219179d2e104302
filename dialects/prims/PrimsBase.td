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
  let extraClassDeclaration = [{
    void addElementwise();
    void addStructure();
    void addCompute();
  }];
}

class Rule<string name, dag arguments, string what> : InterfaceMethod<what, "llvm::Error", name, arguments>;

def Evaluate : Rule<"evaluate", (ins "::ptc::prims::Evaluation &":$evaluation), [{
  Evaluates the prim on reference tensors (float64 arithmetic for floating
  types, exact integers), the specification of its meaning. Operands have
  the operands' shapes with symbols replaced by their values.
}]>;
def Differentiate : Rule<"differentiate", (ins "::ptc::prims::Cotangents &":$cotangents), [{
  Adds to the cotangents of the operands what those of the results lead to,
  in prims (Cotangents.h). Not asked where no cotangent arrives.
}]>;

// What every prim must implement; nothing has a default, so that ptc does not
// link when one is forgotten.
def PrimInterface : OpInterface<"PrimInterface"> {
  let cppNamespace = "::ptc::prims";
  let methods = [Evaluate, Differentiate];
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

// Tensors by what their elements are. `real` floats are f64 f32 bf16 f16.
class TensorWith<string predicate, string what> : Type<And<[
    CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
    CPred<"::ptc::prims::" # predicate # "(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())">]>,
    "tensor of " # what, "::mlir::RankedTensorType">;
def Tensor : TensorWith<"isElement", "numbers, bools or complex numbers">;
def FieldTensor : TensorWith<"isField", "floating-point or complex numbers">;
def FloatTensor : TensorWith<"isFloat", "floating-point numbers">;
def BitsTensor : TensorWith<"isBits", "integers or bools">;
def IntegerTensor : TensorWith<"isInteger", "integers">;
def BoolTensor : TensorWith<"isBool", "bools">;

// inferReturnTypes, evaluate and differentiate stand with the family in <Family>.cpp,
// reference/<Family>.cpp and derivatives/<Family>.cpp. Types that differ only in how a symbolic size is
// written are compatible.
class Prim<string mnemonic, list<Trait> traits = []> : Op<PrimsDialect, mnemonic,
    traits # [Pure, DeclareOpInterfaceMethods<PrimInterface>, InferTypeOpAdaptorWithIsCompatible]> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  code compatible = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange a, ::mlir::TypeRange b) {
      return ::ptc::prims::areCompatible(a, b);
    }
  }];
  let extraClassDefinition = compatible;
}

// Elementwise: all operands and the result have the same shape.
def IsElementwise : NativeOpTrait<"IsElementwise"> { let cppNamespace = "::ptc::prims"; }

// An elementwise prim whose result type follows from `rule` (Inference.h).
class Elementwise<string mnemonic, string rule> : Prim<mnemonic, [IsElementwise]> {
  let extraClassDefinition = compatible # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::ptc::prims::infer}] # rule # [{(location, $cppClass::getOperationName(), adaptor.getOperands(), types);
    }
  }];
}
class Unary<string mnemonic, Type type = FieldTensor> : Elementwise<mnemonic, "SameType"> {
  let arguments = (ins type:$x);
  let results = (outs Tensor:$result);
}
// Result type is the operands' type.
class Binary<string mnemonic, Type type = Tensor> : Elementwise<mnemonic, "SameType"> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs Tensor:$result);
}
// Operands of one type, result of i1 elements.
class Comparison<string mnemonic> : Elementwise<mnemonic, "Bool"> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs);
  let results = (outs BoolTensor:$result);
}
// A test of one operand with i1 elements as result.
class Predicate<string mnemonic> : Elementwise<mnemonic, "Bool"> {
  let arguments = (ins Tensor:$x);
  let results = (outs BoolTensor:$result);
}

class Plain<string mnemonic, list<Trait> traits = []> : Prim<mnemonic, traits> {
  let results = (outs Tensor:$result);
}

#endif
