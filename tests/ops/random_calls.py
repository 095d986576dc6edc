# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A call of every random operator that has inputs, whose results differ from draw to draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from headrace import _graph, fn
from headrace._graph import schema

from cases_decoders import coded, files
from harness import Data, pictures

BATCH = 6
_RNG = np.random.default_rng(3)
_CORNERS = _RNG.random((BATCH, 9, 2, 2), np.float32)
PICTURES = pictures([(60 + 3 * i, 80, 3) for i in range(BATCH)])
BOXES = Data(list(np.sort(_CORNERS, axis=2).reshape(BATCH, 9, 4)))
LABELS = Data([np.arange(9, dtype=np.int32)] * BATCH)
MASKS = Data(list(_RNG.integers(0, 4, (BATCH, 30, 40), np.int32)))
NUMBERS = Data([np.arange(1000, dtype=np.float32)] * BATCH)
SHAPES = Data([np.array([480, 640], np.int64)] * BATCH)
CODED = files(*[coded("PNG", 60 + 3 * i, 80) for i in range(BATCH)])
_SHIFT = ["affine", 1.0, 0, [-45.0, 45.0], 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]

# Boxes with the size of their image in the first row (src/ops/torchvision/rows.h).
ROWS = Data([np.float32([[0, 0, 80, 60 + i, -1], [20, 30, 50, 50, 0]]) for i in range(BATCH)])

# By operator: one set of inputs, and the arguments.
CALLS: dict[str, tuple[list[Data], dict[str, Any]]] = {
    "_torchvision.area_crop": ([PICTURES], {}),
    "_torchvision.area_crop_boxes": ([ROWS], {}),
    "_torchvision.augment": ([PICTURES], {"program": ["brightness", 1.0, [0.5, 1.5]]}),
    "_torchvision.augment_boxes": ([ROWS], {"program": _SHIFT}),
    "_torchvision.augment_mask": ([PICTURES], {"program": _SHIFT}),
    "_torchvision.crop": ([PICTURES], {"size": [20, 30], "random": True}),
    "_torchvision.crop_boxes": ([ROWS], {"size": [20, 30], "random": True}),
    "_torchvision.erasing": ([PICTURES], {"probability": 1.0}),
    "decoders.image_random_crop": ([CODED], {}),
    "jitter": ([PICTURES], {}),
    "noise.gaussian": ([PICTURES], {"stddev": 20.0}),
    "noise.salt_and_pepper": ([PICTURES], {"prob": 0.3}),
    "noise.shot": ([PICTURES], {"factor": 10.0}),
    "random.beta": ([NUMBERS], {}),
    "random.choice": ([NUMBERS, NUMBERS], {}),
    "random.coin_flip": ([NUMBERS], {}),
    "random.normal": ([NUMBERS], {}),
    "random.uniform": ([NUMBERS], {}),
    "random_bbox_crop": ([BOXES, LABELS], {"allow_no_crop": False, "scaling": [0.3, 0.9]}),
    "random_crop_generator": ([SHAPES], {}),
    "random_resized_crop": ([PICTURES], {"size": [20, 30]}),
    "roi_random_crop": (
        [PICTURES],
        {"crop_shape": [9, 9, 3], "roi_start": [5, 5, 0], "roi_shape": [50, 50, 3]},
    ),
    "segmentation.random_mask_pixel": ([MASKS], {}),
    "segmentation.random_object_bbox": ([MASKS], {}),
    "ssd_random_crop": ([PICTURES, BOXES, LABELS], {"num_attempts": 5}),
}


def fed(data: Data, device: str = "cpu") -> Any:
    layout = {"layout": data.layout} if data.layout else {}
    node = fn.external_source(source=lambda: list(data.samples), **layout)
    return node.gpu() if device == "gpu" else node


def call(name: str, sets: int, device: str = "cpu", **more: Any) -> list[list[Any]]:
    """Calls the operator with lists of equal inputs. Returns the output nodes of each set."""
    inputs, args = CALLS[name]
    op = schema.operators()[name]
    on = "mixed" if device == "gpu" and device not in op.devices else device
    where = "cpu" if on == "mixed" else device
    lists = [[fed(data, where) for _ in range(sets)] for data in inputs]
    return by_set(_graph.call(op, op.class_name, lists, {"device": on, **args, **more}), sets)


def by_set(made: Any, sets: int) -> list[list[Any]]:
    """A list of nodes; several outputs are a tuple of such lists."""
    columns = [made] if isinstance(made, list) else list(made)
    assert all(len(column) == sets for column in columns)
    return [list(row) for row in zip(*columns, strict=True)]
