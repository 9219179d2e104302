// What is left to the caller is named: by compile, by explain, and by run, which has no functions.
// RUN: ptc compile %s --fallback -o %t.so 2>&1 | FileCheck %s --check-prefix=WARNING
// RUN: ptc explain %s --fallback --json | FileCheck %s
// RUN: ptc explain %s --fallback | FileCheck %s --check-prefix=TEXT
// RUN: not ptc run %t.so --inputs %s --outputs %t.safetensors 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: not ptc bench %t.so 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: not ptc compile %s -o %t.none.so 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not ptc compile %s --fullgraph --fallback -o %t.none.so 2>&1 | FileCheck %s --check-prefix=USAGE

// WARNING: ptc: warning: net.py:7, node scale: mylib::scale.default is left to the caller (it is not an operator of PyTorch that ptc knows)
// WARNING-NOT: {{.}}
// CHECK: "breaks": 0
// CHECK: "fallbacks": [
// CHECK: "bytes_in": 16
// CHECK: "bytes_out": 32
// CHECK: "node": "scale"
// CHECK: "op": "mylib::scale.default"
// CHECK: "reason": "{{.+}}"
// CHECK: "source": "net.py:7"
// TEXT: left to the caller: 1 call
// TEXT: net.py:7: mylib::scale.default takes 16 B and answers 32 B [node scale]
// CALLS: error: {{.*}}.so: calls the function 'mylib::scale.default' of its caller at net.py:7, and ptc has none
// ERROR: ptc: error: net.py:7, node scale: operator aten.custom.mylib.scale.default is not supported
// USAGE: ptc: error: command line: --fallback excludes --fullgraph
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<8xf32> {ptc.output = "y"}) {
  %0 = aten.exp.default %x : (tensor<4xf32>) -> tensor<4xf32> loc("exp"("net.py":6:0))
  %1 = aten.custom.mylib.scale.default %0 {arg0 = 0 : index} : (tensor<4xf32>) -> tensor<8xf32> loc("scale"("net.py":7:0))
  return %1 : tensor<8xf32>
}
