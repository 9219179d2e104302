"""Mistakes that people make with ptc: each answer says what is wrong, where, and what to do.

    mistakes.py PTC

An error is one line, has the status of its kind (1 the model's fault, 2 the command line's), and leaves the folder as it
was. A warning is one line of a command that succeeds.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

PTC = Path(sys.argv[1]).resolve()

GRAPH = """ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, image: "f32[s0, 3, 8, 6]", ids: "i64[s0]", p_table: "f32[10, 4]"):
            # File: net.py:12 in forward, code: pooled = image.mean((2, 3))
            pooled: "f32[s0, 3]" = torch.ops.aten.mean.dim(image, [2, 3])
            # File: net.py:13 in forward, code: rows = self.table(ids)
            rows: "f32[s0, 4]" = torch.ops.aten.embedding.default(p_table, ids)
            return (pooled, rows)

Graph signature:
    # inputs
    image: USER_INPUT
    ids: USER_INPUT
    p_table: PARAMETER target='table.weight'

    # outputs
    pooled: USER_OUTPUT
    rows: USER_OUTPUT

Range constraints: {s0: VR[2, 64]}
"""
FOREIGN_OPERATOR = GRAPH.replace("aten.mean.dim(image, [2, 3])", "mylib.pool.default(image, [2, 3])")
MISSPELT_OPERATOR = GRAPH.replace("aten.mean.dim", "aten.maen.dim")
CUT_LINE = GRAPH.replace("torch.ops.aten.mean.dim(image, [2, 3])", "torch.ops.aten.mean.dim(image, [2, 3")
TRAINING = GRAPH.replace("aten.mean.dim(image, [2, 3])", "aten.dropout.default(image, 0.5, True)").replace(
    'pooled: "f32[s0, 3]"', 'pooled: "f32[s0, 3, 8, 6]"'
)
FORMATS = {"F32": "f", "F64": "d", "I64": "q"}


def pack(**tensors: tuple[str, list[int], float]) -> bytes:
    """A safetensors file of tensors, each with a type, a shape and the value of all of its elements."""
    header, data = {}, b""
    for name, (dtype, shape, value) in tensors.items():
        count = 1
        for size in shape:
            count *= size
        content = struct.pack(f"<{count}{FORMATS[dtype]}", *[value] * count)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


IMAGE, IDS = ("F32", [4, 3, 8, 6], 0), ("I64", [4], 1)
TABLE = {"table.weight": ("F32", [10, 4], 0.5)}


@dataclass(frozen=True)
class Mistake:
    """A command line, and what its answer has in it: all three of them, each as a part of one line."""

    name: str
    command: str  # words, in the folder that `prepare` makes
    where: str
    what: str
    advice: str
    status: int = 1  # 0: a warning


def compiling(name: str, arguments: str, where: str, what: str, advice: str, status: int = 1) -> Mistake:
    return Mistake(name, f"compile {arguments} -o out.so", where, what, advice, status)


def asking(name: str, arguments: str, what: str, advice: str) -> Mistake:
    """An option of `compile` with a value that it does not take."""
    return compiling(name, f"model.graph {arguments}", arguments.split()[-2], what, advice, status=2)


def running(name: str, inputs: str, where: str, what: str, advice: str) -> Mistake:
    return Mistake(name, f"run model.so --inputs {inputs}.safetensors --outputs out.safetensors", where, what, advice)


def opening(name: str, library: str, what: str, advice: str) -> Mistake:
    return Mistake(name, f"run {library} --inputs fine.safetensors --outputs out.safetensors", library, what, advice)


EXPORT = "torch.export.save(torch.export.export("
MISTAKES = [
    # Tensors of a call.
    running("another element type", "f64", "'image' (0)", "float64", "compiled for float32"),
    running("a dimension less", "rank", "'image' (0)", "3 dimensions", "[s0, 3, 8, 6]"),
    running("channels last", "layout", "'image' (0)", "[4, 8, 6, 3]", "channels last? transpose(0, 3, 1, 2) fits"),
    running("a size that is not the other input's", "rows", "'ids' (1)", "size 5", "must be s0 = 4"),
    running("a size beyond the range", "range", "'image' (0)", "size 65", "allowed: 2..64"),
    running("an index beyond the table", "index", "net.py:13", "index out of range", "10 is not from 0 to 9"),
    running("a misspelt name", "keyword", "'image'", "missing", "the file has ids, imgae"),
    running("an input left out", "missing", "'ids'", "missing", "name it 'ids' or '1'"),
    running("an input twice", "twice", "'image'", "twice", "by its name and as '0'"),
    Mistake("inputs that are another file", "run model.so --inputs cut.graph --outputs out.safetensors", "cut.graph",
            "not a safetensors file", "its header"),
    running("inputs that are not there", "nowhere", "nowhere.safetensors", "No such file", "safetensors or .npz"),
    # Weights.
    compiling("no weights beside the graph", "alone/model.graph", "'table.weight'", "missing", "--weights"),
    compiling("weights of another shape", "model.graph --weights short.safetensors", "short.safetensors", "10x3", "10x4"),
    compiling("weights of another model", "model.graph --weights other.safetensors", "other.safetensors", "missing",
              "another file with --weights"),
    # Files in place of a model.
    compiling("a folder", "alone", "alone", "not a file", "is"),
    compiling("an empty file", "empty.pt2", "empty.pt2", "empty", "is"),
    compiling("a Python script", "model.py", "model.py", "Python is not run here", "ptc capture model.py:NAME"),
    compiling("TorchScript", "script.pt", "script.pt", "TorchScript", EXPORT),
    compiling("a state dict", "state.pth", "state.pth", "torch.save", EXPORT),
    compiling("a pickle", "pickle.pkl", "pickle.pkl", "pickle", EXPORT),
    compiling("weights alone", "fine.safetensors", "fine.safetensors", "weights without their graph", EXPORT),
    compiling("an archive of old torch", "old.pt2", "old.pt2", "before 2.8", "export again"),
    compiling("an archive of something else", "other.zip", "other.zip", "without models/NAME.json", "torch.export"),
    compiling("a library", "model.so", "model.so", "is a library", "ptc run and ptc bench"),
    compiling("a picture", "picture.png", "picture.png", "no model", "torch.export archive"),
    compiling("a pointer of Git LFS", "pointer.onnx", "pointer.onnx", "Git LFS", "git lfs pull"),
    compiling("a web page", "page.onnx", "page.onnx", "web page", "download"),
    compiling("a line that is cut off", "cut.graph", "cut.graph:7:", "expected", "found 'rows'"),
    compiling("a capture's option for one model", "model.graph --graph 7", "model.graph", "no capture", "leave --graph out"),
    # Operators.
    compiling("an operator of a library", "foreign.graph", "net.py:12, node pooled", "mylib.pool", "--fallback"),
    compiling("a misspelt operator", "misspelt.graph", "net.py:12", "aten.maen.dim", "mean.dim"),
    Mistake("an operator to look up", "ops sofmax", "command line", "'sofmax'", "did you mean softmax", 2),
    # A model in training mode compiles, and hardly anybody means it.
    compiling("training mode", "training.graph", "net.py:12", "acts as in training", "eval()", status=0),
    # Outputs.
    Mistake("no output", "compile model.graph", "--output", "is required", "--help", 2),
    Mistake("an output over the model", "compile model.graph -o model.graph", "--output", "overwrite", "another name", 2),
    Mistake("an output for another system", "compile model.graph -o model.dll", "model.dll", "Linux", "name it .so", 2),
    Mistake("an output in no folder", "compile model.graph -o no/where/out.so", "no/where", "No such file", "write", 1),
    Mistake("results over the inputs", "run model.so --inputs fine.safetensors --outputs fine.safetensors", "--outputs",
            "overwrite", "another name", 2),
    # Options.
    Mistake("a misspelt command", "comple model.graph", "command line", "'comple'", "did you mean 'compile'", 2),
    Mistake("a misspelt option", "compile model.graph --modee x -o out.so", "ptc compile", "'--modee'", "did you mean '--mode'", 2),
    compiling("a misspelt machine", "model.graph --march zenn4", "zenn4", "unknown machine", "did you mean 'znver4'"),
    compiling("a machine that is too old", "model.graph --march x86-64-v2", "x86-64-v2", "lacks AVX2", "x86-64-v3"),
    compiling("a GPU that is too old", "model.graph --target cuda --gpu-arch sm_60", "sm_60", "no GPU architecture", "sm_80"),
    asking("a misspelt mode", "--mode max-autotun", "max-autotun", "max-autotune"),
    asking("a misspelt target", "--target gpu", "gpu", "cuda"),
    asking("a misspelt type", "--amp fp8", "fp8", "bf16"),
    asking("a misspelt quantization", "--quantize int4", "int4", "int8-weight"),
    asking("a prefix without a sign", "--source-prefix abc", "'abc'", "FROM=TO"),
    compiling("options that exclude each other", "model.graph --fallback --fullgraph", "--fallback", "excludes", "--fullgraph", 2),
    compiling("a misspelt loss", "model.graph --train --loss mes --optimizer sgd", "model", "no loss 'mes'", "mse"),
    compiling("a misspelt optimizer", "model.graph --train --loss mse --optimizer adamm", "model", "'adamm'", "adamw"),
    compiling("a tuning file of another kind", "model.graph --tuning-file cut.graph", "cut.graph", "not a tuning file", "JSON"),
    # Libraries.
    opening("a model that was not compiled", "model.graph", "is no library", "ptc compile"),
    opening("a library that is not there", "nowhere.so", "no such file", "that ptc compile wrote"),
    opening("a library of somebody else", "libc.so", "no ptc_get_api", "that ptc compile wrote"),
    opening("a library that is cut off", "short.so", "cut off", "copy or compile it again"),
    opening("a library whose bytes changed", "changed.so", "hash", "copy or compile it again"),
    Mistake("an entry that is not there", "run model.so --inputs fine.safetensors --outputs out.safetensors --entry step",
            "model.so", "'step'", "its entries: forward"),
    # Sizes, reports.
    Mistake("a size by another name", "bench model.so --shape batch=8", "'batch'", "no size", "there are s0 or image.0"),
    Mistake("a size out of its range", "bench model.so --shape s0=100", "s0", "100", "allowed: 2 to 64"),
    Mistake("a profile of another kind", "explain model.graph --profile cut.graph", "cut.graph", "no profile", "ptc run --profile"),
    Mistake("a report over the model", "explain model.graph --html model.graph", "--html", "overwrite", "another name", 2),
    Mistake("a report of a library", "explain model.so", "model.so", "is a library", "ptc run and ptc bench"),
    Mistake("information of a model", "info model.graph", "model.graph", "no shared library", "that ptc compile wrote"),
]


def archive(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, b"x")


def prepare(folder: Path) -> None:
    """The files that the command lines name."""
    texts = {"model.graph": GRAPH, "foreign.graph": FOREIGN_OPERATOR, "misspelt.graph": MISSPELT_OPERATOR, "cut.graph": CUT_LINE,
             "training.graph": TRAINING, "model.py": "class Net: pass\n", "empty.pt2": "", "page.onnx": "<!DOCTYPE html><p>404",
             "pointer.onnx": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"}  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "alone").mkdir()
    (folder / "alone/model.graph").write_text(GRAPH)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    (folder / "pickle.pkl").write_bytes(b"\x80\x02}q\x00.")
    archive(folder / "script.pt", "net/code/__torch__.py", "net/constants.pkl", "net/data.pkl")
    archive(folder / "state.pth", "archive/data.pkl", "archive/data/0")
    archive(folder / "old.pt2", "version", "serialized_exported_program.json")
    archive(folder / "other.zip", "a.txt")
    fine = {"image": IMAGE, "ids": IDS}
    tensors = {"model": TABLE, "short": {"table.weight": ("F32", [10, 3], 0.5)}, "other": {"table": ("F32", [10, 4], 0.5)},
               "fine": fine, "f64": {**fine, "image": ("F64", [4, 3, 8, 6], 0)}, "rank": {**fine, "image": ("F32", [3, 8, 6], 0)},
               "layout": {**fine, "image": ("F32", [4, 8, 6, 3], 0)}, "rows": {**fine, "ids": ("I64", [5], 1)},
               "range": {"image": ("F32", [65, 3, 8, 6], 0), "ids": ("I64", [65], 1)}, "index": {**fine, "ids": ("I64", [4], 10)},
               "keyword": {"imgae": IMAGE, "ids": IDS}, "missing": {"image": IMAGE}, "twice": {**fine, "0": IMAGE}}  # fmt: skip
    for name, content in tensors.items():
        (folder / f"{name}.safetensors").write_bytes(pack(**content))
    subprocess.run([PTC, "compile", "model.graph", "-o", "model.so"], cwd=folder, check=True)
    library = bytearray((folder / "model.so").read_bytes())
    (folder / "short.so").write_bytes(library[:-200])
    library[len(library) // 2] ^= 1
    (folder / "changed.so").write_bytes(library)
    shutil.copy("/lib/x86_64-linux-gnu/libc.so.6", folder / "libc.so")


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def find_problem(mistake: Mistake, folder: Path, before: dict[str, bytes]) -> str:
    """What the answer lacks; nothing where it is as it should be."""
    done = subprocess.run([PTC, *mistake.command.split()], cwd=folder, capture_output=True, text=True, timeout=120)
    kind = "error" if mistake.status else "warning"
    lines = done.stderr.splitlines()
    if done.returncode != mistake.status:
        return f"status {done.returncode}: {done.stderr[:300]!r}"
    if len(lines) != 1 or not lines[0].startswith(f"ptc: {kind}: "):
        return f"not one line: {done.stderr[:300]!r}"
    missing = [part for part in (mistake.where, mistake.what, mistake.advice) if part not in lines[0]]
    if missing:
        return f"lacks {missing}: {lines[0]!r}"
    if mistake.status == 0:
        (folder / "out.so").unlink()
    return "" if listing(folder) == before else "the folder has changed"


def main() -> None:
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        before = listing(folder)
        for mistake in MISTAKES:
            if problem := find_problem(mistake, folder, before):
                failures.append(f"FAIL {mistake.name}: {problem}")
    print(*failures, f"{len(MISTAKES) - len(failures)} passed, {len(failures)} failed", sep="\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
