// Each operation is checked against its schema.
// RUN: ptc-opt %s --split-input-file --verify-diagnostics

func.func @unknown_argument(%x: tensor<2xf32>) {
  // expected-error @+2 {{'aten.add.Tensor' op has no argument 'alhpa'}}
  // expected-note @+1 {{schema: aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor}}
  %y = aten.add.Tensor %x, %x {alhpa = 2 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @wrong_kind(%x: tensor<2xf32>) {
  // expected-error @+2 {{argument 'dim' is 1.000000e+00 : f64, not an integer such as 1 : i64}}
  // expected-note @+1 {{schema}}
  %y = aten.cumsum.default %x {dim = 1.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @missing_argument(%x: tensor<2xf32>) {
  // expected-error @+2 {{misses argument 'dim'}}
  // expected-note @+1 {{schema}}
  %y = aten.cumsum.default %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @none_where_none_is_no_value(%x: tensor<2xf32>) {
  // expected-error @+2 {{argument 'dim' is unit}}
  // expected-note @+1 {{schema}}
  %y = aten.cumsum.default %x {dim} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @too_many_operands(%x: tensor<2xf32>) {
  // expected-error @+1 {{'aten.relu.default' does not take 2 tensors: relu.default(Tensor self) -> Tensor}}
  %y = aten.relu.default %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @segments_do_not_add_up(%x: tensor<2xf32>) {
  // expected-error @+2 {{'operand_segments' counts 2 operands of 1}}
  // expected-note @+1 {{schema}}
  %y = aten.add.Tensor %x {operand_segments = array<i32: 1, 1, 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @missing_tensor(%x: tensor<2xf32>) {
  // expected-error @+2 {{misses tensor argument 'other'}}
  // expected-note @+1 {{schema}}
  %y = aten.add.Tensor %x {operand_segments = array<i32: 1, 0, 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @presence_disagrees(%x: tensor<2xf32>, %i: tensor<1xi64>) {
  // expected-error @+2 {{'indices_present' does not agree with the 1 operands of 'indices'}}
  // expected-note @+1 {{schema}}
  %y = aten.index.Tensor %x, %i {indices_present = array<i1: true, true>} : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @not_a_tensor(%x: i64) {
  // expected-error @+2 {{takes ranked tensors, not 'i64'}}
  // expected-note @+1 {{schema}}
  %y = aten.relu.default %x : (i64) -> tensor<2xf32>
  return
}

// -----

func.func @number_of_results(%x: tensor<2xf32>) {
  // expected-error @+2 {{returns 1 values, not 2}}
  // expected-note @+1 {{schema}}
  %y:2 = aten.relu.default %x : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
