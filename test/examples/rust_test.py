"""The program in Rust, compiled by Debian's rustc: it answers as `ptc run` does, says why where it cannot, and declares
the same as C's headers.

    rust_test.py PTC
"""

from __future__ import annotations

import array
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from safetensors_file import read_tensors, write_floats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import run_cases  # noqa: E402

PTC = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
PROGRAM, MODEL = ROOT / "examples/rust/classify.rs", ROOT / "examples/digits/model.pt2"

# Programs in C and in Rust that print the same lines: a constant's value, a struct's size, a field's place and size.
C_MAIN = """
#include <dlfcn.h>
#include <ptc/ptc.h>
#include <stdio.h>
#define CONSTANT(C) printf("%s %lld\\n", #C, (long long)C);
#define STRUCT(S) printf("%s %zu\\n", #S, sizeof(S));
#define FIELD(S, F) printf("%s.%s %zu %zu\\n", #S, #F, offsetof(S, F), sizeof(((S *)0)->F));
int main(void) { LINES }
"""
RUST_MAIN = """
macro_rules! CONSTANT { ($C:ident) => { println!("{} {}", stringify!($C), c::$C as i64); } }
macro_rules! STRUCT { ($S:ident) => { println!("{} {}", stringify!($S), mem::size_of::<c::$S>()); } }
macro_rules! FIELD { ($S:ident, $F:ident) => {
    let made = mem::MaybeUninit::<c::$S>::uninit();
    let field = unsafe { ptr::addr_of!((*made.as_ptr()).$F) };
    let place = field as usize - made.as_ptr() as usize;
    println!("{}.{} {} {}", stringify!($S), stringify!($F), place, size_behind(field));
} }
fn size_behind<T>(_: *const T) -> usize { mem::size_of::<T>() }
fn main() { LINES }
"""


def run(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)


def output(*command: object) -> str:
    done = run(*command)
    assert done.returncode == 0, f"{command[0]}: exit {done.returncode}, {done.stderr}"
    return done.stdout


def compile_program(source: Path, program: Path, *options: str) -> Path:
    """As the first lines of the example say."""
    rustc = shutil.which("rustc")
    assert rustc, "rustc is missing (tools/setup/install --tests installs it)"
    output(rustc, "--edition", "2021", *options, source, "-o", program)
    return program


def draw_digits() -> array.array:
    """The one and the seven that the program draws."""
    one = ["...##..."] * 8
    seven = [".######.", ".######.", "....++..", "....++..", "...++...", "...++...", "..++....", "..++...."]
    return array.array("f", [{".": 0, "+": 14, "#": 16}[pixel] for row in one + seven for pixel in row])


def answers(program: Path, folder: Path) -> None:
    """Digits and probabilities are to the last bit those of `ptc run`, and names and sizes those of `ptc info`."""
    library, inputs, outputs = folder / "digits.so", folder / "inputs.safetensors", folder / "outputs.safetensors"
    output(PTC, "compile", MODEL, "-o", library)
    write_floats(inputs, "images", draw_digits(), [2, 1, 8, 8])
    output(PTC, "run", library, "--inputs", inputs, "--outputs", outputs)
    probabilities = read_tensors(outputs)["0"]
    info = json.loads(output(PTC, "info", library, "--json"))
    (entry,) = info["entries"]
    sizes = " ".join(str(size) for size in entry["outputs"][0]["shape"])

    head, *digits, refusal = output(program, library).splitlines()
    assert head == f"{info['name']}: {entry['inputs'][0]['name']} -> {sizes}", head
    assert len(digits) == 2, digits
    for image, expected in enumerate((1, 7)):
        row = probabilities[10 * image : 10 * image + 10]
        digit, probability = digits[image].removeprefix(f"image {image} is a ").split(", with probability ")
        assert int(digit) == row.index(max(row)) == expected, digits[image]
        assert array.array("f", [float(probability)])[0] == max(row), (digits[image], max(row))
    wanted = "refused: input 'images' (0): dimension 2 has size 4, but the model was compiled for 8"
    assert refusal.startswith(wanted), refusal


def what_is_no_model(program: Path, folder: Path) -> None:
    text = folder / "text.so"
    text.write_text("no library")
    for path, message in (
        (folder / "missing.so", "No such file"),
        (text, "file too short"),
        ("libm.so.6", "no library that ptc compiled"),
    ):
        done = run(program, path)
        assert done.returncode == 1 and str(path) in done.stderr and message in done.stderr, done
    done = run(program)
    assert done.returncode == 1 and "usage" in done.stderr, done


def declarations(program: Path, folder: Path) -> None:
    """Constants, structs and fields are as in C's headers, but for the size of ptc_api: only its beginning is there."""
    text = PROGRAM.read_text()
    names = [("CONSTANT", name) for name in re.findall(r"^    pub const (\w+):", text, re.M)]
    for struct, body in re.findall(r"^    pub struct (\w+) {\n(.*?)^    }", text, re.M | re.S):
        fields = re.findall(r"^        pub (\w+):", body, re.M)
        names += [("FIELD", f"{struct}, {field}") for field in fields]
        names += [("STRUCT", struct)] * (bool(fields) and struct != "ptc_api")
    assert len(names) > 50, names
    in_c, in_rust = folder / "in_c.c", folder / "in_rust.rs"
    in_c.write_text(C_MAIN.replace("LINES", " ".join(f"{macro}({name})" for macro, name in names)))
    output("clang-22", "-I", ROOT / "runtime/include", in_c, "-o", folder / "in_c")
    main = RUST_MAIN.replace("LINES", " ".join(f"{macro}!({name});" for macro, name in names))
    in_rust.write_text(text.replace("fn main()", "fn classify_main()") + main)
    compile_program(in_rust, folder / "in_rust", "-A", "dead_code")
    expected, found = (output(folder / name).splitlines() for name in ("in_c", "in_rust"))
    assert expected == found, [pair for pair in zip(expected, found) if pair[0] != pair[1]]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        program = compile_program(PROGRAM, Path(name) / "classify", "-D", "warnings")
        run_cases([answers, what_is_no_model, declarations], program)
