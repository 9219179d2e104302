#!/usr/bin/env python3
"""Exports ResNet-50 or BERT-base on the spot, compiles it with ptc, and compares answers and speed with PyTorch.

    tools/setup/install --tests                        # .venv with torch, torchvision and transformers
    .venv/bin/python examples/networks/run.py resnet50
    .venv/bin/python examples/networks/run.py bert --threads 2 --keep DIR

Nothing is downloaded: the weights are random. Speed and the difference from PyTorch do not depend on that.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]


def resnet50():
    import torchvision

    return torchvision.models.resnet50(weights=None), (torch.randn(1, 3, 224, 224),)


def bert():
    """BERT-base over 128 tokens: the last hidden state."""
    import transformers

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(transformers.BertConfig())

        def forward(self, tokens):
            return self.bert(tokens).last_hidden_state

    return Encoder(), (torch.randint(0, 30000, (1, 128)),)


NETWORKS = {"resnet50": resnet50, "bert": bert}


def median_ms(call, repeats=20):
    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * sorted(times)[repeats // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--ptc", type=Path, default=ROOT / "bazel-bin/tools/ptc/ptc")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument(
        "--keep", type=Path, help="folder for the exported model and the library (default: none are kept)"
    )
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    module, inputs = NETWORKS[options.network]()
    module.eval()
    with tempfile.TemporaryDirectory() as scratch, torch.no_grad():
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        model, library = folder / f"{options.network}.pt2", folder / f"{options.network}.so"
        torch.export.save(torch.export.export(module, inputs), model)
        save_file({str(i): t for i, t in enumerate(inputs)}, folder / "inputs.safetensors")

        start = time.perf_counter()
        subprocess.run([options.ptc, "compile", model, "-o", library], check=True)
        print(f"compiled in {time.perf_counter() - start:.1f} s: {library.stat().st_size / 2**20:.1f} MiB")

        run = ["--inputs", folder / "inputs.safetensors", "--threads", str(options.threads)]
        subprocess.run([options.ptc, "run", library, *run, "--outputs", folder / "result.safetensors"], check=True)
        expected, result = module(*inputs), load_file(folder / "result.safetensors")["0"]
        difference = ((result - expected).abs().max() / expected.abs().max()).item()
        print(f"largest difference from PyTorch: {difference:.1e} of the largest value")

        report = json.loads(
            subprocess.run([options.ptc, "bench", library, *run, "--json"], check=True, stdout=subprocess.PIPE).stdout
        )
        eager = median_ms(lambda: module(*inputs))
        print(f"ptc {report['median_ms']:.1f} ms, PyTorch eager {eager:.1f} ms, {options.threads} threads")
    if difference > 1e-4:
        raise SystemExit("the results differ")


if __name__ == "__main__":
    main()
