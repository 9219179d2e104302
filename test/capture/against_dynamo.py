"""against_dynamo.py PTC: `ptc capture` and `ptc explain` beside torch._dynamo.explain, line by line."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import run_cases  # noqa: E402

HERE = Path(__file__).resolve().parent
PTC = Path(sys.argv[1]).resolve()


def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PTC_PYTHON": sys.executable}
    done = subprocess.run([PTC, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == status, f"ptc {arguments[0]}: exit {done.returncode}: {done.stderr[-600:]}"
    return done


def capture(script: str, name: str, folder: Path, *options: str) -> dict:
    run("capture", f"{HERE / script}.py:{name}", "-o", folder / "m.graph", *options)
    return json.loads(run("explain", folder / "m.graph", "--json").stdout)


def dynamo(script: str, name: str):
    """What torch itself says."""
    module = importlib.import_module(script)
    given = module.example_inputs
    args, kwargs = ((), given) if isinstance(given, dict) else (given, {})
    with contextlib.redirect_stdout(io.StringIO()):
        return torch._dynamo.explain(getattr(module, name))(*args, **kwargs)


def call(library: Path, inputs: dict) -> list:
    given, answered = library.with_name("in.safetensors"), library.with_name("out.safetensors")
    save_file(inputs, given)
    run("run", library, "--inputs", given, "--outputs", answered)
    outputs = load_file(answered)
    return [outputs[str(i)] for i in range(len(outputs))]


def first_line(text: str) -> str:
    return text.strip().splitlines()[0]


def compare(script: str, name: str, folder: Path) -> dict:
    """All that torch says of a run with the example's inputs; runs that were sent other ways are ours alone."""
    report, expected = capture(script, name, folder), dynamo(script, name)
    graphs = [graph for graph in report["graph_reports"] if graph["run"] == 0]
    assert len(graphs) == expected.graph_count, (len(graphs), expected.graph_count)
    for graph, module in zip(graphs, expected.graphs):
        calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
        assert graph["captured_operators"] == len(calls), (graph["graph"], graph["captured_operators"], len(calls))
    breaks = [found for found in report["break_reasons"] if found["run"] == 0 and found["graph"] is not None]
    got = [(found["torch_reason"], found["source"]) for found in breaks]
    wanted = [
        (first_line(reason.reason), f"{reason.user_stack[-1].filename}:{reason.user_stack[-1].lineno}")
        for reason in expected.break_reasons
    ]
    assert got == wanted, f"\n{got}\n{wanted}"
    guards = [guard for guard in report["guards"] if guard["run"] == 0]
    assert len(guards) == len(expected.out_guards), (len(guards), len(expected.out_guards))
    assert [g["kind"] for g in guards] == [g.create_fn_name() for g in expected.out_guards]
    for found in report["break_reasons"]:
        assert found["fix"], found
    return report


def toy(folder: Path) -> None:
    report = compare("toy", "toy_example", folder)
    assert (report["graphs"], report["breaks"], report["runs"]) == (3, 1, 2), report
    (found,) = report["break_reasons"]
    assert found["source"] == f"{HERE / 'toy.py'}:8" and found["code"] == "if b.sum() < 0:", found
    branches = {way["branch"].rpartition(" is ")[2]: way["to"] for way in report["transitions"] if way["from"] == 0}
    assert set(branches) == {"true", "false"} and sorted(branches.values()) == [1, 2], report["transitions"]
    assert not report["fallbacks"] and all(graph["kernels"] for graph in report["graph_reports"])
    text = run("explain", folder / "m.graph").stdout
    assert "if b.sum() < 0:" in text and "torch.where" in text, text

    # Its graphs, compiled and run one after the other as Python would, answer what the function does.
    error = run("compile", folder / "m.graph", "-o", folder / "m.so", status=1).stderr
    assert f"{HERE / 'toy.py'}:8: Data-dependent branching" in error and error.count("\n") == 1, error
    run("compile", folder / "m.graph", "-o", folder / "m.so", "--no-fullgraph")

    function = importlib.import_module("toy").toy_example
    for sign in (1, -1):
        a, b = torch.randn(10), sign * torch.rand(10)
        negative, x = call(folder / "m-graph0.so", {"a": a, "b": b})
        way = branches["true" if negative else "false"]
        (y,) = call(folder / f"m-graph{way}.so", {"x": x, "b": b})
        assert bool(negative) == (sign < 0)
        torch.testing.assert_close(y, function(a, b))


