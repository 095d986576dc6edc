# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The metadata of the readers of a pipeline, as `Pipeline.reader_meta` and iterators give them."""

from __future__ import annotations

from typing import Any


class Readers:
    """What the engine says about the readers of a pipeline, by name."""

    def __init__(self, metas: dict[str, dict[str, Any]]) -> None:
        self._metas = metas

    def split(self, name: str) -> dict[str, Any]:
        """Returns all that the engine says about a reader, including how it was split before."""
        if name not in self._metas:
            raise RuntimeError(
                f"Operator {name} not found or does not expose valid metadata. Readers: "
                f"{sorted(self._metas)}."
            )
        return self._metas[name]

    def meta(self, name: str) -> dict[str, Any]:
        """Returns the public metadata of a reader."""
        meta = dict(self.split(name))
        first, resplit = meta.pop("first_epoch"), meta.pop("resplit")
        del meta["position"]
        if not meta["global_batch"]:
            del meta["global_batch"]
        if not first and not resplit:
            del meta["rest_size"]
        return meta

    def all(self) -> dict[str, dict[str, Any]]:
        """Returns the public metadata of all readers by name."""
        return {name: self.meta(name) for name in self._metas}
