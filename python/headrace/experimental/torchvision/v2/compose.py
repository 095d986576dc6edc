# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Compose`: transforms as one pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from headrace.experimental.torchvision.v2 import _batches
from headrace.experimental.torchvision.v2._batches import THREADS
from headrace.experimental.torchvision.v2.operator import Operator
from headrace.experimental.torchvision.v2.totensor import PILToTensor, ToPILImage, ToPureTensor
from headrace.pipeline import Pipeline, pipeline_def

BATCH_SIZE = 16


class Compose:
    """Runs transforms one after the other, for PIL images or tensors.

    The pipeline is made in the first call, which also determines whether later inputs must be PIL
    images or tensors. Tensors have the dimensions CHW; if there are others before them, each
    image is transformed on its own.

    Args:
        op_list: the transforms.
        batch_size: largest number of images in one call.
        num_threads: threads of the pipeline.
        dali_pipeline_kwargs: other arguments of `Pipeline`, for example `seed`.

    Raises:
        TypeError: a transform is not one of this module.
    """

    def __init__(
        self,
        op_list: Sequence[Operator],
        batch_size: int = BATCH_SIZE,
        num_threads: int = THREADS,
        **dali_pipeline_kwargs: Any,
    ) -> None:
        self.op_list = list(op_list)
        for op in self.op_list:
            if not isinstance(op, Operator):
                raise TypeError(
                    f"{op!r} is not a transform of {__name__.partition('.v2')[0]}; "
                    "headrace.torch.compile takes those of torchvision"
                )
        self.batch_size = batch_size
        self.num_threads = num_threads
        self.dali_pipeline_kwargs = dali_pipeline_kwargs
        self._layout: str | None = None
        self._pipelines: dict[tuple[Any, ...], Pipeline] = {}  # by what nodes depend on

    @property
    def transforms(self) -> list[Operator]:
        """The transforms, under torchvision's name."""
        return self.op_list

    def __call__(self, data_input: Any) -> Any:
        """Transforms a PIL image, or a tensor CHW or NCHW.

        Returns:
            What the last of `ToPureTensor`, `PILToTensor` and `ToPILImage` in the list says;
            without them, the kind of the input.

        Raises:
            TypeError: it is neither, or not what it was in the first call.
            ValueError: a PIL image that is not of the mode L, RGB or RGBA.
            RuntimeError: more images than `batch_size`; a transform does not take the image.
        """
        batch, layout = _batches.take(data_input)
        if layout != (self._layout or layout):
            wanted = "PIL images" if self._layout == "HWC" else "tensors"
            raise TypeError(
                f"the first call got {wanted}, this one a {type(data_input).__name__}: use another "
                "Compose for it"
            )
        pipe = self._pipeline(batch, layout)
        self._layout = layout
        return self._result(_batches.run(pipe, batch), data_input, layout)

    def _pipeline(self, batch: torch.Tensor, layout: str) -> Pipeline:
        key = batch.shape[1 + layout.index("C")], batch.dtype, batch.device
        if key not in self._pipelines:

            def chain() -> Any:
                first = self.op_list[0].device if self.op_list else "cpu"
                image = _batches.source(batch, layout, first)
                for op in self.op_list:
                    image = op._invoke(image)
                return image.node

            chain.__name__ = "Compose"  # messages name it
            given = _batches.options(batch, self.dali_pipeline_kwargs)
            self._pipelines[key] = pipeline_def(chain, enable_conditionals=True)(
                batch_size=self.batch_size, num_threads=self.num_threads, **given
            )
        return self._pipelines[key]

    def _result(self, made: torch.Tensor, data: Any, layout: str) -> Any:
        kinds = [
            op for op in self.op_list if isinstance(op, (ToPureTensor, PILToTensor, ToPILImage))
        ]
        is_image = isinstance(data, Image.Image)
        to_image = isinstance(kinds[-1], ToPILImage) if kinds else is_image
        if to_image:
            planes = made if layout == "HWC" else made.permute(0, 2, 3, 1)
            images = [_batches.image(one) for one in planes]
            return images[0] if len(images) == 1 else images
        return made[0].permute(2, 0, 1).contiguous() if is_image else _batches.like(made, data)

    def __repr__(self) -> str:
        return f"Compose([{', '.join(map(repr, self.op_list))}])"
