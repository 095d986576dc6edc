# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs one operator in two engines and compares the results.

A case names an operator, its inputs and its arguments. Enumerations are written as text ("types.FLOAT") because each
engine has its own. Values, shapes, types, layouts and the type of an exception must agree.

The engines are DALI and Headrace, or any two: `Engine("headrace", device="gpu")` copies the inputs of every operator
to the device, runs it there and copies the outputs back, so that the same cases compare a GPU with the CPU:

    check(case, Engine("headrace", device="gpu"), Engine("headrace"), compare=exact)
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


# Operators whose inputs stay on the host when they run on a device.
MIXED = ("decoders.image",)


class Engine:
    """A module with DALI's interface, and the device that its operators run on."""

    def __init__(self, module: str, device: str = "cpu") -> None:
        self.name = module
        self.device = device
        self.cycle = 0  # samples per batch, which repeat the `Data` in a cycle; 0: all of them
        self.root = importlib.import_module(module)
        self.fn = importlib.import_module(module + ".fn")
        self.types = importlib.import_module(module + ".types")
        self.math = importlib.import_module(module + ".math")

    def operator(self, name: str) -> Callable[..., Any]:
        """The function `fn.<name>`, on this engine's device."""
        target: Any = self.fn
        for part in name.split("."):
            target = getattr(target, part)
        if self.device == "cpu":
            return target
        mixed = name.startswith(MIXED)
        op = importlib.import_module(self.name + "._graph.schema").operators()[name]

        def on_device(*inputs: Any, **args: Any) -> Any:
            stay = {k for k, given in enumerate(op.inputs) if given["host"]}
            moved = [x if mixed or k in stay else self.moved(x) for k, x in enumerate(inputs)]
            return target(*moved, device="mixed" if mixed else self.device, **args)

        return on_device

    @staticmethod
    def moved(node: Any) -> Any:
        """An input in device memory; arguments stay on the host."""
        return node.gpu() if getattr(node, "device", None) == "cpu" else node

    def feed(self, data: Data) -> Any:
        """A node that outputs the samples of `data`."""
        layout = {"layout": data.layout} if data.layout else {}
        endless = itertools.cycle(data.samples)

        def batch() -> list[np.ndarray]:
            return list(itertools.islice(endless, self.cycle)) if self.cycle else list(data.samples)

        return self.fn.external_source(source=batch, **layout)

    def value(self, value: Any) -> Any:
        """Converts an argument of a case to this engine's types."""
        if isinstance(value, Data):
            return self.feed(value)
        if isinstance(value, Interps):
            node = self.feed(Data([np.array(v, np.int32) for v in value.values]))
            return self.fn.reinterpret(node, dtype=self.types.INTERP_TYPE)
        if isinstance(value, str) and value.startswith("types."):
            return getattr(self.types, value[6:])
        return value

    def result(self, case: Any) -> list[Output] | Failure:
        """The result of a case."""
        return self.run(case.batch_size(), case.define)

    def run(
        self,
        batch_size: int,
        define: Callable[[Engine], Any],
        iterations: int = 1,
        taken: Callable[[Any], None] = lambda batches: None,
        **options: Any,
    ) -> list[Output] | Failure:
        """Runs the pipeline that `define` describes. Returns the samples of all iterations, one after the other.

        `taken` is called with the batches of every iteration, and may keep them.
        """
        defaults = {"num_threads": 1, "seed": 7, "prefetch_queue_depth": 1}
        defaults["device_id"] = None if self.device == "cpu" else 0

        @self.root.pipeline_def(batch_size=batch_size, **{**defaults, **options})
        def pipeline() -> Any:
            result = define(self)
            return tuple(result) if isinstance(result, (list, tuple)) else result

        outputs: list[Output] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about deprecated arguments
                pipe = pipeline()
                pipe.build()
            for _ in range(iterations):
                batches = pipe.run()
                taken(batches)
                extend(outputs, batches)
        except Unreadable as error:
            return Failure("Unreadable", str(error))
        except Exception as error:  # of any type: the engines must agree on it
            return Failure(type(error).__name__, str(error))
        return outputs


@dataclasses.dataclass
class Data:
    """Samples of an input or of an argument."""

    samples: Sequence[np.ndarray]
    layout: str = ""


@dataclasses.dataclass
class Interps:
    """One interpolation per sample, as numbers."""

    values: Sequence[int]


@dataclasses.dataclass
class Output:
    layout: str
    dtype: str
    samples: list[np.ndarray]

    @staticmethod
    def of(batch: Any) -> Output:
        """The output for a batch of either engine, on either device."""
        batch = batch.as_cpu()
        dtype = str(batch.dtype).rpartition(".")[2]
        try:
            if dtype.endswith(
                "_TYPE"
            ):  # members of an enumeration; both engines refuse arrays of them
                batch.reinterpret(type(batch.dtype).INT32)
            arrays = [np.array(batch[i]) for i in range(len(batch))]
        except Exception as error:
            raise Unreadable(f"no arrays of {batch.shape()}: {error}") from error
        return Output(batch.layout(), dtype, arrays)

    def all_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the samples."""
        return [sample.shape for sample in self.samples]

    def pick(self, i: int, whole: np.ndarray) -> np.ndarray:
        """The part of `whole` to compare with sample i: all of it, unless only a part was recorded (recorded.py)."""
        return whole


def extend(outputs: list[Output], batches: Any) -> None:
    """Appends the samples of an iteration to those of earlier iterations."""
    new = [Output.of(batch) for batch in batches]
    if not outputs:
        outputs += new
        return
    for output, more in zip(outputs, new, strict=True):
        output.samples += more.samples


class Unreadable(Exception):
    """The engine returned a batch that NumPy cannot represent, for example one with negative extents."""


@dataclasses.dataclass
class Failure:
    kind: str
    message: str


Compare = Callable[[np.ndarray, np.ndarray], None]


def exact(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Every element is equal; NaN equals NaN."""
    np.testing.assert_array_equal(ours, theirs)


