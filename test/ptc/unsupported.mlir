// An operator that nobody knows: one line that names it and its place, nothing written, status 1; explain reports it and
// succeeds.
// RUN: not ptc compile %s -o %t.so 2> %t.err
// RUN: FileCheck %s --check-prefix=ERROR < %t.err
// RUN: not ls %t.so
// RUN: ptc explain %s --json | FileCheck %s

// ERROR: ptc: error: net.py:7, node mystery_1: {{.*}}aten.mystery.default{{.*}}({{.+}})
// ERROR-NOT: {{.}}
// CHECK: "break_reasons"
// CHECK: "node": "mystery_1"
// CHECK: "source": "net.py:7"
// CHECK: "aten.mystery.default"
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %0 = aten.mystery.default %x : (tensor<4xf32>) -> tensor<4xf32> loc("mystery_1"("net.py":7:0))
  return %0 : tensor<4xf32>
}
