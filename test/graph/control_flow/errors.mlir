// RUN: ptc-opt %s --outline-control-flow --split-input-file --verify-diagnostics

func.func @misfit(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has graphs that do not take its inputs or do not answer its results}}
  %0 = aten.higher_order.cond %p, %x ({
  ^bb0(%a: tensor<3xf32>):
    aten.yield %a : (tensor<3xf32>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>):
    aten.yield %a : (tensor<4xf32>) -> ()
  }) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @captured(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{does not have the graphs that it should}}
  %0 = aten.higher_order.cond %p ({
    aten.yield %x : (tensor<4xf32>) -> ()
  }, {
    aten.yield %x : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
