# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Preprocessing on other machines with Ray: pipelines are actors, trainers get their batches.

`Loader` feeds training. `MapBatches` runs a pipeline in ``ray.data.Dataset.map_batches``.
"""

from __future__ import annotations

try:
    import ray as _ray  # noqa: F401
except ImportError as error:
    raise ImportError(
        "headrace.ray needs Ray, which is not installed: `pip install ray`, see https://docs.ray.io"
    ) from error

from headrace.ray.loader import Loader
from headrace.ray.map_batches import MapBatches

__all__ = ["Loader", "MapBatches"]