def items(folder: Path) -> None:
    report = compare("items", "model", folder)
    assert (report["graphs"], report["breaks"]) == (4, 3), report
    assert [found["python"] for found in report["break_reasons"]] == [
        "k = (h.mean(0) > 0.1).sum().item()",
        "scale = h.abs().max().item()",
        'print("kept", k)',
    ]
    assert report["graph_reports"][0]["weights"] == 2, report["graph_reports"][0]


def containers(folder: Path) -> None:
    report = compare("containers", "model", folder)
    assert (report["graphs"], report["breaks"]) == (3, 2), report
    # Torch says of this one that there is nothing; we say why.
    report = compare_nothing("containers", "looped", folder)
    (found,) = report["break_reasons"]
    assert found["skipped"] and "self.registry.record" in found["code"], found


def compare_nothing(script: str, name: str, folder: Path) -> dict:
    report = capture(script, name, folder)
    assert report["graphs"] == dynamo(script, name).graph_count == 0
    return report


def generating(folder: Path) -> None:
    report = compare("generating", "generate", folder)
    # Stopping criteria make tensors of comparisons of sizes.
    assert not report["fallbacks"], report["fallbacks"]
    assert report["breaks"] >= 6 and report["runs"] > 1, report["breaks"]


def casting(folder: Path) -> None:
    """Autocast's casts are in the graphs, before and behind a break in it."""
    report = compare("casting", "model", folder)
    assert (report["graphs"], report["breaks"]) == (2, 1) and not report["fallbacks"], report
    run("compile", folder / "m.graph", "-o", folder / "m.so", "--no-fullgraph")
    module = importlib.import_module("casting")
    (x,) = module.example_inputs
    (y,) = call(folder / "m-graph0.so", {"x": x})
    assert y.dtype == torch.bfloat16, y.dtype
    (result,) = call(folder / "m-graph1.so", {"x": x, "y": y})
    with contextlib.redirect_stdout(io.StringIO()):
        torch.testing.assert_close(result, module.model(x), rtol=1e-2, atol=1e-2)


def without_breaks(folder: Path) -> None:
    """One graph is a model like any other; sizes stay symbolic."""
    script = folder / "net.py"
    script.write_text(
        "import torch\ntorch.manual_seed(0)\nnet = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()\n"
    )
    argument = "--args=torch.randn(5, 4)"
    run("capture", f"{script}:net", "-o", folder / "net.graph", argument, "--fullgraph", "--dynamic")
    run("compile", folder / "net.graph", "-o", folder / "compiled.so")
    x = torch.randn(7, 4)
    report = json.loads(run("explain", folder / "net.graph", "--graph", "0", "--json").stdout)
    inputs = {info["name"]: info["type"] for info in report["inputs"]}
    (name,) = [name for name, kind in inputs.items() if kind.startswith("float32[")]
    (y,) = call(folder / "compiled.so", {name: x, **{n: torch.tensor(7) for n in inputs if n != name}})
    sys.path.insert(0, str(folder))
    torch.testing.assert_close(y, importlib.import_module("net").net(x))


def from_the_package(folder: Path) -> None:
    """`python -m ptc capture` runs the script in the same Python."""
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(HERE.parents[1] / "tools/python"), "PTC_EXECUTABLE": str(PTC)}
    command = [sys.executable, "-m", "ptc", "capture", f"{HERE / 'toy.py'}:toy_example", "-o", folder / "m.graph"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0 and "3 graphs, 1 break, 2 runs" in done.stderr, done.stderr


def errors(folder: Path) -> None:
    """One line each, and nothing is written."""
    script = folder / "wrong.py"
    script.write_text("import torch\ndef f(x):\n    return x @ torch.ones(3)\nnumber = 3\n")
    for words, expected in (
        ((f"{script}:g",), "has no 'g'"),
        ((f"{script}:number",), "neither a function nor a module"),
        ((f"{folder}/none.py:f",), "no such file"),
        (("f",), "is no SCRIPT.py:NAME"),
        ((f"{script}:f", "--args", "torch.ones(4)"), f"{script}:3: "),
        ((f"{script}:f", "--args", "torch.ones("), "--args: SyntaxError"),
        ((f"{HERE / 'toy.py'}:toy_example", "--fullgraph"), f"{HERE / 'toy.py'}:8: Data-dependent branching"),
    ):
        error = run("capture", *words, "-o", folder / "no.graph", status=1).stderr
        assert error.startswith("ptc: error: ") and error.count("\n") == 1 and expected in error, error
        assert not (folder / "no.graph").exists()


def main() -> None:
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HERE))
    run_cases([toy, items, containers, generating, casting, without_breaks, from_the_package, errors])


if __name__ == "__main__":
    main()
