"""The few rules that this project's packages are written in."""

COPTS = [
    "-fno-rtti",
    "-fno-exceptions",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Werror=return-type",
    "-fvisibility-inlines-hidden",
]

def _precompiled(copts, deps):
    """`copts` and `deps` with MLIR's and LLVM's headers precompiled, where `deps` name one of the two.

    Parsing these headers is most of a compilation's time. `--define=ptc_pch=off` builds without.
    """
    if "@llvm//:mlir" not in deps and "@llvm//:llvm" not in deps:
        return struct(copts = copts, deps = deps)
    name = "llvm_headers"
    if "-fexceptions" in copts:
        name = "llvm_headers_with_exceptions"
    off = "//tools/bazel:no_precompiled_headers"
    return struct(
        copts = copts + select({
            off: [],
            "//conditions:default": ["-include-pch", "$(BINDIR)/tools/bazel/%s.pch" % name],
        }),
        deps = deps + select({
            off: [],
            "//conditions:default": ["//tools/bazel:" + name],
        }),
    )

def ptc_cc_library(name, copts = [], deps = [], **kwargs):
    """A C++17 library in LLVM's style: no RTTI, no exceptions; includes are relative to the repository's root."""
    own = _precompiled(COPTS + copts, deps)
    native.cc_library(
        name = name,
        copts = own.copts,
        deps = own.deps,
        **kwargs
    )

def ptc_cc_binary(name, copts = [], deps = [], **kwargs):
    """A program; its own sources in the same style as ptc_cc_library."""
    own = _precompiled(COPTS + copts, deps)
    native.cc_binary(
        name = name,
        copts = own.copts,
        deps = own.deps,
        **kwargs
    )

def ptc_catch2_test(name, srcs, deps = [], copts = [], size = "small", **kwargs):
    """A test program of Catch2 cases (`#include <catch2/catch.hpp>`; main comes from here).

    Catch2 needs exceptions, MLIR is built without RTTI: hence -fexceptions -fno-rtti.
    """
    own = _precompiled(COPTS + ["-fexceptions", "-DCATCH_CONFIG_NO_CPP11_TO_STRING_RTTI"] + copts, deps)
    native.cc_test(
        name = name,
        srcs = srcs,
        size = size,
        copts = own.copts,
        deps = own.deps + ["//tools/bazel:catch2_main"],
        **kwargs
    )

def ptc_tablegen(name, td_file, outs, td_srcs = [], **kwargs):
    """Runs mlir-tblgen; `outs` maps each option line to the file that it writes.

    ptc_tablegen(
        name = "PrimsIncGen",
        td_file = "Prims.td",
        td_srcs = glob(["*.td"]),
        outs = {"-gen-op-decls": "Prims.h.inc", "-gen-op-defs": "Prims.cpp.inc"},
    )
    """
    generated = []
    for index, (options, out) in enumerate(outs.items()):
        rule = "%s_%d" % (name, index)
        native.genrule(
            name = rule,
            srcs = [td_file] + [src for src in td_srcs if src != td_file],
            outs = [out],
            tools = ["@llvm//:mlir_td"],
            cmd = "/usr/bin/mlir-tblgen-22 %s $(location %s) -I /usr/lib/llvm-22/include -I . -o $@" %
                  (options, td_file),
            message = "Generating",
        )
        generated.append(":" + rule)
    native.filegroup(name = name + "_files", srcs = generated)
    native.cc_library(name = name, textual_hdrs = generated, **kwargs)

def ptc_embed(name, src):
    """`embedded_NAME.cpp`: the file as an array `ptc_embedded_NAME` with its size `ptc_embedded_NAME_size`."""
    native.genrule(
        name = "embed_" + name,
        srcs = [src],
        outs = ["embedded_%s.cpp" % name],
        cmd = "$(location //tools/bazel:embed.sh) %s $< > $@" % name,
        tools = ["//tools/bazel:embed.sh"],
    )

def ptc_lit_test(name, srcs, tools = ["//tools/ptc-opt"], data = [], size = "small", **kwargs):
    """Runs LLVM's lit over `srcs`: one Bazel test a folder, `%name` and plain names of `tools` on the PATH.

    lit.cfg.py is test/lit.cfg.py; a test sees FileCheck, not, split-file and the programs in `tools`.
    """
    native.sh_test(
        name = name,
        srcs = ["//tools/bazel:run_lit.sh"],
        args = ["$(rootpaths %s)" % tool for tool in tools] + ["--"] + ["$(rootpaths %s)" % src for src in srcs],
        data = srcs + tools + data + ["//test:lit.cfg.py"],
        size = size,
        **kwargs
    )

def ptc_python_test(name, script, args = [], data = [], **kwargs):
    """Runs a script of Python's with `args`.

    In the virtual environment of `tools/setup/install --tests` where there is one.

    A script that cannot do without is tagged "torch".
    """
    native.sh_test(
        name = name,
        srcs = ["//tools/bazel:run_python.sh"],
        args = ["$(rootpath %s)" % script] + args,
        data = [script] + [other for other in data if other != script],
        **kwargs
    )

def ptc_package_test(name, script, args = [], data = [], **kwargs):
    """Runs a script of Python's that needs torch and the package `ptc`, with ptc, the package's file and `args`."""
    ptc_python_test(
        name = name,
        script = script,
        args = [
            "$(rootpath //tools/ptc)",
            "$(rootpath //tools/python/ptc:__init__.py)",
        ] + args,
        data = data + [
            "//tools/ptc",
            "//tools/python/ptc",
            "//tools/python/ptc:__init__.py",
        ],
        tags = ["torch"],
        **kwargs
    )
