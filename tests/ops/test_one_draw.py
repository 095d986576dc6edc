# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A random operator called with lists of nodes draws once, as in DALI: equal sets of inputs give equal outputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import headrace.experimental.dynamic as ndd
import numpy as np
import pytest
from headrace import Pipeline, fn, ops, pipeline_def
from headrace._graph import schema
from headrace.pipeline import experimental

from harness import Data
from random_calls import BATCH, CALLS, MASKS, NUMBERS, PICTURES, by_set, call, fed

OPTIONS: dict[str, Any] = {"batch_size": BATCH, "num_threads": 2, "device_id": None, "seed": 11}
ON_CPU = [name for name in CALLS if "cpu" in schema.operators()[name].runs_on]
SHOWN = [name for name in ON_CPU if not name.startswith("_")]

Sets = list[list[Any]]  # of nodes or, by iteration, of arrays


def test_all_operators_have_a_call() -> None:
    known = schema.operators().values()
    assert {op.name for op in known if "random" in op.flags and op.in_max > 0} == set(CALLS)


def taken(pipe: Any, iterations: int = 2, sets: int = 2) -> list[Sets]:
    """Samples by iteration, set and output."""
    found = []
    for _ in range(iterations):
        batches = [[np.array(sample) for sample in batch] for batch in pipe.run()]
        count = len(batches) // sets
        found.append([batches[k * count : (k + 1) * count] for k in range(sets)])
    return found


def run(define: Callable[[], Sets], sets: int = 2, maker: Any = pipeline_def, **more: Any) -> Any:
    def flat() -> Any:
        rows = define()
        assert len(rows) == sets
        return tuple(node for row in rows for node in row)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated operators
        return taken(maker(flat, **OPTIONS)(**more), 2, sets)


