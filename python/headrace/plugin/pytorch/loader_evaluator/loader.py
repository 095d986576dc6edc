# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`LoaderEvaluator`: a loader that times its batches, or repeats batches from memory."""

from __future__ import annotations

import itertools
import json
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader

__all__ = ["LoaderEvaluator"]


class LoaderEvaluator:
    """Stands in for a `DataLoader` to find out whether training waits for data.

    Train one epoch with ``mode="log"`` and one with ``mode="replay"``: if the second is faster, the
    loader limits the training, and the difference is what a faster loader can gain.

    Args:
        dataloader: the loader. It needs a length; `print_summary` also needs its `dataset`.
        mode: "log": pass its batches on and measure how long each one takes. "replay": read the
            first batches now, and repeat them from memory for a whole epoch. Anything else means
            "log".
        num_cached_batches: with "replay": the largest number of batches to keep in memory.
        metrics_file: where `save_metrics` writes by default.

    Attributes:
        cached_batches: the batches in memory.
        cache_ready: whether there are batches in memory.
        batch_times: how long each batch of the last epoch took, in seconds.
        start_time, end_time: of the last epoch, as `time.time` gives them; None before it begins or
            ends.
    """

    def __init__(
        self,
        dataloader: DataLoader[Any],
        mode: str = "log",
        num_cached_batches: int = 20,
        metrics_file: str | None = None,
    ) -> None:
        self.dataloader = dataloader
        self.mode = mode
        self.num_cached_batches = num_cached_batches
        self.metrics_file = metrics_file
        self.cached_batches: deque[Any] = deque(maxlen=num_cached_batches)
        self.batch_times: list[float] = []
        self.start_time: float | None = None
        self.end_time: float | None = None
        if mode == "replay":
            self.cached_batches.extend(itertools.islice(dataloader, num_cached_batches))
        self.cache_ready = bool(self.cached_batches)

    def __len__(self) -> int:
        """Number of batches in an epoch of the loader."""
        return len(self.dataloader)

    def __iter__(self) -> Iterator[Any]:
        """An epoch.

        Raises:
            RuntimeError: mode "replay", and no batch is in memory.
        """
        if self.mode != "replay":
            return self._timed(self.dataloader)
        if not self.cached_batches:
            raise RuntimeError(
                "No batches were cached for replaying: the loader was empty, or `num_cached_batches` is 0."
            )
        return self._timed(itertools.islice(itertools.cycle(self.cached_batches), len(self)))

    def _timed(self, batches: Iterable[Any]) -> Iterator[Any]:
        self.start_time, self.end_time, self.batch_times = time.time(), None, []
        source = iter(batches)
        while True:
            begun = time.perf_counter()
            try:
                batch = next(source)
            except StopIteration:
                break
            self.batch_times.append(time.perf_counter() - begun)
            yield batch
        self.end_time = time.time()

    def get_metrics(self) -> dict[str, Any]:
        """The times of the last epoch in seconds, as a dictionary; empty before the first batch.

        `total_time` covers the whole epoch, including the work of the training loop; it is 0 if the
        loop was left early.
        """
        times = self.batch_times
        if not times:
            return {}
        whole = self.start_time is not None and self.end_time is not None
        return {
            "mode": self.mode,
            "total_batches": len(times),
            "total_time": self.end_time - self.start_time if whole else 0,  # type: ignore[operator]
            "avg_batch_time": sum(times) / len(times),
            "min_batch_time": min(times),
            "max_batch_time": max(times),
            "batch_times": list(times),
            "cached_batches": len(self.cached_batches),
            "cache_ready": self.cache_ready,
        }

    def save_metrics(self, filename: str | None = None) -> None:
        """Writes `get_metrics()` as JSON to `filename`, or to `metrics_file`."""
        target = self.metrics_file if filename is None else filename
        if target is None:
            print("The metrics are not saved: give `filename` or `metrics_file`.")
            return
        with open(target, "w") as file:
            json.dump(self.get_metrics(), file, indent=2)
        print(f"Metrics saved to: {target}")

    def print_summary(self) -> None:
        """Prints the mode, the sizes of data set and cache, and the times of the last epoch."""
        facts: dict[str, Any] = {
            "Mode": self.mode,
            "Dataset size": len(self.dataloader.dataset),  # type: ignore[arg-type]
            "Number of batches": len(self),
            "Cache size": f"{len(self.cached_batches)}/{self.num_cached_batches}",
            "Cache ready": self.cache_ready,
        }
        metrics = self.get_metrics()
        if metrics:
            facts["Total batches processed"] = metrics["total_batches"]
            facts["Total time"] = f"{metrics['total_time']:.2f}s"
            facts["Average batch time"] = f"{metrics['avg_batch_time']:.4f}s"
            facts["Min batch time"] = f"{metrics['min_batch_time']:.4f}s"
            facts["Max batch time"] = f"{metrics['max_batch_time']:.4f}s"
        print("Loader Evaluator Summary:")
        for name, value in facts.items():
            print(f"  {name}: {value}")
