"""Linear models and ensembles of trees (ai.onnx.ml), beside what ONNX says that they are, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper
from rows import Row, model, node, numbers, random, value


def row(name: str, one: onnx.NodeProto, feeds: list[dict], expected: list, symbols: dict | None = None, version: int = 3) -> Row:
    inputs = {n: (helper.np_dtype_to_tensor_dtype(a.dtype), (symbols or {}).get(n, list(a.shape))) for n, a in feeds[0].items()}
    answers = expected[0] if isinstance(expected[0], list) else [expected[0]]
    outputs = [value(o, helper.np_dtype_to_tensor_dtype(a.dtype), None) for o, a in zip(one.output, answers, strict=True)]
    made = model([one], inputs, outputs)
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", version))
    return Row(f"classical-{name}", made, feeds, expected=expected)


def classical(operator: str, outputs: tuple = ("y",), inputs: tuple = ("x",), **attributes) -> onnx.NodeProto:
    return node(operator, list(inputs), list(outputs), domain="ai.onnx.ml", **attributes)


@dataclass
class Trees:
    """Random ones, as the attributes of a node have them."""

    columns: int
    targets: int
    lists: dict = field(default_factory=lambda: {name: [] for name in (
        "treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")})
    leaves: dict = field(default_factory=dict)  # (tree, node) -> numbers of the targets

    def grow(self, depth: int) -> None:
        tree, count = len({*self.lists["treeids"]}), 0

        def add(depth: int) -> int:
            nonlocal count
            number, count = count, count + 1
            place = len(self.lists["nodeids"])
            isLeaf = depth == 0 or (number > 0 and random.random() < 0.2)
            entry = ("LEAF", 0, 0.0, 0) if isLeaf else (
                "BRANCH_LEQ", int(random.integers(self.columns)), float(numbers(1)[0]), int(random.integers(2)))
            for name, what in zip(("modes", "featureids", "values", "missing_value_tracks_true"), entry, strict=True):
                self.lists[name].append(what)
            self.lists["treeids"].append(tree), self.lists["nodeids"].append(number)
            self.lists["truenodeids"].append(0), self.lists["falsenodeids"].append(0)
            if isLeaf:
                self.leaves[tree, number] = numbers(self.targets)
            else:
                self.lists["truenodeids"][place], self.lists["falsenodeids"][place] = add(depth - 1), add(depth - 1)
            return number

        add(depth)

    def attributes(self, kind: str, ids: list[int] | None = None) -> dict:
        said = [(t, n, i, float(w)) for (t, n), weights in self.leaves.items() for i, w in enumerate(weights)]
        named = {f"nodes_{name}": numbers for name, numbers in self.lists.items()}
        for i, name in enumerate(("treeids", "nodeids", "ids", "weights")):
            named[f"{kind}_{name}"] = [entry[i] for entry in said]
        if ids:
            named[f"{kind}_ids"] = [ids[i] for i in named[f"{kind}_ids"]]
        return named

    def sums(self, x: np.ndarray) -> np.ndarray:
        place = {(t, n): i for i, (t, n) in enumerate(zip(self.lists["treeids"], self.lists["nodeids"], strict=True))}
        totals = np.zeros((len(x), self.targets), np.float32)
        for r, features in enumerate(x):
            for tree in {*self.lists["treeids"]}:
                at = 0
                while (tree, at) not in self.leaves:
                    i = place[tree, at]
                    number = features[self.lists["featureids"][i]]
                    yes = self.lists["missing_value_tracks_true"][i] if np.isnan(number) else number <= np.float32(self.lists["values"][i])
                    at = self.lists["truenodeids" if yes else "falsenodeids"][i]
                totals[r] += self.leaves[tree, at]
        return totals


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def linear() -> list[Row]:
    x, w, b = numbers(5, 4), numbers(3, 4), numbers(3)
    scores, labels = x @ w.T + b, np.array([7, 2, 9])
    given = {"coefficients": w.reshape(-1).tolist(), "intercepts": b.tolist()}
    offset, scale = numbers(4), numbers(4)
    return [
        row("scaler", classical("Scaler", offset=offset.tolist(), scale=scale.tolist()), [{"x": x}], [(x - offset) * scale]),
        *(row(f"normalizer-{norm}", classical("Normalizer", norm=norm), [{"x": x}], [x / size], {"x": ["n", 4]})
          for norm, size in (("MAX", x.max(1, keepdims=True)), ("L1", np.abs(x).sum(1, keepdims=True)),
                             ("L2", np.sqrt((x * x).sum(1, keepdims=True))))),
        row("regressor", classical("LinearRegressor", targets=3, **given), [{"x": x}], [scores], {"x": ["n", 4]}),
        row("classifier", classical("LinearClassifier", ("l", "y"), classlabels_ints=labels.tolist(), post_transform="SOFTMAX", **given),
            [{"x": x}], [[labels[scores.argmax(1)], softmax(scores)]], {"x": ["n", 4]}),
        row("extractor", classical("ArrayFeatureExtractor", inputs=("x", "i")), [{"x": x, "i": np.array([[2, 0]])}], [x[:, [2, 0]]]),
    ]


def trees() -> list[Row]:
    x = numbers(20, 3)
    x[::4, 1] = np.nan
    forest, several, one, likely = Trees(3, 2), Trees(3, 3), Trees(3, 1), Trees(3, 1)
    for grown, depth in ((forest, 4), (several, 3), (one, 3), (likely, 3)):
        for _ in range(6):
            grown.grow(depth)
    likely.leaves = {place: np.abs(weights) / 6 for place, weights in likely.leaves.items()}
    base, labels = numbers(2), np.array([4, 1, 6])
    totals, scores, score, chance = forest.sums(x) + base, several.sums(x), one.sums(x), likely.sums(x)
    return [
        row("trees", classical("TreeEnsembleRegressor", n_targets=2, base_values=base.tolist(), **forest.attributes("target")),
            [{"x": x}, {"x": x[:3]}], [totals, totals[:3]], {"x": ["n", 3]}),
        row("trees-of-classes", classical("TreeEnsembleClassifier", ("l", "y"), classlabels_int64s=labels.tolist(),
                                          post_transform="SOFTMAX", **several.attributes("class")),
            [{"x": x}], [[labels[scores.argmax(1)], softmax(scores)]], {"x": ["n", 3]}),
        row("trees-of-one-class", classical("TreeEnsembleClassifier", ("l", "y"), classlabels_int64s=[0, 1], post_transform="LOGISTIC",
                                            **one.attributes("class")),
            [{"x": x}], [[(score[:, 0] > 0).astype(np.int64), sigmoid(np.concatenate([-score, score], 1))]], {"x": ["n", 3]}),
        row("trees-of-a-probability", classical("TreeEnsembleClassifier", ("l", "y"), classlabels_int64s=[5, 8], **likely.attributes("class")),
            [{"x": x}], [[np.where(chance[:, 0] > 0.5, 8, 5), np.concatenate([1 - chance, chance], 1)]], {"x": ["n", 3]}),
    ]


def ensembles() -> list[Row]:
    """Two trees, one of them a leaf: branches compare in several ways, one with a set, and a missing number may be true."""
    def tensor(kind: str, numbers: list) -> onnx.TensorProto:
        return onnx.numpy_helper.from_array(np.array(numbers, kind), "t")

    x = np.array([[0, 0], [1, 2], [1, 3], [1, 4], [1, 9], [1, np.nan], [np.nan, 2]])
    given = {
        "tree_roots": [0, 3], "n_targets": 2, "nodes_modes": tensor("uint8", [0, 6, 3, 0]), "nodes_splits": tensor("float64", [0.5, 0, 5, 0]),
        "membership_values": tensor("float64", [2, 3, np.nan]), "nodes_featureids": [0, 1, 1, 0],
        "nodes_truenodeids": [0, 1, 2, 3], "nodes_trueleafs": [1, 1, 1, 1], "nodes_falsenodeids": [1, 2, 4, 3], "nodes_falseleafs": [0, 0, 1, 1],
        "nodes_missing_value_tracks_true": [0, 0, 1, 0], "leaf_targetids": [0, 1, 0, 0, 1], "leaf_weights": tensor("float64", [1, 2, 4, 16, 8]),
    }
    leaf = np.array([0, 1, 1, 3, 2, 2, 1])
    first, second = np.array([1, 0, 4, 0])[leaf], np.array([0, 2, 0, 8])[leaf]
    nothing = np.finfo(x.dtype).max
    sums, least = np.stack([first + 16.0, second], 1), np.stack([np.where(first > 0, first, 16.0), np.where(second > 0, second, nothing)], 1)
    return [row(f"ensemble-{name}", classical("TreeEnsemble", aggregate_function=number, **given), [{"x": x}], [y], version=5)
            for name, number, y in (("average", 0, sums / 2), ("sum", 1, sums), ("min", 2, least))]


SIGNS = numbers(3, 4)
CLASSICAL = [*linear(), *trees(), *ensembles(), row("binarizer", classical("Binarizer", threshold=0.5), [{"x": SIGNS}], [(SIGNS > 0.5).astype(np.float32)])]
TEXTS = row("texts", classical("LinearClassifier", ("l", "y"), classlabels_strings=["a", "b"], coefficients=[1.0, 2.0], intercepts=[0.0, 0.0]),
            [{"x": numbers(2, 1)}], [[np.zeros(2, np.int64), numbers(2, 2)]])
CLASSICAL_ERRORS = [("labels-that-are-texts", TEXTS.model, ["(LinearClassifier)", "which are integers"])]
