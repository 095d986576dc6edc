# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Arguments of a DataLoader that a loader of Headrace does not have, and what to do instead."""

from __future__ import annotations

import inspect
from typing import Any

from headrace._pipeline.config import integer
from headrace._pipeline.pipeline import Pipeline
from headrace.plugin.pytorch._ranks import rank_and_world

_INSTEAD = {
    "sampler": "`shuffle=True` shuffles, and each process reads a shard; for weights or an order of "
    "your own, use headrace.torch.DataLoader, or a reader that has the argument `sampler`",
    "batch_sampler": "give `batch_size`, `shuffle` and `drop_last`",
    "collate_fn": "batches are made in the pipeline: change the batches in the training loop, or use "
    "headrace.torch.DataLoader, or a pipeline that returns what you need",
    "generator": "give `seed`",
    "timeout": "there are no worker processes to wait for",
    "worker_init_fn": "there are no worker processes to initialise; threads share the memory of this "
    "process",
    "multiprocessing_context": "there are no worker processes; threads do the work",
    "pin_memory_device": "give `device`",
    "num_workers": "give the pipeline `num_threads`",
    "prefetch_factor": "give the pipeline `prefetch_queue_depth`",
    "persistent_workers": "threads stay from epoch to epoch in any case",
    "shuffle": "give the reader of the pipeline `random_shuffle=True`",
    "batch_size": "give the pipeline `batch_size`",
    "in_order": "batches always come in order",
    "dataset": "the reader of the pipeline says what is read; headrace.torch.DataLoader takes a data "
    "set",
}

_PASSED = ("collate_fn", "timeout", "multiprocessing_context")


def refuse_others(what: str, given: dict[str, Any]) -> None:
    """Refuses arguments by name. What a DataLoader has by default is accepted.

    Raises:
        TypeError: there are any.
    """
    for name, value in given.items():
        if name not in _INSTEAD:
            raise TypeError(f"{what}() got an unexpected keyword argument '{name}'")
        if value is None or (name, value) in (("timeout", 0), ("in_order", True)):
            continue
        raise TypeError(f"{what}() has no argument `{name}` as a DataLoader has: {_INSTEAD[name]}.")


def pipeline_arguments(what: str, given: dict[str, Any]) -> dict[str, Any]:
    """Those of `given` that are arguments of `Pipeline`; refuses the others."""
    known = inspect.signature(Pipeline).parameters
    refuse_others(what, {k: v for k, v in given.items() if k not in known})
    return {k: v for k, v in given.items() if k in known}


def data_loader_arguments(what: str, given: dict[str, Any], reason: str) -> dict[str, Any]:
    """Those of `given` that a DataLoader below takes; refuses the others. `reason`: why there is one.

    Raises:
        TypeError: there are any.
    """
    for name in given:
        if name in inspect.signature(Pipeline).parameters:
            raise TypeError(f"{what}() cannot use `{name}`: {reason}, so there is no pipeline.")
    if given.get("worker_init_fn") is not None:
        raise TypeError(
            f"{what}() has no argument `worker_init_fn`: `seed` determines the random numbers of worker "
            "processes; for the rest, use the data set's own code."
        )
    refuse_others(what, {k: v for k, v in given.items() if k not in _PASSED})
    return {k: given[k] for k in _PASSED if given.get(k) is not None}


def shard_of(shard_id: int | None, num_shards: int | None) -> tuple[int, int]:
    """The shard of this process: by default its rank in the job.

    Raises:
        ValueError: only one of the two is given, or they do not fit.
    """
    if shard_id is None and num_shards is None:
        return rank_and_world()
    if num_shards is None or (shard_id is None and num_shards != 1):
        raise ValueError("`shard_id` and `num_shards` must be given together, or neither of them.")
    count = integer("num_shards", num_shards, 1, 2**31 - 1)
    return integer("shard_id", shard_id or 0, 0, count - 1), count
