// Graphs of operators become functions; a weight is a weight of theirs, unless the loop updates it.
// RUN: ptc-opt %s --outline-control-flow --split-input-file | FileCheck %s

// CHECK-LABEL: @forward
// CHECK: control.if %arg1, @if_true, @if_false(%arg2)
// CHECK: control.while @while_condition, @while_body(%arg0, %arg2)
func.func @forward(%w: tensor<4xf32> {ptc.weight = "w"}, %p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.higher_order.cond %p, %x, %w ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = aten.add.Tensor %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    aten.yield %1 : (tensor<4xf32>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    aten.yield %a : (tensor<4xf32>) -> ()
  }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.higher_order.while_loop %w, %x, %w ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %3 = aten.any.default %a : (tensor<4xf32>) -> tensor<i1>
    aten.yield %3 : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %3 = aten.add.Tensor %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    aten.yield %3 : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK: func.func private @if_true(%arg0: tensor<4xf32>, %arg1: tensor<4xf32> {ptc.weight = "w"})
// CHECK: func.func private @while_body(%arg0: tensor<4xf32> {ptc.carried = "0"}, %arg1: tensor<4xf32>, %arg2: tensor<4xf32> {ptc.weight = "w"}) -> (tensor<4xf32> {ptc.carries = "0"})

// -----

// What a scan carries goes from one iteration to the next; what it answers for each is stacked.
// CHECK-LABEL: @scan
// CHECK: %[[X0:.*]] = aten.select.int %arg1 {dim = 0 : i64, index = 0 : i64}
// CHECK: %[[S0:.*]] = aten.add.Tensor %arg0, %[[X0]]
// CHECK: %[[X1:.*]] = aten.select.int %arg1 {dim = 0 : i64, index = 1 : i64}
// CHECK: %[[S1:.*]] = aten.add.Tensor %[[S0]], %[[X1]]
// CHECK: %[[ALL:.*]] = aten.stack.default %[[S0]], %[[S1]]
// CHECK: return %[[S1]], %[[ALL]]
func.func @scan(%first: tensor<f32>, %x: tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {
  %0:2 = aten.higher_order.scan %first, %x ({
  ^bb0(%c: tensor<f32>, %e: tensor<f32>):
    %1 = aten.add.Tensor %c, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
    aten.yield %1, %1 : (tensor<f32>, tensor<f32>) -> ()
  }) : (tensor<f32>, tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<2xf32>
}

// -----

// Over a length that only a call tells, a step writes its row of what is stacked.
// CHECK-LABEL: @map
// CHECK: %[[FIRST:.*]] = aten.full.default {{.*}}fill_value = 0
// CHECK: %[[NONE:.*]] = aten.full.default
// CHECK: %[[LENGTH:.*]] = aten.full.default
// CHECK: %[[END:.*]]:2 = control.while @while_condition, @while_body(%[[FIRST]], %[[NONE]], %[[LENGTH]], %arg0, %arg1)
// CHECK: return %[[END]]#1
// CHECK: func.func private @while_condition(%[[I:[a-z0-9]*]]: tensor<i64>, %{{.*}}, %[[N:[a-z0-9]*]]: tensor<i64>,
// CHECK: aten.lt.Tensor %[[I]], %[[N]]
// CHECK: func.func private @while_body(%[[I:[a-z0-9]*]]: tensor<i64> {ptc.carried = "0"}, %[[ALL:[a-z0-9]*]]: tensor<?xf32
// CHECK: %[[PLACE:.*]] = aten.reshape.default %[[I]]
// CHECK: %[[ROW:.*]] = aten.index_select.default %{{.*}}, %[[PLACE]]
// CHECK: %[[X:.*]] = aten.reshape.default %[[ROW]]
// CHECK: %[[NEXT:.*]] = aten.add.Scalar %[[I]] {other = 1
// CHECK: %[[Y:.*]] = aten.mul.Tensor %[[X]], %{{.*}}
// CHECK: %[[STORED:.*]] = aten.index_copy.default %[[ALL]], %[[PLACE]]
// CHECK: return %[[NEXT]], %[[STORED]]
func.func @map(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>, %y: tensor<f32>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>> {
  %0 = aten.higher_order.map_impl %x, %y ({
  ^bb0(%e: tensor<f32>, %f: tensor<f32>):
    %1 = aten.mul.Tensor %e, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
    aten.yield %1 : (tensor<f32>) -> ()
  }) : (tensor<?xf32, affine_map<()[s0] -> (s0)>>, tensor<f32>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>>
  return %0 : tensor<?xf32, affine_map<()[s0] -> (s0)>>
}

// -----

// Steps that are too many to be written out.
// CHECK-LABEL: @long
// CHECK: control.while @while_condition, @while_body
func.func @long(%first: tensor<f32>, %x: tensor<30000xf32>) -> (tensor<f32>, tensor<30000xf32>) {
  %0:2 = aten.higher_order.scan %first, %x ({
  ^bb0(%c: tensor<f32>, %e: tensor<f32>):
    %1 = aten.add.Tensor %c, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
    aten.yield %1, %1 : (tensor<f32>, tensor<f32>) -> ()
  }) : (tensor<f32>, tensor<30000xf32>) -> (tensor<f32>, tensor<30000xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<30000xf32>
}
