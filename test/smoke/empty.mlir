// RUN: ptc-opt %s --canonicalize | FileCheck %s
// CHECK-NOT: arith.constant
// CHECK: return
func.func @f() { return }
