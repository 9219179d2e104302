#!/usr/bin/env bash
# run_lit.sh TOOL… -- TEST…: lit over the tests, with the tools' folders on the PATH.
set -euo pipefail
path=/usr/lib/llvm-22/bin
while [[ $1 != -- ]]; do
  path="$PWD/$(dirname "$1"):$path"
  shift
done
shift
export PTC_TEST_PATH="$path" PTC_LIT_CONFIG="$PWD/test/lit.cfg.py"
exec /usr/lib/llvm-22/bin/lit -v --config-prefix=lit "$@"
