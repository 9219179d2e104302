// What is wrong with the command line is status 2 and one line; with a file, status 1.
// RUN: not ptc compile %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not ptc compile %s -o %t.so --emit nonsense 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not ptc compile %t.missing -o %t.so 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not ptc run %s --inputs %s --outputs %t.out 2>&1 | FileCheck %s --check-prefix=LIBRARY
// RUN: not ptc compile %s -o %t.so --mode reduce-overhead 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not ptc compile %s -o %t.so --target vulkan 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: ptc --version | FileCheck %s --check-prefix=VERSION

// OUTPUT: ptc: error: command line: --output is required (see ptc compile --help)
// STAGE: ptc: error: command line: --emit: one of aten, prims, loop, llvm, asm, ptx, obj, so
// MISSING: ptc: error: {{.*}}: No such file or directory
// LIBRARY: ptc: error: {{.*}}: is no library (ptc compile makes one of a model)
// MODE: ptc: error: command line: --mode: {{.*}}default{{.*}}max-autotune
// TARGET: ptc: error: command line: --target: vulkan not in {cpu,cuda}
// VERSION: ptc {{[0-9]+\.[0-9]+\.[0-9]+}} ({{development build|commit [0-9a-f]+\+?}}, LLVM 22.{{[0-9.]+}})
