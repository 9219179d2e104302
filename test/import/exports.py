"""Exports small modules as .pt2 and as text: both must import, and to the same module.

The guards of an export are in the .pt2 only, and locations differ; nothing else may.

    exports.py DUMP_PROGRAM
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.export import Dim, export

B, T = Dim("b", min=2, max=64), Dim("t", min=4, max=128)


class Call(nn.Module):
    """A function of the module (for its buffers) and two arguments at most."""

    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x, y=None):
        return self.function(self, x, y)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.embedding(x))


def count_calls(m, x, _):
    m.calls.add_(1)
    return x * m.calls


def write_through_views(m, x, _):
    copy = x.clone()
    copy[1:] += 1
    m.cells[0].mul_(2)
    m.cells.view(-1)[3:5].zero_()
    return copy + m.cells.sum()


def without_gradients(m, x, _):
    with torch.no_grad():
        doubled = x * 2
    with torch.autocast("cpu", enabled=False):
        return doubled @ x


def write_one_of_two(m, x, _):
    m.a.add_(x)
    return m.b * 2


R = torch.randn
CELLS = torch.arange(9.0).view(3, 3)
# name: module, arguments, dynamic shapes
CASES = {
    "linear": (nn.Linear(4, 3), (R(2, 4),), ({0: B},)),
    "batch_norm_training": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).train(), (R(4, 3, 8, 8),), ({0: B},)),
    "counter": (Call(count_calls, calls=torch.zeros(3)), (R(3),), None),
    "views": (Call(write_through_views, cells=R(3, 4)), (R(4, 4),), None),
    "input_mutation": (Call(lambda m, x, _: (x.add_(1), x * 2)[1]), (R(3),), None),
    "tied": (Tied(), (torch.zeros(2, 5, dtype=torch.long),), ({0: B, 1: T},)),
    "outputs": (Call(lambda m, x, _: {"a": x + 1, "b": (x.shape[0], [x * 2, None, 3])}), (R(4, 3),), ({0: B}, None)),
    "number_input": (Call(lambda m, x, n: x[:, :n] * n), (R(4, 16), 5), ({0: B}, Dim.DYNAMIC)),
    "sizes": (Call(lambda m, x, _: (x.new_zeros(x.shape[0] + x.shape[1], 3), x.flatten(), x.sum(0) / x.shape[0],
                                    x / x.shape[1] ** 0.5, x.repeat(2, 3))), (R(4, 6),), ({0: B, 1: T}, None)),
    "resize": (Call(lambda m, x, _: F.interpolate(x, scale_factor=0.5)), (R(2, 3, 8, 8),), ({0: B, 2: T}, None)),
    "lists": (Call(lambda m, x, _: (x.split(3, 1)[1], x.chunk(4, -1)[2], x.unbind(0)[1], torch.topk(x, 2)[1],
                                    x.max(1).values)), (R(4, 12),), None),
    "numbers": (Call(lambda m, x, i: (x + 1, torch.where(x > 0, x, 0.0), i // 2, 2**x, x.clamp(0, float("inf")),
                                      x.masked_fill(x > 0, -float("inf")), x.div(2, rounding_mode="floor"))),
                (R(4), torch.arange(4)), None),
    "indices": (Call(lambda m, x, i: (x[:, i], x[i, :, None], x[..., i])), (R(4, 4), torch.tensor([0, 1])), None),
    "dtypes": (Call(lambda m, x, i: (x.bfloat16(), x.half(), i.bool(), i.byte(), torch.complex(x, x), x.double())),
               (R(3), torch.arange(3)), None),
    "weight_layouts": (Call(lambda m, x, _: x @ m.transposed + m.expanded + m.bytes.float() + m.empty.sum(),
                            transposed=R(5, 3).t()[:, :3], expanded=R(1, 1).expand(3, 3),
                            bytes=torch.arange(3, dtype=torch.uint8), empty=torch.zeros(0)), (R(3, 3),), None),
    "without_gradients": (Call(without_gradients), (R(4, 4),), None),
    "lstm": (nn.LSTM(4, 8, 2, bidirectional=True), (R(5, 2, 4),), None),
    "transformer": (nn.TransformerEncoderLayer(16, 4, batch_first=True).eval(), (R(3, 5, 16),), ({0: B, 1: T},)),
    "data_dependent": (Call(lambda m, x, _: x.nonzero()), (R(4),), None),
}

# Buffers of which one is written, and what the module or the error says: one that is a part of the other is a view of
# it; columns lie between each other.
SHARED = {
    "columns": ({"a": CELLS[:, 0], "b": CELLS[:, 1:]}, 'ptc.weight = "b"'),
    "slice": ({"a": CELLS, "b": CELLS[1:, 1]}, "aten.as_strided.default"),
    "diagonal": ({"a": CELLS.view(-1)[::4], "b": CELLS}, "aten.as_strided.default"),
    "ends": ({"a": CELLS[:2], "b": CELLS[1:]}, "buffer 'a': shares memory with 'b', and the model writes to it"),
}


def weights_of(program):
    constants = {k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}
    return {k: v.detach().contiguous().clone() for k, v in {**program.state_dict, **constants}.items()}


def normalize(module: str) -> str:
    """Without guards, the extrema at the end of the symbols that only they use, aliases of maps, and names of results,
    which are keys of the module's in one form alone."""
    maps = dict(re.findall(r"^(#\w+) = (affine_map<.*>)$", module, re.M))
    body = re.sub(r"^#\w+ = .*\n", "", module, flags=re.M)
    body = re.sub(r'ptc\.output = "[^"]*"', "ptc.output", body)
    body = re.sub(r"ptc\.guards = \[(\{[^}]*\}(, )?)*\](, )?", "", body)
    body = re.sub(r"#\w+", lambda m: maps.get(m.group(), m.group()), body).replace(" attributes {}", "")
    header, _, rest = body.partition("\n")
    sizes = " ".join(re.findall(r"affine_map<[^>]*->[^>]*>", rest))
    used = max((int(symbol) for symbol in re.findall(r"\bs(\d+)\b", sizes)), default=-1)
    while (count := header.count("name = ")) > used + 1 and (last := re.search(r", \{args = [^}]*\}\]", header)):
        header = header[: last.start()] + "]" + header[last.end() :]
    return f"{header}\n{rest}"


