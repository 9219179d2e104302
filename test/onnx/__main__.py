"""ONNX models against ONNX's own evaluator: what the node tests of the onnx package leave out (sizes that a call decides,
functions, control flow, external data), and errors.

python test/onnx --ptc PATH [PATTERN ...]      rows whose name contains a pattern; all without one
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(Path(__file__).parent))

from branches import BRANCHES  # noqa: E402
from broadcasts import BROADCASTS  # noqa: E402
from classical import CLASSICAL, CLASSICAL_ERRORS  # noqa: E402
from evaluator import MaxRoiPool  # noqa: E402
from extremes import EXTREMES  # noqa: E402
from fused import FUSED, FUSED_ERRORS  # noqa: E402
from quantized import QUANTIZED  # noqa: E402
from recurrent import RECURRENT  # noqa: E402
from rows import ERRORS, OVERRIDABLE, OVERRIDDEN_SIZES, ROWS, X, Row  # noqa: E402
from sizes import SIZES_OF_EXPORTERS  # noqa: E402
from steps import STEPS  # noqa: E402


def call(ptc: str, *arguments: object) -> str:
    """What went wrong, in one line."""
    done = subprocess.run([ptc, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr.strip()}"


def check(ptc: str, row: Row, folder: Path) -> str:
    path, library = folder / "model.onnx", folder / "model.so"
    onnx.save(copy.deepcopy(row.model), path, save_as_external_data=row.external, size_threshold=0, location="model.data")
    if problem := call(ptc, "compile", path, "-o", library):
        return problem
    evaluator = None if row.expected else ReferenceEvaluator(str(path), new_ops=[MaxRoiPool])
    for call_number, feed in enumerate(row.feeds):
        save_file({name: np.asarray(array, order="C") for name, array in feed.items()}, folder / "in.safetensors")
        if problem := call(ptc, "run", library, "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors"):
            return problem
        results = load_file(folder / "out.safetensors")
        answers = row.expected[call_number] if row.expected else evaluator.run(None, dict(feed))
        for i, expected in enumerate(answers if isinstance(answers, list) else [answers]):
            got = results[str(i)]
            if got.shape != expected.shape or got.dtype != expected.dtype:
                return f"output {i} is {got.dtype}{got.shape}, not {expected.dtype}{expected.shape}"
            if not np.allclose(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True):
                return f"output {i} differs by {np.abs(got.astype(float) - expected).max()}"
    if row.violates:
        save_file({name: np.ascontiguousarray(array) for name, array in row.violates.items()}, folder / "in.safetensors")
        if not call(ptc, "run", library, "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors"):
            return "a call with sizes that do not fit was not refused"
    return ""


def check_error(ptc: str, model: onnx.ModelProto | bytes, words: list[str], folder: Path) -> str:
    path = folder / "model.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    problem = call(ptc, "compile", path, "-o", folder / "model.so")
    missing = [word for word in ["exit status 1: ptc: error: ", *words] if word not in problem]
    return f"{missing} not in: {problem}" if missing else ""


def check_kernels_of_bytes(ptc: str, folder: Path) -> str:
    """Quantized models have kernels that multiply bytes where the machine does, and those of float32 elsewhere, of tiles."""
    for name, count in (("bytes-in-layers", 3), ("bytes-straight-to-a-quantizer", 2), ("operator-convolution-of-1", 1),
                        ("operator-convolution-of-24", 0), ("operator-product", 1), ("operator-product-of-two", 0), ("fused-lstm", 4)):
        onnx.save(next(row for row in [*QUANTIZED, *RECURRENT] if row.name == name).model, folder / "model.onnx")
        for march, expected in (("znver4", count), ("x86-64-v3", 0)):
            done = subprocess.run([ptc, "explain", folder / "model.onnx", "--march", march], capture_output=True, text=True, check=True)
            if (found := done.stdout.count("int8 on AVX512-VNNI")) != expected:
                return f"{name}: {found} kernels of bytes for {march}, not {expected}"
            if "(reduce" in done.stdout and name != "fused-lstm":  # there ranges are reductions
                return f"{name}: a product is a reduction for {march}"
    return ""


def check_saved_again(ptc: str, folder: Path) -> str:
    """A model with external data that onnx has loaded and saved in one file: it says that its data are in it."""
    row = next(row for row in ROWS if row.external)
    onnx.save(copy.deepcopy(row.model), folder / "external.onnx", save_as_external_data=True, size_threshold=0, location="model.data")
    row = Row(row.name, onnx.load(folder / "external.onnx"), row.feeds)
    if not all(tensor.HasField("data_location") for tensor in row.model.graph.initializer):
        return "onnx does not write the field any more"
    return check(ptc, row, folder)


def check_external_files(ptc: str, folder: Path) -> str:
    """The cache knows files of external data; a link does not lead out of the model's folder, but where the model is a link too."""
    row = next(row for row in ROWS if row.external)
    inside, outside = folder / "model", folder / "blobs"
    inside.mkdir(), outside.mkdir()
    path, data, library = inside / "model.onnx", inside / "model.data", folder / "model.so"
    onnx.save(copy.deepcopy(row.model), path, save_as_external_data=True, size_threshold=0, location="model.data")
    compile_it = ["compile", path, "-o", library, "--cache", folder / "cache"]
    if problem := call(ptc, *compile_it):
        return problem
    first = library.read_bytes()
    data.write_bytes(bytes(data.stat().st_size))
    if problem := call(ptc, *compile_it):
        return problem
    if library.read_bytes() == first:
        return "the cache answers with other weights"
    data.rename(outside / "data")
    data.symlink_to("../blobs/data")
    if "which is not in the model's folder" not in (problem := call(ptc, "compile", path, "-o", library)):
        return f"a link out of the folder is followed: {problem}"
    path.rename(outside / "onnx")
    path.symlink_to("../blobs/onnx")
    return call(ptc, "compile", path, "-o", library)


