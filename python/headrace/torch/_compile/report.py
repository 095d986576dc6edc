# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Reports which transforms were compiled."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """Whether one transform was compiled.

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
    """Which transforms were compiled, in their order. `print(report)` shows it."""

    steps: tuple[Step, ...]

    @property
    def python(self) -> tuple[Step, ...]:
        """The transforms that run as Python functions."""
        return tuple(step for step in self.steps if not step.compiled)

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))
