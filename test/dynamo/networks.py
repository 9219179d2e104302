"""The networks of test/models through torch.compile: eager's results, and nothing in eager mode.

networks.py PTC LOADER_FILE FOLDER_OF_MODELS [NAME...]
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
os.environ["PTC_CACHE_DIR"] = tempfile.mkdtemp()
sys.path[:0] = [str(Path(sys.argv[2]).resolve().parent.parent), str(Path(sys.argv[3]).resolve())]

import control_flow  # noqa: E402
import nets  # noqa: E402
import torch  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from ptc.dynamo import FallbackWarning, backend  # noqa: E402

FORMS = {"as called": {}, "dynamic": {"dynamic": True}, "freezing": {"options": {"freezing": True}}}
# What is refused, and with which words: branches of different sizes.
REFUSED = {
    ("other_branch_would_fail", "dynamic"): "do not answer its results",
}


def check(case, settings: dict) -> None:
    torch._dynamo.reset()
    module, eager = copy.deepcopy(case.module), copy.deepcopy(case.module)
    compiled = torch.compile(module, backend=backend, fullgraph=True, **settings)
    for arguments in (case.args, *case.others):
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        got, expected = compiled(*ours), eager(*theirs)
        states = [list(m.buffers()) for m in (module, eager)]
        pairs = [tree_leaves((got, ours, states[0])), tree_leaves((expected, theirs, states[1]))]
        for a, b in zip(*pairs, strict=True):
            torch.testing.assert_close(a, b, rtol=case.tolerance, atol=case.tolerance, equal_nan=True)
            if isinstance(a, torch.Tensor) and a.stride() != b.stride():
                raise AssertionError(f"strides {a.stride()} instead of {b.stride()}")


def main() -> None:
    warnings.simplefilter("error", FallbackWarning)
    torch._dynamo.config.allow_rnn = True
    torch._dynamo.config.capture_dynamic_output_shape_ops = torch._dynamo.config.capture_scalar_outputs = True
    passed = failed = 0
    with torch.no_grad():
        for case in [*nets.cases(), *control_flow.cases()]:
            if sys.argv[4:] and case.name not in sys.argv[4:]:
                continue
            for form, settings in FORMS.items():
                expected = REFUSED.get((case.name, form))
                said = None
                try:
                    check(case, settings)
                except Exception as error:
                    said = " ".join(str(error).split())
                if (expected in said) if said and expected else said is expected:
                    passed += 1
                else:
                    failed += 1
                    print(f"FAIL {case.name} ({form}): {(said or 'is not refused')[:400]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
