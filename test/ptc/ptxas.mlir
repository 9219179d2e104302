// Beside the PTX of each architecture lies what a ptxas makes of it: one that is named must do its work, one that is
// found may fail, and do better the next time. Which one it was is in the library, and in the key that the cache knows
// it by.
// RUN: split-file %s %t && chmod +x %t/good/ptxas %t/newer/ptxas %t/old/ptxas %t/once/ptxas
// RUN: ptc compile %t/model.mlir -o %t/good.so --target cuda --ptxas %t/good/ptxas --cache %t/cache
// RUN: grep -c "cubin of -arch=sm_90a for sm_90a" %t/good.so
// RUN: grep -c "cubin of -arch=sm_80 for sm_80" %t/good.so
// RUN: grep -c "ptxas 12.8.93" %t/good.so
// RUN: ptc compile %t/model.mlir -o %t/newer.so --target cuda --ptxas %t/newer/ptxas --cache %t/cache
// RUN: grep -c "ptxas 13.0.88" %t/newer.so
// RUN: ptc compile %t/model.mlir -o %t/one.so --target cuda --gpu-arch sm_86 --ptxas %t/good/ptxas
// RUN: grep -c "cubin of -arch=sm_86 for sm_86" %t/one.so && not grep -c "for sm_80" %t/one.so
// RUN: ptc compile %t/model.mlir -o %t/none.so --target cuda --ptxas none && not grep -c "cubin of" %t/none.so
// RUN: not ptc compile %t/model.mlir -o %t/bad.so --target cuda --ptxas %t/old/ptxas 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not ptc compile %t/model.mlir -o %t/bad.so --target cuda --ptxas %t/nothing 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not ptc compile %t/model.mlir -o %t/bad.so --target cuda --ptxas /bin/echo 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not ls %t/bad.so
// RUN: sh %t/with-path %t/old ptc compile %t/model.mlir -o %t/warned.so --target cuda 2>&1 | FileCheck %s --check-prefix=WARNED
// RUN: sh %t/with-path %t/once ptc compile %t/model.mlir -o %t/once.so --target cuda --cache %t/once.cache 2>&1 | FileCheck %s --check-prefix=WARNED
// RUN: sh %t/with-path %t/once ptc compile %t/model.mlir -o %t/once.so --target cuda --cache %t/once.cache && grep -c "cubin of" %t/once.so
// RUN: sh %t/with-path %t/good ptc compile %t/model.mlir -o %t/found.so --target cuda && grep -c "cubin of" %t/found.so
// RUN: sh %t/with-path %t/good ptc explain %t/model.mlir --target cuda | FileCheck %s --check-prefix=EXPLAIN
// RUN: ptc explain %t/model.mlir --target cuda --ptxas none --json | FileCheck %s --check-prefix=JSON
// RUN: not ptc compile %t/model.mlir -o %t/bad.so --target cuda --gpu-arch sm_80,sm_80 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not ptc compile %t/model.mlir -o %t/bad.ptx --emit ptx --target cuda --gpu-arch sm_80,sm_90a 2>&1 | FileCheck %s --check-prefix=TEXT

// OLD: ptc: error: no machine code for sm_90a: {{.*}}/old/ptxas: ptxas kernels.ptx, line 5; fatal : Unsupported .version
// NOTHING: ptc: error: {{.*}}/nothing: {{.*}}
// OTHER: ptc: error: /bin/echo is no ptxas
// WARNED: ptc: warning: no machine code for sm_90a: {{.*}} Unsupported .version {{.*}} (the library has PTX alone, which the driver assembles)
// EXPLAIN: code for sm_90a: PTX, and machine code by ptxas 12.8.93; weights
// EXPLAIN-NEXT: code for sm_80: PTX, and machine code by ptxas 12.8.93; weights
// JSON: "machines": [
// JSON: "code": "PTX"
// JSON-NEXT: "name": "sm_90a"
// TWICE: ptc: error: the GPU architecture 'sm_80' is named twice
// TEXT: ptc: error: code for several machines is a library or an object, and no text (name one with --gpu-arch)

//--- good/ptxas
#!/bin/sh
if [ "$1" = --version ]; then
  printf 'ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 12.8, V12.8.93\n'
  exit
fi
echo "cubin of $1 for $(sed -n 's/^\.target //p' "$4")" > "$3"
//--- newer/ptxas
#!/bin/sh
if [ "$1" = --version ]; then
  printf 'ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V13.0.88\n'
  exit
fi
echo "another cubin of $1" > "$3"
//--- old/ptxas
#!/bin/sh
if [ "$1" = --version ]; then
  printf 'ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 11.4, V11.4.48\n'
  exit
fi
echo "ptxas kernels.ptx, line 5; fatal : Unsupported .version 7.8; current version is '7.4'" >&2
exit 255
//--- once/ptxas
#!/bin/sh
if [ "$1" = --version ]; then
  printf 'ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 12.8, V12.8.93\n'
  exit
fi
if mkdir "$0.$1"; then
  echo "ptxas fatal : Unsupported .version of the first call" >&2
  exit 255
fi
echo "cubin of $1" > "$3"
//--- with-path
PATH=$1:$PATH
shift
exec "$@"
//--- model.mlir
func.func @forward(%x: tensor<100xf32> {ptc.input = "x"}) -> (tensor<100xf32> {ptc.output = "y"}) {
  %0 = aten.relu.default %x : (tensor<100xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}
