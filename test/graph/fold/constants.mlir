// RUN: ptc-opt %s --fold-constants | FileCheck %s

// CHECK-LABEL: @small
// CHECK: %[[C:.*]] = prims.constant {value = dense<[5, 7, 9]> : tensor<3xi64>}
// CHECK: prims.add %arg0, %[[C]]
func.func @small(%x: tensor<3xi64> {ptc.input = "x"}) -> tensor<3xi64> {
  %a = prims.constant {value = dense<[1, 2, 3]> : tensor<3xi64>} : () -> tensor<3xi64>
  %b = prims.constant {value = dense<[4, 5, 6]> : tensor<3xi64>} : () -> tensor<3xi64>
  %0 = prims.add %a, %b : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = prims.add %x, %0 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %1 : tensor<3xi64>
}

// A mask of a megabyte is not worth its bytes.
// CHECK-LABEL: @mask
// CHECK-COUNT-2: prims.iota
// CHECK: prims.lt
func.func @mask(%x: tensor<1024x1024xi1> {ptc.input = "x"}) -> tensor<1024x1024xi1> {
  %i = prims.iota {dim = 0 : i64, sizes = array<i64: 1024, 1024>, dtype = i64} : () -> tensor<1024x1024xi64>
  %j = prims.iota {dim = 1 : i64, sizes = array<i64: 1024, 1024>, dtype = i64} : () -> tensor<1024x1024xi64>
  %m = prims.lt %i, %j : (tensor<1024x1024xi64>, tensor<1024x1024xi64>) -> tensor<1024x1024xi1>
  %0 = prims.and %x, %m : (tensor<1024x1024xi1>, tensor<1024x1024xi1>) -> tensor<1024x1024xi1>
  return %0 : tensor<1024x1024xi1>
}

// A product is: each call would compute, write and read it. So is what its reader would make of it.
// CHECK-LABEL: @product
// CHECK-SAME: %[[W:[^ ]*]]: tensor<256x256xf32> {ptc.weight
// CHECK-NEXT: prims.add %arg0, %[[W]]
func.func @product(%x: tensor<256x256xf32> {ptc.input = "x"}) -> tensor<256x256xf32> {
  %i = prims.iota {dim = 0 : i64, sizes = array<i64: 256, 1>, dtype = f32} : () -> tensor<256x1xf32>
  %j = prims.iota {dim = 1 : i64, sizes = array<i64: 1, 256>, dtype = f32} : () -> tensor<1x256xf32>
  %p = prims.contract %i, %j {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<256x1xf32>, tensor<1x256xf32>) -> tensor<256x256xf32>
  %n = prims.neg %p : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %0 = prims.add %x, %n : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// The weight of a convolution is, however large: it is packed before any call.
// CHECK-LABEL: @weight
// CHECK-SAME: %[[W:[^ ]*]]: tensor<3x3x64x64xf32> {ptc.weight
// CHECK-NEXT: prims.convolution %arg0, %[[W]]
func.func @weight(%x: tensor<1x8x8x64xf32> {ptc.input = "x"}) -> tensor<1x6x6x64xf32> {
  %i = prims.iota {dim = 3 : i64, sizes = array<i64: 3, 3, 64, 64>, dtype = f32} : () -> tensor<3x3x64x64xf32>
  %w = prims.neg %i : (tensor<3x3x64x64xf32>) -> tensor<3x3x64x64xf32>
  %0 = prims.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<1x8x8x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x6x6x64xf32>
  return %0 : tensor<1x6x6x64xf32>
}

// The weight of a product of what bytes stand for is, likewise.
// CHECK-LABEL: @product_of_bytes
// CHECK-SAME: %[[W:[^ ]*]]: tensor<128x128xf32> {ptc.weight
// CHECK: prims.contract %{{.*}}, %[[W]]
func.func @product_of_bytes(%x: tensor<40x128xui8> {ptc.input = "x"}) -> tensor<40x128xf32> {
  %i = prims.iota {dim = 1 : i64, sizes = array<i64: 128, 128>, dtype = i8} : () -> tensor<128x128xi8>
  %f = prims.convert %i {dtype = f32} : (tensor<128x128xi8>) -> tensor<128x128xf32>
  %s = prims.full {value = 0.5 : f32, sizes = array<i64: 128, 128>} : () -> tensor<128x128xf32>
  %w = prims.mul %f, %s : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %xf = prims.convert %x {dtype = f32} : (tensor<40x128xui8>) -> tensor<40x128xf32>
  %xs = prims.full {value = 0.25 : f32, sizes = array<i64: 40, 128>} : () -> tensor<40x128xf32>
  %real = prims.mul %xf, %xs : (tensor<40x128xf32>, tensor<40x128xf32>) -> tensor<40x128xf32>
  %0 = prims.contract %real, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<40x128xf32>, tensor<128x128xf32>) -> tensor<40x128xf32>
  return %0 : tensor<40x128xf32>
}

