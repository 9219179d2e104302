// A loop that counts to a size is walked back: it keeps what each step began with, as far as the derivative of a step reads
// it (%h, and not the rows %all), and a second loop takes the rows from the last to the first. The cotangent of a row of %x
// is added where the row lies.
// RUN: ptc-opt %s --split-input-file --build-gradients | FileCheck %s

// CHECK-LABEL: func.func private @goes_on(%{{.*}}: tensor<i64>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<5x3xf32>, %{{.*}}: tensor<5x3xf32>
// CHECK-LABEL: func.func private @step(
// CHECK: prims.scatter %{{.*}} {combine = "set", dims = array<i64: 0>, in_range}
// CHECK-LABEL: func.func @forward(
// CHECK: %[[ALL:.*]] = prims.full {sizes = array<i64: 5, 3>, value = 0.0{{.*}} : f32}
// CHECK: %[[KEPT:.*]] = prims.full {sizes = array<i64: 5, 3>, value = 0.0{{.*}} : f32}
// CHECK: %[[LOOP:.*]]:4 = control.while @goes_on, @step(%{{.*}}, %{{.*}}, %[[ALL]], %[[KEPT]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: %[[SIZE:.*]] = prims.size {size = 5 : i64}
// CHECK: %[[LAST:.*]] = prims.sub %[[SIZE]], %{{.*}}
// CHECK: %[[BACK:.*]]:5 = control.while @while_condition_gradient, @while_body_gradient(%[[LAST]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[LOOP]]#3,
// CHECK: return %[[LOOP]]#1, %[[LOOP]]#2
// CHECK-LABEL: func.func private @while_condition_gradient
// CHECK: prims.ge
// CHECK-LABEL: func.func private @while_body_gradient
// CHECK-SAME: %[[OFX:[a-z0-9]+]]: tensor<5x3xf32> {ptc.carried = "3"}
// CHECK: prims.gather %{{.*}}, %{{.*}} {dims = array<i64: 0>, in_range}
// CHECK: prims.scatter %[[OFX]], %{{.*}} {combine = "sum", dims = array<i64: 0>, in_range}
// CHECK: return
func.func private @goes_on(%i: tensor<i64>, %h: tensor<3xf32>, %all: tensor<5x3xf32>, %n: tensor<i64>, %x: tensor<5x3xf32>, %w: tensor<3xf32>) -> tensor<i1> {
  %0 = prims.lt %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @step(%i: tensor<i64> {ptc.carried = "0"}, %h: tensor<3xf32> {ptc.carried = "1"}, %all: tensor<5x3xf32> {ptc.carried = "2"}, %n: tensor<i64>, %x: tensor<5x3xf32>, %w: tensor<3xf32>) -> (tensor<i64> {ptc.carries = "0"}, tensor<3xf32> {ptc.carries = "1"}, tensor<5x3xf32> {ptc.carries = "2"}) {
  %one = prims.full {sizes = array<i64>, value = 1 : i64} : () -> tensor<i64>
  %next = prims.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %at = prims.reshape %i {sizes = array<i64: 1>} : (tensor<i64>) -> tensor<1xi64>
  %row = prims.gather %x, %at {dims = array<i64: 0>} : (tensor<5x3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
  %now = prims.reshape %row {sizes = array<i64: 3>} : (tensor<1x3xf32>) -> tensor<3xf32>
  %scaled = prims.mul %h, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %sum = prims.add %scaled, %now : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %new = prims.tanh %sum : (tensor<3xf32>) -> tensor<3xf32>
  %newrow = prims.reshape %new {sizes = array<i64: 1, 3>} : (tensor<3xf32>) -> tensor<1x3xf32>
  %rows = prims.scatter %all, %newrow, %at {combine = "set", dims = array<i64: 0>} : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<1xi64>) -> tensor<5x3xf32>
  return %next, %new, %rows : tensor<i64>, tensor<3xf32>, tensor<5x3xf32>
}
func.func @forward(%x: tensor<5x3xf32> {ptc.input = "x"}, %w: tensor<3xf32> {ptc.weight = "w", ptc.trainable}) -> (tensor<3xf32> {ptc.output = "h"}, tensor<5x3xf32> {ptc.output = "all"}) {
  %zero = prims.full {sizes = array<i64>, value = 0 : i64} : () -> tensor<i64>
  %h = prims.full {sizes = array<i64: 3>, value = 0.0 : f32} : () -> tensor<3xf32>
  %all = prims.full {sizes = array<i64: 5, 3>, value = 0.0 : f32} : () -> tensor<5x3xf32>
  %n = prims.full {sizes = array<i64>, value = 5 : i64} : () -> tensor<i64>
  %r:3 = control.while @goes_on, @step(%zero, %h, %all, %n, %x, %w) : (tensor<i64>, tensor<3xf32>, tensor<5x3xf32>, tensor<i64>, tensor<5x3xf32>, tensor<3xf32>) -> (tensor<i64>, tensor<3xf32>, tensor<5x3xf32>)
  return %r#1, %r#2 : tensor<3xf32>, tensor<5x3xf32>
}

// -----

// Two tensors whose sum a step reads a row of: the row's cotangent is one for both, and each has a sum of its own.
// CHECK-LABEL: func.func private @while_body_gradient
// CHECK-SAME: %[[OFX:[a-z0-9]+]]: tensor<5x3xf32> {ptc.carried = "2"}, %[[OFY:[a-z0-9]+]]: tensor<5x3xf32> {ptc.carried = "3"}
// CHECK: prims.scatter %[[OFX]], %[[ROW:[a-z0-9]+]], %{{.*}} {combine = "sum"
// CHECK-NEXT: prims.scatter %[[OFY]], %[[ROW]], %{{.*}} {combine = "sum"
func.func private @goes_on(%i: tensor<i64>, %h: tensor<3xf32>, %n: tensor<i64>, %x: tensor<5x3xf32>, %y: tensor<5x3xf32>) -> tensor<i1> {
  %0 = prims.lt %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @step(%i: tensor<i64> {ptc.carried = "0"}, %h: tensor<3xf32> {ptc.carried = "1"}, %n: tensor<i64>, %x: tensor<5x3xf32>, %y: tensor<5x3xf32>) -> (tensor<i64> {ptc.carries = "0"}, tensor<3xf32> {ptc.carries = "1"}) {
  %one = prims.full {sizes = array<i64>, value = 1 : i64} : () -> tensor<i64>
  %next = prims.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %at = prims.reshape %i {sizes = array<i64: 1>} : (tensor<i64>) -> tensor<1xi64>
  %both = prims.add %x, %y : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %row = prims.gather %both, %at {dims = array<i64: 0>} : (tensor<5x3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
  %now = prims.reshape %row {sizes = array<i64: 3>} : (tensor<1x3xf32>) -> tensor<3xf32>
  %new = prims.mul %h, %now : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %next, %new : tensor<i64>, tensor<3xf32>
}
func.func @forward(%h: tensor<3xf32> {ptc.input = "h"}, %x: tensor<5x3xf32> {ptc.input = "x"}, %y: tensor<5x3xf32> {ptc.input = "y"}) -> (tensor<3xf32> {ptc.output = "z"}) {
  %zero = prims.full {sizes = array<i64>, value = 0 : i64} : () -> tensor<i64>
  %n = prims.full {sizes = array<i64>, value = 5 : i64} : () -> tensor<i64>
  %r:2 = control.while @goes_on, @step(%zero, %h, %n, %x, %y) : (tensor<i64>, tensor<3xf32>, tensor<i64>, tensor<5x3xf32>, tensor<5x3xf32>) -> (tensor<i64>, tensor<3xf32>)
  return %r#1 : tensor<3xf32>
}
