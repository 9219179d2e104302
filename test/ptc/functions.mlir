// Functions beside @forward belong to control operations; none calls itself.
// RUN: split-file %s %t
// RUN: ptc compile %t/once.mlir --emit prims -o %t.prims.mlir && FileCheck %s --input-file %t.prims.mlir --check-prefix=ONCE
// RUN: not ptc compile %t/twice.mlir -o %t.so 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not ptc compile %t/itself.mlir -o %t.so 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not ptc compile %t/unused.mlir -o %t.so 2>&1 | FileCheck %s --check-prefix=TWICE
// ONCE: control.if %{{.*}}, @a, @b
// TWICE: error: {{.*}}.mlir: a private function must be called by one control operation, and a public one by none

//--- once.mlir
func.func @forward(%p: tensor<i1> {ptc.input = "p"}, %x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %y = control.if %p, @a, @b(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- twice.mlir
func.func @forward(%p: tensor<i1> {ptc.input = "p"}, %x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %y = control.if %p, @a, @a(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- itself.mlir
func.func @forward(%p: tensor<i1> {ptc.input = "p"}, %x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %y = control.if %p, @a, @b(%p, %x) : (tensor<i1>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @a(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = control.if %p, @a, @b(%p, %x) : (tensor<i1>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @b(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- unused.mlir
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  return %x : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
