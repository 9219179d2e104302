"""Checkpoints of training: from PyTorch to ptc and back, in another process, compiled for inference, and damaged.

checkpoints.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
LOADER = str(Path(sys.argv[2]).resolve().parent.parent)
sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "models"), LOADER]
import ptc  # noqa: E402
import ptc.training  # noqa: E402
from harness import Failed, check_rows  # noqa: E402
from harness import ptc as run_ptc  # noqa: E402

PART = 5  # steps of PyTorch, of ptc, of PyTorch again
TOLERANCE = 1e-5  # of a difference, against the largest number of its tensor


class Net(nn.Module):
    """Parameters that are trained and one that is not, buffers that are updated and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 16, bias=False)  # behind which normalization leaves a bias no gradient
        self.norm = nn.BatchNorm1d(16)
        self.last = nn.Linear(16, 4)
        self.frozen = nn.Parameter(torch.randn(16), requires_grad=False)
        self.register_buffer("offset", torch.randn(16))

    def forward(self, x: Tensor) -> Tensor:
        return self.last(F.silu(self.norm(self.first(x)) * self.frozen + self.offset))


@dataclass
class Row:
    """A check, of an optimizer with options as torch spells them."""

    kind: str
    check: Callable[[Setup], None]
    optimizer: str = "adamw"
    options: dict = field(default_factory=lambda: {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.02})

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.optimizer}"


class Setup:
    """A module, batches for it, and its step, compiled."""

    def __init__(self, program: Path, row: Row, folder: Path) -> None:
        self.program, self.row, self.folder = program, row, folder
        torch.manual_seed(0)
        self.net = Net()
        self.batches = [(torch.randn(12, 6), torch.randn(12, 4)) for _ in range(3 * PART)]
        self.model, self.library = folder / "model.pt2", folder / "step.so"
        torch.export.save(torch.export.export(self.net, (self.batches[0][0],)), self.model)
        options = dict(row.options)
        if "betas" in options:
            options["beta1"], options["beta2"] = options.pop("betas")
        words = ",".join(f"{key}={str(value).lower()}" for key, value in options.items())
        training = ["--train", "--loss", "mse", "--optimizer", row.optimizer, "--optimizer-options", words]
        run_ptc(program, "compile", self.model, *training, "-o", self.library)

    def create(self, net: nn.Module) -> torch.optim.Optimizer:
        kind = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[self.row.optimizer]
        return kind(net.parameters(), foreach=False, **self.row.options)

    def train_in_torch(self, net: nn.Module, optimizer: torch.optim.Optimizer, part: int) -> None:
        net.train()
        for x, target in self.batches[part * PART : (part + 1) * PART]:
            optimizer.zero_grad()
            F.mse_loss(net(x), target).backward()
            optimizer.step()

    def train_in_ptc(self, step: ptc.Model, part: int) -> float:
        for x, target in self.batches[part * PART : (part + 1) * PART]:
            loss = step(x=x, target=target)[0]
        return loss.item()


def compare(what: str, got: Tensor, expected: Tensor) -> None:
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise Failed(f"{what}: {got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}")
    distance = (got.double() - expected.double()).abs().max() / expected.double().abs().max().clamp(min=1e-30)
    if not distance <= TOLERANCE:
        raise Failed(f"{what}: differs by {distance:.1e} of its largest number")


def compare_training(net: nn.Module, optimizer: torch.optim.Optimizer, expected: nn.Module, other) -> None:
    for name, value in expected.state_dict().items():
        compare(name, net.state_dict()[name], value)
    got, wanted = optimizer.state_dict(), other.state_dict()
    assert got["param_groups"] == wanted["param_groups"], (got["param_groups"], wanted["param_groups"])
    assert got["state"].keys() == wanted["state"].keys()
    for number, kept in wanted["state"].items():
        assert got["state"][number].keys() == kept.keys(), (got["state"][number].keys(), kept.keys())
        for kind, value in kept.items():
            compare(f"{kind} of parameter {number}", got["state"][number][kind], value)


def same_bits(states: dict, others: dict) -> bool:
    return states.keys() == others.keys() and all(states[k].tobytes() == others[k].tobytes() for k in states)


