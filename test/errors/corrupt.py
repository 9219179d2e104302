"""Cuts and damages every kind of model file, and lets them lie; ptc must say in one line what is wrong, write nothing
and stay small.

    corrupt.py PTC DIGITS     # the compiler, and the folder examples/digits
"""

import io
import json
import random
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path

from attempts import DIGITS, PTC, WEIGHTS, attempt, run_attempts


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


def lies_about_types(text):
    """Every annotation in turn says what the operator does not give, or what its reader does not take."""
    lies = {
        "a dimension more": lambda dtype, dims: (dtype, ["3", *dims]),
        "a dimension less": lambda dtype, dims: (dtype, dims[1:]),
        "no dimensions": lambda dtype, dims: (dtype, []),
        "another last dimension": lambda dtype, dims: (dtype, [*dims[:-1], "11"]),
        "an empty last dimension": lambda dtype, dims: (dtype, [*dims[:-1], "0"]),
        "a negative dimension": lambda dtype, dims: (dtype, [*dims[:-1], "-4"]),
        "sizes that overflow": lambda dtype, dims: (dtype, [*dims[:-1], str(1 << 62)]),
        "another symbol": lambda dtype, dims: (dtype, ["s99", *dims[1:]]),
        "another dtype": lambda dtype, dims: ("i64" if dtype == "f32" else "f32", dims),
        "complex numbers": lambda dtype, dims: ("c64", dims),
    }
    body, end = text.index("def forward"), text.index("Graph signature")
    for found in re.finditer(r'"(\w+)\[([^]"]*)\]"', text[body:end]):
        dims = [dim.strip() for dim in found[2].split(",") if dim]
        line = 1 + text.count("\n", 0, body + found.start())
        for name, lie in lies.items():
            dtype, told = lie(found[1], dims)
            content = text[: body + found.start()] + f'"{dtype}[{", ".join(told)}]"' + text[body + found.end() :]
            attempt(f"graph with {name} in line {line}", "graph", content.encode(), must_fail=False)


def lies_about_arguments(text):
    """Every number and every list that an operator gets in turn is another one."""
    body, end = text.index("def forward"), text.index("Graph signature")
    for found in re.finditer(r"(?<=[(, [])(\[[-\d, ]*\]|-?\d+(\.\d+)?)(?=[,)\]])", text[body:end]):
        for lie in ("-1", "-9", "0", "7", str(1 << 62), "1e300", "None", "[]", "[1, 2, 3, 4, 5, 6, 7]", "[-7]", "'text'"):
            content = text[: body + found.start()] + lie + text[body + found.end() :]
            line = 1 + text.count("\n", 0, body + found.start())
            attempt(f"graph with {lie} for {found[0]} in line {line}", "graph", content.encode(), must_fail=False)


def constants_without_end():
    """Sizes that stand for terabytes in a line of text: to be refused or compiled, and not to be computed."""
    for name, lines in {
        "a filled matrix": [
            'a: "f32[1048576, 65536]" = torch.ops.aten.full.default([1048576, 65536], 0.5)',
            'b: "f32[1048576, 65536]" = torch.ops.aten.cumsum.default(a, 0)',
            'c: "f32[65536]" = torch.ops.aten.select.int(b, 0, 3)',
            'd: "f32[4]" = torch.ops.aten.slice.Tensor(c, 0, 0, 4)',
        ],
        "a range": [
            'a: "i64[1099511627776]" = torch.ops.aten.arange.default(1099511627776)',
            'd: "i64[]" = torch.ops.aten.sum.default(a)',
        ],
        "padding": ['d: "f32[4]" = torch.ops.aten.constant_pad_nd.default(x, [4611686018427387904, 4611686018427387904])'],
    }.items():
        graph = ['def forward(self, x: "f32[4]"):', *lines, 'y: "f32[4]" = torch.ops.aten.add.Tensor(x, d)', "return (y,)"]
        attempt(f"graph with {name} of terabytes", "graph", "\n    ".join(graph).encode(), must_fail=False)


