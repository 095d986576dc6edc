# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines share threads: live pipelines cost none, dynamic mode has as many as its context, and nobody waits forever."""

import os
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import headrace.experimental.dynamic as ndd
import numpy as np
import pytest
from headrace import Pipeline, fn
from waiting import HANG_S, until

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


def test_a_thousand_live_readers(tmp_path: Path) -> None:
    """Threads that read ahead are there only while there is something to read."""
    for number in range(20):
        (tmp_path / f"{number:02}.jpg").write_bytes(bytes([number]))
    before = threads()
    pipes = []
    for _ in range(PIPELINES):
        pipe = Pipeline(batch_size=2, num_threads=4, device_id=None)
        with pipe:
            pipe.set_outputs(fn.readers.file(files=sorted(map(str, tmp_path.iterdir())))[0])
        pipe.build()
        pipes.append(pipe)
    for turn in range(3):
        for pipe in pipes:
            (out,) = pipe.run()
            assert [int(np.asarray(sample)[0]) for sample in out] == [2 * turn, 2 * turn + 1]
        until(lambda: threads() - before <= MOST, "the threads that read ahead end")


def test_without_threads() -> None:
    """Every thread would have a stack that does not fit into the address space: the error says so."""
    code = """if True:
        from headrace import Pipeline, fn
        for _ in range(2):
            pipe = Pipeline(batch_size=2, num_threads=2, device_id=None)
            with pipe:
                pipe.set_outputs(fn.random.uniform())
            try:
                pipe.build()
            except RuntimeError as error:
                print(error)
    """
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY:
        pytest.skip("the stack is limited")
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 47, hard)),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert all(line.startswith("num_threads: only 0 of 2 threads could be started") for line in lines)


def test_dynamic_mode_has_the_threads_of_its_context() -> None:
    images = np.random.default_rng(1).integers(0, 255, (8, 24, 24, 3), dtype=np.uint8)

    def work(job: int) -> None:
        with ndd.EvalContext(num_threads=3):
            batch = ndd.as_batch(images, layout="HWC")
            for edge in range(job % 6, 12):  # plans of their own
                out = ndd.crop(batch, crop=(24 - 2 * edge, 24))
                assert np.array_equal(np.asarray(out.select(3)), images[3, edge : 24 - edge])

    with ThreadPoolExecutor(16) as pool:
        everyone = threading.Barrier(17)
        for _ in range(16):
            pool.submit(everyone.wait)
        everyone.wait(HANG_S)  # all its threads exist
        before = threads()
        list(pool.map(work, range(64)))
        assert before < threads() <= before + 3  # the plans are kept, with their threads


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
