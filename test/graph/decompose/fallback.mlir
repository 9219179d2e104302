// RUN: ptc-opt --decompose=fallback %s | FileCheck %s
// With fallback, what has no decomposition is a call of the caller's function; the rest is decomposed as ever.

#n = affine_map<()[s0] -> (s0)>
module attributes {ptc.symbols = [{name = "s0", min = 2 : i64, max = 100 : i64}]} {
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<?xf32, #n> {ptc.input = "x"}, %m: tensor<4x4xf32> {ptc.input = "m"},
                   %f: tensor<4x4xf32> {ptc.input = "f"})
    -> (tensor<?xf32, #n>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<?xf32, #n>) {
  // An operator of a library: arguments by position and by name, of every kind; a size is one more input.
  // CHECK: %[[SIZE:.*]] = prims.size {{.*}} tensor<i64>
  // CHECK: %[[Y:.*]]:2 = control.external "mylib::scale.default"
  // CHECK-SAME: {\22args\22:[{\22tensor\22:0},2.0,[{\22int\22:1},3]],\22kwargs\22:{\22at\22:{\22device\22:\22cpu\22}
  // CHECK-SAME: \22big\22:{\22float\22:\22inf\22},\22dtype\22:{\22dtype\22:\22float32\22},\22flag\22:true
  // CHECK-SAME: \22mode\22:\22a \\\22b\\\22\22,\22nothing\22:null}}
  // CHECK-SAME: (%arg0, %[[SIZE]]) {ptc.reason = "{{.+}}"} : (tensor<?xf32, #{{.*}}>, tensor<i64>) -> (tensor<?xf32, #{{.*}}>, none)
  %y:2 = aten.custom.mylib.scale.default %x {arg0 = 0 : index, arg1 = 2.0 : f64, arg2 = [affine_map<()[s0] -> (s0)>, 3],
    at = {device = "cpu"}, big = 0x7FF0000000000000 : f64, dtype = f32, flag = true, mode = "a \"b\"", nothing}
    : (tensor<?xf32, #n>) -> (tensor<?xf32, #n>, tensor<7xf32>)
  // CHECK: prims.exp %[[Y]]#0
  %e = aten.exp.default %y#0 : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  // One of PyTorch's own, by its schema.
  // CHECK: control.external "aten::_euclidean_dist.default" "{\22args\22:[{\22tensor\22:0},{\22tensor\22:1}],\22kwargs\22:{}}"
  %i = aten._euclidean_dist.default %m, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // A row that refuses these arguments: nothing stays of what it began.
  // CHECK-NEXT: control.external "aten::linalg_lu_factor.default" "{\22args\22:[{\22tensor\22:0}],\22kwargs\22:{\22pivot\22:false}}"(%arg2)
  // CHECK-SAME: -> (tensor<4x4xf32>, none)
  %l:2 = aten.linalg_lu_factor.default %f {pivot = false} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, none)
  // What the operator updates is a result.
  // CHECK-NEXT: control.external "mylib::bump_.default" "{\22args\22:[],\22kwargs\22:{\22x\22:{\22result\22:1,\22tensor\22:0}}}"
  %b:2 = aten.custom.mylib.bump_.default %f {x = {result = 1 : index, tensor = 0 : index}}
    : (tensor<4x4xf32>) -> (none, tensor<4x4xf32>)
  return %e, %i, %l#0, %b#1, %y#0
    : tensor<?xf32, #n>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<?xf32, #n>
}
}
