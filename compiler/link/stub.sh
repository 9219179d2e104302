#!/bin/sh
# stub.sh SONAME SYMBOLS OUT: a shared library that defines the listed names and does nothing.
set -eu
object=$(mktemp)
trap 'rm -f "$object"' EXIT
sed 's/.*/.globl &\n.type &,@function\n&:/' "$2" |
  /usr/bin/clang-22 -target x86_64-linux-gnu -x assembler -c - -o "$object"
/usr/bin/ld.lld-22 -shared -soname "$1" --hash-style=gnu --build-id=none -s "$object" -o "$3"
