"""Cuts and damages every kind of model file; ptc must say in one line what is wrong, write nothing and stay small.

    corrupt.py PTC DIGITS     # the compiler, and the folder examples/digits
"""

import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PTC, DIGITS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
MEMORY = 2 << 30
WEIGHTS = (DIGITS / "model.safetensors").read_bytes()
failures = []
passed = 0


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def attempt(name, kind, content, weights=WEIGHTS, must_fail=True):
    """Compiles `content`; checks the promise that a bad model is the user's fault and no more."""
    global passed
    with tempfile.TemporaryDirectory() as folder:
        model, output = Path(folder) / f"model.{kind}", Path(folder) / "out.so"
        model.write_bytes(content)
        (Path(folder) / "model.safetensors").write_bytes(weights)
        try:
            done = subprocess.run(
                [PTC, "compile", model, "-o", output], capture_output=True, timeout=60, preexec_fn=limit
            )
        except subprocess.TimeoutExpired:
            failures.append(f"{name}: no answer within a minute")
            return
        left = sorted(p.name for p in Path(folder).iterdir() if p.name not in (model.name, "model.safetensors"))
        stderr = done.stderr.decode(errors="replace")
        lines = stderr.splitlines()
        problem = None
        if done.returncode == 0 and not must_fail:
            pass  # the damage may hit padding, or a name
        elif done.returncode != 1:
            problem = f"exit status {done.returncode}"
        elif len(lines) != 1 or not lines[0].startswith("ptc: error: "):
            problem = f"{len(lines)} lines on stderr"
        elif left:
            problem = f"left {', '.join(left)}"
        if problem:
            failures.append(f"{name}: {problem}: {stderr[:300]!r}")
        else:
            passed += 1


def cuts(kind, content, steps=50):
    for step in range(steps):
        attempt(f"{kind} cut at {step}/{steps}", kind, content[: len(content) * step // steps])


def flips(kind, content, count=60):
    """Single damaged bytes: any outcome but a crash, unless the result is accepted."""
    source = random.Random(kind)
    for _ in range(count):
        at, bit = source.randrange(len(content)), 1 << source.randrange(8)
        damaged = bytearray(content)
        damaged[at] ^= bit
        attempt(f"{kind} bit {bit} of byte {at} flipped", kind, bytes(damaged), must_fail=False)


def rewrite_pt2(change):
    """The archive with its JSON graph edited by `change`."""
    source, target = zipfile.ZipFile(DIGITS / "model.pt2"), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as out:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename.endswith("models/model.json"):
                graph = json.loads(content)
                content = json.dumps(change(graph) or graph).encode()
            out.writestr(entry.filename, content)
    return target.getvalue()


def lies_pt2():
    def nodes(g):
        return g["graph_module"]["graph"]["nodes"]

    def values(g):
        return g["graph_module"]["graph"]["tensor_values"]

    def set_size(g):
        first = next(iter(values(g).values()))
        first["sizes"] = [{"as_int": 1 << 62}, {"as_int": 1 << 62}]

    def unknown_argument(g):
        nodes(g)[0]["inputs"][0]["arg"] = {"as_tensor": {"name": "nobody"}}

    changes = {
        "a node without inputs": lambda g: nodes(g)[0].update(inputs=[]),
        "a node with too many inputs": lambda g: nodes(g)[0].update(inputs=nodes(g)[0]["inputs"] * 9),
        "a node without outputs": lambda g: nodes(g)[0].update(outputs=[]),
        "an operator that does not exist": lambda g: nodes(g)[0].update(target="torch.ops.aten.mystery.default"),
        "an operator of no namespace": lambda g: nodes(g)[0].update(target=""),
        "an input that nobody defines": unknown_argument,
        "sizes that overflow": set_size,
        "no nodes": lambda g: nodes(g).clear(),
        "no tensor values": lambda g: values(g).clear(),
        "a graph that is a list": lambda g: g["graph_module"].update(graph=[]),
        "a number for the graph": lambda g: 7,
    }
    for name, change in changes.items():
        attempt(f"pt2 with {name}", "pt2", rewrite_pt2(change))
    attempt("pt2 whose graph nests deep", "pt2", rewrite_pt2(lambda g: json.loads("[" * 900 + "]" * 900)))


def lies_graph(text):
    changes = {
        "an operator that does not exist": text.replace("aten.relu.default", "aten.mystery.default"),
        "a wrong arity": text.replace("aten.relu.default(batch_norm)", "aten.relu.default(batch_norm, batch_norm, 3)"),
        "a value that nobody defines": text.replace("aten.relu.default(batch_norm)", "aten.relu.default(nobody)"),
        "sizes that overflow": text.replace("f32[24, 1, 3, 3]", "f32[9223372036854775807, 9223372036854775807]"),
        "a dtype that does not exist": text.replace('"f32[s34, 1, 8, 8]"', '"q99[s34, 1, 8, 8]"'),
        "open brackets": text.replace("[1, 1]", "[" * 100000),
    }
    for name, content in changes.items():
        assert content != text, name
        attempt(f"graph with {name}", "graph", content.encode())


def lies_weights(graph):
    size = int.from_bytes(WEIGHTS[:8], "little")
    header = json.loads(WEIGHTS[8 : 8 + size])

    def pack(changed):
        content = json.dumps(changed).encode()
        return len(content).to_bytes(8, "little") + content + WEIGHTS[8 + size :]

    def without(key):
        return {k: v for k, v in header.items() if k != key}

    key = "classify.weight"
    entry = header[key]
    attempt("graph with a weight missing", "graph", graph, pack(without(key)))
    attempt("weights past the end", "graph", graph, pack({**header, key: {**entry, "data_offsets": [0, 1 << 60]}}))
    attempt("weights of negative size", "graph", graph, pack({**header, key: {**entry, "data_offsets": [64, 0]}}))
    attempt("weights that overflow", "graph", graph, pack({**header, key: {**entry, "shape": [1 << 62, 1 << 62]}}))
    attempt("weights of another shape", "graph", graph, pack({**header, key: {**entry, "shape": entry["shape"][::-1]}}))
    attempt("weights of no dtype", "graph", graph, pack({**header, key: {**entry, "dtype": "Q4"}}))
    attempt("weights with a huge header", "graph", graph, (1 << 62).to_bytes(8, "little") + WEIGHTS[8:])
    for step in range(0, 50, 5):
        attempt(f"weights cut at {step}/50", "graph", graph, WEIGHTS[: len(WEIGHTS) * step // 50])


def main():
    pt2, graph = (DIGITS / "model.pt2").read_bytes(), (DIGITS / "model.graph").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model.mlir"
        subprocess.run([PTC, "compile", DIGITS / "model.graph", "--emit", "aten", "-o", out], check=True)
        mlir = out.read_bytes()
    for kind, content in (("pt2", pt2), ("graph", graph), ("mlir", mlir)):
        cuts(kind, content)
        flips(kind, content)
    lies_pt2()
    lies_graph(graph.decode())
    lies_weights(graph)
    for failure in failures:
        print("FAIL", failure)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
