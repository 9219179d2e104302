#!/bin/sh
# A model from its file to a library that may be deployed, as a CI job does it:
#
#     MARCH=x86-64-v3,x86-64-v4 examples/ci/compile_model.sh PACKAGE MODEL INPUTS EXPECTED OUT
#
# PACKAGE is ptc's wheel or its archive (tools/release), INPUTS and EXPECTED are safetensors: a call's inputs by name,
# its outputs by position. Leaves in OUT the library, its hash and a report; fails if two compilations differ, or if
# results do.
set -eu
if [ $# != 5 ]; then
  echo "usage: compile_model.sh PACKAGE MODEL INPUTS EXPECTED OUT" >&2
  exit 2
fi
package=$1 model=$2 inputs=$3 expected=$4 out=$5
here=$(dirname "$0")
march=${MARCH:-x86-64-v3}
case ",$march," in
  *,native,*)
    echo "compile_model.sh: MARCH must name what is deployed to, not the machine of this job" >&2
    exit 2
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $package in
  *.whl)
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet "$package"
    ptc=$work/venv/bin/ptc
    ;;
  *.tar.gz)
    mkdir "$work/ptc"
    tar -xzf "$package" -C "$work/ptc" --strip-components 1
    ptc=$work/ptc/bin/ptc
    ;;
  *)
    echo "compile_model.sh: $package is neither a wheel nor an archive" >&2
    exit 2
    ;;
esac
"$ptc" --version

# The same model, options and ptc give the same library, on whatever machine.
mkdir "$work/first" "$work/second"
for folder in first second; do
  "$ptc" compile "$model" --march "$march" --output "$work/$folder/model.so"
done
first=$(sha256sum <"$work/first/model.so") second=$(sha256sum <"$work/second/model.so")
if [ "$first" != "$second" ]; then
  echo "compile_model.sh: two compilations of $model differ" >&2
  exit 1
fi

"$ptc" run "$work/first/model.so" --inputs "$inputs" --outputs "$work/outputs.safetensors"
"$ptc" bench "$work/first/model.so" --inputs "$inputs" --json >"$work/bench.json"
python3 "$here/report.py" "$work/first/model.so" "$work/outputs.safetensors" "$expected" "$work/bench.json" \
  --ptc "$("$ptc" --version)" >"$work/report.json"

mkdir -p "$out"
cp "$work/first/model.so" "$work/report.json" "$out"
(cd "$out" && sha256sum model.so >model.so.sha256)
cat "$out/report.json"
