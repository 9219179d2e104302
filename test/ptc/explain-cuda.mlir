// Of each kernel on a GPU its form and why, and its grids with the shared memory of a block; of each architecture the
// code that the library has for it.
// RUN: ptc explain %s --target cuda --ptxas none | FileCheck %s
// RUN: ptc explain %s --target cuda --ptxas none --gpu-arch sm_80 --json | FileCheck %s --check-prefix=JSON
// RUN: not ptc explain %s --target cuda --html %t.html 2>&1 | FileCheck %s --check-prefix=LIMITS
// RUN: ptc explain %s --target cuda --html %t.html --peak-gflops 60000 --peak-gbs 3350 && grep -c 3350 %t.html

// LIMITS: ptc: error: command line: --html: a page of a GPU's kernels needs --peak-gflops and --peak-gbs
// CHECK: kernels: {{[0-9]+}}
// CHECK-DAG: (pointwise, flat map, a thread a point)
// CHECK-DAG: grid of {{[0-9]+}} block{{s?}} of {{[0-9]+}} threads
// CHECK-DAG: of shared memory
// CHECK-DAG: (blocks: n
// CHECK-DAG: because: {{.*}}n rows; {{.*}}stages share a block's row
// CHECK: code for sm_90a: PTX; weights as its kernels read them 0 B
// CHECK-NEXT: code for sm_80: PTX; weights as its kernels read them 0 B

// JSON: "grids": [
// JSON-NEXT: {
// JSON-NEXT: "blocks":
// JSON: "threads":
// JSON: "machines": [
// JSON-NEXT: {
// JSON-NEXT: "chosen":
// JSON-NEXT: "code": "PTX",
// JSON-NEXT: "name": "sm_80",
#x = affine_map<()[s0] -> (s0, 1000)>
module attributes {ptc.symbols = [{max = 100 : i64, min = 2 : i64, name = "n"}]} {
  func.func @forward(%x: tensor<?x1000xf32, #x> {ptc.input = "x"}, %y: tensor<4096xf32> {ptc.input = "y"})
      -> (tensor<?x1000xf32, #x> {ptc.output = "a"}, tensor<4096xf32> {ptc.output = "b"}) {
    %a = aten.softmax.int %x {dim = -1 : i64} : (tensor<?x1000xf32, #x>) -> tensor<?x1000xf32, #x>
    %b = aten.relu.default %y : (tensor<4096xf32>) -> tensor<4096xf32>
    return %a, %b : tensor<?x1000xf32, #x>, tensor<4096xf32>
  }
}
