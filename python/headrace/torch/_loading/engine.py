# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The pipeline of a loader: transforms the images that it is fed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch.utils.dlpack import from_dlpack

from headrace import fn, types
from headrace._pipeline.iterated import Iterated
from headrace.data_node import DataNode
from headrace.pipeline import Pipeline
from headrace.plugin.pytorch._tensors import dense
from headrace.torch._compile.companions import Companion, call
from headrace.torch._compile.compile import flat, transformed
from headrace.torch._compile.convert import MASKS
from headrace.torch._compile.report import Step
from headrace.torch._compile.state import State
from headrace.torch._loading.items import Results
from headrace.torch._loading.joint import ENCODED, FILE, AnyKind, Joint, Kind, kinds_of



def source(slot: int) -> str:
    """The name of an input of a pipeline."""
    return f"input {slot}"


class Job(NamedTuple):
    """What a pipeline does with images of a kind."""

    kind: AnyKind
    transform: Any


def define(transform: Any, kind: AnyKind, steps: list[Step], seed: int = 0) -> list[Output]:
    """The nodes from what is fed to the tensors, one per input; appends a step per transform.

    Args:
        seed: the seed of the operators that move the pixels of images and masks, and boxes.
    """
    image, *others = kinds_of(kind)
    state = _image(image)
    state.seed = seed
    state.others = tuple(_companion(one, slot + 1) for slot, one in enumerate(others))
    node = transformed(state, transform, None, 0, steps)
    made = Companion(node, "image", pure=state.pure)
    return [Output(node, made, joint=isinstance(kind, Joint)), *_others(state, others)]


def _image(kind: Kind) -> State:
    if kind in (FILE, ENCODED):
        fed = fn.external_source(name=source(0), dtype=types.UINT8, ndim=1)
        files = fn.io.file.read(fed) if kind == FILE else fed
        # Pillow does not turn images as their metadata says.
        return State(fn.decoders.image(files, adjust_orientation=False))
    fed = fn.external_source(name=source(0), dtype=types.UINT8, ndim=3, layout="HWC")
    return State(fed, tensor=kind.what == "tensor", channels=kind.channels)


def _companion(kind: Kind, slot: int) -> Companion:
    if kind.what == "mask":
        fed = fn.external_source(name=source(slot), dtype=types.UINT8, ndim=3, layout="HWC")
        return Companion(fed, "mask", dtype=MASKS[kind.detail])
    if kind.what == "boxes":
        fed = fn.external_source(name=source(slot), dtype=types.FLOAT, ndim=2)
        return Companion(fed, "boxes", format=kind.detail)
    dtype = {**MASKS, "torch.float64": types.FLOAT64}[kind.detail]
    return Companion(fn.external_source(name=source(slot), dtype=dtype, ndim=kind.channels), "labels")


def _others(state: State, kinds: list[Kind]) -> Iterator[Output]:
    """What the pipeline returns beside the image."""
    rows = [other.node for other in state.others if other.what == "boxes"]
    for other, kind in zip(state.others, kinds):
        node = other.node
        if other.what == "mask" and other.dtype != types.UINT8:
            node = fn.cast(node, dtype=other.dtype)
        elif other.what == "labels":
            node = call("take", rows[0], node)
        yield Output(node, other, kind.channels)


def analyse(transform: Any, kind: AnyKind) -> tuple[Step, ...]:
    """How each of the transforms within this one would run.

    Raises:
        TypeError: the result is no tensor.
        Exception: what the transforms raise.
    """
    steps: list[Step] = []
    with Pipeline(batch_size=1, num_threads=1, device_id=None):
        define(transform, kind, steps)
    assert len(steps) == len(flat(transform))
    return tuple(steps)


class Engine:
    """Runs batches, in the order in which they are fed.

    Args:
        size: maximum number of images in a batch.
        checkpoint: of an engine with the same job and size; this one continues there.

    Raises:
        RuntimeError: the checkpoint is of another engine.
    """

    def __init__(
        self,
        job: Job,
        size: int,
        threads: int,
        seed: int,
        checkpoint: bytes | None,
    ) -> None:
        self.size = size
        pipe = Pipeline(
            batch_size=size,
            num_threads=threads,
            device_id=None,
            seed=seed,
            enable_checkpointing=True,
            checkpoint=checkpoint,
        )
        with pipe:
            self._made = define(job.transform, job.kind, [], seed)
            pipe.set_outputs(*(output.node for output in self._made))
        self._pipe, self._inner = pipe, Iterated(pipe)
        pipe.build()
        self.depth = self._inner.depth

    def feed(self, arrays: dict[int, list[NDArray[Any]]]) -> None:
        """Runs a batch. `arrays` has a list of arrays per input, with one array per sample."""
        self._inner.feed({source(slot): one for slot, one in arrays.items()}, copy=False)

    def take(self) -> list[Results]:
        """The results of the oldest batch, one per input."""
        batches = self._pipe.outputs()
        return [results(batch, made) for batch, made in zip(batches, self._made)]

    def checkpoint(self) -> bytes:
        """The position after the last batch that was taken."""
        return self._pipe.checkpoint()


class Output(NamedTuple):
    """What a pipeline returns for one of its inputs.

    Attributes:
        made: what it has become.
        dims: the dimensions of a mask.
        joint: it comes from a structure.
    """

    node: DataNode
    made: Companion
    dims: int = 3
    joint: bool = True

    def shown(self, made: torch.Tensor) -> torch.Tensor:
        """A sample, or a batch of masks, as torchvision has it."""
        if self.made.what == "mask":
            made = made.squeeze(-1)
            return made if self.dims == 2 else made.unsqueeze(-3)
        return made[1:, :4].contiguous() if self.made.what == "boxes" else made

    def wrapped(self, sample: torch.Tensor) -> Any:
        """A sample as an object of the class that torchvision has for it."""
        shown, what = self.shown(sample), self.made.what
        if what == "boxes" and self.made.format != "XYXY":
            shown[:, 2:] -= shown[:, :2]
            if self.made.format == "CXCYWH":
                shown[:, :2] += shown[:, 2:] / 2
        tv = sys.modules.get("torchvision.tv_tensors")
        if self.made.pure or what == "labels" or tv is None:
            return shown
        if what == "boxes":
            width, height = map(int, sample[0, 2:4].tolist())
            size = {"canvas_size": (height, width)}
            return tv.BoundingBoxes(shown, format=self.made.format, **size)
        return (tv.Mask if what == "mask" else tv.Image)(shown)


def results(batch: Any, made: Output) -> Results:
    """What a pipeline returned, as tensors."""

    def each() -> list[torch.Tensor]:
        samples = [from_dlpack(sample) for sample in batch]
        return list(map(made.wrapped, samples)) if made.joint else samples

    if made.made.what == "boxes":
        return Results(lambda: torch.stack(each()), each)
    return Results(lambda: made.shown(dense(batch)), each)
