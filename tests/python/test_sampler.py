# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The argument `sampler` of readers: weights, balanced classes, and an order of one's own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import Pipeline, fn

COUNTS = {"a": 2, "b": 10, "c": 28}
ITEMS = sum(COUNTS.values())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("classes")
    number = 0
    for name, count in COUNTS.items():
        (folder / name).mkdir()
        for _ in range(count):
            (folder / name / f"{number:03}.jpg").write_bytes(bytes([number]))
            number += 1
    return str(folder)


def make(root: str, batch: int = ITEMS, checkpoint: str | None = None, **arguments: Any) -> Pipeline:
    pipe = Pipeline(
        batch, 2, None, seed=arguments.pop("pipeline_seed", 7), enable_checkpointing=True, checkpoint=checkpoint
    )
    with pipe:
        data, label = fn.readers.file(file_root=root, name="Reader", **arguments)
        pipe.set_outputs(data, label, fn.random.uniform(range=[0, 1]))
    pipe.build()
    return pipe


def numbers(pipe: Pipeline, batches: int) -> list[int]:
    return [int(np.asarray(x)[0]) for _ in range(batches) for x in pipe.run()[0]]


def test_order(root: str) -> None:
    order = [39, 0, 5, 5, 12]
    pipe = make(root, 5, sampler={"order": np.array(order)})
    assert numbers(pipe, 3) == order * 3
    assert pipe.epoch_size("Reader") == 5
    data, labels, _ = pipe.run()
    assert [int(np.asarray(x)[0]) for x in labels] == [2, 0, 1, 1, 2]


def test_order_with_shards_and_shuffle(root: str) -> None:
    order = list(range(0, 40, 2))
    parts = [
        numbers(make(root, 10, sampler={"order": order}, num_shards=2, shard_id=i), 1) for i in (0, 1)
    ]
    assert parts == [order[:10], order[10:]]
    shuffled = numbers(make(root, 20, sampler={"order": order}, random_shuffle=True), 2)
    assert sorted(shuffled[:20]) == sorted(shuffled[20:]) == order
    assert shuffled[:20] != order and shuffled[:20] != shuffled[20:]


def chi_squared(drawn: list[int], expected: np.ndarray) -> float:
    counts = np.bincount(drawn, minlength=len(expected))
    assert not counts[expected == 0].any()
    expected = expected * len(drawn)
    used = expected > 0
    return float((((counts - expected) ** 2)[used] / expected[used]).sum() / (used.sum() - 1))


def test_weights(root: str) -> None:
    weights = np.arange(ITEMS) % 5 * 0.3
    drawn = numbers(make(root, 400, sampler={"weights": weights}), 50)
    assert 0.3 < chi_squared(drawn, weights / weights.sum()) < 2
    first, second = drawn[:ITEMS], drawn[ITEMS : 2 * ITEMS]
    assert first != second and len(set(first)) < ITEMS  # with replacement


def test_one_weight(root: str) -> None:
    weights = [0.0] * ITEMS
    weights[17] = 1e-300
    assert numbers(make(root, sampler={"weights": weights}), 1) == [17] * ITEMS


def test_balanced_classes(root: str) -> None:
    expected = np.concatenate([np.full(n, 1 / 3 / n) for n in COUNTS.values()])
    drawn = numbers(make(root, 400, sampler="class_balanced"), 50)
    assert 0.3 < chi_squared(drawn, expected) < 2
    unbalanced = np.full(ITEMS, 1 / ITEMS)
    assert chi_squared(drawn, unbalanced) > 10


def test_shards_draw_parts_of_one_epoch(root: str) -> None:
    whole = numbers(make(root, sampler="class_balanced"), 1)
    parts = [
        numbers(make(root, 10, sampler="class_balanced", num_shards=4, shard_id=i), 1) for i in range(4)
    ]
    assert sum(parts, []) == whole


def test_epoch_size(root: str) -> None:
    pipe = make(root, 10, sampler={"weights": [1] * ITEMS, "epoch_size": 15})
    assert pipe.epoch_size("Reader") == 15


def test_reproducible_and_resumable(root: str) -> None:
    sampler = {"weights": [1 + i % 3 for i in range(ITEMS)]}
    pipe = make(root, 9, sampler=sampler)
    before = numbers(pipe, 7)
    checkpoint = pipe.checkpoint()
    after = [[np.asarray(x).tolist() for x in output] for _ in range(6) for output in pipe.run()]
    again = make(root, 9, sampler=sampler, checkpoint=checkpoint)
    resumed = [[np.asarray(x).tolist() for x in output] for _ in range(6) for output in again.run()]
    assert resumed == after
    assert numbers(make(root, 9, sampler=sampler), 7) == before
    assert numbers(make(root, 9, sampler=sampler, pipeline_seed=8), 7) != before


@pytest.mark.parametrize("sampler", [{"order": [3] * 50}, {"weights": [0, 1] + [0] * (ITEMS - 2)}], ids=["order", "weights"])
def test_an_item_that_repeats_is_augmented_differently(root: str, sampler: Any) -> None:
    pipe = make(root, 40, sampler=sampler)
    drawn = [float(np.asarray(x)) for x in pipe.run()[2]]
    assert len(set(drawn)) == len(drawn)


def test_bad_files_are_replaced_by_others_of_the_order(root: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.jpg" for i in range(6)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]))
    paths[2].unlink()
    pipe = Pipeline(3, 1, None, on_error="replace")
    with pipe:
        data, _ = fn.readers.file(files=[str(p) for p in paths], sampler={"order": [1, 2, 4]})
        pipe.set_outputs(data)
    pipe.build()
    seen = Counter(numbers(pipe, 8))
    assert set(seen) == {1, 4} and sum(seen.values()) == 24


BAD = [
    ("balanced", "'class_balanced'"),
    ([1, 2], "'class_balanced'"),
    ({}, "must be"),
    ({"weights": [1.0] * 3}, "3 weights for 40 items"),
    ({"weights": [0] * ITEMS}, "all weights are 0"),
    ({"weights": [-1.0] * ITEMS}, "weight 0 is negative"),
    ({"weights": [1e308] * ITEMS}, "too large"),
    ({"weights": [1] * ITEMS, "epoch_size": 0}, "at least 1"),
    ({"weights": 3}, "must be"),
    ({"weights": []}, "must be"),
    ({"order": []}, "must be"),
    ({"order": [0, 40]}, "element 1 of the order is 40; items are numbered from 0 to 39"),
    ({"order": [-1]}, "element 0 of the order is -1"),
    ({"order": [0.5]}, "element 0 of the order is 0.5"),
    ({"order": [0], "epoch_size": 3}, "must be"),
    ({"order": [0], "weights": [1] * ITEMS}, "must be"),
    ({"order": [0], "other": 3}, "must be"),
]


@pytest.mark.parametrize("sampler, message", BAD, ids=lambda x: str(x)[:40])
def test_wrong_arguments(root: str, sampler: Any, message: str) -> None:
    with pytest.raises((RuntimeError, ValueError, TypeError), match=message):
        make(root, sampler=sampler)


def test_not_a_number(root: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        make(root, sampler={"weights": [float("nan")] * ITEMS})


def test_classes_that_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(bytes(1024))
    import io
    import tarfile

    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for i in range(3):
            member = tarfile.TarInfo(f"{i}.cls")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"1"))
    pipe = Pipeline(1, 1, None)
    with pipe, pytest.raises(RuntimeError, match="needs labels"):
        pipe.set_outputs(
            fn.readers.webdataset(paths=str(tmp_path / "x.tar"), ext="cls", sampler="class_balanced")
        )
        pipe.build()
