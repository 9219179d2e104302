#!/usr/bin/env python3
"""Writes dialects/aten/schema.txt from the operator list inside a torch wheel, and from two libraries of operators.

usage: generate_aten_schema.py [-o dialects/aten/schema.txt]

Reads torchgen's packaged native_functions.yaml and tags.yaml with torchgen's
own parser, so that the variants which PyTorch derives (out= and functional
forms of other operators) are there too. The operators of LIBRARIES are those
that torch knows once their modules are imported; their names begin with the
library's. One operator a line, sorted by name:

    NAME|MARKS|(ARGUMENTS) -> RETURNS

Run it with the Python of the torch release whose exports ptc should read, with
torchvision beside it.
"""

import argparse
import importlib
import importlib.metadata
import pathlib

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import NativeFunction

# torchgen's tag -> the letter in MARKS; dialects/aten/Schema.h explains them.
TAG_MARKS = {
    "core": "c",
    "pointwise": "p",
    "reduction": "r",
    "nondeterministic_seeded": "n",
    "inplace_view": "v",
    "dynamic_output_shape": "d",
    "data_dependent_output": "q",
    "maybe_aliasing_or_mutating": "m",
    "generated": "g",
}

# A library of operators that exports call -> the module that defines them.
LIBRARIES = {
    "quantized_decomposed": "torch.ao.quantization.fx._decomposed",
    "torchvision": "torchvision",
}

# What the libraries do not tag.
DYNAMIC_SHAPES = {"torchvision.nms.default"}

# Enumerators that the schemas use as defaults of an `int` argument.
ENUMERATORS = {"Mean": "1"}


def full_name(function: NativeFunction) -> str:
    name = function.func.name
    return f"{name.name}.{name.overload_name or 'default'}"


def marks(function: NativeFunction) -> str:
    letters = {mark for tag, mark in TAG_MARKS.items() if tag in function.tags}
    if function.has_composite_implicit_autograd_kernel:
        letters.add("i")
    return "".join(sorted(letters))


def signature(function: NativeFunction) -> str:
    text = str(function.func)
    text = text[text.index("(") :]
    for name, value in ENUMERATORS.items():
        text = text.replace(f"={name},", f"={value},").replace(f"={name})", f"={value})")
    return text


def native_functions() -> list[NativeFunction]:
    folder = pathlib.Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    return parsed.native_functions


def library_rows() -> list[str]:
    for module in LIBRARIES.values():
        importlib.import_module(module)
    rows = []
    for schema in torch._C._jit_get_all_schemas():
        library, _, base = schema.name.partition("::")
        if library not in LIBRARIES or not schema.arguments:
            continue
        name = f"{library}.{base}.{schema.overload_name or 'default'}"
        mark = TAG_MARKS["dynamic_output_shape"] if name in DYNAMIC_SHAPES else ""
        text = str(schema)
        rows.append(f"{name}|{mark}|{text[text.index('('):]}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("-o", "--output", type=pathlib.Path, default=root / "dialects/aten/schema.txt")
    output = parser.parse_args().output

    rows = [f"{full_name(f)}|{marks(f)}|{signature(f)}" for f in native_functions()] + library_rows()
    # The reader searches by plain byte order of the names alone, and '|' sorts after
    # every character that a name may have.
    rows.sort(key=lambda row: row.split("|")[0])
    names = [row.split("|")[0] for row in rows]
    assert len(set(names)) == len(names), "an operator is listed twice"
    version = importlib.metadata.version("torch").split("+")[0]
    writer = "tools/python/generate_aten_schema.py"
    header = f"# ATen operators of PyTorch {version}, and those of two libraries, by {writer}: do not edit."
    output.write_text("\n".join([header, *rows]) + "\n")
    print(f"{output}: {len(rows)} operators, {output.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
