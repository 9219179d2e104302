"""tools/compare_libraries: equal compilers, different ones, models that are refused, and names that assembly may change.

compare_libraries_test.py COMPARE_LIBRARIES PTC
"""

import subprocess
import sys
import tempfile
from pathlib import Path

compare_libraries, ptc = (str(Path(argument).resolve()) for argument in sys.argv[1:])
passed = failed = 0

MODEL = """func.func @forward(%x: tensor<8xf32> {ptc.input = "x"}) -> (tensor<8xf32> {ptc.output = "y"}) {
  %a = aten.OPERATOR.default %x : (tensor<8xf32>) -> tensor<8xf32>
  %b = aten.neg.default %a : (tensor<8xf32>) -> tensor<8xf32>
  return %b : tensor<8xf32>
}
"""
KERNEL = "ptc_kernel_{name}_{hash}:\n\tretq\n\t.section\t.text.ptc_kernel_{name}_{hash}\n"
# The section and the alignment of a string depend on its length.
SHORT = '\t.section\t.rodata.str1.1,"aMS",@progbits,1\n.Lptc_text.4:\n\t.asciz\t"k0_map"\n\t.size\t.Lptc_text.4, 7\n'
LONG = (
    '\t.section\t.rodata.str1.16,"aMS",@progbits,1\n\t.p2align\t4, 0x0\n.Lptc_text.4:\n'
    '\t.asciz\t"k0_elementwise_map"\n\t.size\t.Lptc_text.4, 19\n'
)
OTHER_TEXT = '.Lptc_text.4:\n\t.asciz\t"index out of range"\n\t.size\t.Lptc_text.4, 19\n'
A, B, C = "0123456789abcdef", "fedcba9876543210", "00112233445566ff"


def check(what: str, done: subprocess.CompletedProcess, status: int, *texts: str) -> None:
    """The status, and texts that the output has in this order."""
    global passed, failed
    rest, found = done.stdout, done.returncode == status
    for text in texts:
        _, separator, rest = rest.partition(text)
        found &= bool(separator)
    passed, failed = passed + found, failed + (not found)
    if not found:
        print(f"FAIL {what}: status {done.returncode} and not {status}, {list(texts)} in:\n{done.stdout}{done.stderr}")


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([compare_libraries, *arguments], capture_output=True, text=True)


with tempfile.TemporaryDirectory() as folder:

    def write_model(name: str, operator: str) -> str:
        path = Path(folder, "models", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MODEL.replace("OPERATOR", operator))
        return str(path)

    def write_compiler(name: str, script: str) -> str:
        path = Path(folder, name)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    def compare_texts(old: str, new: str) -> subprocess.CompletedProcess:
        """Of compilers that write these texts whatever they compile."""
        compilers = []
        for side, text in (("old", old), ("new", new)):
            Path(folder, f"{side}.s").write_text(text)
            compilers.append(write_compiler(side, f"cp {folder}/{side}.s model.s"))
        return run(*compilers, sine, "--asm", "--plain")

    sine = write_model("sine.mlir", "sin")
    write_model("deeper/unknown.mlir", "mystery")
    plain = write_compiler("plain", f'exec {ptc} "$@" --opt 0')
    refuses = write_compiler("refuses", "echo 'ptc: error: sine: not today'; exit 1")
    crashes = write_compiler("crashes", "kill -SEGV $$")

    check("a compiler equals itself", run(ptc, ptc, sine), 0, "6 equal, 0 differ\n")
    check("a refused model is equal, and counted", run(ptc, ptc, f"{folder}/models", "--plain", "--jobs", "2"), 0,
          "1 of the equal ones: both compilers refuse with the same message\n2 equal, 0 differ\n")
    check("a difference names the model and the options", run(ptc, plain, f"{folder}/models", "--plain"), 1,
          f"{sine} --march x86-64-v3,x86-64-v4,sapphirerapids: ", " only in the new\n",
          "1 equal, 1 differ\n")
    check("assembly shows it too", run(ptc, plain, sine, "--plain", "--asm"), 1,
          f"{sine} --march x86-64-v3: line ", f"{sine} --march x86-64-v4: line ", "0 equal, 3 differ\n")
    check("only one refuses", run(ptc, refuses, sine, "--plain"), 1,
          f"{sine} --march ", "old: compiles | new: ptc: error: sine: not today\n", "0 equal, 1 differ\n")
    check("a crash is a difference, also of both", run(crashes, crashes, sine, "--plain"), 1,
          f"{sine} --march ", "the old compiler ends with status -11", "0 equal, 1 differ\n")
    check("no model", run(ptc, ptc, f"{folder}/models/deeper/none"), 2)

    old = KERNEL.format(name="map", hash=A) + SHORT + f"\t.quad\tptc_kernel_map_{A}\n"
    new = KERNEL.format(name="elementwise_map", hash=B) + LONG + f"\t.quad\tptc_kernel_elementwise_map_{B}\n"
    check("kernels have other names", compare_texts(old, new), 0, "3 equal, 0 differ\n")
    check("another kernel is called", compare_texts(old, new.replace(f"quad\tptc_kernel_elementwise_map_{B}",
                                                                   f"quad\tptc_kernel_elementwise_map_{C}")), 1, "3 differ")
    check("another instruction", compare_texts(old, new.replace("retq", "ud2")), 1, "old: retq | new: ud2\n")
    check("another text", compare_texts(old.replace(SHORT, OTHER_TEXT), new.replace(LONG, OTHER_TEXT.replace("of", "to"))), 1,
          "3 differ")

print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
