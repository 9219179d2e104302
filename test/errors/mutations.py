"""Damages files of every kind at random: bits, pieces, numbers and names that mean something elsewhere.

    mutations.py PTC DIGITS ONNX [COUNT [SEED [FOLDER]]]     # files that fail are left in FOLDER
"""

import io
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from functools import partial
from pathlib import Path

from attempts import DIGITS, PTC, WEIGHTS, attempt, run_attempts

COUNT, SEED = (int(n) for n in (*sys.argv[4:6], *("300", "1")[len(sys.argv[4:6]) :]))
NUMBERS = [-1, 0, 1, 2, 3, 7, 64, 255, 4096, 65536, 1 << 31, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63), 1 << 64]
WORDS = ["null", "None", "true", "inf", "nan", "-nan", "1e999", "''", '""', "[]", "{}", "()", "[[[[[[[[", "]", "}", "%", "\\u0000", "\\n", "s0", "-s0",
         "s0//0", "Mod(s0, 0)", "2**63", "affine_map<() -> ()>", "tensor<*xf32>", "?x", "f32", "i64", "bool", "c64"]  # fmt: skip


def mutate_bytes(content, source):
    data = bytearray(content)
    for _ in range(source.choice((1, 1, 2, 4, 16))):
        at = source.randrange(len(data))
        length = min(source.choice((1, 1, 4, 8, 64, 1024)), len(data) - at)
        how = source.randrange(6)
        if how == 0:
            data[at] ^= 1 << source.randrange(8)
        elif how == 1:
            del data[at : at + length]
        elif how == 2:
            data[at:at] = data[at : at + length]
        elif how == 3:
            data[at : at + length] = source.randbytes(length)
        elif how == 4:
            value = source.choice(NUMBERS) % (1 << 64)
            data[at : at + 8] = value.to_bytes(8, source.choice(("little", "big")))
        else:
            other = source.randrange(len(data))
            data[at : at + length] = data[other : other + length]
        if not data:
            return b"\0"
    return bytes(data)


def mutate_text(content, source):
    """Numbers, words and lines change places."""
    text = content.decode()
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        how = source.randrange(6)
        pieces = list(re.finditer(r"-?\d+(\.\d+)?" if how < 2 else r"[A-Za-z_]\w*" if how < 4 else r"[^\n]*\n", text))
        if not pieces:
            continue
        here, other = source.choice(pieces), source.choice(pieces)
        new = str(source.choice(NUMBERS)) if how == 0 else source.choice(WORDS) if how == 2 else "" if how == 4 else other[0]
        text = text[: here.start()] + new + text[here.end() :]
    return text.encode()


def mutate_archive(content, source):
    """One entry of the archive, so that its checksum fits."""
    archive, target = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    chosen = source.choice([i for i, (_, data) in enumerate(entries) if data])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as out:
        for i, (name, data) in enumerate(entries):
            if i == chosen:
                is_json = name.endswith(".json") and source.random() < 0.8
                data = mutate_text(data, source) if is_json else mutate_bytes(data, source)
            out.writestr(name, data)
    return target.getvalue()


def main():
    files = {"pt2": (DIGITS / "model.pt2").read_bytes(), "graph": (DIGITS / "model.graph").read_bytes(), "onnx": Path(sys.argv[3]).read_bytes()}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model.mlir"
        subprocess.run([PTC, "compile", DIGITS / "model.graph", "--emit", "aten", "-o", out], check=True)
        files["mlir"] = out.read_bytes()
    def mutate(kind, seed):
        source = random.Random(seed)
        if kind in ("graph", "mlir") and source.random() < 0.8:
            return mutate_text(files[kind], source)
        if kind == "pt2" and source.random() < 0.8:
            return mutate_archive(files[kind], source)
        return mutate_bytes(files[kind], source)

    source = random.Random(SEED)
    for i in range(COUNT):
        kind, seed = source.choice([*files, "graph", "pt2"]), source.getrandbits(60)
        name = f"mutation {i} of {kind}"
        if kind == "graph" and i % 7 == 0:
            attempt(name, kind, files[kind], mutate_bytes(WEIGHTS, source), must_fail=False, memory=2 << 30)
        else:
            attempt(name, kind, partial(mutate, kind, seed), must_fail=False, memory=2 << 30)
    run_attempts(Path(sys.argv[6]) if len(sys.argv) > 6 else None)


main()