# ---------------------------------------------------------------------------------------------------------------------
# Checks
# ---------------------------------------------------------------------------------------------------------------------


def check_round_trip(setup: Setup) -> None:
    """PyTorch, ptc, PyTorch: as PyTorch alone. Once through a file, once in shared memory."""
    expected = copy.deepcopy(setup.net)
    reference = setup.create(expected)
    for part in range(3):
        setup.train_in_torch(expected, reference, part)
    for way in ("file", "step", "shared"):
        net = copy.deepcopy(setup.net)
        optimizer = setup.create(net)
        setup.train_in_torch(net, optimizer, 0)
        step = ptc.load(setup.library)
        ptc.training.from_torch(step, net, optimizer)
        if way == "shared":
            shared = ptc.training.share(step, net)
            assert "norm.running_mean" in shared and "first.weight" in shared and "frozen" not in shared, shared
        setup.train_in_ptc(step, 1)
        source = step
        if way == "file":
            source = setup.folder / "a.safetensors"
            step.save(source)
            missing, _ = net.load_state_dict(load_file(source), strict=False)
            assert sorted(missing) == ["frozen", "offset"], missing
        elif way == "step":
            net.load_state_dict({k: torch.from_numpy(v) for k, v in step.state_dict().items()}, strict=False)
        optimizer.load_state_dict(ptc.training.optimizer_state(source, net, optimizer))
        setup.train_in_torch(net, optimizer, 2)
        compare_training(net, optimizer, expected, reference)
        # An optimizer that is new takes the same.
        fresh = setup.create(net)
        fresh.load_state_dict(ptc.training.optimizer_state(source, net))
        assert fresh.state_dict()["state"].keys() == reference.state_dict()["state"].keys()


def check_and_back(setup: Setup) -> None:
    """ptc, PyTorch, ptc: as ptc alone."""
    step = ptc.load(setup.library)
    for part in range(3):
        setup.train_in_ptc(step, part)
    expected = step.state_dict()
    step.reset_states()
    setup.train_in_ptc(step, 0)
    net = setup.net
    optimizer = setup.create(net)
    net.load_state_dict({k: torch.from_numpy(v) for k, v in step.state_dict().items()}, strict=False)
    optimizer.load_state_dict(ptc.training.optimizer_state(step, net, optimizer))
    setup.train_in_torch(net, optimizer, 1)
    step = ptc.load(setup.library)
    ptc.training.from_torch(step, net, optimizer)
    setup.train_in_ptc(step, 2)
    for name, value in step.state_dict().items():
        if name != "optimizer.step" or setup.row.optimizer != "sgd":  # which does not count in PyTorch
            compare(name, torch.from_numpy(value), torch.from_numpy(expected[name]))


def check_processes(setup: Setup) -> None:
    """What another process loads and goes on with has the same bits, by Python and by `ptc run`."""
    step = ptc.load(setup.library)
    setup.train_in_ptc(step, 0)
    first, second, inputs = (setup.folder / f"{name}.safetensors" for name in ("first", "second", "inputs"))
    step.save(first)
    x, target = setup.batches[PART]
    save_file({"x": x, "target": target}, inputs)
    losses = [step(x=x, target=target)[0].item() for _ in range(20)]
    script = "\n".join(
        [
            "import sys, ptc",
            "import numpy",
            "from safetensors.numpy import load_file",
            "_, library, load, save, inputs = sys.argv",
            "step = ptc.load(library)",
            "step.load(load)",
            "batch = load_file(inputs)",
            "for _ in range(20): step(**batch)",
            "step.save(save)",
        ]
    )
    command = [sys.executable, "-c", script, setup.library, first, second, inputs]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": LOADER})
    other = ptc.load(setup.library)
    other.load(second)
    assert same_bits(step.state_dict(), other.state_dict()), "another process has other states"

    third, outputs = setup.folder / "third.safetensors", setup.folder / "outputs.safetensors"
    words = ["--inputs", inputs, "--outputs", outputs, "--steps", 20, "--load", first, "--save", third]
    printed = run_ptc(setup.program, "run", setup.library, *words).splitlines()
    assert third.read_bytes() == second.read_bytes(), "ptc run leaves another checkpoint than Python"
    wanted = [f"step {i}: loss {losses[i - 1]:.6g}" for i in (1, *range(2, 21, 2))]
    assert printed == wanted, (printed, wanted)
    assert load_file(outputs)["0"].item() == losses[-1]


