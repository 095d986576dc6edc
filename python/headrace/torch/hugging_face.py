# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`from_hf`: the rows of a `datasets.Dataset` in a pipeline."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from headrace._graph import current_pipeline
from headrace._tables import memory
from headrace import fn

__all__ = ["HFRows", "from_hf"]


class HFRows:
    """The rows of a `datasets.Dataset`. `from_hf` makes them.

    Attributes:
        columns: the names of the columns that `read` gives, in their order.
        features: the feature of each of these columns, as `datasets` describes it.
    """

    def __init__(self, dataset: Any, columns: Iterable[str] | None = None) -> None:
        features = _features(dataset)
        chosen = list(features) if columns is None else list(columns)
        unknown = [name for name in chosen if name not in features]
        if unknown or not chosen:
            raise ValueError(
                f"from_hf: there is no column {unknown[0]!r}; the columns are {', '.join(features)}"
                if unknown
                else "from_hf: `columns` is empty"
            )
        self.columns = chosen
        self.features = {name: features[name] for name in chosen}
        self._table = dataset.data.table.select(chosen)
        self._order = _order(dataset)

    def __len__(self) -> int:
        return len(self._order) if self._order is not None else int(self._table.num_rows)

    def read(self, **arguments: Any) -> dict[str, Any]:
        """Adds a reader of the rows to the pipeline that is being defined.

        Args:
            arguments: of `fn.readers.parquet`, such as `random_shuffle`, `shard_id` and `name`. With
                `sampler`, samples are numbered as the rows of the data set are.

        Returns:
            One node per column. An image, a sound or a video is the bytes of its file.
        """
        pipeline = current_pipeline()
        if pipeline is None:
            raise RuntimeError("from_hf: call `read` where a pipeline is defined")
        for name in ("paths", "columns", "open_paths"):
            if name in arguments:
                raise TypeError(f"from_hf: `read` sets `{name}` by itself")
        if self._order is not None:
            arguments["sampler"] = _through(arguments.get("sampler"), self._order)
        path = memory.add(self._table)
        weakref.finalize(pipeline, memory.remove, path)
        nodes = fn.readers.parquet(paths=path, columns=self.columns, open_paths=True, **arguments)
        listed = nodes if isinstance(nodes, (list, tuple)) else [nodes]
        return dict(zip(self.columns, listed, strict=True))


def from_hf(dataset: Any, columns: Iterable[str] | None = None) -> HFRows:
    """The rows of a `datasets.Dataset`, which a pipeline reads without copying them.

    Rows that were selected, filtered, shuffled or sorted come in the order of the data set. A
    transform or a format that was set on the data set (`set_transform`, `with_format`) is not used.

    Args:
        dataset: a data set, not a `DatasetDict` or an `IterableDataset`.
        columns: those to read; None: all of them.

    Raises:
        TypeError: `dataset` is not a data set with numbered rows. The message says what to do.
        ValueError: there is no such column.
    """
    return HFRows(dataset, columns)


def _features(dataset: Any) -> dict[str, Any]:
    kind = type(dataset).__name__
    if kind in ("DatasetDict", "IterableDatasetDict"):
        raise TypeError(f"from_hf: pass one split of the {kind}, such as dataset['train']")
    if kind == "IterableDataset":
        raise TypeError(
            "from_hf: an IterableDataset has no numbered rows; read its files with fn.readers.parquet, "
            "or load the data set without streaming=True"
        )
    if not hasattr(dataset, "features") or not hasattr(getattr(dataset, "data", None), "table"):
        raise TypeError(f"from_hf: expected a datasets.Dataset, got {type(dataset)}")
    if len(dataset) == 0:
        raise ValueError("from_hf: the data set has no rows")
    return dict(dataset.features)


def _order(dataset: Any) -> list[int] | None:
    """The rows of the table that the data set consists of; None: all, in order."""
    indices = dataset._indices
    return None if indices is None else indices.column(0).to_pylist()


def _through(sampler: Any, order: list[int]) -> Any:
    """A sampler of the data set's rows as one of the table's."""
    if sampler is None:
        return {"order": order}
    if isinstance(sampler, dict) and set(sampler) == {"order"}:
        return {"order": [order[i] for i in sampler["order"]]}
    raise ValueError(
        "from_hf: rows that were selected or shuffled can be sampled with {'order': ...} only; "
        "`dataset.flatten_indices()` makes a data set for which any sampler works"
    )
