# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators on masks. What they draw at random is tested in test_segmentation.py."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, scalars, vectors

# One object of each class, so that little is left to chance.
MASK = np.zeros((6, 8), np.uint8)
MASK[1:3, 2:5] = 1
MASK[4:, 6:] = 2
MASK[0, 0] = 3
RING = np.zeros((7, 5), np.uint8)
RING[1:6, 1:4] = 1
RING[2:5, 2] = 0
MASKS = Data([MASK, RING])
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "bool"]
OBJECT = "segmentation.random_object_bbox"
PIXEL = "segmentation.random_mask_pixel"
SELECT = "segmentation.select_masks"


def like(dtype: str) -> Data:
    return Data([(MASK == 1).astype(dtype), RING.astype(dtype)])


CASES = [
    Case(OBJECT, [MASKS], {"classes": [1], **args})
    for args in (
        {},
        {"format": "start_end"},
        {"format": "box"},
        {"output_class": True},
        {"format": "box", "output_class": True},
        {"cache_objects": True},
        {"k_largest": 2},
        {"threshold": [2, 2]},
        {"threshold": 2},
        {"threshold": [9, 9], "output_class": True},
        {"threshold": vectors([2, 4], [1, 1], dtype=np.int32), "output_class": True},
        {"foreground_prob": 0.0, "output_class": True},
        {"foreground_prob": scalars(1, 0), "output_class": True},
        {"foreground_prob": 2.0},
        {"background": 7, "output_class": True},
        {"background": scalars(7, 0, dtype=np.int32), "output_class": True},
        {"class_weights": [2.0]},
    )
]
CASES += [
    Case(OBJECT, [MASKS], args)
    for args in (
        {"classes": [2], "output_class": True},
        {"classes": [7], "output_class": True},
        {"classes": vectors([1], [2], dtype=np.int32), "output_class": True},
        {"classes": [0, 1], "class_weights": [0.0, 1.0], "output_class": True},
        {"classes": [0, -1, 1], "foreground_prob": 0.0, "output_class": True},
        {"class_weights": [1.0], "output_class": True},
        {"class_weights": vectors([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), "output_class": True},
        {"ignore_class": True, "threshold": [2, 3]},
        {"ignore_class": True, "k_largest": 1},
    )
]
CASES += [Case(OBJECT, [like(t)], {"output_class": True}) for t in TYPES]
CASES += [
    Case(OBJECT, [Data([np.zeros((6, 8), np.uint8)])], {"output_class": True}),
    Case(OBJECT, [Data([np.array([0, 5, 5, 0], np.int32)])], {"output_class": True}),
    Case(OBJECT, [Data([np.stack([MASK, MASK])])], {"classes": [2]}),
    Case(OBJECT, [Data([np.ones((2, 1, 3, 1, 2, 2), np.int16)])], {}),
    Case(OBJECT, [Data([MASK], "HW")], {"classes": [1]}),
    Case(OBJECT, [Data([MASK[..., None]], "HWC")], {"classes": [1]}),
]
ERRORS = [
    Case(OBJECT, [MASKS], args)
    for args in (
        {"format": "foo"},
        {"ignore_class": True, "output_class": True},
        {"ignore_class": True, "classes": [1]},
        {"ignore_class": True, "class_weights": [1.0]},
        {"classes": [0, 1], "background": 0},
        {"classes": [1, 2], "class_weights": [1.0]},
        {"k_largest": 0},
        {"k_largest": -1},
        {"threshold": [1, 2, 3]},
    )
]
ERRORS += [Case(OBJECT, [like(t)], {}) for t in ("int64", "uint64", "float32")]
ERRORS.append(Case(OBJECT, [Data([np.array(1, np.uint8)])], {}))

# A single element to draw
ONE = np.zeros((4, 5), np.uint8)
ONE[2, 3] = 9
ALL_TYPES = [*TYPES, "int64", "uint64", "float32"]
CASES += [
    Case(PIXEL, [Data([ONE.astype(t), (ONE[::-1] * 3).astype(t)])], {"foreground": 1})
    for t in ALL_TYPES
]
CASES += [
    Case(PIXEL, [Data([ONE, ONE])], {"foreground": 1, **args})
    for args in (
        {"value": 9},
        {"value": scalars(9, 9, dtype=np.int32)},
        {"threshold": 8.5},
        {"threshold": scalars(0, 8)},
        {"foreground": scalars(1, 1, dtype=np.int32)},
    )
]
CASES += [
    Case(PIXEL, [Data([np.full((1, 1, 1), 2, np.uint8)])], {}),
    Case(PIXEL, [Data([np.zeros((1, 1), np.uint8)])], {"foreground": 1, "value": 5}),
    Case(PIXEL, [Data([np.array(1, np.uint8)])], {}),
    Case(PIXEL, [Data([ONE.astype(np.float32)], "HW")], {"foreground": 1, "value": 9}),
]
ERRORS += [
    Case(PIXEL, [Data([ONE])], {"value": 2, "threshold": 1.0}),
    Case(PIXEL, [Data([ONE.astype(np.float64)])], {}),
    Case(PIXEL, [Data([ONE.astype(np.float16)])], {}),
]

IDS = vectors([2, 0], [1], [], [0, 1, 2], dtype=np.int32)
POLYGONS = Data([np.array([[0, 0, 3], [1, 3, 6], [2, 6, 9], [0, 9, 12]], np.int32)] * 4)
VERTICES = Data([np.arange(24, dtype=np.float32).reshape(12, 2)] * 4)
CASES += [Case(SELECT, [IDS, POLYGONS, VERTICES], args) for args in ({}, {"reindex_masks": True})]
CASES += [
    Case(SELECT, [IDS, POLYGONS, Data([s.astype(t) for s in VERTICES.samples])], {})
    for t in ("int32", "float64", "uint8", "int64")
]
CASES += [
    Case(SELECT, [IDS, POLYGONS, Data([np.arange(36, dtype=np.int16).reshape(12, 3)] * 4)], {}),
    Case(
        SELECT,
        [IDS, Data([np.array([[0, 0, 3], [1, 2, 2], [2, 1, 4]], np.int32)] * 4), VERTICES],
        {},
    ),
]
PART = Data([IDS.samples[0]]), Data([POLYGONS.samples[0]]), Data([VERTICES.samples[0]])
ROWS = POLYGONS.samples[0]
ERRORS += [
    Case(SELECT, [PART[0], PART[1], Data([VERTICES.samples[0].reshape(-1)])], {}),
    Case(SELECT, [vectors([0, 0], dtype=np.int32), *PART[1:]], {}),
    Case(SELECT, [vectors([5], dtype=np.int32), *PART[1:]], {}),
    Case(SELECT, [vectors([0], dtype=np.int64), *PART[1:]], {}),
    Case(SELECT, [Data([np.zeros((1, 1), np.int32)]), *PART[1:]], {}),
]
ERRORS += [
    Case(SELECT, [PART[0], Data([rows]), PART[2]], {})
    for rows in (
        ROWS.astype(np.int64),
        ROWS[:, :2].copy(),
        ROWS.reshape(-1),
        ROWS + np.array([0, 0, 30], np.int32),
        ROWS - np.array([0, 12, 0], np.int32),
        ROWS[:, [0, 2, 1]].copy(),
    )
]
# Intended differences from DALI in the sweep (see sweep.py).
DIFFERENT = {
    r"^segmentation.random_mask_pixel: value=\[": "a wrong list is a wrong value, not a wrong type",
    r"^segmentation.random_object_bbox: background=\[": "a wrong list is a wrong value, not a wrong type",
    r"^segmentation.random_mask_pixel: input 0 empty": "an empty mask is refused; DALI draws from nothing",
}
