// RUN: ptc-opt --decompose --split-input-file %s | FileCheck %s
// What an operator takes for granted of sizes that may be otherwise is a condition of calls, said once.

// CHECK: ptc.guards = [{relation = "ge", text = "1 <= s0", value = #{{.*}}}], ptc.symbols
#sizes = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x2xf32, #sizes> {ptc.input = "x"}) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = aten.select.int %x {dim = 0 : i64, index = 0 : i64} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    %1 = aten.amax.default %x {dim = array<i64: 0>} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    return %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// CHECK: text = "4 <= s0"
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<2x?xf32, affine_map<()[s0] -> (2, s0)>> {ptc.input = "x"})
      -> tensor<2x?xf32, affine_map<()[s0] -> (2, s0 + 3)>> {
    %0 = aten.reflection_pad1d.default %x {padding = array<i64: 0, 3>}
      : (tensor<2x?xf32, affine_map<()[s0] -> (2, s0)>>) -> tensor<2x?xf32, affine_map<()[s0] -> (2, s0 + 3)>>
    return %0 : tensor<2x?xf32, affine_map<()[s0] -> (2, s0 + 3)>>
  }
}

// -----

// Of pictures there may be none, of channels and pixels not.
// CHECK: ptc.guards = [{relation = "ge", text = "1 <= s1", value = #{{.*}}}], ptc.symbols
#sizes = affine_map<()[s0, s1] -> (s0, 2, s1, 6)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}, {name = "s1", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x2x?x6xf32, #sizes> {ptc.input = "x"})
      -> (tensor<?x2x?x7xf32, affine_map<()[s0, s1] -> (s0, 2, s1 + 1, 7)>>, tensor<?x2x?x12xf32, affine_map<()[s0, s1] -> (s0, 2, s1 * 2, 12)>>) {
    %0 = aten.avg_pool2d.default %x {kernel_size = array<i64: 2>, stride = array<i64: 1>, padding = array<i64: 1>}
      : (tensor<?x2x?x6xf32, #sizes>) -> tensor<?x2x?x7xf32, affine_map<()[s0, s1] -> (s0, 2, s1 + 1, 7)>>
    %1 = aten.upsample_nearest2d.vec %x {scale_factors = array<f64: 2.0, 2.0>}
      : (tensor<?x2x?x6xf32, #sizes>) -> tensor<?x2x?x12xf32, affine_map<()[s0, s1] -> (s0, 2, s1 * 2, 12)>>
    return %0, %1 : tensor<?x2x?x7xf32, affine_map<()[s0, s1] -> (s0, 2, s1 + 1, 7)>>, tensor<?x2x?x12xf32, affine_map<()[s0, s1] -> (s0, 2, s1 * 2, 12)>>
  }
}

// -----

// A convolution of no pictures does not ask for pixels.
// CHECK: ptc.guards = [{relation = "ge", text = "s0 <= s1*s0", value = #{{.*}}}], ptc.symbols
#sizes = affine_map<()[s0, s1] -> (s0, 2, s1)>
#result = affine_map<()[s0, s1] -> (s0, 4, s1 + 1)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}, {name = "s1", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x2x?xf32, #sizes> {ptc.input = "x"}, %w: tensor<4x2x2xf32> {ptc.input = "w"}) -> tensor<?x4x?xf32, #result> {
    %0 = aten.conv1d.default %x, %w {padding = array<i64: 1>} : (tensor<?x2x?xf32, #sizes>, tensor<4x2x2xf32>) -> tensor<?x4x?xf32, #result>
    return %0 : tensor<?x4x?xf32, #result>
  }
}

// -----

// CHECK: text = "s0 <= 3"
// CHECK-SAME: text = "3 <= s0"
#sizes = affine_map<()[s0] -> (4, s0)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<4x?xf32, #sizes> {ptc.input = "x"}, %i: tensor<2xi64> {ptc.input = "i"}, %y: tensor<2x3xf32> {ptc.input = "y"})
      -> tensor<4x?xf32, #sizes> {
    %0 = aten.index_add.default %x, %i, %y {dim = 0 : i64}
      : (tensor<4x?xf32, #sizes>, tensor<2xi64>, tensor<2x3xf32>) -> tensor<4x?xf32, #sizes>
    return %0 : tensor<4x?xf32, #sizes>
  }
}

