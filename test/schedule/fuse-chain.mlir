// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// A pointwise chain over symbolic sizes is one kernel that reads and writes
// each element once.

#shape = affine_map<()[s0, s1] -> (s0, s1)>
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = 1024 : i64},
                                  {name = "s1", min = 1 : i64, max = 2048 : i64}]} {
  // CHECK-COUNT-1: loop.kernel
  // CHECK-COUNT-1: loop.map
  // CHECK: %[[X:.*]] = loop.read
  // CHECK-NEXT: %[[S:.*]] = math.sin %[[X]]
  // CHECK-NEXT: %[[C:.*]] = math.cos %[[S]]
  // CHECK-NEXT: loop.yield %[[C]]
  // CHECK-NOT: loop.kernel
  func.func @forward(%x: tensor<?x?xf32, #shape>) -> tensor<?x?xf32, #shape> {
    %0 = prims.sin %x : (tensor<?x?xf32, #shape>) -> tensor<?x?xf32, #shape>
    %1 = prims.cos %0 : (tensor<?x?xf32, #shape>) -> tensor<?x?xf32, #shape>
    return %1 : tensor<?x?xf32, #shape>
  }
}
