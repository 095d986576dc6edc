# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms called as functions. Each thread keeps the pipelines of its latest calls."""

from __future__ import annotations

import os
import pickle
import threading
from collections import OrderedDict
from typing import Any

import torch

from headrace.experimental.torchvision.v2 import _batches
from headrace.experimental.torchvision.v2.operator import Operator
from headrace.pipeline import Pipeline

KEPT = 8  # pipelines per thread


class _Pipelines(threading.local):
    """The pipelines of a thread, the latest one last."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.kept: OrderedDict[Any, Pipeline] = OrderedDict()

    def take(self, key: Any) -> Pipeline | None:
        if self.process != os.getpid():  # a forked child cannot use its parent's
            self.process, self.kept = os.getpid(), OrderedDict()
        return self.kept.pop(key, None)

    def put(self, key: Any, pipe: Pipeline) -> None:
        self.kept[key] = pipe
        if len(self.kept) > KEPT:
            self.kept.popitem(last=False)[1].close()


_pipelines = _Pipelines()


def apply(kind: type[Operator], arguments: tuple[Any, ...], data: Any, device: Any) -> Any:
    """Transforms one image, or each of a tensor.

    Args:
        kind: the class of the transform.
        arguments: of its constructor.
        data: a PIL image or a tensor; see `_batches.take` for what it raises.
        device: "cpu", "gpu", or a device of PyTorch.
    """
    batch, layout = _batches.take(data)
    where = str(getattr(device, "type", device)).partition(":")[0].replace("cuda", "gpu")
    key = _key(kind, arguments, batch, layout, where)
    pipe = _pipelines.take(key)
    if pipe is None:
        pipe = _define(kind(*arguments), batch, layout, where)
    try:
        made = _batches.run(pipe, batch)
    except BaseException:
        pipe.close()
        raise
    if key is None:
        pipe.close()
    else:
        _pipelines.put(key, pipe)
    return _batches.like(made, data)


def _key(kind: Any, arguments: Any, batch: torch.Tensor, layout: str, where: str) -> Any:
    """What the pipeline depends on; None: it is used only once."""
    channels = batch.shape[1 + layout.index("C")]
    try:
        given = pickle.dumps(arguments)
    except Exception:  # whatever the user's objects raise
        return None
    return kind, given, len(batch), channels, batch.dtype, batch.device, layout, where


def _define(op: Operator, batch: torch.Tensor, layout: str, where: str) -> Pipeline:
    threads = min(len(batch), _batches.THREADS)
    pipe = Pipeline(len(batch), threads, **_batches.options(batch, {}))
    with pipe:
        pipe.set_outputs(op._kernel(_batches.pictures(batch, layout, where).on(where)).node)
    return pipe
