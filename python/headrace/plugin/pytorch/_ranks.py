# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The processes of a distributed job, and whether each reads a shard of its own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any


def rank_and_world() -> tuple[int, int]:
    """The number of this process and the number of all: from torch.distributed if it is initialised,
    otherwise from RANK and WORLD_SIZE, which torchrun sets; 0 and 1 if there is one process."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    try:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return 0, 1
    return (rank, world) if 0 <= rank < world else (0, 1)


def warn_of_whole(metas: Iterable[dict[str, Any]], stacklevel: int) -> None:
    """Warns if there are several processes, and a reader of this one reads the whole data set."""
    rank, world = rank_and_world()
    if world > 1 and any(meta["number_of_shards"] == 1 for meta in metas):
        warnings.warn(
            f"There are {world} processes, but num_shards is 1: every process reads the whole data set. "
            f"Give shard_id={rank}, num_shards={world}; if there is a pipeline, give them to its reader.",
            stacklevel=stacklevel + 1,
        )
