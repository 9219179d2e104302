#!/bin/sh
# examples_test.sh MAKE_MODEL CLASSIFY_C CLASSIFY_CPP: the examples run, on a stand-in for the model that they are for.
set -eux
model=$TEST_TMPDIR/digits.so
"$1" digits "$model"
# The stand-in answers how many pixels are lit, modulo 10: 36 of the drawn zero.
"$2" "$model" | grep '6: 100.0%'
"$3" "$model" >"$TEST_TMPDIR/out"
cat "$TEST_TMPDIR/out"
grep 'digits: images -> s0 10' "$TEST_TMPDIR/out"
grep 'image 0 is a 6' "$TEST_TMPDIR/out"
grep "refused: input 'images' (0): dimension 2 has size 4, but the model was compiled for 8" "$TEST_TMPDIR/out"
