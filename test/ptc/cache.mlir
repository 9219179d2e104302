// A second compilation with --cache takes what the first one made: the whole library, or, when something around it has
// changed, its kernels. What comes out is what a compilation without a cache writes. Damage is a miss, and so is what was
// stored under another name. Every option that makes another library counts.
// RUN: rm -rf %t && mkdir %t
// RUN: ptc compile %s -o %t/none.so
// RUN: ptc compile %s -o %t/first.so --cache %t/cache --time 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: ptc compile %s -o %t/second.so --cache %t/cache --time 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: cmp %t/none.so %t/first.so && cmp %t/none.so %t/second.so
// RUN: sed 's/"y"/"z"/' %s > %t/edited.mlir
// RUN: ptc compile %t/edited.mlir -o %t/edited.so --cache %t/cache --time 2>&1 | FileCheck %s --check-prefix=EDITED
// RUN: truncate --size=-100 %t/cache/*
// RUN: ptc compile %s -o %t/third.so --cache %t/cache --time 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: cmp %t/none.so %t/third.so
// RUN: ptc compile %s -o %t/fourth.so --cache %t/cache --time 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: ptc compile %s -o %t/other.so --cache %t/cache --march x86-64-v3 --time 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: sh -c 'for i in 1 2 3 4; do ptc compile %s -o %t/$i.so --cache %t/shared & done; wait'
// RUN: cmp %t/none.so %t/1.so && cmp %t/none.so %t/2.so && cmp %t/none.so %t/3.so && cmp %t/none.so %t/4.so
// RUN: ptc compile %s -o %t/plain.so --opt 0
// RUN: ptc compile %s -o %t/plain2.so --opt 0 --cache %t/cache --time 2>&1 | FileCheck %s --check-prefix=EDITED
// RUN: cmp %t/plain.so %t/plain2.so
// RUN: sh -c 'set -- %t/shared/*; for f in "$@"; do test "$f" = "$1" || cp "$1" "$f"; done'
// RUN: ptc compile %s -o %t/swapped.so --cache %t/shared && cmp %t/none.so %t/swapped.so
// RUN: sh -c 'for f in %t/shared/*; do rm $f && mkfifo $f; done'
// RUN: timeout 60 ptc compile %s -o %t/waiting.so --cache %t/shared && cmp %t/none.so %t/waiting.so
// RUN: not ptc compile %s -o %t/a.so --cache %s 2>&1 | FileCheck %s --check-prefix=NONE

// FIRST: ms 100.0 %  in all
// FIRST: kernels for {{.*}}: 1 functions, 0 of them cached
// SECOND-NOT: kernels
// SECOND: library from the cache
// EDITED: kernels for {{.*}}: 1 functions, 1 of them cached
// NONE: ptc: error: {{.*}}cache.mlir: {{.*}} (cannot make the cache's folder)
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %0 = aten.sin.default %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