def check(dump: str, folder: Path, program) -> str | None:
    folder.mkdir(parents=True)
    torch.export.save(program, folder / "model.pt2")
    (folder / "model.graph").write_text(str(program))
    save_file(weights_of(program), folder / "model.safetensors")
    modules = []
    for ending in ("pt2", "graph"):
        result = subprocess.run([dump, folder / f"model.{ending}"], capture_output=True, text=True)
        if result.returncode:
            return result.stderr.strip()
        modules.append(normalize(result.stdout))
    if modules[0] != modules[1]:
        lines = [pair for pair in zip(*(m.splitlines() for m in modules)) if pair[0] != pair[1]]
        return f"the two forms differ:\n  {lines[0][0][:300]}\n  {lines[0][1][:300]}" if lines else "lengths differ"
    return None


def deflate(path: Path, unused: int) -> Path:
    """The archive with all entries deflated, and zeros behind its weights."""
    packed = path.with_suffix(".packed.pt2")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            copy.writestr(name, archive.read(name) + bytes(unused if "data/weights/weight_" in name else 0))
    return packed


def check_deflated(dump: str, path: Path) -> str | None:
    """A small file does not ask for memory that the model has no use for; padding is no error."""
    torch.export.save(export(nn.Linear(4, 3), (R(2, 4),)), path)
    done = subprocess.run([dump, deflate(path, 64)], capture_output=True, text=True)
    large = subprocess.run([dump, deflate(path, 100 << 20)], capture_output=True, text=True)
    is_right = done.returncode == 0 and "bytes, of which the model uses" in large.stderr
    return None if is_right else done.stderr + large.stderr


def check_shared(dump: str, path: Path, program, expected: str) -> str | None:
    torch.export.save(program, path)
    result = subprocess.run([dump, path], capture_output=True, text=True)
    said = result.stderr if result.returncode else result.stdout
    return None if expected in said else f"'{expected}' is not in {said.strip()}"


def main() -> int:
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (module, args, dynamic) in CASES.items():
            program = export(module, args, dynamic_shapes=dynamic and dynamic[: len(args)])
            for form, exported in (("training", program), ("core", program.run_decompositions())):
                problem = check(sys.argv[1], Path(folder) / name / form, exported)
                failures += problem is not None
                print(f"{'FAILED' if problem else 'ok':6} {name} {form}" + (f": {problem}" if problem else ""))
        problem = check_deflated(sys.argv[1], Path(folder) / "deflated.pt2")
        failures += problem is not None
        print(f"{'FAILED' if problem else 'ok':6} deflated" + (f": {problem}" if problem else ""))
        for name, (buffers, expected) in SHARED.items():
            program = export(Call(write_one_of_two, **buffers), (R(1),))
            problem = check_shared(sys.argv[1], Path(folder) / f"{name}.pt2", program, expected)
            failures += problem is not None
            print(f"{'FAILED' if problem else 'ok':6} buffers {name}" + (f": {problem}" if problem else ""))
    print(f"{2 * len(CASES) + len(SHARED) + 1 - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
