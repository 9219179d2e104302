#!/bin/bash
# openmp_test.sh MAKE_MODEL PROBE: a model takes threads of its own pool, or, if asked, of the OpenMP runtime that is
# there.
set -eu
model=$TEST_TMPDIR/neighbours.so
"$1" neighbours "$model"

# hide NAMES...: libraries under these names that have nothing in them.
hide() {
  local folder name
  folder=$(mktemp -d "$TEST_TMPDIR/hidden.XXXX")
  for name in "$@"; do
    echo 'void nothing(void) {}' | /usr/bin/clang-22 -shared -fPIC -x c - -o "$folder/$name"
  done
  echo "$folder"
}

beside=0 # threads of the program that compute while the model is called

# expect WHAT PATTERN ENVIRONMENT...
expect() {
  local what=$1 pattern=$2
  shift 2
  local answer
  answer=$(env "$@" "$probe" "$model" $beside)
  echo "$what: $answer"
  [[ $answer =~ $pattern ]] || { echo "expected: $pattern"; exit 1; }
  sums+=("$(grep -o 'sum=[0-9]*' <<<"$answer")")
}

probe=$2
sums=()
libomp=$(/sbin/ldconfig -p | sed -n 's|.*libomp\.so\.5 .*x86-64.* => ||p' | head -n 1)
[[ -e $libomp ]] || { echo "libomp.so.5 is missing: tools/setup/install"; exit 1; }
expect "the pool" "openmp=none asked=2 threads=2 .* idle" PATH="$PATH"
expect "the pool beside an OpenMP runtime" "openmp=none asked=2 threads=2 .* idle" LD_PRELOAD="$libomp"
expect "the system's libgomp" "openmp=libgomp.so.1 asked=2 threads=2 .* idle" PTC_THREADS=openmp
expect "only libomp" "openmp=libomp.so.5 asked=2 .* idle" PTC_THREADS=openmp \
  LD_LIBRARY_PATH="$(hide libgomp.so.1):$(dirname "$libomp")"
expect "one that the process has" "openmp=$libomp asked=2 .* idle" PTC_THREADS=openmp LD_PRELOAD="$libomp"
expect "none at all" "openmp=none asked=2 threads=1 .* idle" PTC_THREADS=openmp \
  LD_LIBRARY_PATH="$(hide libgomp.so.1 libomp.so.5 libomp.so libiomp5.so)"
[[ $(printf '%s\n' "${sums[@]}" | sort -u | wc -l) == 1 ]]

sums=()
beside=1
expect "the program's team, where its threads compute beside" "openmp=none asked=2 .* idle" LD_PRELOAD=libgomp.so.1
expect "no team to use" "openmp=none asked=2 .* idle" \
  LD_LIBRARY_PATH="$(hide libgomp.so.1 libomp.so.5 libomp.so libiomp5.so)"
[[ $(printf '%s\n' "${sums[@]}" | sort -u | wc -l) == 1 ]]