def check_constants(ptc: str, folder: Path) -> str:
    """Initializers that no call can give, and how that is said: in files of an old form, by an option, where one must be known."""
    old = copy.deepcopy(OVERRIDABLE)
    old.ir_version = 3
    for model, options, warning, gives in (
        (old, [], "", "w"),
        (OVERRIDABLE, ["--initializers", "constant"], "", "w"),
        (OVERRIDABLE, [], "3 initializer(s) of 52 bytes that the model lists as inputs", ""),
        (OVERRIDDEN_SIZES, [], "must know them: 'first' (node 'turn' (Reshape)), 'rest' (node 'turn' (Reshape))", "rest"),
    ):
        onnx.save(model, folder / "model.onnx")
        command = [ptc, "compile", folder / "model.onnx", "-o", folder / "model.so", *options]
        said = subprocess.run(command, capture_output=True, text=True).stderr
        if warning not in said or bool(warning) != bool(said):
            return f"'{warning}' is not what is said: {said}"
        given = {name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer if (name := tensor.name) == gives}
        save_file({"x": X, **given}, folder / "in.safetensors")
        problem = call(ptc, "run", folder / "model.so", "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors")
        if ("'" + gives + "' is no input of the model" in problem) != bool(gives):
            return f"{gives or 'nothing'} is given: {problem}"
    return ""


def check_versions(ptc: str, folder: Path) -> str:
    """The second version is no entry, its condition is told, and weights that both read are there once. The reference chooses, too."""
    row = next(row for row in BROADCASTS if row.name == "broadcast-with-a-weight")
    path, library = folder / "model.onnx", folder / "model.so"
    onnx.save(row.model, path)
    if problem := call(ptc, "compile", path, "-o", library):
        return problem
    info = json.loads(subprocess.run([ptc, "info", library, "--json"], capture_output=True, check=True).stdout)
    if [entry["name"] for entry in info["entries"]] != ["forward"] or len(info["weights"]) != 1:
        return f"the library has {info['entries']} and {info['weights']}"
    if info["entries"][0]["general_version"]["unless"] != ["(x.0 == 3)", "(3 == y.0)"]:
        return f"{info['entries'][0]['general_version']} is told of versions"
    explained = subprocess.run([ptc, "explain", path], capture_output=True, text=True, check=True).stdout
    if "versions: the library holds a second version, for calls that break (x.0 == 3) or (3 == y.0)" not in explained:
        return f"not told: {explained}"
    evaluator = ReferenceEvaluator(row.model)
    for feed in row.feeds:
        save_file(feed, folder / "in.safetensors")
        if problem := call(ptc, "run", "--reference", path, "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors"):
            return problem
        if not np.allclose(load_file(folder / "out.safetensors")["0"], evaluator.run(None, feed)[0], rtol=1e-4, atol=1e-5):
            return "the reference differs"
    save_file(row.violates, folder / "in.safetensors")
    problem = call(ptc, "run", library, "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors")
    return "" if "((x.0 == 3) | (x.0 == 1)), with x.0 = 2, y.0 = 3" in problem else f"refused with '{problem}'"


def check_reference(ptc: str, folder: Path) -> str:
    """The reference evaluator takes initializers as a library does."""
    onnx.save(OVERRIDABLE, folder / "model.onnx")
    for feed in ({"x": X}, {"x": X, "w": X[0]}):
        save_file(feed, folder / "in.safetensors")
        if problem := call(ptc, "run", "--reference", folder / "model.onnx", "--inputs", folder / "in.safetensors",
                           "--outputs", folder / "out.safetensors"):
            return problem
        (expected,) = ReferenceEvaluator(OVERRIDABLE).run(None, feed)
        if not np.allclose(load_file(folder / "out.safetensors")["0"], expected, rtol=1e-4, atol=1e-5):
            return f"differs with {list(feed)}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", default=os.environ.get("PTC", "ptc"), help="the compiler (default: $PTC, then ptc)")
    parser.add_argument("patterns", nargs="*", help="names, or parts of names, of rows")
    args = parser.parse_args()
    checks = [(row.name, lambda folder, row=row: check(args.ptc, row, folder)) for row in [*ROWS, *SIZES_OF_EXPORTERS, *BROADCASTS, *BRANCHES, *STEPS, *FUSED, *CLASSICAL, *QUANTIZED, *RECURRENT]]
    checks += [(name, lambda folder, m=model, w=words: check_error(args.ptc, m, w, folder))
               for name, model, words in [*ERRORS, *FUSED_ERRORS, *CLASSICAL_ERRORS, *EXTREMES]]
    checks += [("kernels-of-bytes", lambda folder: check_kernels_of_bytes(args.ptc, folder)),
               ("saved-again", lambda folder: check_saved_again(args.ptc, folder)),
               ("external-files", lambda folder: check_external_files(args.ptc, folder)),
               ("initializers-that-are-constants", lambda folder: check_constants(args.ptc, folder)),
               ("versions-for-broadcast-sizes", lambda folder: check_versions(args.ptc, folder)),
               ("initializers-of-the-reference", lambda folder: check_reference(args.ptc, folder))]
    failed = passed = 0
    for name, run in checks:
        if args.patterns and not any(pattern in name for pattern in args.patterns):
            continue
        with tempfile.TemporaryDirectory() as folder:
            problem = run(Path(folder))
        failed, passed = failed + bool(problem), passed + (not problem)
        if problem:
            print(f"FAIL {name}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
