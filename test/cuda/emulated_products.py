"""Operations on matrices, of which LLVM's have several results: functions around the emulator's, which have arrays."""

from __future__ import annotations

import re

# ldmatrix.
LOAD = """
define internal { i32, i32, i32, i32 } @NAME(ptr %row) {
  %out = alloca { i32, i32, i32, i32 }
  call void @EMULATED(ptr %row, ptr %out)
  %answer = load { i32, i32, i32, i32 }, ptr %out
  ret { i32, i32, i32, i32 } %answer
}
declare void @EMULATED(ptr, ptr)
"""


def define_load(name: str, emulated: str) -> str:
    return LOAD.replace("NAME", name).replace("EMULATED", emulated)


def define_multiply(name: str, given: str, pair: str) -> str:
    """mma.m16n8k16, whose operands are six pairs, which the emulator takes as floats, and four sums."""
    operands = ", ".join([f"{given} %p{i}" for i in range(6)] + [f"float %s{i}" for i in range(4)])
    sums = "{ float, float, float, float }"
    lines = ["%in = alloca [6 x <2 x float>]", f"%out = alloca {sums}"]
    for i in range(6):
        lines.append(f"%n{i} = bitcast {given} %p{i} to {pair}")
        lines.append(f"%w{i} = fpext {pair} %n{i} to <2 x float>")
        lines.append(f"%a{i} = getelementptr <2 x float>, ptr %in, i64 {i}")
        lines.append(f"store <2 x float> %w{i}, ptr %a{i}")
    for i in range(4):
        lines.append(f"%b{i} = getelementptr float, ptr %out, i64 {i}")
        lines.append(f"store float %s{i}, ptr %b{i}")
    lines += ["call void @fake_multiply(ptr %in, ptr %out)", f"%answer = load {sums}, ptr %out", f"ret {sums} %answer"]
    body = "\n  ".join(lines)
    return f"\ndefine internal {sums} @{name}({operands}) {{\n  {body}\n}}\n"


def define_plain(name: str, given: str, count: int, sum_type: str, sums: int, call: str, flags: str = "") -> str:
    """mma whose operands the emulator takes as they are."""
    operands = ", ".join([f"{given} %p{i}" for i in range(count)] + [f"{sum_type} %s{i}" for i in range(sums)])
    answer = "{ " + ", ".join([sum_type] * sums) + " }"
    lines = [f"%in = alloca [{count} x {given}]", f"%out = alloca {answer}"]
    for values, element, memory, number in (("p", given, "in", count), ("s", sum_type, "out", sums)):
        for i in range(number):
            lines.append(f"%{memory}{i} = getelementptr {element}, ptr %{memory}, i64 {i}")
            lines.append(f"store {element} %{values}{i}, ptr %{memory}{i}")
    lines += [f"call void @{call}(ptr %in, ptr %out{flags})", f"%answer = load {answer}, ptr %out", f"ret {answer} %answer"]
    body = "\n  ".join(lines)
    return f"\ndefine internal {answer} @{name}({operands}) {{\n  {body}\n}}\n"


def define_bytes(name: str, is_lhs_unsigned: int, is_rhs_unsigned: int) -> str:
    flags = f", i32 {is_lhs_unsigned}, i32 {is_rhs_unsigned}"
    return define_plain(name, "i32", 6, "i32", 4, "fake_multiply_bytes", flags)


MATRICES = {
    "fake_load_matrices": define_load("fake_load_matrices", "fake_rows_of_matrices"),
    "fake_load_transposed": define_load("fake_load_transposed", "fake_columns_of_matrices"),
    "fake_multiply_half": define_multiply("fake_multiply_half", "<2 x half>", "<2 x half>"),
    "fake_multiply_bfloat": define_multiply("fake_multiply_bfloat", "i32", "<2 x bfloat>"),
    "fake_product_tf32": define_plain("fake_product_tf32", "i32", 6, "float", 4, "fake_multiply_tf32"),
    "fake_product_double": define_plain("fake_product_double", "double", 2, "double", 2, "fake_multiply_double"),
    "fake_product_s8": define_bytes("fake_product_s8", 0, 0),
    "fake_product_s8_u8": define_bytes("fake_product_s8_u8", 0, 1),
    "fake_product_u8": define_bytes("fake_product_u8", 1, 1),
    "fake_product_u8_s8": define_bytes("fake_product_u8_s8", 1, 0),
}


