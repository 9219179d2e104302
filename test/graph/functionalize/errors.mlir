// RUN: ptc-opt %s --ptc-functionalize --split-input-file --verify-diagnostics

func.func @resize(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot compile aten.resize_.default: it changes the size of a tensor in place}}
  %r = aten.resize_.default %x {size = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @no_functional_operator(%x: tensor<4x4x4xf32>) {
  // expected-error @+1 {{cannot compile aten.fill_diagonal_.default: it writes to its argument}}
  %r = aten.fill_diagonal_.default %x {fill_value = 0.0 : f64} : (tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @inside_control_flow(%x: tensor<4xf32>) {
  %r = aten.higher_order.cond %x ({
    %e = aten.exp.default %x : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @+1 {{cannot compile aten.relu_.default: it writes to a tensor inside control flow}}
    %a = aten.relu_.default %e : (tensor<4xf32>) -> tensor<4xf32>
    aten.yield %a : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
