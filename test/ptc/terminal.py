"""terminal.py PTC: what is there on a terminal and nowhere else: colour, and progress of long compilations."""

import os
import pty
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import run_cases  # noqa: E402

PTC = str(Path(sys.argv[1]).resolve())
ESCAPE = b"\033["
STEPS = 640  # of the model that takes a while


def on_terminal(*arguments, **environment):
    """What ptc writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PTC, *map(str, arguments)], stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 1 << 16):
            text += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    process.wait()
    return text


def in_pipe(*arguments):
    done = subprocess.run([PTC, *map(str, arguments)], capture_output=True, env={**os.environ, "TERM": "xterm"})
    return done.stdout + done.stderr


def colour(folder):
    missing = folder / "missing.pt2"
    assert ESCAPE in on_terminal("explain", missing)
    assert ESCAPE not in in_pipe("explain", missing)
    assert ESCAPE not in on_terminal("explain", missing, NO_COLOR="1")
    assert ESCAPE not in on_terminal("explain", missing, TERM="dumb")
    assert ESCAPE not in on_terminal("explain", missing, "--color", "never")
    assert ESCAPE in in_pipe("explain", missing, "--color", "always")
    assert ESCAPE not in on_terminal("ops", "add.Tensor", "--json")


def progress(folder):
    """Kernels that are all different take more than the 0.7 s before which nothing is said."""
    body, last = [], "%x"
    for i in range(STEPS):
        body.append(f"  %a{i} = aten.softmax.int {last} {{dim = 1 : i64}} : (tensor<64x{i + 8}xf32>) -> tensor<64x{i + 8}xf32>")
        pads = f"%p{i} = aten.constant_pad_nd.default %a{i} {{pad = array<i64: 0, 1>, value = 0 : i64}}"
        body.append(f"  {pads} : (tensor<64x{i + 8}xf32>) -> tensor<64x{i + 9}xf32>")
        last = f"%p{i}"
    model = folder / "model.mlir"
    model.write_text(
        'func.func @forward(%x: tensor<64x8xf32> {ptc.input = "x"}) -> '
        f'(tensor<64x{STEPS + 8}xf32> {{ptc.output = "y"}}) {{\n'
        + "\n".join(body)
        + f"\n  return {last} : tensor<64x{STEPS + 8}xf32>\n}}\n"
    )
    text = on_terminal("compile", model, "-o", folder / "model.so")
    assert b" s  kernels for " in text and b" of " in text, text[-300:]
    assert text.endswith(b"\r\033[K"), text[-100:]  # nothing is left of it
    assert in_pipe("compile", model, "-o", folder / "model.so") == b""


def main():
    run_cases([colour, progress])


if __name__ == "__main__":
    main()
