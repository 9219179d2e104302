#!/bin/sh
# compile.sh OUT GENERATED SOURCES...: the runtime as one relocatable object that needs nothing but the C library.
# GENERATED is the folder of what the build has made of sources.
set -eu
out=$1
generated=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for source in "$@"; do
  /usr/bin/clang++-22 -std=c++17 -O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fno-exceptions \
    -fno-rtti -fno-threadsafe-statics -fno-stack-protector -fno-plt -fno-ident -I. -I"$generated" -c "$source" \
    -o "$folder/$(basename "$source" .cpp).o" &
  jobs="${jobs:-} $!"
done
for job in $jobs; do
  wait "$job"
done
# Names of functions that no other file calls would be a twentieth of a small library.
/usr/bin/ld.lld-22 -r --discard-all -o "$out" "$folder"/*.o
