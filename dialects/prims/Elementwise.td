//===- Elementwise.td - one result element from one element of each operand -===//
#ifndef PTC_PRIMS_ELEMENTWISE
#define PTC_PRIMS_ELEMENTWISE
include "dialects/prims/PrimsBase.td"

// Floating point (IEEE semantics; NaN propagates) and, where marked, integers.
def AbsOp : Unary<"abs">;               // int, float; complex gives its real type
def NegOp : Unary<"neg">;               // int, float, complex
def SignOp : Unary<"sign">;             // int, float; sign(NaN) = 0 as PyTorch
def ExpOp : Unary<"exp">;
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
def ErfOp : Unary<"erf">;
def ErfcOp : Unary<"erfc">;
def ErfinvOp : Unary<"erfinv">;
def LgammaOp : Unary<"lgamma">;
def DigammaOp : Unary<"digamma">;
def FloorOp : Unary<"floor">;
def CeilOp : Unary<"ceil">;
def TruncOp : Unary<"trunc">;
def RoundOp : Unary<"round">;           // half to even
def NotOp : Unary<"not">;               // bitwise on integers, logical on i1

def IsNanOp : Predicate<"is_nan">;
def IsFiniteOp : Predicate<"is_finite">;

def AddOp : Binary<"add">;              // i1: or
def SubOp : Binary<"sub">;
def MulOp : Binary<"mul">;              // i1: and
def DivOp : Binary<"div">;              // float: true division; int: truncates
def RemOp : Binary<"rem">;              // sign of the dividend (C fmod, %)
def PowOp : Binary<"pow">;
def Atan2Op : Binary<"atan2">;
def MaximumOp : Binary<"maximum">;      // NaN wins
def MinimumOp : Binary<"minimum">;      // NaN wins
def NextAfterOp : Binary<"next_after">;
def CopySignOp : Binary<"copy_sign">;
def AndOp : Binary<"and">;
def OrOp : Binary<"or">;
def XorOp : Binary<"xor">;
def ShlOp : Binary<"shl">;
def ShrOp : Binary<"shr">;              // arithmetic on signed types

def EqOp : Comparison<"eq">;
def NeOp : Comparison<"ne">;
def LtOp : Comparison<"lt">;
def LeOp : Comparison<"le">;
def GtOp : Comparison<"gt">;
def GeOp : Comparison<"ge">;

def SelectOp : Prim<"select", [IsElementwise]> {
  let summary = "where pred then a else b";
  let arguments = (ins Tensor:$pred, Tensor:$on_true, Tensor:$on_false);
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
def BitcastOp : Prim<"bitcast", [IsElementwise]> {
  let summary = "the same bits as another element type of the same width";
  let arguments = (ins Tensor:$x, TypeAttr:$dtype);
  let results = (outs Tensor:$result);
}
#endif
