# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Node`: what graphs know about the outputs of their nodes."""

from __future__ import annotations

from typing import Any


class Node:
    """One output of an operator in a graph. Users see the subclass `DataNode`, which adds arithmetic.

    Attributes:
        name: name of the operator, followed by ``[i]`` if it has several outputs.
        device: "cpu" or "gpu".
        source: the call that made the node.
        index: number of the output of `source`.
    """

    __slots__ = ("name", "device", "source", "index", "__weakref__")

    def __init__(self, name: str, device: str = "cpu", source: Any = None, index: int = 0) -> None:
        self.name = name
        self.device = device
        self.source = source
        self.index = index