def check_inference(setup: Setup) -> None:
    """The trained model, compiled for inference from its checkpoint, in every form of a model."""
    step = ptc.load(setup.library)
    setup.train_in_ptc(step, 0)
    checkpoint, library = setup.folder / "trained.safetensors", setup.folder / "trained.so"
    step.save(checkpoint)
    net = setup.net
    x = setup.batches[-1][0]
    exported = torch.export.export(net.eval(), (x,))
    torch.export.save(exported, setup.folder / "eval.pt2")
    (setup.folder / "text.graph").write_text(f"{exported}\n")
    save_file({**net.state_dict()}, setup.folder / "text.safetensors")
    net.load_state_dict(load_file(checkpoint), strict=False)
    expected = net(x).detach()
    for model in ("eval.pt2", "text.graph"):
        run_ptc(setup.program, "compile", setup.folder / model, "--weights", checkpoint, "-o", library)
        compare(model, torch.from_dlpack(ptc.load(library)(x)[0]), expected)

    # A state dict lacks no parameter, and one of another model is refused.
    save_file({k: v for k, v in net.state_dict().items() if k != "offset"}, checkpoint)
    run_ptc(setup.program, "compile", setup.folder / "eval.pt2", "--weights", checkpoint, "-o", library)
    compare("a state dict", torch.from_dlpack(ptc.load(library)(x)[0]), expected)
    for change, message in (
        ({"first.weight": None}, "first.weight"),
        ({"first.weight": torch.zeros(6, 16)}, "first.weight"),
    ):
        tensors = {**net.state_dict(), **change}
        save_file({k: v for k, v in tensors.items() if v is not None}, checkpoint)
        try:
            run_ptc(setup.program, "compile", setup.folder / "eval.pt2", "--weights", checkpoint, "-o", library)
        except Failed as error:
            assert message in str(error) and "exit 1" in str(error), error
        else:
            raise Failed(f"{change} compiles")


def check_numbers(setup: Setup) -> None:
    """Hyperparameters by name, and what is refused."""
    step = ptc.load(setup.library)
    step.set("optimizer.lr", 1e-4)
    assert step.get("optimizer.lr") == 1e-4 and float(step.view_state("optimizer.lr")) == 1e-4
    x, target = setup.batches[0]
    loss = step(x=x, target=target)[0]
    assert float(loss) == loss.item() == loss.numpy().item()
    before = step.state_dict()

    def refuses(error: type, message: str, action: Callable[[], object]) -> None:
        try:
            action()
        except error as refused:
            assert message in str(refused), refused
        else:
            raise Failed(f"nothing is wrong with what should be: {message}")
        assert same_bits(step.state_dict(), before), message

    net, path = setup.net, setup.folder / "a.safetensors"
    optimizer = setup.create(net)
    refuses(KeyError, "optimizer.rate", lambda: step.set("optimizer.rate", 1))
    refuses(ptc.Error, "cannot read", lambda: step.load(setup.folder / "none"))
    refuses(ValueError, "none of the module's", lambda: ptc.training.from_torch(step, net, setup.create(Net())))
    refuses(ValueError, "has no parameter", lambda: ptc.training.from_torch(step, net.first))
    refuses(ValueError, "dtype", lambda: ptc.training.share(step, Net().double()))
    refuses(ValueError, "float64", lambda: ptc.training.from_torch(step, Net().double()))
    amsgrad = torch.optim.Adam(net.parameters(), amsgrad=True)
    setup.train_in_torch(net, amsgrad, 0)
    refuses(ValueError, "the optimizer keeps", lambda: ptc.training.from_torch(step, net, amsgrad))
    save_file(net.state_dict(), path)
    refuses(ptc.MismatchError, "is no state of the model", lambda: step.load(path))
    refuses(ValueError, "it is of no step of training", lambda: ptc.training.optimizer_state(path, net))
    save_file({"first.weight": torch.ones(16, 6).double()}, path)
    wanted = "tensor 'first.weight' is F64[16, 6], the model's state is F32[16, 6]"
    refuses(ptc.MismatchError, wanted, lambda: step.load(path, partial=True))
    save_file(net.state_dict(), path)
    step.load(path, partial=True)
    assert step.get("first.weight").tobytes() == net.first.weight.detach().numpy().tobytes()
    assert step.get("optimizer.lr") == 1e-4
    ptc.training.from_torch(step, net, optimizer)
    assert step.get("optimizer.step") == 0


