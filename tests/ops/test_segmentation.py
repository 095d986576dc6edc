# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Random objects and pixels of masks: against objects found by SciPy, and how often each is drawn."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from harness import Data, Engine, Failure

COUNT = 6000
RNG = np.random.default_rng(3)


def drawn(
    engine: Engine, name: str, mask: np.ndarray, count: int = COUNT, **args: Any
) -> list[list[np.ndarray]]:
    def define(e: Engine) -> Any:
        return e.operator("segmentation." + name)(e.feed(Data([mask] * count)), **args)

    result = engine.run(count, define)
    assert not isinstance(result, Failure), result
    return [output.samples for output in result]


def objects(mask: np.ndarray) -> dict[int, list[tuple[int, ...]]]:
    """The boxes of the objects of every class but 0: starts, then ends."""
    ndimage = pytest.importorskip("scipy.ndimage")
    found = {}
    for label in set(mask.ravel().tolist()) - {0}:
        numbered, _ = ndimage.label(mask == label)
        boxes = ndimage.find_objects(numbered)
        found[label] = [(*[s.start for s in b], *[s.stop for s in b]) for b in boxes]
    return found


def frequencies(samples: list[np.ndarray]) -> dict[tuple[int, ...], float]:
    counts = Counter(tuple(s.tolist()) for s in samples)
    return {key: n / len(samples) for key, n in counts.items()}


def expect(found: dict[Any, float], wanted: dict[Any, float]) -> None:
    """Each is drawn about as often as it should be, and nothing else."""
    assert set(found) == {k for k, p in wanted.items() if p > 0}
    for key, p in found.items():
        assert abs(p - wanted[key]) < 5 * np.sqrt(wanted[key] / COUNT) + 1e-9, key


def shared(boxes: dict[int, list[tuple[int, ...]]], weights: dict[int, float]) -> dict[Any, float]:
    """The probability of each box, if a class is drawn first."""
    total = sum(weights[label] for label in boxes)
    result: dict[Any, float] = Counter()
    for label, some in boxes.items():
        for box in some:
            result[box] += weights[label] / total / len(some)
    return result


@pytest.mark.parametrize("shape", [(40,), (9, 14), (5, 6, 7), (3, 4, 3, 4)], ids=str)
def test_objects(shape: tuple[int, ...], headrace: Engine) -> None:
    """Every object of a mask full of them is found, and no other."""
    mask = RNG.choice([0, 1, 2], shape, p=[0.5, 0.3, 0.2]).astype(np.uint8)
    boxes = objects(mask)
    found = frequencies(drawn(headrace, "random_object_bbox", mask, format="box")[0])
    wanted = shared(boxes, {1: 1.0, 2: 1.0})
    assert set(found) <= set(wanted)
    expect(
        {k: p for k, p in found.items() if wanted[k] > 0.01},
        {k: p for k, p in wanted.items() if p > 0.01},
    )


def test_snakes(headrace: Engine) -> None:
    """Objects whose parts meet only at the end, in one class."""
    mask = np.zeros((60, 61), np.uint8)
    mask[::4, :] = 1
    mask[:, ::6] = 1
    mask[30, :] = 0
    spiral = np.ones((31, 31), np.uint8)
    for k in range(1, 15, 2):
        spiral[k, k - 1 : 31 - k] = spiral[k : 31 - k, 30 - k] = 0
        spiral[30 - k, k : 31 - k] = spiral[k + 1 : 31 - k, k] = 0
    for m in (mask, spiral, np.pad(spiral.T, 1)):
        found = frequencies(drawn(headrace, "random_object_bbox", m, format="box")[0])
        expect(found, shared(objects(m), {1: 1.0}))


MASK = np.zeros((12, 12), np.int32)
MASK[0:2, 0:2], MASK[0:3, 5:9], MASK[5, 5] = 1, 1, 1
MASK[8:12, 0:4], MASK[8, 9] = 5, 5
MASK[11, 11] = 9
BOXES: dict[int, list[tuple[int, ...]]] = {
    1: [(0, 0, 2, 2), (0, 5, 3, 9), (5, 5, 6, 6)],
    5: [(8, 0, 12, 4), (8, 9, 9, 10)],
    9: [(11, 11, 12, 12)],
}
WHOLE = (0, 0, 12, 12)
EQUAL = {1: 1.0, 5: 1.0, 9: 1.0}


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ({}, shared(BOXES, EQUAL)),
        ({"classes": [1, 5]}, shared({k: BOXES[k] for k in (1, 5)}, EQUAL)),
        (
            {"classes": [1, 9], "class_weights": [3.0, 1.0]},
            shared({k: BOXES[k] for k in (1, 9)}, {1: 3.0, 9: 1.0}),
        ),
        (
            {"class_weights": [1, 0, 0, 0, 3]},
            shared({k: BOXES[k] for k in (1, 5)}, {1: 1.0, 5: 3.0}),
        ),
        ({"ignore_class": True}, {box: 1 / 6 for some in BOXES.values() for box in some}),
        (
            {"k_largest": 1},
            shared(
                {
                    k: [max(v, key=lambda b: (b[2] - b[0]) * (b[3] - b[1]))]
                    for k, v in BOXES.items()
                },
                EQUAL,
            ),
        ),
        ({"ignore_class": True, "k_largest": 2}, {BOXES[5][0]: 0.5, BOXES[1][1]: 0.5}),
        ({"threshold": [2, 2]}, shared({1: BOXES[1][:2], 5: BOXES[5][:1]}, EQUAL)),
        ({"threshold": [1, 4]}, shared({1: BOXES[1][1:2], 5: BOXES[5][:1]}, EQUAL)),
        ({"foreground_prob": 0.25, "classes": [9]}, {BOXES[9][0]: 0.25, WHOLE: 0.75}),
    ],
    ids=str,
)
def test_choice(args: dict[str, Any], wanted: dict[Any, float], headrace: Engine) -> None:
    expect(
        frequencies(drawn(headrace, "random_object_bbox", MASK, format="box", **args)[0]), wanted
    )


