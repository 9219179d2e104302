"""The tables of AutocastPolicy.cpp have what PyTorch registers: for CUDA each operator with its policy, as PyTorch's
header lists them; for the CPU, whose policies no header has, each operator.

python test/graph/autocast/lists.py AutocastPolicy.cpp
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import torch

HEADER = Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
LISTS = {"LOWER_PRECISION_FP": "lower", "FP32": "full", "FP32_SET_OPT_DTYPE": "fullUnlessTyped", "PROMOTE": "widest"}
# Of cuDNN, which exporters do not write; and operators of NumPy's names for dimensions.
NEVER_EXPORTED = {"_cudnn_rnn", "cudnn_convolution", "cudnn_convolution_transpose"}


def names(text: str) -> set[str]:
    return set(re.findall(r'"(\w+)"', text))


def table(source: str, device: str) -> dict[str, set[str]]:
    """The names of each list of a device."""
    body = re.search(rf"get{device}Lists\(\) \{{(.*?)\n\}}", source, re.S)[1]
    pieces = re.split(r"/\*(\w+)=\*/", body)[1:]
    lists = {name: names(text) for name, text in zip(pieces[::2], pieces[1::2], strict=True)}
    products = re.search(r"isProduct\(.*?\n\}", source, re.S)[0]
    lists["lower"] |= names(products)
    return lists


def registered(key: str) -> set[str]:
    found = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return {name.removeprefix("aten::").split(".")[0] for name in found if name.startswith("aten::")}


def main() -> None:
    source = Path(sys.argv[1]).read_text()
    wrong = []
    cuda, header = table(source, "Cuda"), HEADER.read_text()
    for macro, policy in LISTS.items():
        text = re.search(rf"#define AT_FORALL_{macro}\(_\)((?:.*\\\n)*.*\n)", header)[1]
        for name in sorted({entry.split(",")[0].strip() for entry in re.findall(r"_\(([^)]*)\)", text)}):
            homes = [policy for policy, listed in cuda.items() if name in listed]
            if homes != [policy]:
                wrong.append(f"CUDA: {name} is {policy} in PyTorch, and {homes or 'nowhere'} here")
    for device in ("Cuda", "Cpu"):
        listed = set().union(*table(source, device).values())
        # fft_ and linalg_ are float32 by their names.
        missing = {n for n in registered(f"Autocast{device.upper()}") if not re.match("_?(linalg|fft)_", n)} - listed
        wrong += [f"{device}: {name} is registered, and not listed" for name in sorted(missing - NEVER_EXPORTED)]
    print(*wrong, sep="\n")
    print(f"{len(wrong)} differ")
    sys.exit(1 if wrong else 0)


main()