// Where the weight alone is of bytes, they are there for a small library's sake. What reads them as they are has them.
// CHECK-LABEL: @weight_of_bytes
// CHECK-SAME: (%arg0: tensor<40x128xf32> {ptc.input = "x"})
// CHECK: %[[F:.*]] = prims.convert {{.*}}xi8>
// CHECK: %[[W:.*]] = prims.mul %[[F]]
// CHECK-DAG: prims.contract %arg0, %[[W]]
// CHECK-DAG: prims.contract %arg0, %[[F]]
func.func @weight_of_bytes(%x: tensor<40x128xf32> {ptc.input = "x"}) -> (tensor<40x128xf32>, tensor<40x128xf32>) {
  %i = prims.iota {dim = 1 : i64, sizes = array<i64: 128, 128>, dtype = i8} : () -> tensor<128x128xi8>
  %f = prims.convert %i {dtype = f32} : (tensor<128x128xi8>) -> tensor<128x128xf32>
  %s = prims.full {value = 0.5 : f32, sizes = array<i64: 128, 128>} : () -> tensor<128x128xf32>
  %w = prims.mul %f, %s : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %0 = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<40x128xf32>, tensor<128x128xf32>) -> tensor<40x128xf32>
  %1 = prims.contract %x, %f {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<40x128xf32>, tensor<128x128xf32>) -> tensor<40x128xf32>
  return %0, %1 : tensor<40x128xf32>, tensor<40x128xf32>
}

// What a loop only reads is a weight of its functions where it follows from weights: so they fold what they make of it.
// CHECK-LABEL: @loop
// CHECK: control.while @condition, @body(%arg0) : (tensor<256x256xf32>) -> tensor<256x256xf32>
// CHECK-LABEL: func.func private @condition
// CHECK-SAME: (%arg0: tensor<256x256xf32>)
// CHECK-LABEL: func.func private @body
// CHECK-SAME: (%arg0: tensor<256x256xf32>, %[[W:[^ ]*]]: tensor<256x256xf32> {ptc.weight
// CHECK-NEXT: prims.add %arg0, %[[W]]
func.func @loop(%x: tensor<256x256xf32> {ptc.input = "x"}) -> tensor<256x256xf32> {
  %i = prims.iota {dim = 0 : i64, sizes = array<i64: 256, 1>, dtype = f32} : () -> tensor<256x1xf32>
  %j = prims.iota {dim = 1 : i64, sizes = array<i64: 1, 256>, dtype = f32} : () -> tensor<1x256xf32>
  %p = prims.contract %i, %j {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<256x1xf32>, tensor<1x256xf32>) -> tensor<256x256xf32>
  %0 = control.while @condition, @body(%x, %p) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
func.func private @condition(%x: tensor<256x256xf32>, %p: tensor<256x256xf32>) -> tensor<i1> {
  %0 = prims.constant {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @body(%x: tensor<256x256xf32>, %p: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %n = prims.neg %p : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %0 = prims.add %x, %n : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
