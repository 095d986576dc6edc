# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The base of the transforms."""

from __future__ import annotations

import abc
import enum
import inspect
from typing import Any, NoReturn

from headrace.experimental.torchvision.v2._image_node import ImageNode


class Operator(abc.ABC):
    """A transform. It describes what a pipeline does; `Compose` makes and runs this pipeline.

    Args:
        device: where it runs: "cpu" or "gpu".

    Raises:
        ValueError: the device does not exist.
    """

    def __init__(self, device: str = "cpu") -> None:
        if device not in ("cpu", "gpu"):
            raise ValueError(f"`device` must be 'cpu' or 'gpu', not {device!r}")
        self.device = device

    @abc.abstractmethod
    def _kernel(self, image: ImageNode) -> ImageNode:
        """Adds the transform to the pipeline that is being defined."""

    def _invoke(self, image: ImageNode) -> ImageNode:
        return self._kernel(image.on(self.device))

    def __call__(self, data_input: Any) -> NoReturn:
        """Raises RuntimeError: only `Compose` runs transforms."""
        raise RuntimeError(
            f"{self!r} cannot be called itself: put it in a Compose, or use "
            "headrace.experimental.torchvision.v2.functional"
        )

    def __repr__(self) -> str:
        """The name, and the arguments that are not the default."""
        given = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            if value is not parameter.default:
                given.append(f"{name}={value if isinstance(value, enum.Enum) else repr(value)}")
        return f"{type(self).__name__}({', '.join(given)})"