def resampled(ours: np.ndarray, theirs: np.ndarray) -> None:
    """UINT8: within 1, mean within 0.05. 16 bits: within 1. FLOAT: within the single precision of the positions.

    Cases avoid sizes whose weights are exact halves and quarters: there DALI's single precision rounds exact ties to
    either side.
    """
    difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    if ours.dtype == np.uint8:
        assert difference.max(initial=0) <= 1
        assert difference.size == 0 or difference.mean() <= 0.05
    else:
        scale = max(float(np.abs(theirs).max(initial=0)) / 255, 1.0)
        rounding = 0.0 if ours.dtype == np.float32 else 1.0
        assert difference.max(initial=0) <= rounding + 4e-3 * scale


def rotated(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Integers within 1, FLOAT within 2e-2 on 0..255."""
    difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    assert difference.max(initial=0) <= (2e-2 if ours.dtype == np.float32 else 1)


def mostly(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Nearest neighbour: at most 1 % of the pixels may be the neighbouring pixel."""
    assert ours.size == 0 or np.mean(ours != theirs) <= 0.01


def decoded(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Within 1: for CMYK and for lossy formats that other libraries decode."""
    assert np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0) <= 1


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Floats within 4 units in the last place; NaNs must be at the same positions, of either sign."""
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    np.testing.assert_array_max_ulp(np.nan_to_num(ours), np.nan_to_num(theirs), 4)


def nearly(ours: np.ndarray, theirs: np.ndarray) -> None:
    """FLOAT64 results of functions: within a relative error of 1e-13."""
    np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-300)


@dataclasses.dataclass
class Case:
    """One call of an operator in both engines."""

    op: str
    inputs: Sequence[Data]
    args: dict[str, Any]
    compare: Compare = exact
    size: int = 0  # of the batch, if there is no input

    def __str__(self) -> str:
        def text(value: Any) -> str:
            if isinstance(value, Data):
                return "per_sample"
            return "per_sample" if isinstance(value, Interps) else str(value)

        inputs = [f"{d.layout or 'none'}_{d.samples[0].dtype}" for d in self.inputs]
        args = [f"{key}={text(value)}" for key, value in self.args.items()]
        return "-".join([self.op, *inputs, *args])

    def define(self, engine: Engine) -> Any:
        args = {key: engine.value(value) for key, value in self.args.items()}
        return engine.operator(self.op)(*[engine.feed(d) for d in self.inputs], **args)

    def batch_size(self) -> int:
        return len(self.inputs[0].samples) if self.inputs else max(self.size, 1)


def check(case: Any, ours: Any, theirs: Any, compare: Compare | None = None) -> None:
    """Runs the case in both engines. Fails if they differ by more than `compare` allows."""
    other = theirs.result(case)
    mine = ours.result(case)
    assert not isinstance(other, Failure), f"the case does not run in {theirs.name}: {other}"
    assert not isinstance(mine, Failure), f"{theirs.name} runs this, {ours.name} says: {mine}"
    agree(mine, other, compare or case.compare)


def agree(ours: list[Output], theirs: list[Output], compare: Compare) -> None:
    """Compares layouts, types, shapes and values of all outputs."""
    assert ours and len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.layout, mine.dtype) == (other.layout, other.dtype)
        assert mine.all_shapes() == other.all_shapes()
        for i, (a, b) in enumerate(zip(mine.samples, other.samples, strict=True)):
            assert a.dtype == b.dtype
            compare(other.pick(i, a), b)


def check_fails(case: Any, ours: Any, theirs: Any) -> None:
    """Both engines must refuse the case with the same type of exception."""
    other = theirs.result(case)
    mine = ours.result(case)
    assert isinstance(other, Failure), f"{theirs.name} accepts this"
    assert isinstance(mine, Failure), f"{theirs.name} refuses this: {other}"
    assert mine.kind == other.kind, mine.message


def pictures(
    shapes: Sequence[tuple[int, ...]], dtype: Any = np.uint8, layout: str = "HWC", seed: int = 1
) -> Data:
    """Random elements over most of the type's range (floats: 0..255)."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return Data([(rng.random(s) * 255).astype(dtype) for s in shapes], layout)
    if dtype.kind == "b":
        return Data([rng.random(s) < 0.5 for s in shapes], layout)
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**20)), min(info.max, 2**20)
    return Data([rng.integers(low, high, s, endpoint=True).astype(dtype) for s in shapes], layout)


def scalars(*values: float, dtype: Any = np.float32) -> Data:
    """One number per sample."""
    return Data([np.array(v, dtype) for v in values])


def vectors(*values: Sequence[float], dtype: Any = np.float32) -> Data:
    """One list per sample."""
    return Data([np.array(v, dtype) for v in values])