def test_equally_large(headrace: Engine) -> None:
    """Of equally large objects, the one whose first element comes first is the largest, also where
    the bytes of the coordinates are in another order."""
    for columns in ([250, 700], [253, 256], [2, 256, 511, 515], [300, 65533, 65536]):
        mask = np.zeros((2, columns[-1] + 4), np.uint8)
        for at in columns:
            mask[:, at : at + 2] = 1
        for ignore in (False, True):
            args = {"k_largest": 1, "ignore_class": ignore}  # leaves nothing to draw
            starts, _ = drawn(headrace, "random_object_bbox", mask, 8, **args)
            assert {tuple(s.tolist()) for s in starts} == {(0, columns[0])}


def test_classes(headrace: Engine) -> None:
    """The class is that of the object."""
    boxes, labels = drawn(headrace, "random_object_bbox", MASK, format="box", output_class=True)
    for box, label in zip(boxes, labels, strict=True):
        assert tuple(box.tolist()) in BOXES[int(label)]


def test_pixels(headrace: Engine) -> None:
    """Every element, or every element of the foreground, is drawn as often as the others."""
    mask = RNG.integers(0, 4, (6, 7)).astype(np.uint8)
    for args, chosen in (
        ({}, np.ones_like(mask, bool)),
        ({"foreground": 1}, mask > 0),
        ({"foreground": 1, "threshold": 1.5}, mask > 1.5),
        ({"foreground": 1, "value": 2}, mask == 2),
        ({"foreground": 1, "value": 77}, np.ones_like(mask, bool)),
    ):
        places = [tuple(p) for p in np.argwhere(chosen).tolist()]
        found = frequencies(drawn(headrace, "random_mask_pixel", mask, **args)[0])
        expect(found, {p: 1 / len(places) for p in places})


def test_large_mask(headrace: Engine) -> None:
    """A few elements of a mask of several chunks."""
    mask = np.zeros((50, 101), np.float32)
    places = [(0, 0), (10, 13), (10, 14), (30, 100), (49, 100)]
    for place in places:
        mask[place] = 7
    found = frequencies(drawn(headrace, "random_mask_pixel", mask, foreground=1)[0])
    expect(found, dict.fromkeys(places, 0.2))


def test_nothing_to_draw(headrace: Engine) -> None:
    def define(e: Engine) -> Any:
        return e.fn.segmentation.random_mask_pixel(e.feed(Data([np.zeros((0, 4), np.uint8)])))

    assert isinstance(headrace.run(1, define), Failure)


BACKGROUNDS = [
    ([1, 2, 3], 0),
    ([0, 1], -1),
    ([0, -5], -6),
    ([-(2**31), 2**31 - 1], 0),
    ([-(2**31), 2**31 - 1, 0, 2**31 - 2], 2**31 - 3),
]


def background_of(engine: Engine, classes: list[int]) -> int:
    root = engine.root
    pipe = root.Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        mask = root.fn.external_source(source=lambda: [np.zeros((3, 4), np.int32)], batch=True)
        pipe.set_outputs(
            *root.fn.segmentation.random_object_bbox(
                mask, format="box", foreground_prob=1e-9, classes=classes, output_class=True
            )
        )
    return int(np.asarray(pipe.run()[1][0]))


@pytest.mark.parametrize(("classes", "wanted"), BACKGROUNDS)
def test_the_background_is_no_class(headrace: Engine, classes: list[int], wanted: int) -> None:
    """0, or the next integer below the least class; below the least integer is the greatest."""
    assert background_of(headrace, classes) == wanted


@pytest.mark.parametrize(("classes", "wanted"), BACKGROUNDS)
def test_the_background_of_dali(live_dali: Engine, classes: list[int], wanted: int) -> None:
    assert background_of(live_dali, classes) == wanted
