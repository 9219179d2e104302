"""Files of tensors, read and written without torch or NumPy."""

import array
import json
import math
from pathlib import Path

CODES = {"F32": "f", "I64": "q"}


def read_tensors(path: Path) -> dict[str, array.array]:
    """The elements of each tensor, row-major."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    header.pop("__metadata__", None)
    return {name: array.array(CODES[row["dtype"]], data[slice(*row["data_offsets"])]) for name, row in header.items()}


def write_floats(path: Path, name: str, values: array.array, shape: list[int]) -> None:
    data = values.tobytes()
    assert values.typecode == "f" and len(values) == math.prod(shape)
    header = json.dumps({name: {"dtype": "F32", "shape": shape, "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
