//===- Elementwise.td - one result element from one element of each operand -===//
#ifndef PTC_PRIMS_ELEMENTWISE
#define PTC_PRIMS_ELEMENTWISE
include "dialects/prims/PrimsBase.td"

// IEEE semantics; NaN propagates. Without a type: floating point and complex.
def AbsOp : Prim<"abs", [IsElementwise]> {
  let summary = "magnitude; of complex numbers, of their real type";
  let arguments = (ins Tensor:$x);
  let results = (outs Tensor:$result);
}
def NegOp : Unary<"neg", Tensor>;
def SignOp : Unary<"sign", Tensor>;     // sign(NaN) = 0 as in PyTorch
// With `flush`, what is below the smallest normal number may be 0: of a softmax, whose largest number is 1.
def ExpOp : Unary<"exp"> {
  let arguments = (ins FieldTensor:$x, UnitAttr:$flush);
}
def Exp2Op : Unary<"exp2">;
def Expm1Op : Unary<"expm1">;
def LogOp : Unary<"log">;
def Log1pOp : Unary<"log1p">;
def Log2Op : Unary<"log2">;
def Log10Op : Unary<"log10">;
def SqrtOp : Unary<"sqrt">;
def RsqrtOp : Unary<"rsqrt">;
def ReciprocalOp : Unary<"reciprocal">;
def SinOp : Unary<"sin">;
def CosOp : Unary<"cos">;
def TanOp : Unary<"tan">;
def AsinOp : Unary<"asin">;
def AcosOp : Unary<"acos">;
def AtanOp : Unary<"atan">;
def SinhOp : Unary<"sinh">;
def CoshOp : Unary<"cosh">;
def TanhOp : Unary<"tanh">;
def AsinhOp : Unary<"asinh">;
def AcoshOp : Unary<"acosh">;
def AtanhOp : Unary<"atanh">;
def ErfOp : Unary<"erf", FloatTensor>;
def ErfcOp : Unary<"erfc", FloatTensor>;
def ErfinvOp : Unary<"erfinv", FloatTensor>;
def FloorOp : Unary<"floor", FloatTensor>;
def CeilOp : Unary<"ceil", FloatTensor>;
def TruncOp : Unary<"trunc", FloatTensor>;
def RoundOp : Unary<"round", FloatTensor>; // half to even
def NotOp : Unary<"not", BitsTensor>;   // bitwise on integers, logical on i1

def IsNanOp : Predicate<"is_nan">;
def IsFiniteOp : Predicate<"is_finite">;

def AddOp : Binary<"add">;              // i1: or
def SubOp : Binary<"sub">;
def MulOp : Binary<"mul">;              // i1: and
def DivOp : Binary<"div">;              // float: true division; int: truncates
def RemOp : Binary<"rem">;              // sign of the dividend (C fmod, %)
def PowOp : Binary<"pow">;
def Atan2Op : Binary<"atan2", FloatTensor>;
def MaximumOp : Binary<"maximum">;      // NaN wins
def MinimumOp : Binary<"minimum">;      // NaN wins
def NextAfterOp : Binary<"next_after", FloatTensor>;
def CopySignOp : Binary<"copy_sign", FloatTensor>;
def AndOp : Binary<"and", BitsTensor>;
def OrOp : Binary<"or", BitsTensor>;
def XorOp : Binary<"xor", BitsTensor>;
def ShlOp : Binary<"shl", BitsTensor>;
def ShrOp : Binary<"shr", BitsTensor>;  // arithmetic on signed types

def EqOp : Comparison<"eq">;
def NeOp : Comparison<"ne">;
def LtOp : Comparison<"lt">;
def LeOp : Comparison<"le">;
def GtOp : Comparison<"gt">;
def GeOp : Comparison<"ge">;

def SpecialOp : Prim<"special", [IsElementwise]> {
  let summary = "a function of runtime/special/Special.h, computed in f64; polynomials of f32 in f32, gcd in i64";
  let arguments = (ins Variadic<Tensor>:$x, StrAttr:$function);
  let results = (outs Tensor:$result);
}
def SelectOp : Prim<"select", [IsElementwise]> {
  let summary = "where pred then a else b";
  let arguments = (ins BoolTensor:$pred, Tensor:$on_true, Tensor:$on_false);
  let results = (outs Tensor:$result);
}
def ConvertOp : Prim<"convert", [IsElementwise]> {
  let summary = "PyTorch's conversion between element types";
  let description = [{
    float -> int truncates; anything -> i1 tests for nonzero; real -> complex
    has a zero imaginary part.
  }];
  let arguments = (ins Tensor:$x, TypeAttr:$dtype);
  let results = (outs Tensor:$result);
}
def ComplexOp : Prim<"complex", [IsElementwise]> {
  let summary = "the complex number of a real and an imaginary part";
  let arguments = (ins FloatTensor:$lhs, FloatTensor:$rhs);
  let results = (outs Tensor:$result);
}
def RealOp : Prim<"real", [IsElementwise]> {
  let summary = "the real part of a complex number";
  let arguments = (ins Tensor:$x);
  let results = (outs Tensor:$result);
}
def ImagOp : Prim<"imag", [IsElementwise]> {
  let summary = "the imaginary part of a complex number";
  let arguments = (ins Tensor:$x);
  let results = (outs Tensor:$result);
}
def BitcastOp : Prim<"bitcast", [IsElementwise]> {
  let summary = "the same bits as another element type of the same width";
  let arguments = (ins Tensor:$x, TypeAttr:$dtype);
  let results = (outs Tensor:$result);
}
#endif
