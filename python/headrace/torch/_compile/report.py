# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What became of each transform."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """What became of one transform.

    Attributes:
        transform: the transform as text.
        compiled: whether operators do its work. Otherwise Python calls it, once per sample.
        reason: why it was not compiled; empty if it was.
        needs_cpu: whether it runs on the CPU even if the loader has a GPU.
    """

    transform: str
    compiled: bool = True
    reason: str = ""
    needs_cpu: bool = False

    def __str__(self) -> str:
        if not self.compiled:
            return f"Python    {self.transform}: {self.reason}"
        return f"compiled  {self.transform}{' (on the CPU)' if self.needs_cpu else ''}"


@dataclasses.dataclass(frozen=True)
class Report:
    """What became of the transforms, in their order. `print(report)` shows it."""

    steps: tuple[Step, ...]

    @property
    def python(self) -> tuple[Step, ...]:
        """The transforms that run as Python functions."""
        return tuple(step for step in self.steps if not step.compiled)

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))
