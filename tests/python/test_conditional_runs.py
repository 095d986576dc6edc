# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Which operators run in conditional mode, and how often; results are the same for any batch size, threads and fusion.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import fn, pipeline_def, types
from test_conditionals import VALUES, build, nested, outputs, plainly


def runs_of(pipe: Any, name: str) -> int:
    statistics = pipe.stats() if hasattr(pipe, "stats") else json.loads(pipe._core.stats())
    return sum(o["samples"] for o in statistics["operators"] if o["name"] == name)


def test_only_the_taken_branch_runs() -> None:
    def program(x: Any) -> Any:
        if x > 1:
            y = fn.cast(x, dtype=types.FLOAT, name="taken")
        else:
            y = fn.cast(x * 2, dtype=types.FLOAT, name="other")
        if x > 1 and fn.cast(x, dtype=types.BOOL, name="lazy"):
            y = y + 1
        return y

    pipe = build(headrace, program, prefetch_queue_depth=1)
    for _ in range(3):
        batch = pipe.run()[0]
    assert [float(np.array(t)) for t in batch] == [0, 2, 3, 4, 6, -8]
    counts = [runs_of(pipe, name) for name in ("taken", "other", "lazy")]
    assert counts[0] == counts[1] == counts[2] and counts[0] in (9, 12)


def test_sources_in_a_branch_serve_all_samples() -> None:
    def program(x: Any) -> Any:
        if x > 1:
            y = fn.external_source(lambda: [np.int32(10 * i) for i in range(len(VALUES))])
        else:
            y = -x
        return y

    assert outputs(headrace, program) == [[0, -1, 20, 30, 40, 4]]


def noise(x: Any) -> Any:
    if x > 1:
        y = fn.random.uniform(range=(0, 1), seed=5) + x
    else:
        y = fn.random.uniform(range=(100, 200)) + x
        if fn.random.coin_flip(probability=0.5):
            y = y * 0
    return y


