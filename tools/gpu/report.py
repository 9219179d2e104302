"""Results as text: a line for each model or kernel, with columns that line up."""

from __future__ import annotations

from typing import Any

NAME = 26
# Of a part: what a column is called, the number that it shows, and how.
COLUMNS: dict[str, list[tuple[str, str, str]]] = {
    "models": [
        ("compile s", "compile_s", ".2f"),
        ("load ms", "load_ms", ".1f"),
        ("error", "error", ".1e"),
        ("ms", "ms", ".4f"),
        ("torch ms", "torch_ms", ".4f"),
    ],
    "bandwidth": [
        ("GB/s", "gbs", ".0f"),
        ("of copy", "part_of_copy", ".3f"),
        ("ms", "ms", ".4f"),
        ("torch ms", "torch_ms", ".4f"),
        ("compile s", "compile_s", ".2f"),
    ],
}
WIDTH = 10


def line(machine: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in machine.items() if value)


def heading(part: str, size: int) -> str:
    title = part if part == "models" else f"{part}, {size} MiB"
    return f"\n{title:{NAME}}" + "".join(f"{name:>{WIDTH}}" for name, _, _ in COLUMNS[part])


def row(part: str, name: str, result: dict[str, Any]) -> str:
    if "failed" in result:
        return f"{name:{NAME}}FAIL {result['failed']}"
    cells = (format(result[key], form) if key in result else "" for _, key, form in COLUMNS[part])
    return f"{name:{NAME}}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)
