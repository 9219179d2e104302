// RUN: ptc-opt %s --integer-products --march znver4 | FileCheck %s
// RUN: ptc-opt %s --integer-products --march x86-64-v3 | FileCheck %s --check-prefix=FLOAT
// Products of what bytes stand for are of bytes, where the machine has an instruction for them.
// FLOAT-NOT: prims.convolution {{.*}}i32>

// What is quantized to signed bytes is made unsigned; around the image lie zero points (3 + 128), and three channels are
// four; what the zero point adds to the sums is taken off.
// CHECK-LABEL: @signed_convolution
// CHECK: %[[WIDE:.*]] = prims.convert %arg0 {dtype = i32}
// CHECK: %[[SHIFTED:.*]] = prims.add %[[WIDE]]
// CHECK: %[[BYTES:.*]] = prims.convert %[[SHIFTED]] {dtype = ui8}
// CHECK-NOT: -> tensor<1x8x8x3xi8>
// CHECK: %[[ZERO:.*]] = prims.full {{.*}}value = 131 : ui8
// CHECK: %[[IMAGE:.*]] = prims.pad %[[BYTES]], %[[ZERO]] {high = array<i64: 0, 1, 1, 1>, {{.*}}low = array<i64: 0, 1, 1, 0>}
// CHECK: %[[WEIGHT:.*]] = prims.pad %{{.*}} {high = array<i64: 0, 0, 1, 0>, {{.*}} -> tensor<3x3x4x16xi8>
// CHECK: %[[SUMS:.*]] = prims.convolution {{.*}}high = array<i64: 0, 0>{{.*}}low = array<i64: 0, 0>{{.*}}(tensor<1x10x10x4xi32>, tensor<3x3x4x16xi32>) -> tensor<1x8x8x16xi32>
// CHECK: prims.reduce {{.*}}kind = "sum"
// CHECK: prims.sub %[[SUMS]]
// CHECK: prims.convert {{.*}}{dtype = f32}
// CHECK: prims.mul
func.func @signed_convolution(%x: tensor<1x8x8x3xf32>, %w: tensor<16x3x3x3xi8> {ptc.weight = "w"}, %scales: tensor<16xf32> {ptc.weight = "s"}) -> tensor<1x8x8x16xf32> {
  %q = prims.convert %x {dtype = i8} : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xi8>
  %i = prims.convert %q {dtype = i32} : (tensor<1x8x8x3xi8>) -> tensor<1x8x8x3xi32>
  %zero = prims.full {value = 3 : i32, sizes = array<i64: 1, 8, 8, 3>} : () -> tensor<1x8x8x3xi32>
  %d = prims.sub %i, %zero : (tensor<1x8x8x3xi32>, tensor<1x8x8x3xi32>) -> tensor<1x8x8x3xi32>
  %f = prims.convert %d {dtype = f32} : (tensor<1x8x8x3xi32>) -> tensor<1x8x8x3xf32>
  %scale = prims.full {value = 0.5 : f32, sizes = array<i64: 1, 8, 8, 3>} : () -> tensor<1x8x8x3xf32>
  %r = prims.mul %f, %scale : (tensor<1x8x8x3xf32>, tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %wf = prims.convert %w {dtype = f32} : (tensor<16x3x3x3xi8>) -> tensor<16x3x3x3xf32>
  %ws = prims.broadcast_in_dim %scales {dims = array<i64: 0>, sizes = array<i64: 16, 3, 3, 3>} : (tensor<16xf32>) -> tensor<16x3x3x3xf32>
  %wr = prims.mul %wf, %ws : (tensor<16x3x3x3xf32>, tensor<16x3x3x3xf32>) -> tensor<16x3x3x3xf32>
  %wt = prims.transpose %wr {permutation = array<i64: 2, 3, 1, 0>} : (tensor<16x3x3x3xf32>) -> tensor<3x3x3x16xf32>
  %y = prims.convolution %r, %wt {channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x16xf32>
  return %y : tensor<1x8x8x16xf32>
}

// A zero point of 0 adds nothing, and padding by zeros stays the kernel's.
// CHECK-LABEL: @after_relu
// CHECK-NOT: prims.pad
// CHECK-NOT: prims.reduce
// CHECK: prims.convolution {{.*}}high = array<i64: 1, 1>{{.*}}i32>
func.func @after_relu(%q: tensor<1x8x8x16xui8>, %w: tensor<3x3x16x32xi8> {ptc.weight = "w"}) -> tensor<1x8x8x32xf32> {
  %f = prims.convert %q {dtype = f32} : (tensor<1x8x8x16xui8>) -> tensor<1x8x8x16xf32>
  %scale = prims.full {value = 0.5 : f32, sizes = array<i64: 1, 8, 8, 16>} : () -> tensor<1x8x8x16xf32>
  %r = prims.mul %f, %scale : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %wf = prims.convert %w {dtype = f32} : (tensor<3x3x16x32xi8>) -> tensor<3x3x16x32xf32>
  %ws = prims.full {value = 0.25 : f32, sizes = array<i64: 3, 3, 16, 32>} : () -> tensor<3x3x16x32xf32>
  %wr = prims.mul %wf, %ws : (tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32>
  %y = prims.convolution %r, %wr {channels_last = true, dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x8x8x32xf32>
  return %y : tensor<1x8x8x32xf32>
}

// Whole numbers stay whole.
// CHECK-LABEL: @whole_numbers
// CHECK: prims.contract {{.*}} -> tensor<4x32xi32>
// CHECK-NOT: f32
func.func @whole_numbers(%q: tensor<4x64xui8>, %w: tensor<64x32xi8> {ptc.weight = "w"}) -> tensor<4x32xi32> {
  %i = prims.convert %q {dtype = i32} : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %zero = prims.full {value = 7 : i32, sizes = array<i64: 4, 64>} : () -> tensor<4x64xi32>
  %d = prims.sub %i, %zero : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi32>
  %wi = prims.convert %w {dtype = i32} : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %y = prims.contract %d, %wi {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  return %y : tensor<4x32xi32>
}

// A zero point that a call decides is taken off the sums too.
// CHECK-LABEL: @zero_point_of_a_call
// CHECK: %[[SUMS:.*]] = prims.contract {{.*}} -> tensor<4x32xi32>
// CHECK: prims.reduce {{.*}}kind = "sum"
// CHECK: prims.mul
// CHECK: prims.sub %[[SUMS]]
// FLOAT-LABEL: @zero_point_of_a_call
// FLOAT: prims.contract {{.*}} -> tensor<4x32xf32>
func.func @zero_point_of_a_call(%q: tensor<4x64xui8>, %point: tensor<ui8>, %w: tensor<64x32xi8> {ptc.weight = "w"}) -> tensor<4x32xi32> {
  %i = prims.convert %q {dtype = i32} : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %p = prims.convert %point {dtype = i32} : (tensor<ui8>) -> tensor<i32>
  %zero = prims.broadcast_in_dim %p {dims = array<i64>, sizes = array<i64: 4, 64>} : (tensor<i32>) -> tensor<4x64xi32>
  %d = prims.sub %i, %zero : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi32>
  %wi = prims.convert %w {dtype = i32} : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %y = prims.contract %d, %wi {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x64xi32>, tensor<64x32xi32>) -> tensor<4x32xi32>
  return %y : tensor<4x32xi32>
}

// A scale along what is summed cannot be taken out of the sum; a weight that a call computes may hold anything.
// CHECK-LABEL: @not_of_bytes
// CHECK: prims.contract {{.*}} -> tensor<4x32xf32>
// CHECK: prims.contract {{.*}} -> tensor<4x32xf32>
func.func @not_of_bytes(%q: tensor<4x64xui8>, %w: tensor<64x32xi8> {ptc.weight = "w"}, %scales: tensor<64xf32> {ptc.weight = "s"}, %given: tensor<64x32xi8>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %f = prims.convert %q {dtype = f32} : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %scale = prims.full {value = 0.5 : f32, sizes = array<i64: 4, 64>} : () -> tensor<4x64xf32>
  %r = prims.mul %f, %scale : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %wf = prims.convert %w {dtype = f32} : (tensor<64x32xi8>) -> tensor<64x32xf32>
  %ws = prims.broadcast_in_dim %scales {dims = array<i64: 0>, sizes = array<i64: 64, 32>} : (tensor<64xf32>) -> tensor<64x32xf32>
  %wr = prims.mul %wf, %ws : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %gf = prims.convert %given {dtype = f32} : (tensor<64x32xi8>) -> tensor<64x32xf32>
  %gs = prims.full {value = 0.25 : f32, sizes = array<i64: 64, 32>} : () -> tensor<64x32xf32>
  %gr = prims.mul %gf, %gs : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %y = prims.contract %r, %wr {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  %z = prims.contract %r, %gr {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %y, %z : tensor<4x32xf32>, tensor<4x32xf32>
}

// What is moved on the way is moved as bytes, and a scale goes with its dimension.
// CHECK-LABEL: @moved
// CHECK: prims.transpose {{.*}} -> tensor<4x2x32xui8>
// CHECK: prims.reshape {{.*}} -> tensor<4x64xui8>
// CHECK: prims.transpose {{.*}} -> tensor<64x32xi8>
// CHECK: prims.contract {{.*}} -> tensor<4x32xi32>
func.func @moved(%q: tensor<2x4x32xui8>, %w: tensor<32x64xi8> {ptc.weight = "w"}, %scales: tensor<32xf32> {ptc.weight = "s"}) -> tensor<4x32xf32> {
  %f = prims.convert %q {dtype = f32} : (tensor<2x4x32xui8>) -> tensor<2x4x32xf32>
  %scale = prims.full {value = 0.5 : f32, sizes = array<i64: 2, 4, 32>} : () -> tensor<2x4x32xf32>
  %m = prims.mul %f, %scale : (tensor<2x4x32xf32>, tensor<2x4x32xf32>) -> tensor<2x4x32xf32>
  %t = prims.transpose %m {permutation = array<i64: 1, 0, 2>} : (tensor<2x4x32xf32>) -> tensor<4x2x32xf32>
  %r = prims.reshape %t {sizes = array<i64: 4, 64>} : (tensor<4x2x32xf32>) -> tensor<4x64xf32>
  %wf = prims.convert %w {dtype = f32} : (tensor<32x64xi8>) -> tensor<32x64xf32>
  %ws = prims.broadcast_in_dim %scales {dims = array<i64: 0>, sizes = array<i64: 32, 64>} : (tensor<32xf32>) -> tensor<32x64xf32>
  %wr = prims.mul %wf, %ws : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %wt = prims.transpose %wr {permutation = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %y = prims.contract %r, %wt {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// A batch of rows has no outputs.
// CHECK-LABEL: @batch_of_rows
// CHECK: prims.contract {{.*}} -> tensor<32x4xf32>
func.func @batch_of_rows(%q: tensor<32x4x64xui8>, %w: tensor<32x64xi8> {ptc.weight = "w"}) -> tensor<32x4xf32> {
  %f = prims.convert %q {dtype = f32} : (tensor<32x4x64xui8>) -> tensor<32x4x64xf32>
  %scale = prims.full {value = 0.5 : f32, sizes = array<i64: 32, 4, 64>} : () -> tensor<32x4x64xf32>
  %r = prims.mul %f, %scale : (tensor<32x4x64xf32>, tensor<32x4x64xf32>) -> tensor<32x4x64xf32>
  %wf = prims.convert %w {dtype = f32} : (tensor<32x64xi8>) -> tensor<32x64xf32>
  %ws = prims.full {value = 0.25 : f32, sizes = array<i64: 32, 64>} : () -> tensor<32x64xf32>
  %wr = prims.mul %wf, %ws : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %y = prims.contract %r, %wr {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<32x4x64xf32>, tensor<32x64xf32>) -> tensor<32x4xf32>
  return %y : tensor<32x4xf32>
}

// Whole numbers that no kernel of bytes multiplies are multiplied in float32, as long as that is exact: two tensors that a
// call brings, in batches.
// CHECK-LABEL: @activations
// CHECK: %[[P:.*]] = prims.contract {{.*}} -> tensor<2x8x16xf32>
// CHECK: %[[R:.*]] = prims.round %[[P]]
// CHECK: prims.convert %[[R]] {dtype = i32}
func.func @activations(%a: tensor<2x8x64xui8>, %b: tensor<2x64x16xui8>) -> tensor<2x8x16xi32> {
  %i = prims.convert %a {dtype = i32} : (tensor<2x8x64xui8>) -> tensor<2x8x64xi32>
  %zero = prims.full {value = 7 : i32, sizes = array<i64: 2, 8, 64>} : () -> tensor<2x8x64xi32>
  %d = prims.sub %i, %zero : (tensor<2x8x64xi32>, tensor<2x8x64xi32>) -> tensor<2x8x64xi32>
  %j = prims.convert %b {dtype = i32} : (tensor<2x64x16xui8>) -> tensor<2x64x16xi32>
  %y = prims.contract %d, %j {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x8x64xi32>, tensor<2x64x16xi32>) -> tensor<2x8x16xi32>
  return %y : tensor<2x8x16xi32>
}

// A thousand terms may make a sum that float32 has not: they stay whole numbers, unless it is read as float32 alone.
// CHECK-LABEL: @long
// CHECK: prims.contract {{.*}} -> tensor<8x16xi32>
// CHECK: prims.contract {{.*}} -> tensor<8x16xf32>
func.func @long(%a: tensor<8x1024xui8>, %b: tensor<1024x16xui8>, %bias: tensor<8x16xi32>) -> (tensor<8x16xi32>, tensor<8x16xf32>) {
  %i = prims.convert %a {dtype = i32} : (tensor<8x1024xui8>) -> tensor<8x1024xi32>
  %j = prims.convert %b {dtype = i32} : (tensor<1024x16xui8>) -> tensor<1024x16xi32>
  %y = prims.contract %i, %j {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x1024xi32>, tensor<1024x16xi32>) -> tensor<8x16xi32>
  %z = prims.contract %i, %j {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x1024xi32>, tensor<1024x16xi32>) -> tensor<8x16xi32>
  %sum = prims.add %z, %bias : (tensor<8x16xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
  %real = prims.convert %sum {dtype = f32} : (tensor<8x16xi32>) -> tensor<8x16xf32>
  return %y, %real : tensor<8x16xi32>, tensor<8x16xf32>
}
