"""clang-format and clang-tidy on the lines of C++ that changed since a commit: older code stays as it is."""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def find_base(root):
    """Where the branch left main; on main itself, the commit before. None in a clone that has no other commit."""
    head = run("git", "rev-parse", "HEAD", cwd=root).stdout.strip()
    for main in ("origin/main", "main"):
        found = run("git", "merge-base", main, "HEAD", cwd=root)
        if found.returncode == 0 and found.stdout.strip() != head:
            return found.stdout.strip()
    before = run("git", "rev-parse", "--verify", "--quiet", "HEAD~1", cwd=root)
    return before.stdout.strip() or None


def find_format_faults(root, base):
    if base is None:
        return []
    done = run("git-clang-format-22", "--binary", "clang-format-22", "--diff", "--quiet", base, cwd=root)
    # It says in words that nothing is to do, and fails where it prints a difference.
    return done.stdout.splitlines() if done.returncode or done.stdout.startswith("diff") else []


def find_changed_lines(root, base):
    """{file: [[first, last], ...]} of sources and headers, with what is not committed."""
    diff = subprocess.run(
        ["git", "diff", "-U0", "--diff-filter=d", base, "--", "*.cpp", "*.h"],
        cwd=root, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    changed, file = {}, None
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            file = line.removeprefix("+++ b/")
        elif match := re.match(r"@@ .* \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            if count:
                changed.setdefault(file, []).append([first, first + count - 1])
    return changed


def find_package(root, file):
    return next(folder for folder in Path(file).parents if (root / folder / "BUILD.bazel").exists())


def find_commands(root, sources):
    """{source: arguments of its compilation}, after a build of what compilers read: headers that are generated. A
    source that Bazel does not compile, as test/sanitize/caller.cpp, has none."""
    packages = sorted({f"//{find_package(root, source)}:all" for source in sources})
    prerequisites = "--output_groups=compilation_prerequisites_INTERNAL_"
    subprocess.run(["bazel", "build", prerequisites, *packages], cwd=root, check=True)
    query = f'mnemonic("CppCompile", set({" ".join(packages)}))'
    answer = subprocess.run(
        ["bazel", "aquery", query, "--output=jsonproto", "--noinclude_artifacts"],
        cwd=root, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    commands = {}
    for action in json.loads(answer).get("actions", []):
        words = action["arguments"]
        source = words[words.index("-c") + 1]
        if source in sources:
            commands[source] = words[1 : words.index("-c")]
    return commands


def find_tidy_faults(root, base):
    changed = find_changed_lines(root, base) if base else {}
    sources = {file for file in changed if file.endswith(".cpp")}
    if not sources:
        return []
    commands = find_commands(root, sources)
    execution_root = run("bazel", "info", "--noshow_progress", "execution_root", cwd=root).stdout.split()[-1]
    lines = json.dumps([{"name": file, "lines": ranges} for file, ranges in changed.items()])
    tidy = ["clang-tidy-22", "--quiet", "--warnings-as-errors=*", f"--config-file={root}/.clang-tidy"]

    def check(source):
        done = run(*tidy, f"--line-filter={lines}", source, "--", *commands[source], cwd=execution_root)
        return [line.replace(f"{execution_root}/", "") for line in done.stdout.splitlines()] if done.returncode else []

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return [fault for faults in threads.map(check, sorted(commands)) for fault in faults]