def equal(a: list[Any], b: list[Any]) -> bool:
    """Whether two sets, or iterations, have the same arrays."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return len(a) == len(b) and all(map(equal, a, b))


def one_draw(iterations: list[Sets]) -> None:
    """All sets are equal, and no two iterations are."""
    for sets in iterations:
        assert len(sets) > 1 and all(len(samples) == BATCH for samples in sets[0])
        assert all(equal(one, sets[0]) for one in sets[1:])
    assert not equal(iterations[0][0], iterations[1][0])


@pytest.mark.parametrize("sets", [2, 3])
@pytest.mark.parametrize("name", ON_CPU)
def test_sets_of_a_function(name: str, sets: int) -> None:
    one_draw(run(lambda: call(name, sets), sets))


@pytest.mark.parametrize("name", SHOWN)
def test_sets_of_an_operator_class(name: str) -> None:
    inputs, args = CALLS[name]
    made: Any = ops
    *modules, _ = name.split(".")
    for part in modules:
        made = getattr(made, part)

    def define() -> Sets:
        operator = getattr(made, schema.operators()[name].class_name)(**args)
        calls = [by_set(operator(*[[fed(x), fed(x)] for x in inputs]), 2) for _ in range(2)]
        return calls[0] + calls[1]

    iterations = run(define, 4)
    one_draw([sets[:2] for sets in iterations])
    one_draw([sets[2:] for sets in iterations])
    assert not equal(iterations[0][0], iterations[0][2])  # each call draws its own


@pytest.mark.parametrize("name", ON_CPU)
def test_sets_in_debug_mode(name: str) -> None:
    debug = run(lambda: call(name, 2), 2, experimental.pipeline_def, debug=True)
    one_draw(debug)
    assert equal(debug, run(lambda: call(name, 2)))


@pytest.mark.parametrize("name", ["random.normal", "noise.gaussian", "random_resized_crop"])
@pytest.mark.parametrize("debug", [False, True])
def test_sets_in_branches(name: str, debug: bool) -> None:
    def define() -> Any:
        odd = fn.external_source(source=lambda: [np.array(i % 2 == 1) for i in range(BATCH)])
        if odd:
            (a,), (b,) = call(name, 2)
        else:
            (a,), (b,) = call(name, 2)
        return a, b

    maker = experimental.pipeline_def if debug else pipeline_def
    options = {"debug": True} if debug else {}
    pipe = maker(define, enable_conditionals=True, **OPTIONS)(**options)
    one_draw(taken(pipe))


@pytest.mark.parametrize("name", SHOWN)
def test_clones_of_a_generator_in_dynamic_mode(name: str) -> None:
    inputs, args = CALLS[name]
    function: Any = ndd
    for part in name.split("."):
        function = getattr(function, part)
    batches = [ndd.batch(list(x.samples), layout=x.layout or None) for x in inputs]
    results = []
    rng = ndd.random.RNG(5)
    for generator in (rng.clone(), rng.clone(), ndd.random.RNG(6)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = function(*batches, rng=generator, **args)
        outputs = made if isinstance(made, tuple) else (made,)
        results.append([[np.array(sample) for sample in output] for output in outputs])
    assert equal(results[0], results[1]) and not equal(results[0], results[2])
    with pytest.raises(TypeError, match=r"A list of batches .* rng=rng.clone\(\)"):
        function(*[[batch, batch] for batch in batches], **args)


@pytest.mark.parametrize("name", ON_CPU)
def test_draws_do_not_depend_on_which_sets_are_used(name: str) -> None:
    """Nodes that nothing uses are pruned, equal nodes are merged, others are in another order."""
    whole = run(lambda: call(name, 3), 3)
    last = run(lambda: call(name, 3)[2:], 1)
    turned = run(lambda: call(name, 3)[::-1], 3)
    for one, two, three in zip(whole, last, turned, strict=True):
        assert equal(one[2:], two) and equal(one[::-1], three)


def test_equal_sets_are_one_node() -> None:
    with Pipeline(**OPTIONS) as pipe:
        x = fed(NUMBERS)
        a, b = fn.random.normal([x, x])
        c, d = fn.random.normal([x, x])
        pipe.set_outputs(a * 1, b * 2, c * 1, d * 2)
    pipe.build()
    (one,), (two,), (three,), (four,) = taken(pipe, 1, 4)[0]
    assert equal([2 * x for x in one], two) and equal([2 * x for x in three], four)
    assert not equal(one, three)
    assert pipe._core.describe().count("merged: random.normal") == 2


def test_serialized_pipelines_and_checkpoints() -> None:
    def define() -> Any:
        (a,), (b,) = call("noise.gaussian", 2)
        return a, b

    pipe = pipeline_def(define, enable_checkpointing=True, **OPTIONS)()
    first = taken(pipe)
    state, then = pipe.checkpoint(), taken(pipe)
    one_draw(first + then)
    again = pipeline_def(define, enable_checkpointing=True, **OPTIONS)(checkpoint=state)
    assert equal(taken(again), then)


def test_a_serialized_graph_keeps_its_draws() -> None:
    def define() -> Pipeline:
        with Pipeline(**OPTIONS) as pipe:
            a, b = (fn.external_source(name=name, layout="HWC") for name in "ab")
            pipe.set_outputs(*fn.noise.gaussian([a, b], stddev=9.0))
        return pipe

    def results(pipe: Pipeline) -> list[Sets]:
        pipe.build()
        found = []
        for _ in range(2):
            for name in "ab":
                pipe.feed_input(name, list(PICTURES.samples))
            found += taken(pipe, 1)
        return found

    whole = results(define())
    one_draw(whole)
    assert equal(whole, results(Pipeline.deserialize(define().serialize())))


def test_an_image_and_a_mask_of_another_size() -> None:
    """The same window of both, unless a window that fits one does not fit the other, rounded to its pixels."""
    sizes = [Data([np.array(size)] * BATCH) for size in ([500, 600], [50, 60])]
    near = 0
    for image, mask in run(lambda: by_set(fn.random_crop_generator([*map(fed, sizes)]), 2)):
        window, small = np.hstack(image), np.hstack(mask)
        near += (np.abs(window / 10 - small) <= 1.5).all(axis=1).sum()
    assert near > BATCH  # of two iterations


def test_arguments_that_the_sets_share() -> None:
    def define() -> Sets:
        a, b = fed(MASKS), fed(MASKS)
        width = fn.random.uniform(range=[1.0, 2.0])
        span = fn.stack(width, width + 1)
        return by_set(fn.random.uniform([a, b], range=span), 2)

    one_draw(run(define))


def test_one_call_has_one_draw_with_a_seed() -> None:
    one_draw(run(lambda: call("random.normal", 2, seed=5)))
