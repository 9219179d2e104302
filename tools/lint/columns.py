"""Lines of at most 120 columns."""

from pathlib import Path

MOST = 120
# They write Markdown, whose lines stand in them as they are in the page.
PAGES = ("tools/bench/report.py", "tools/python/generate_onnx_docs.py")
SUFFIXES = {".bazel", ".bzl", ".c", ".cpp", ".h", ".hpp", ".py", ".rs", ".sh", ".td"}


def has_limit(file):
    """Code, with scripts that have no suffix. Python in test/ is mostly rows, and a row is a case; IR and tables of
    Markdown cannot be broken."""
    path = Path(file)
    if file in PAGES or (path.parts[0] == "test" and path.suffix == ".py"):
        return False
    return path.suffix in SUFFIXES or (path.parts[0] == "tools" and not path.suffix)


def find_faults(root, files):
    faults = []
    for file in filter(has_limit, files):
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            if len(line) > MOST:
                faults.append(f"{file}:{number}: {len(line)} columns, more than {MOST}")
    return faults
