# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Late`: stands for the tensor that a transform makes, which is made when somebody uses it.

Code that only hands it on leaves the image to a pipeline. Any other use makes the tensor at once, so
the code goes on as it would with the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch


class Late(torch.Tensor):
    """A tensor of which `settled` is the value.

    Attributes:
        waiting: what stands for it on the way to a pipeline.
        once: the pipeline draws random numbers, so that it cannot be made again.
        handed: it is on the way.
    """

    waiting: Any
    once: bool
    handed: bool
    _make: Callable[[], torch.Tensor] | None
    _made: torch.Tensor

    @staticmethod
    def of(waiting: Any, make: Callable[[], torch.Tensor], once: bool) -> Late:
        late: Late = torch.Tensor._make_subclass(Late, torch.empty(0))  # type: ignore[assignment]
        late.waiting, late._make, late.once, late.handed = waiting, make, once, False
        return late

    @property
    def used(self) -> bool:
        """Whether its value was needed."""
        return self._make is None

    def settled(self) -> torch.Tensor:
        if self._make is not None:
            self._refuse()
            self._made, self._make = self._make(), None
        return self._made

    def hand_on(self) -> Any:
        """What stands for it on the way to a pipeline."""
        self._refuse()
        self.handed = True
        return self.waiting

    def _refuse(self) -> None:
        if self.handed and self.once:
            raise RuntimeError(
                "The data set uses the result of a random transform after it has yielded it, and the "
                "pipeline would draw anew. Call clone() on it before the first yield."
            )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*_settled(args), **_settled(kwargs or {}))


def _settled(given: Any) -> Any:
    """The same with tensors in place of what stands for them."""
    if isinstance(given, Late):
        return given.settled()
    if type(given) in (list, tuple):
        return type(given)(map(_settled, given))
    if isinstance(given, Mapping):
        return {key: _settled(value) for key, value in given.items()}
    return given
