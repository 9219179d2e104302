"""Dynamo's words about breaks and guards, as data."""

from __future__ import annotations

import re
from typing import Any

from .places import users_stack


def parse_reason(text: str) -> dict[str, Any]:
    """Dynamo's message: a title, then `Explanation:`, `Hint:` and `Developer debug context:`."""
    body = text.split("Graph break encountered:\n\n", 1)[-1]
    first, _, rest = body.strip().partition("\n")
    if rest.startswith("\n") and first.endswith(":"):  # "Graph Break Reason: Call to `print`:" before the title
        first, _, rest = rest.strip().partition("\n")
    fields: dict[str, Any] = {"reason": first.strip(), "explanation": "", "hints": [], "context": ""}
    current = None
    for line in rest.splitlines():
        line = line.strip()
        if line.startswith("For more details about this graph break"):
            break
        for start, key in (
            ("Explanation:", "explanation"),
            ("Hint:", "hints"),
            ("Developer debug context:", "context"),
        ):
            if line.startswith(start):
                current, line = key, line[len(start) :].strip()
                if key == "hints":
                    fields["hints"].append("")
                break
        if not line or current is None:
            continue
        if current == "hints":
            fields["hints"][-1] = (fields["hints"][-1] + " " + line).strip()
        else:
            fields[current] = (fields[current] + " " + line).strip()
    return fields


def describe_dtype(value: Any) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(str(size) for size in value.shape)}]"


def without_addresses(text: str) -> str:
    """Identities of objects differ from run to run."""
    text = re.sub(r"(___check_(?:obj|type)_id\(.*), \d{6,}\)", r"\1)", text)
    return re.sub(r" (?:at|object at) 0x[0-9a-f]+", "", text)


def describe_guard(guard: Any, examples: dict[str, Any]) -> dict[str, Any]:
    kind = guard.create_fn_name() if hasattr(guard, "create_fn_name") else str(guard.create_fn)
    stack = users_stack(getattr(guard, "user_stack", None))
    if kind == "TENSOR_MATCH" and guard.name in examples:
        text = f"{guard.name} is {describe_dtype(examples[guard.name])}"
    else:
        text = without_addresses(" and ".join(guard.code_list or []) or guard.name or kind.lower().replace("_", " "))
    return {"kind": kind, "text": text, "source": stack[-1]["source"] if stack else ""}
