# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The pipeline of a loader: transforms the images that it is fed."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.dlpack import from_dlpack

from headrace import fn, types
from headrace._pipeline.iterated import Iterated
from headrace.data_node import DataNode
from headrace.pipeline import Pipeline
from headrace.plugin.pytorch._tensors import dense
from headrace.torch._compile.compile import flat, transformed
from headrace.torch._compile.report import Step
from headrace.torch._compile.state import State
from headrace.torch._loading.items import Results
from headrace.torch._loading.opened import encoded

SOURCE = "images"


class Kind(NamedTuple):
    """What a transform gets: "file" (its path, opened as torchvision's default_loader does), "encoded"
    (its bytes), "PIL" or "tensor"."""

    what: str
    channels: int = 3


FILE, ENCODED, RGB = Kind("file"), Kind("encoded"), Kind("PIL", 3)


class Job(NamedTuple):
    """What a pipeline does with images of a kind."""

    kind: Kind
    transform: Any


def kind_of(image: Any) -> Kind | None:
    """What this image is to a transform; None: nothing that a pipeline takes."""
    if isinstance(image, torch.Tensor):
        fits = image.dtype == torch.uint8 and image.dim() == 3 and image.shape[0] in (1, 3)
        return Kind("tensor", image.shape[0]) if fits and not image.is_cuda else None
    if encoded(image) is not None:
        return ENCODED
    channels = {"RGB": 3, "L": 1}.get(getattr(image, "mode", ""))
    return Kind("PIL", channels) if channels else None


def array_of(image: Any) -> NDArray[np.uint8]:
    """The bytes HWC of an image that has a kind, or its file."""
    file = encoded(image)
    if file is not None:
        return np.frombuffer(file, np.uint8)
    if isinstance(image, torch.Tensor):
        return np.array(
            np.moveaxis(image.numpy(), 0, 2), order="C"
        )  # the code may change its tensor
    array = np.asarray(image)
    return array if array.ndim == 3 else array[:, :, np.newaxis]


def image_of(array: NDArray[np.uint8], kind: Kind) -> Any:
    """The image of which `array_of` made this, but for what is not in the pixels."""
    from PIL import Image

    if kind.what == "tensor":
        return torch.from_numpy(array).permute(2, 0, 1).clone()
    if kind == ENCODED:
        return Image.open(io.BytesIO(array.tobytes())).convert("RGB")
    return Image.fromarray(array if kind.channels == 3 else array[:, :, 0])


def define(transform: Any, kind: Kind, steps: list[Step]) -> DataNode:
    """The nodes from the fed images to the tensors; appends a step per transform."""
    if kind in (FILE, ENCODED):
        fed = fn.external_source(name=SOURCE, dtype=types.UINT8, ndim=1)
        files = fn.io.file.read(fed) if kind == FILE else fed
        # Pillow does not turn images as their metadata says.
        state = State(fn.decoders.image(files, adjust_orientation=False))
    else:
        fed = fn.external_source(name=SOURCE, dtype=types.UINT8, ndim=3, layout="HWC")
        state = State(fed, tensor=kind.what == "tensor", channels=kind.channels)
    return transformed(state, transform, None, 0, steps)


def analyse(transform: Any, kind: Kind) -> tuple[Step, ...]:
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
            pipe.set_outputs(define(job.transform, job.kind, []))
        self._pipe, self._inner = pipe, Iterated(pipe)
        pipe.build()
        self.depth = self._inner.depth

    def feed(self, arrays: list[NDArray[np.uint8]]) -> None:
        self._inner.feed({SOURCE: arrays}, copy=False)

    def take(self) -> Any:
        (batch,) = self._pipe.outputs()
        return batch

    def checkpoint(self) -> bytes:
        """The position after the last batch that was taken."""
        return self._pipe.checkpoint()


def results(batch: Any) -> Results:
    """What a pipeline returned, as tensors."""
    return Results(lambda: dense(batch), lambda: [from_dlpack(sample) for sample in batch])