def lies_mlir():
    symbols = '{ptc.symbols = [{name = "s0", min = 1 : i64, max = 9 : i64}]}'
    fine = f"""module attributes {symbols} {{
  func.func @forward(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> {{ptc.input = "x"}})
      -> (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> {{ptc.output = "y"}}) {{
    %0 = aten.sin.default %x : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>)
      -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
    return %0 : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
  }}
}}"""
    tensor = "tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>"
    changes = {
        "a size without a map": fine.replace(", affine_map<()[s0] -> (s0, 8)>", ""),
        "a map of another rank": fine.replace("(s0, 8)>", "(s0)>"),
        "a map of another size": fine.replace("(s0, 8)>", "(s0, 9)>"),
        "a map with dimensions": fine.replace("affine_map<()[s0] -> (s0, 8)>", "affine_map<(d0)[s0] -> (s0, d0)>"),
        "a symbol that nobody defines": fine.replace(symbols, "{}"),
        "symbols that are a number": fine.replace(symbols, "{ptc.symbols = 7 : i64}"),
        "symbols without ranges": fine.replace(symbols, '{ptc.symbols = [{name = "s0"}]}'),
        "a symbol without values": fine.replace("max = 9", "max = 0"),
        "guards that are a number": fine.replace(symbols, symbols[:-1] + ", ptc.guards = [1]}"),
        "a guard without a text": fine.replace(symbols, symbols[:-1] + ", ptc.guards = [{value = 1 : i64}]}"),
        "a guard without a value": fine.replace(symbols, symbols[:-1] + ', ptc.guards = [{text = "t"}]}'),
        "a guard of no relation": fine.replace(
            symbols, symbols[:-1] + ', ptc.guards = [{value = 1 : i64, relation = "is", text = "t"}]}'
        ),
        "an input's name that is a number": fine.replace('ptc.input = "x"', "ptc.input = 3 : i64"),
        "a tensor that binds a symbol": fine.replace('ptc.input = "x"', 'ptc.input = "x", ptc.binds = 0 : i64'),
        "a symbol out of range": fine.replace('ptc.input = "x"', 'ptc.input = "x", ptc.binds = 99 : i64'),
        "an argument that is no tensor": "func.func @forward(%x: i64 {ptc.input = \"x\"}) { return }",
        "a tensor without a rank": fine.replace(tensor, "tensor<*xf32>"),
        "tensors of tensors": fine.replace(tensor, "tensor<4xvector<4xf32>>"),
        "sizes that overflow": fine.replace(tensor, "tensor<4611686018427387904x4611686018427387904xf32>"),
        "results that differ in shape": fine.replace(f"return %0 : {tensor}", "return %x : tensor<4xf32>"),
        "no body": "func.func private @forward(tensor<4xf32>) -> tensor<4xf32>",
        "another function's name": fine.replace("@forward", "@backward"),
        "a function that nobody calls": fine.replace(
            "func.func @forward", "func.func private @other() { return }\nfunc.func @forward"
        ),
        "a call of itself": fine.replace("aten.sin.default %x", "func.call @forward(%x)"),
        "an operator that does not exist": fine.replace("aten.sin", "aten.mystery"),
        "an operator without operands": fine.replace("aten.sin.default %x : (" + tensor + ")", "aten.sin.default : ()"),
        "a result number that is huge": fine.replace("return %0", "return %0#4294967294"),
        "results without end": fine.replace("%0 =", "%0:4294967295 ="),
        "brackets without end": "module attributes {a = " + "[" * 100000,
        "signs without end": "#a = affine_map<()[s0] -> (" + "-" * 100000 + "s0)>\n" + fine,
    }
    for name, content in changes.items():
        assert content != fine, name
        attempt(f"mlir with {name}", "mlir", content.encode())


def lies_graph(text):
    changes = {
        "an operator that does not exist": text.replace("aten.relu.default", "aten.mystery.default"),
        "a wrong arity": text.replace("aten.relu.default(batch_norm)", "aten.relu.default(batch_norm, batch_norm, 3)"),
        "a value that nobody defines": text.replace("aten.relu.default(batch_norm)", "aten.relu.default(nobody)"),
        "sizes that overflow": text.replace("f32[24, 1, 3, 3]", "f32[9223372036854775807, 9223372036854775807]"),
        "a dtype that does not exist": text.replace('"f32[s34, 1, 8, 8]"', '"q99[s34, 1, 8, 8]"'),
        "a dimension that is negative": text.replace("f32[24, 1, 3, 3]", "f32[24, 1, -3, -3]"),
        "open brackets": text.replace("[1, 1]", "[" * 100000),
    }
    for name, content in changes.items():
        assert content != text, name
        attempt(f"graph with {name}", "graph", content.encode())
    twice = text.replace("target='norm2.running_var'", "target='norm2.weight'")
    assert twice != text
    attempt("graph with a weight that is given twice", "graph", twice.encode(), must_fail=False)


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
    attempt("weights that overlap", "graph", graph, pack({**header, "again": entry}))
    for step in range(50):
        attempt(f"weights cut at {step}/50", "graph", graph, WEIGHTS[: len(WEIGHTS) * step // 50])
    source = random.Random("weights")
    for _ in range(60):
        damaged = bytearray(WEIGHTS)
        damaged[source.randrange(8 + size)] ^= 1 << source.randrange(8)
        attempt("weights with a bit of their header flipped", "graph", graph, bytes(damaged), must_fail=False)


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
    lies_about_types(graph.decode())
    lies_about_arguments(graph.decode())
    lies_mlir()
    constants_without_end()
    lies_weights(graph)
    run_attempts()


main()
