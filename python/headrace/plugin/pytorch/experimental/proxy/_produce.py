# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Replaces references by data in any structure."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from headrace.plugin.pytorch.experimental.proxy._refs import DALIOutputBatchRef

_PLAIN = (str, bytes, int, float, complex, type(None), torch.Tensor)
_CODE = (type, types.ModuleType, types.FunctionType, types.MethodType)


class Replacer:
    """Replaces references in lists, dictionaries and objects where they are, and in copies of tuples.

    Args:
        get: the data of a reference.
    """

    def __init__(self, get: Callable[[DALIOutputBatchRef], Any]) -> None:
        self._get = get
        self._seen: dict[int, Any] = {}  # what replaces an object, by its id

    def replace(self, obj: Any) -> Any:
        """The object with data in place of all references. Circles are allowed."""
        if isinstance(obj, _PLAIN) or isinstance(obj, _CODE):
            return obj
        if isinstance(obj, DALIOutputBatchRef):
            return self._get(obj)
        if id(obj) in self._seen:
            return self._seen[id(obj)]
        self._seen[id(obj)] = obj
        if isinstance(obj, tuple):
            self._seen[id(obj)] = obj = self._tuple(obj)
        elif isinstance(obj, list):
            for i, item in enumerate(obj):
                new = self.replace(item)
                if new is not item:
                    obj[i] = new
        elif isinstance(obj, dict):
            for key, item in list(obj.items()):
                new = self.replace(item)
                if new is not item:
                    obj[key] = new
        else:
            self._attributes(obj)
        return obj

    def _tuple(self, old: tuple[Any, ...]) -> tuple[Any, ...]:
        items = [self.replace(item) for item in old]
        if all(new is item for new, item in zip(items, old)):
            return old
        if hasattr(old, "_fields") and hasattr(old, "_replace"):
            made: tuple[Any, ...] = old._replace(**dict(zip(old._fields, items)))
            return made
        return type(old)(items)

    def _attributes(self, obj: Any) -> None:
        for name, item in list(getattr(obj, "__dict__", {}).items()):
            new = self.replace(item)
            if new is not item:
                setattr(obj, name, new)
