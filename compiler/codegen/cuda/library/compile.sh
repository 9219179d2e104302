#!/bin/sh
# compile.sh OUT LIBCLC SOURCES...: the sources, and what they call of libclc, as one file of bitcode for NVIDIA's GPUs.
# No header or library of CUDA's. glibc's headers want to know a machine; products and sums are rounded as on the CPU.
set -eu
out=$1
libclc=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
machine=/usr/include/x86_64-linux-gnu
for source in "$@"; do
  /usr/bin/clang++-22 --target=nvptx64-nvidia-cuda -nogpulib -nogpuinc -std=c++17 -O2 -ffp-contract=off \
    -fno-builtin -fno-math-errno -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-ident -fvisibility=hidden \
    -D__x86_64__ -D_GNU_SOURCE -isystem /usr/include/c++/12 -isystem $machine/c++/12 -isystem $machine -I. \
    -emit-llvm -c "$source" -o "$folder/$(echo "$source" | tr / _).bc" &
  jobs="${jobs:-} $!"
done
for job in $jobs; do
  wait "$job"
done
bin=/usr/lib/llvm-22/bin
$bin/llvm-link -o "$folder/own" "$folder"/*.bc
$bin/llvm-link --only-needed --internalize -o "$folder/all" "$folder/own" "$libclc"
# Tables are constant memory in libclc, which serves one address at a time: here they are global memory.
$bin/opt -passes='globaldce,strip-dead-prototypes' -S "$folder/all" | sed 's/addrspace(4)/addrspace(1)/g' |
  $bin/llvm-as -o "$out"
