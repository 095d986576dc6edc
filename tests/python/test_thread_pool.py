# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines share threads: live pipelines cost none, dynamic mode has as many as its context, and nobody waits forever."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import headrace.experimental.dynamic as ndd
import numpy as np
from headrace import Pipeline, fn
from waiting import HANG_S

PIPELINES = 1000
MOST = max(64, 4 * len(os.sched_getaffinity(0)))  # threads of a process, unless one pipeline asks for more


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def plus(number: int, **kwargs: object) -> Pipeline:
    """A pipeline that adds `number` to what it is fed."""
    pipe = Pipeline(batch_size=2, num_threads=4, device_id=None, **kwargs)
    with pipe:
        pipe.set_outputs(fn.external_source(name="x") + number)
    pipe.build()
    return pipe


def fed(pipe: Pipeline, value: int) -> int:
    pipe.feed_input("x", np.full((2, 1), value, np.int32))
    (out,) = pipe.run()
    return int(out.as_array()[1, 0])


def test_a_thousand_live_pipelines() -> None:
    before = threads()
    pipes = [plus(i) for i in range(PIPELINES)]
    assert threads() - before <= MOST
    assert [fed(pipe, 5) for pipe in pipes] == list(range(5, PIPELINES + 5))
    assert [fed(pipe, 7) for pipe in reversed(pipes)] == list(range(PIPELINES + 6, 6, -1))
    assert threads() - before <= MOST


def test_dynamic_mode_has_the_threads_of_its_context() -> None:
    images = np.random.default_rng(1).integers(0, 255, (8, 24, 24, 3), dtype=np.uint8)

    def work(job: int) -> int:
        with ndd.EvalContext(num_threads=3):
            batch = ndd.as_batch(images, layout="HWC")
            for edge in range(job % 6, 12):  # plans of their own
                out = ndd.crop(batch, crop=(24 - 2 * edge, 24))
                assert np.array_equal(np.asarray(out.select(3)), images[3, edge : 24 - edge])
        return threads()

    with ThreadPoolExecutor(16) as pool:
        everyone = threading.Barrier(17)
        for _ in range(16):
            pool.submit(everyone.wait)
        everyone.wait(HANG_S)  # all its threads exist
        before = threads()
        assert before < max(pool.map(work, range(64))) <= before + 3


def test_a_function_that_runs_another_pipeline() -> None:
    """All threads may be in functions that wait for work of others."""
    inner = plus(100)

    def outer(number: int, results: list[int]) -> None:
        pipe = Pipeline(batch_size=2, num_threads=2, device_id=None)

        def function(x: np.ndarray) -> np.ndarray:
            with lock:
                return np.int32([fed(inner, int(x[0]))])

        with pipe:
            pipe.set_outputs(fn.python_function(fn.external_source(name="x"), function=function))
        pipe.build()
        results.append(fed(pipe, number))

    lock = threading.Lock()
    results: list[int] = []
    runners = [
        threading.Thread(target=outer, args=(i, results), daemon=True) for i in range(MOST + 8)
    ]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join(HANG_S)
    assert sorted(results) == [100 + i for i in range(MOST + 8)]


def test_a_forked_child_has_threads_of_its_own() -> None:
    pipe = plus(1)
    assert fed(pipe, 1) == 2
    child = os.fork()
    if child == 0:
        os._exit(0 if fed(plus(3), 4) == 7 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert fed(pipe, 5) == 6
