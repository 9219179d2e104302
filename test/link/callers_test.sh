#!/bin/sh
# callers_test.sh PTC MODEL CLASSIFY_C CLASSIFY_CPP CLASSIFY_PY LOADER_FILE: a real model, called from C, C++ and
# Python.
set -eux
library=$TEST_TMPDIR/digits.so
"$1" compile "$2" -o "$library"
"$3" "$library" | sort -k2 -n -r | head -1 | grep '^0:'
"$4" "$library" >"$TEST_TMPDIR/out"
grep 'image 0 is a 1' "$TEST_TMPDIR/out"
grep 'image 1 is a 7' "$TEST_TMPDIR/out"
grep "refused: input 'images' (0): dimension 2 has size 4, but the model was compiled for 8" "$TEST_TMPDIR/out"
if python3 -c 'import numpy' 2>/dev/null; then
  PYTHONPATH=$(dirname "$(dirname "$6")") python3 "$5" "$library" | grep 'digit 7'
fi
