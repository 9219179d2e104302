// What the tables say of an operator, and what an example of it becomes.
// RUN: ptc ops gelu | FileCheck %s --check-prefix=GELU
// GELU: gelu.default(Tensor self, *, str approximate='none') -> Tensor
// GELU-NEXT: example float32[4, 4] -> float32[4, 4]
// GELU-NEXT: prims {{.*}}erf
// GELU-NEXT: dtypes float32, float64, bfloat16, float16
// GELU: gelu.out
// GELU-NEXT: as gelu.default
// RUN: ptc ops add_.Tensor | FileCheck %s --check-prefix=FUNCTIONAL
// FUNCTIONAL: as add.Tensor, whose result takes the place of what it writes
// RUN: ptc ops resize_.default --json | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: "supported": false
// RUN: not ptc ops softmaxx 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: ptc: error: {{.*}}'softmaxx' is not an operator of PyTorch (did you mean softmax
// RUN: ptc ops | FileCheck %s --check-prefix=ALL
// ALL: add.Tensor
