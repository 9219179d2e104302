#!/usr/bin/env bash
# run_python.sh SCRIPT ARG…: with the virtual environment of tools/setup/install --tests where there is one.
# A Bazel test starts in a tree of links into the checkout: that is how the checkout is found.
set -euo pipefail
root=$(dirname "$(readlink -f "$PWD/tools/bazel/run_python.sh")")/../..
python=${PTC_PYTHON:-$root/.venv/bin/python}
[[ -x $python ]] || python=/usr/bin/python3
exec "$python" "$@"