# wgmma is inline assembly: its columns, types of sums and elements, and whether each operand is transposed.
PRODUCT = re.compile(
    r'asm sideeffect "[^"]*wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k\d+\.([fs]32)\.(\w+)\.(\w+) '
    r'[^"]*, p(?:, 1, 1)?(?:, (\d), (\d))?; }", "[^"]*"'
)
ELEMENTS = ["f16", "bf16", "tf32", "s8", "u8"]  # Product::Element of emulator_block.h
OF_REGISTERS = re.compile(
    r'asm sideeffect "wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(\w+)\.\w+ '
    r'[^"]*}, \$\d+, 1, 1, 1, (\d);", "[^"]*"'
)
WAIT = re.compile(
    r'({ (?:(?:float|i32)(?:, )?)+ }) asm sideeffect "wgmma\.wait_group\.sync\.aligned (\d+);", "[^"]*"\(([^)]*)\)'
)


def define_on_sums(name: str, count: int, operands: list[str], call: str, element: str = "float") -> str:
    """A function that changes `count` sums, and has other operands behind them (%x0, ...)."""
    given = ", ".join([f"{element} %s{i}" for i in range(count)] + [f"{one} %x{i}" for i, one in enumerate(operands)])
    sums = "{ " + ", ".join([element] * count) + " }"
    lines = [f"%sums = alloca {sums}"]
    for i in range(count):
        lines.append(f"%a{i} = getelementptr {element}, ptr %sums, i64 {i}")
        lines.append(f"store {element} %s{i}, ptr %a{i}")
    lines += [call, f"%answer = load {sums}, ptr %sums", f"ret {sums} %answer"]
    body = "\n  ".join(lines)
    return f"\ndefine internal {sums} @{name}({given}) {{\n  {body}\n}}\n"


def add_warpgroups(ir: str) -> str:
    """Functions in place of wgmma and its waits."""
    definitions = {}

    def start(found: re.Match) -> str:
        columns, total, left_type, right_type, left, right = found.groups(default="0")
        name = f"fake_start_{columns}_{left_type}_{right_type}_{left}_{right}"
        flags = f"i32 {ELEMENTS.index(left_type)}, i32 {ELEMENTS.index(right_type)}, i32 {left}, i32 {right}"
        call = f"call void @fake_start_product(ptr %sums, i32 {columns}, i64 %x0, i64 %x1, i32 %x2, {flags}, "
        call += "ptr @fake_dynamic_shared)"
        sum_type = "i32" if total == "s32" else "float"
        definitions[name] = define_on_sums(name, int(columns) // 2, ["i64", "i64", "i32"], call, sum_type)
        return f"@{name}"

    def start_of_registers(found: re.Match) -> str:
        columns, element, right = found.groups()
        name = f"fake_start_{columns}_{element}_registers_{right}"
        call = "\n  ".join(
            ["%in = alloca [4 x i32]"]
            + [f"%p{i} = getelementptr i32, ptr %in, i64 {i}\n  store i32 %x{i}, ptr %p{i}" for i in range(4)]
            + [f"call void @fake_start_product_of_registers(ptr %sums, i32 {columns}, ptr %in, i64 %x4, "
               f"i32 {ELEMENTS.index(element)}, i32 {right}, ptr @fake_dynamic_shared)"]
        )  # fmt: skip
        definitions[name] = define_on_sums(name, int(columns) // 2, ["i32"] * 4 + ["i64"], call)
        return f"@{name}"

    def wait(found: re.Match) -> str:
        element = "i32" if "i32" in found[1] else "float"
        count = found[1].count(element)
        operands = len(found[3].split(", ")) - count
        name = f"fake_wait_{element}_{count}_{found[2]}_{operands}"
        call = f"call void @fake_wait_for_products(ptr %sums, i32 {count}, i32 {found[2]})"
        definitions[name] = define_on_sums(name, count, ["i32"] * operands, call, element)
        return f"{found[1]} @{name}({found[3]})"

    ir = WAIT.sub(wait, OF_REGISTERS.sub(start_of_registers, PRODUCT.sub(start, ir)))
    if definitions:
        ir += "declare void @fake_start_product(ptr, i32, i64, i64, i32, i32, i32, i32, i32, ptr)\n"
        ir += "declare void @fake_start_product_of_registers(ptr, i32, ptr, i64, i32, i32, ptr)\n"
        ir += "declare void @fake_wait_for_products(ptr, i32, i32)\n"
    return ir + "".join(definitions.values())


def add_products(ir: str) -> str:
    """The functions in place of declarations and assembly."""
    for name, definition in MATRICES.items():
        ir, count = re.subn(rf"^declare .*@{name}\(.*\n", "", ir, flags=re.M)
        ir += definition if count else ""
    calls = ("fake_multiply", "fake_multiply_tf32", "fake_multiply_double")
    ir += "".join(f"declare void @{call}(ptr, ptr)\n" for call in calls)
    return add_warpgroups(ir) + "declare void @fake_multiply_bytes(ptr, ptr, i32, i32)\n"
