# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms called as functions. The pipelines of the latest calls are kept."""

from __future__ import annotations

import pickle
from typing import Any

import torch

from headrace._graph.plan import Kept
from headrace.experimental.torchvision.v2 import _batches
from headrace.experimental.torchvision.v2.operator import Operator
from headrace.pipeline import Pipeline

_pipelines: Kept[Pipeline] = Kept(8)


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
    pipe = _pipelines.take(key) or _define(kind(*arguments), batch, layout, where)
    made = _batches.run(pipe, batch)
    if key is not None:
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
        pipe.set_outputs(op._kernel(_batches.source(batch, layout, where).on(where)).node)
    return pipe
