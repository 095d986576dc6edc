# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Calls of a transform by code of the user, and what happens instead of them.

While they are captured, these transforms are of a subclass of their class with another `__call__`. In
other threads, this is the old one.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from headrace.torch._loading.opened import opening

Call = Callable[..., Any]

_kinds: dict[type, type] = {}
_thread = threading.local()  # .calls: by the ids of the transforms
# Held while transforms are captured: two loaders in two threads may have the same data set.
_capturing = threading.RLock()


def _forked() -> None:
    global _capturing
    _capturing = threading.RLock()


os.register_at_fork(after_in_child=_forked)


@contextlib.contextmanager
def capturing(calls: list[tuple[Any, Call]], decodes: bool) -> Iterator[None]:
    """Within it, these functions are called instead of the transforms, but for calls with keywords.

    Args:
        decodes: images that Pillow opens are not decoded before their pixels are used.
    """
    with _capturing, contextlib.ExitStack() as stack:
        for transform, _ in calls:
            kind = type(transform)
            object.__setattr__(transform, "__class__", _subclass(kind))
            stack.callback(object.__setattr__, transform, "__class__", kind)
        if decodes:
            stack.enter_context(opening())
        stack.callback(setattr, _thread, "calls", getattr(_thread, "calls", {}))
        _thread.calls = {id(transform): call for transform, call in calls}
        yield


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Within it, transforms do in this thread what they are for."""
    calls, _thread.calls = getattr(_thread, "calls", {}), {}
    try:
        yield
    finally:
        _thread.calls = calls


# Trials watch the functions that set states; these are not watched.
_SETTERS = torch.set_rng_state, random.setstate, np.random.set_state


def random_states() -> Any:
    return torch.get_rng_state(), random.getstate(), np.random.get_state()


def set_random_states(states: Any) -> None:
    for setter, state in zip(_SETTERS, states):
        setter(state)


def _subclass(kind: Any) -> type:
    def called(transform: Any, *args: Any, **kwargs: Any) -> Any:
        calls = getattr(_thread, "calls", {})
        call = calls.get(id(transform))
        if call is None or not args or kwargs:
            return kind.__call__(transform, *args, **kwargs)
        with suspended():  # transforms within this one are its own business
            return call(*args)

    if kind not in _kinds:
        members = {"__call__": called, "__module__": kind.__module__}
        _kinds[kind] = type(kind.__name__, (kind,), members)
    return _kinds[kind]
