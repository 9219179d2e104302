"""lit over test/: programs come from PATH as //tools/bazel:run_lit.sh sets it."""

import os

import lit.formats

config.name = "ptc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ.get("TEST_TMPDIR", "/tmp/ptc-lit")
config.environment["PATH"] = os.environ["PTC_TEST_PATH"] + ":" + config.environment["PATH"]
