"""Precompiled headers: what every file of the compiler includes is parsed once, not once a file."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _cc_precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    output = ctx.actions.declare_file(ctx.label.name + ".pch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        # As Bazel compiles what goes into programs.
        use_pic = ctx.var["COMPILATION_MODE"] != "opt",
    )

    arguments = ctx.actions.args()
    arguments.add_all(cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    ))

    # Templates are instantiated here too, once. Neither times nor the build's own folder are in the file: builds in
    # other folders and on other days get the same bytes, and share what they compile with them.
    arguments.add_all(["-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp"])
    arguments.add_all(["-isystem", ctx.attr.include_directory])
    arguments.add_all(ctx.attr.includes[:-1], before_each = "-include")
    arguments.add_all(["-x", "c++-header", ctx.attr.include_directory + "/" + ctx.attr.includes[-1], "-o", output])

    headers = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps]
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = [arguments],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset(transitive = headers + [toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling headers %s" % ctx.label,
    )
    own = cc_common.create_compilation_context(headers = depset([output]))
    return [
        DefaultInfo(files = depset([output])),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(compilation_context = own)],
            cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
        ),
    ]

cc_precompiled_header = rule(
    implementation = _cc_precompiled_header_impl,
    doc = """NAME.pch, by clang, of headers that are included in their order.

    A file is compiled with it that depends on this rule, has `-include-pch $(BINDIR)/PACKAGE/NAME.pch` among its
    options and the same options otherwise: clang refuses a header of other options.
    """,
    attrs = {
        "copts": attr.string_list(doc = "Options beside the toolchain's and the command line's."),
        "deps": attr.label_list(providers = [CcInfo], doc = "Whose headers are read."),
        "include_directory": attr.string(doc = "Absolute, since the result names the files that it was made from."),
        "includes": attr.string_list(doc = "The headers; the last is one of include_directory."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
