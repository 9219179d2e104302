// What may fail stands before what changes a state. A kernel that does both does not write its state in place.
// RUN: ptc-opt %s --split-input-file --commit-states --plan-memory | FileCheck %s

#id = affine_map<(n) -> (n)>
// CHECK-LABEL: func.func @forward
// CHECK-SAME: attributes {ptc.commit = 2 : i64, ptc.commits}
// CHECK: loop.kernel "count"
// CHECK-NOT: in_place
// CHECK: loop.kernel "look_up"
// CHECK: loop.kernel "update"
// CHECK: in_place = array<i64: 0>
// CHECK: loop.kernel "of_the_update"
func.func @forward(%w: tensor<4xf32> {ptc.state = "w"}, %counts: tensor<4xi64> {ptc.state = "counts"},
                   %table: tensor<9xf32> {ptc.weight = "table"})
    -> (tensor<4xf32> {ptc.output = "y"}, tensor<4xf32> {ptc.writes_state = "w"},
        tensor<4xi64> {ptc.writes_state = "counts"}, tensor<4xf32> {ptc.output = "z"}) attributes {ptc.commits} {
  %next = loop.kernel "update" outer 1 (%w) {
  ^bb0(%a: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%p: index):
      %0 = loop.read %a[#id](%p) : tensor<4xf32> -> f32
      %1 = arith.addf %0, %0 : f32
      loop.yield %1 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %counted = loop.kernel "count" outer 1 (%counts) {
  ^bb0(%a: tensor<4xi64>):
    %r = loop.map {
    ^bb0(%p: index):
      %0 = loop.read %a[#id](%p) : tensor<4xi64> -> i64
      %1 = arith.addi %0, %0 : i64
      loop.yield %1 : i64
    } : tensor<4xi64>
    loop.yield %r : tensor<4xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  %z = loop.kernel "of_the_update" outer 1 (%next) {
  ^bb0(%a: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%p: index):
      %0 = loop.read %a[#id](%p) : tensor<4xf32> -> f32
      loop.yield %0 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %y = loop.kernel "look_up" outer 1 (%table, %counted) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<4xi64>):
    %r = loop.map {
    ^bb0(%p: index):
      %0 = loop.read %b[#id](%p) : tensor<4xi64> -> i64
      %1 = loop.checked_index %0 : i64 in 9 : i64
      %2 = loop.read %a[#id](%1) : tensor<9xf32> -> f32
      loop.yield %2 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<9xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %y, %next, %counted, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<4xf32>
}

// -----

// Nothing fails: the order stays, without a commit point. An index that is known to be in its range is no failure.
#id = affine_map<(n) -> (n)>
// CHECK-LABEL: func.func @forward
// CHECK-SAME: attributes {ptc.commits}
// CHECK: loop.kernel "update"
// CHECK: in_place = array<i64: 0>
// CHECK: loop.kernel "look_up"
func.func @forward(%w: tensor<4xf32> {ptc.state = "w"}, %table: tensor<9xf32> {ptc.weight = "table"},
                   %i: tensor<4xi64> {ptc.input = "i"})
    -> (tensor<4xf32> {ptc.output = "y"}, tensor<4xf32> {ptc.writes_state = "w"}) attributes {ptc.commits} {
  %next = loop.kernel "update" outer 1 (%w) {
  ^bb0(%a: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%p: index):
      %0 = loop.read %a[#id](%p) : tensor<4xf32> -> f32
      %1 = arith.addf %0, %0 : f32
      loop.yield %1 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %y = loop.kernel "look_up" outer 1 (%table, %i) {
  ^bb0(%a: tensor<9xf32>, %b: tensor<4xi64>):
    %r = loop.map {
    ^bb0(%p: index):
      %0 = loop.read %b[#id](%p) : tensor<4xi64> -> i64
      %1 = loop.checked_index %0 : i64 in 9 : i64 {in_range}
      %2 = loop.read %a[#id](%1) : tensor<9xf32> -> f32
      loop.yield %2 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<9xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %y, %next : tensor<4xf32>, tensor<4xf32>
}