def test_random_numbers_of_a_branch_are_the_samples_own() -> None:
    values = [v % 5 for v in range(24)]

    def draw(batch: int, threads: int, **kwargs: Any) -> list[float]:
        def definition() -> Any:
            parts = [values[i : i + batch] for i in range(0, 24, batch)]
            source = fn.external_source(lambda i: [np.int32(v) for v in parts[i % len(parts)]])
            return noise(source)

        pipe = pipeline_def(
            definition,
            batch_size=batch,
            num_threads=threads,
            device_id=None,
            seed=9,
            enable_conditionals=True,
        )(**kwargs)
        return [float(np.array(t)) for _ in range(24 // batch) for t in pipe.run()[0]]

    expected = draw(24, 1)
    assert len(set(expected)) > 12
    for batch, threads, fuse in ((1, 1, True), (8, 3, True), (6, 2, False)):
        assert draw(batch, threads, fuse=fuse) == expected


def test_a_merge_costs_no_copy() -> None:
    """The outputs of both branches are in one block, in order."""

    def program(x: Any) -> Any:
        if x > 1:
            y = fn.cast(x, dtype=types.FLOAT)
        else:
            y = fn.cast(x * 3, dtype=types.FLOAT)
        return y

    batch = build(headrace, program).run()[0]
    assert batch.is_dense_tensor()
    assert np.array(batch.as_tensor()).tolist() == [0, 3, 2, 3, 5, -12]


def test_what_a_branch_hands_on_lies_with_the_rest() -> None:
    """A branch that passes on its input shares a block with the other branch's outputs, without copying the source."""

    def program(x: Any) -> Any:
        if x > 1:
            y = x
        else:
            y = x * 3
        return y, x

    got = [np.array(batch.as_tensor()).tolist() for batch in build(headrace, program).run()]
    assert got == [[0, 3, 2, 3, 5, -12], VALUES]


def test_serialized_pipelines_keep_their_branches() -> None:
    pipe = build(headrace, nested)
    text = pipe.serialize()
    again = headrace.Pipeline.deserialize(text)
    (name,) = (i.name for i in pipe._graph.numbers if i.op == "external_source")
    again.feed_input(name, [np.int32(v) for v in VALUES])
    got = [[int(np.array(t)) for t in batch] for batch in again.run()]
    assert got == plainly(nested)


# ---- pictures ----


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: Any) -> list[str]:
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for i in range(6):
        pixels = rng.integers(0, 255, (20 + i, 24, 3), dtype=np.uint8)
        (folder / f"{i}.ppm").write_bytes(b"P6\n24 %d\n255\n" % (20 + i) + pixels.tobytes())
    return [str(folder / f"{i}.ppm") for i in range(6)]


STEPS: dict[str, Callable[[Any], Any]] = {
    "flip": lambda x: fn.flip(x, horizontal=1),
    "flip up": lambda x: fn.flip(x, vertical=1, horizontal=0),
    "resize": lambda x: fn.resize(x, size=(17, 15)),
    "resize shorter": lambda x: fn.resize(x, resize_shorter=19),
    "crop": lambda x: fn.crop(x, crop=(12, 13)),
    "cast": lambda x: fn.cast(x, dtype=types.UINT8),
    "rotate": lambda x: fn.rotate(x, angle=fn.random.uniform(range=(-20, 20)), keep_size=True),
    "normalize": lambda x: fn.crop_mirror_normalize(
        x, dtype=types.UINT8, output_layout="HWC", mean=[0.0, 1.0, 2.0], std=[1.0, 1.0, 1.1]
    ),
}


@pytest.mark.parametrize("seed", range(20))
def test_chains_with_branches_give_the_same_bytes_fused_or_not(
    pictures: list[str], seed: int
) -> None:
    choose = random.Random(seed)

    def some(most: int) -> list[str]:
        return [choose.choice(list(STEPS)) for _ in range(choose.randint(0, most))]

    rounds = [(some(1), some(2), some(2)) for _ in range(3)]

    def definition() -> Any:
        data, _ = fn.readers.file(files=pictures, name="Reader")
        image = fn.decoders.image(data)
        for before, taken, other in rounds:
            for name in before:
                image = STEPS[name](image)
            if fn.random.coin_flip():
                for name in taken:
                    image = STEPS[name](image)
            else:
                for name in other:
                    image = STEPS[name](image)
        return fn.crop_mirror_normalize(image, crop=(11, 11), mean=[10.0], std=[3.0])

    make = pipeline_def(
        definition, enable_conditionals=True, batch_size=6, num_threads=2, device_id=None, seed=seed
    )
    fused, plain = (make(fuse=fuse).run()[0] for fuse in (True, False))
    for a, b in zip(fused, plain, strict=True):
        assert np.array_equal(np.array(a), np.array(b)), rounds


def test_what_a_branch_is_for_fuses_with_it(pictures: list[str]) -> None:
    def definition() -> Any:
        data, _ = fn.readers.file(files=pictures, name="Reader")
        image = fn.decoders.image(data)
        if fn.random.coin_flip():
            image = fn.flip(image)
        return fn.resize(image, size=(8, 8))

    pipe = pipeline_def(
        definition, enable_conditionals=True, batch_size=6, num_threads=1, device_id=None
    )()
    pipe.build()
    chain = pipe.describe().partition("fused:")[2]
    assert all(name in chain for name in ("decoders.image", "flip", "merge", "resize"))


def test_branches_on_pictures(pictures: list[str]) -> None:
    """A branch with a resampling operator, between fused chains, on files."""

    def definition(flipped: Any = None) -> Any:
        data, _ = fn.readers.file(files=pictures, name="Reader")
        image = fn.decoders.image(data)
        if flipped is None:
            if fn.random.coin_flip(seed=3):
                image = fn.flip(fn.resize(image, size=(16, 12)), horizontal=1)
            else:
                image = fn.resize(image, size=(16, 12))
        else:
            image = fn.flip(fn.resize(image, size=(16, 12)), horizontal=flipped)
        return fn.crop_mirror_normalize(
            image, mean=[10.0, 20.0, 30.0], std=[2.0, 3.0, 4.0]
        ), fn.random.coin_flip(seed=3)

    make = pipeline_def(
        definition, enable_conditionals=True, batch_size=6, num_threads=2, device_id=None, seed=1
    )
    got, coins = make().run()
    fixed = [np.array(make(flipped=k).run()[0].as_tensor()) for k in (0, 1)]
    drawn = [int(np.array(c)) for c in coins]
    assert 0 < sum(drawn) < 6
    for i, coin in enumerate(drawn):
        assert np.array_equal(np.array(got[i]), fixed[coin][i])