// -----

// CHECK-NOT: ptc.guards
// CHECK: prims.gather
#sizes = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func private @branch(%x: tensor<?x2xf32, #sizes>) -> tensor<2xf32> {
    %0 = aten.select.int %x {dim = 0 : i64, index = 0 : i64} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// The last two of what may be one, in a branch.
// CHECK-NOT: ptc.guards
// CHECK: prims.gather
#sizes = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = 8 : i64}]} {
  func.func private @branch(%x: tensor<?x2xf32, #sizes>) -> tensor<2x2xf32> {
    %0 = aten.slice.Tensor %x {dim = 0 : i64, start = -2 : i64} : (tensor<?x2xf32, #sizes>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
}

// -----

// CHECK-NOT: ptc.guards
// CHECK: prims.slice
#sizes = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x2xf32, #sizes> {ptc.input = "x"}) -> tensor<2xf32> {
    %0 = aten.select.int %x {dim = 0 : i64, index = 0 : i64} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// A kernel that does not fit into what is added to the input, even where there are no pictures.
// CHECK: text = "3 <= s1 + 2"
#sizes = affine_map<()[s0, s1] -> (s0, 3, s1)>
#result = affine_map<()[s0, s1] -> (s0, 2, s1)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}, {name = "s1", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x3x?xf32, #sizes> {ptc.input = "x"}, %w: tensor<2x3x3xf32> {ptc.input = "w"})
      -> tensor<?x2x?xf32, #result> {
    %0 = aten.conv1d.default %x, %w {padding = array<i64: 1>}
      : (tensor<?x3x?xf32, #sizes>, tensor<2x3x3xf32>) -> tensor<?x2x?xf32, #result>
    return %0 : tensor<?x2x?xf32, #result>
  }
}

// -----

// The result of a transposed one is not below zero, and is not empty where there are pictures.
// CHECK: text = "0 <= s1 + -2"
// CHECK-SAME: text = "s0 <= (s1 + -2)*s0"
#sizes = affine_map<()[s0, s1] -> (s0, 2, s1)>
#result = affine_map<()[s0, s1] -> (s0, 3, s1 - 2)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}, {name = "s1", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x2x?xf32, #sizes> {ptc.input = "x"}, %w: tensor<2x3x1xf32> {ptc.input = "w"})
      -> tensor<?x3x?xf32, #result> {
    %0 = aten.conv_transpose1d.default %x, %w {padding = array<i64: 1>}
      : (tensor<?x2x?xf32, #sizes>, tensor<2x3x1xf32>) -> tensor<?x3x?xf32, #result>
    return %0 : tensor<?x3x?xf32, #result>
  }
}

// -----

// Windows of pooling.
// CHECK: text = "5 <= s0"
#sizes = affine_map<()[s0] -> (2, s0)>
#result = affine_map<()[s0] -> (2, (s0 - 5) floordiv 5 + 1)>
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<2x?xf32, #sizes> {ptc.input = "x"}) -> tensor<2x?xf32, #result> {
    %0 = aten.max_pool1d.default %x {kernel_size = array<i64: 5>} : (tensor<2x?xf32, #sizes>) -> tensor<2x?xf32, #result>
    return %0 : tensor<2x?xf32, #result>
  }
}

// -----

// A diagonal is as long as the smaller of two sizes, which the graph takes for the first.
// CHECK: ptc.guards = [{relation = "ge", text = "1 <= s0", value
#sizes = affine_map<()[s0] -> (1, s0, s0)>
#result = affine_map<()[s0] -> (s0, 1)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<1x?x?xf32, #sizes> {ptc.input = "x"}) -> tensor<?x1xf32, #result> {
    %0 = aten.diagonal.default %x : (tensor<1x?x?xf32, #sizes>) -> tensor<?x1xf32, #result>
    return %0 : tensor<?x1xf32, #result>
  }
}