def mutate(content: bytearray, pick: random.Random) -> bytes:
    """Changes as they happen to files, mostly where structure is."""
    for _ in range(pick.randint(1, 3)):
        place = pick.randrange(min(len(content), 2500) if pick.random() < 0.8 else len(content))
        action = pick.randrange(6)
        if action == 0:
            content[place] ^= 1 << pick.randrange(8)
        elif action == 1:
            del content[place:]
        elif action == 2:
            del content[place : place + pick.randint(1, 30)]
        elif action == 3:
            content[place:place] = pick.choice([b'"', b"{", b"]", b",", b"-1", b"99999999999999999999", b"\\u00"])
        elif action == 4:
            content[place:place] = content[pick.randrange(len(content)) :][: pick.randint(1, 60)]
        else:  # a digit for another
            digits = [i for i in range(place, min(place + 60, len(content))) if 48 <= content[i] <= 57]
            if digits:
                content[pick.choice(digits)] = 48 + pick.randrange(10)
        if not content:
            content.append(0)
    return bytes(content)


def check_damage(setup: Setup) -> None:
    """Files that are cut or changed are refused, and states stay byte for byte; what is taken is taken whole."""
    step, path, bad = ptc.load(setup.library), setup.folder / "a.safetensors", setup.folder / "bad.safetensors"
    setup.train_in_ptc(step, 0)
    step.save(path)
    saved, content = step.state_dict(), path.read_bytes()
    # What another program writes has no hash that would tell of every change.
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    del header["__metadata__"]
    text = json.dumps(header).encode()
    plain = len(text).to_bytes(8, "little") + text + content[8 + int.from_bytes(content[:8], "little") :]
    step.reset_states()
    step.load(path)
    assert same_bits(step.state_dict(), saved)
    setup.train_in_ptc(step, 1)
    states = step.state_dict()
    pick = random.Random(5)
    refused = 0
    for index in range(600):
        bad.write_bytes(mutate(bytearray(content if index % 3 == 0 else plain), pick))
        try:
            step.load(bad, partial=index % 2 == 0)
        except ptc.Error as error:
            refused += 1
            assert error.status in (2, 8) and len(str(error)) > 20, error
            assert same_bits(step.state_dict(), states), error
        else:
            states = step.state_dict()
    assert refused > 300, refused
    for kept in (0, 7, 8, 100, len(content) // 2, len(content) - 1):
        bad.write_bytes(content[:kept])
        try:
            step.load(bad)
        except ptc.Error as error:
            assert error.status == 8, error
        else:
            raise Failed(f"a file of which {kept} bytes are left is taken")
    assert same_bits(step.state_dict(), states)


SGD = {"lr": 0.05, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}
CHECKS = {"round-trip": check_round_trip, "and-back": check_and_back, "processes": check_processes}
ROWS = [
    *(Row(name, check, *both) for name, check in CHECKS.items() for both in ((), ("sgd", SGD))),
    Row("nesterov", check_round_trip, "sgd", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    Row("without-momentum", check_round_trip, "sgd", {"lr": 0.05}),
    Row("amsgrad", check_round_trip, "adamw", {"lr": 0.01, "amsgrad": True}),
    Row("inference", check_inference),
    Row("numbers", check_numbers),
    Row("damage", check_damage),
]


def check(program: Path, row: Row, folder: Path) -> None:
    row.check(Setup(program, row, folder))


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[3:]))
