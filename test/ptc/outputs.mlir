// No output harms what is read, or what is no file; and what a killed process left goes.
// RUN: rm -rf %t && mkdir -p %t/d && cp %s %t/d/m.mlir && ln -s m.mlir %t/d/l.so && ln %t/d/m.mlir %t/d/hard.so
// RUN: not ptc compile %t/d/m.mlir -o %t/d/m.mlir 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: not ptc compile %t/d/m.mlir -o %t/d/../d/./m.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not ptc compile %t/d/m.mlir -o %t/d/l.so 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not ptc compile %t/d/m.mlir -o %t/d/hard.so 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not ptc compile %t/d/l.so -o %t/d/m.mlir --emit prims 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not ptc explain %t/d/m.mlir --html %t/d/m.mlir 2>&1 | FileCheck %s --check-prefix=HTML
// RUN: not ptc capture %t/d/m.mlir:f -o %t/d/m.mlir 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: cp %s %t/d/m.aten.mlir && not ptc compile %t/d/m.aten.mlir -o %t/d/m.so --save-temps 2>&1 | FileCheck %s --check-prefix=TEMPS
// RUN: cmp %s %t/d/m.mlir && cmp %s %t/d/m.aten.mlir
// RUN: sh -c 'ptc compile %s -o %s 2>/dev/null; test $? = 2'
// RUN: not ptc compile %s -o %t/x.a 2>&1 | FileCheck %s --check-prefix=ENDING
// RUN: not ptc compile %s -o %t/x.dll 2>&1 | FileCheck %s --check-prefix=ENDING
// RUN: sh -c '! test -e %t/x.a && ! test -e %t/x.dll'

// RUN: ptc compile %s -o %t/m.so && cp %t/m.so %t/kept.so
// RUN: not ptc run %t/m.so --inputs %t/m.so --outputs %t/m.so 2>&1 | FileCheck %s --check-prefix=OUTPUTS
// RUN: not ptc run %t/m.so --inputs %s --outputs %t/o --profile %t/m.so 2>&1 | FileCheck %s --check-prefix=PROFILE
// RUN: cmp %t/m.so %t/kept.so

// RUN: not ptc compile %t/missing.mlir -o %t/nowhere/m.so 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: mkfifo %t/fifo && not ptc compile %s -o %t/fifo 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: test -p %t/fifo
// RUN: echo old > %t/target.so && ln -s target.so %t/link.so && ptc compile %s -o %t/link.so
// RUN: test -L %t/link.so && cmp %t/target.so %t/m.so

// RUN: ptc compile %s -o - > %t/stdout.so && cmp %t/stdout.so %t/m.so
// RUN: ptc compile %s -o - --emit prims | FileCheck %s --check-prefix=STDOUT
// RUN: not ptc compile %s -o - --save-temps 2>&1 | FileCheck %s --check-prefix=NO-TEMPS
// RUN: sh -c 'ptc compile %t/missing.mlir -o - 2>/dev/null | wc -c' | FileCheck %s --check-prefix=NOTHING

// RUN: touch -d "3 hours ago" %t/m.so.ptc-0123456789abcdef-1-00000000.tmp
// RUN: touch %t/m.so.ptc-0123456789abcdef-1-00000001.tmp && touch -d "3 hours ago" %t/own.tmp
// RUN: ptc compile %s -o %t/m.so
// RUN: sh -c 'cd %t && ls *.tmp' | FileCheck %s --check-prefix=LEFT

// SAME: ptc: error: command line: --output {{.*}}m.mlir would overwrite an input (give it another name)
// OTHER: ptc: error: command line: --output {{.*}} would overwrite the input {{.*}} (give it another name)
// HTML: ptc: error: command line: --html {{.*}}m.mlir would overwrite an input
// TEMPS: ptc: error: command line: --save-temps {{.*}}m.aten.mlir would overwrite an input
// ENDING: ptc: error: command line: --output {{.*}}: ptc writes shared libraries of Linux (name it .so)
// OUTPUTS: ptc: error: command line: --outputs {{.*}}m.so would overwrite an input
// PROFILE: ptc: error: command line: --profile {{.*}}m.so would overwrite an input
// FOLDER: ptc: error: {{.*}}nowhere/m.so: {{.*}}nowhere: No such file or directory (cannot write the output)
// DEVICE: ptc: error: {{.*}}fifo: is no file, and would be replaced by one (cannot write the output)
// STDOUT: prims.sin
// NO-TEMPS: ptc: error: command line: --output - excludes --save-temps
// NOTHING: {{^}}0
// LEFT-NOT: 00000000.tmp
// LEFT: m.so.ptc-0123456789abcdef-1-00000001.tmp
// LEFT: own.tmp
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %0 = aten.sin.default %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
