// A kernel that makes more than it lets go of runs late, one that lets go of more runs early. Who reads a state stays
// before who computes its next value.
// RUN: ptc-opt %s --order-kernels | FileCheck %s

#id = affine_map<(q) -> (q)>
#id2 = affine_map<(p, q) -> (p, q)>
#column = affine_map<(p, q) -> (q)>
#row = affine_map<(q) -> (0, q)>
// CHECK: "reads_the_state"
// CHECK: "other"
// CHECK: "another"
// CHECK: "spread"
// CHECK: "sum"
// CHECK: "use"
// CHECK: "gradient"
// CHECK: "update"
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<64x4xf32> {ptc.state = "w"})
    -> (tensor<4xf32> {ptc.output = "y"}, tensor<4xf32> {ptc.output = "z"},
        tensor<64x4xf32> {ptc.writes_state = "w"}) {
  %big = loop.kernel "spread" outer 2 (%x) {
  ^bb0(%a: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%p: index, %q: index):
      %0 = loop.read %a[#column](%p, %q) : tensor<4xf32> -> f32
      loop.yield %0 : f32
    } : tensor<64x4xf32>
    loop.yield %r : tensor<64x4xf32>
  } : (tensor<4xf32>) -> tensor<64x4xf32>
  %gradient = loop.kernel "gradient" outer 2 (%x) {
  ^bb0(%a: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%p: index, %q: index):
      %0 = loop.read %a[#column](%p, %q) : tensor<4xf32> -> f32
      loop.yield %0 : f32
    } : tensor<64x4xf32>
    loop.yield %r : tensor<64x4xf32>
  } : (tensor<4xf32>) -> tensor<64x4xf32>
  %read = loop.kernel "reads_the_state" outer 1 (%w) {
  ^bb0(%a: tensor<64x4xf32>):
    %r = loop.map {
    ^bb0(%q: index):
      %0 = loop.read %a[#row](%q) : tensor<64x4xf32> -> f32
      loop.yield %0 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<64x4xf32>) -> tensor<4xf32>
  %other = loop.kernel "other" outer 1 (%read) {
  ^bb0(%a: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%q: index):
      %0 = loop.read %a[#id](%q) : tensor<4xf32> -> f32
      loop.yield %0 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %another = loop.kernel "another" outer 1 (%other) {
  ^bb0(%a: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%q: index):
      %0 = loop.read %a[#id](%q) : tensor<4xf32> -> f32
      loop.yield %0 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %y = loop.kernel "use" outer 1 (%big, %another) {
  ^bb0(%a: tensor<64x4xf32>, %b: tensor<4xf32>):
    %r = loop.map {
    ^bb0(%q: index):
      %0 = loop.read %a[#row](%q) : tensor<64x4xf32> -> f32
      %1 = loop.read %b[#id](%q) : tensor<4xf32> -> f32
      %2 = arith.addf %0, %1 : f32
      loop.yield %2 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<64x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %next = loop.kernel "update" outer 2 (%w, %gradient) {
  ^bb0(%a: tensor<64x4xf32>, %b: tensor<64x4xf32>):
    %r = loop.map {
    ^bb0(%p: index, %q: index):
      %0 = loop.read %a[#id2](%p, %q) : tensor<64x4xf32> -> f32
      %1 = loop.read %b[#id2](%p, %q) : tensor<64x4xf32> -> f32
      %2 = arith.addf %0, %1 : f32
      loop.yield %2 : f32
    } : tensor<64x4xf32>
    loop.yield %r : tensor<64x4xf32>
  } : (tensor<64x4xf32>, tensor<64x4xf32>) -> tensor<64x4xf32>
  %z = loop.kernel "sum" outer 1 (%big) {
  ^bb0(%a: tensor<64x4xf32>):
    %r = loop.map {
    ^bb0(%q: index):
      %0 = loop.read %a[#row](%q) : tensor<64x4xf32> -> f32
      loop.yield %0 : f32
    } : tensor<4xf32>
    loop.yield %r : tensor<4xf32>
  } : (tensor<64x4xf32>) -> tensor<4xf32>
  return %y, %z, %next : tensor<4xf32>, tensor<4xf32>, tensor<64x4xf32>
}
