# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""An exception of a signal handler may come at any call. Whatever it interrupts, the next results are those that would
have come without it: no batch is lost, none comes twice, and results belong to the inputs of their own call."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headrace.experimental.dynamic as ndd
import numpy as np
import pytest
from headrace import Pipeline, fn, pipeline_def
from headrace.pipeline import experimental
from interrupts import Campaign, Timer

COUNT = 2000  # exceptions for each way of running
FILES = 11
SIZE = 3

Run = Callable[..., Any]  # runs an action of some kind: kind, function, arguments
Way = Callable[[Run, str], Iterator[Any]]  # yields results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("numbers")
    for i in range(FILES):
        np.save(path / f"{i:02}.npy", np.array([i], np.int32))
    return str(path)


def shown(outputs: Any) -> Any:
    """What the batches contain."""
    if outputs is StopIteration:
        return "end"
    return [[np.asarray(sample).ravel().tolist() for sample in batch] for batch in outputs]


def constant(value: int) -> np.ndarray:
    return np.full((SIZE, 1), value, np.int32)


def reading(folder: str, **arguments: Any) -> Any:
    return fn.readers.numpy(file_root=folder, file_filter="*.npy", name="Reader", **arguments)


def made(outputs: Callable[[], Any], **options: Any) -> Pipeline:
    pipe = Pipeline(batch_size=SIZE, num_threads=2, device_id=None, seed=5, **options)
    with pipe:
        given = outputs()
        pipe.set_outputs(*(given if isinstance(given, tuple) else (given,)))
    pipe.build()
    return pipe


def drawn() -> Any:
    """Random numbers, which show whether iterations are in step."""
    return fn.random.uniform(range=[0, 1])


# ---- the ways of running ----


def reader(run: Run, folder: str) -> Iterator[Any]:
    pipe = made(lambda: (reading(folder, random_shuffle=True), drawn()))
    while True:
        yield shown(run("run", pipe.run))


def scheduled(run: Run, folder: str) -> Iterator[Any]:
    pipe = made(lambda: (reading(folder, random_shuffle=True), drawn()))
    while True:
        run("schedule", pipe.schedule_run)
        yield shown(run("share", pipe.share_outputs))
        run("release", pipe.release_outputs)
        run("schedule", pipe.schedule_run)
        yield shown(run("outputs", pipe.outputs))


def checkpoints(run: Run, folder: str) -> Iterator[Any]:
    """After each exception, a pipeline is made that continues at the checkpoint."""
    options = {"enable_checkpointing": True, "batch_size": SIZE, "num_threads": 1}

    @pipeline_def(device_id=None, seed=5, **options)
    def pipe() -> Any:
        return reading(folder, random_shuffle=True), drawn()

    now = pipe()
    while True:
        yield shown(run("run", now.run))
        state = now.checkpoint()
        now.close()
        now = pipe(checkpoint=state)
        now.build()


def named_inputs(run: Run, folder: str) -> Iterator[Any]:
    numbers = iter(range(10**6))
    source = fn.external_source
    pipe = made(
        lambda: (
            source(name="a", repeat_last=True) + source(name="b"),
            reading(folder),
            source(lambda: constant(next(numbers))),
            drawn(),
        ),
        prefetch_queue_depth=1,
    )
    for i in range(10**6):
        a, b = constant(i), constant(100 * i)
        yield shown(run("both", pipe.run, a=a, b=b))
        yield shown(run("one", pipe.run, b=b))


def fed(run: Run, folder: str) -> Iterator[Any]:
    pipe = made(lambda: (fn.external_source(name="a"), fn.external_source(name="b"), drawn()))
    for i in range(10**6):
        a, b = constant(i), constant(100 * i)
        run("feed", pipe.feed_input, "a", a)
        run("feed", pipe.feed_input, "b", b)
        if i % 3:
            yield shown(run("run", pipe.run))
        if i % 6 == 5:
            yield shown(run("run", pipe.run))
            yield shown(run("run", pipe.run))


def epochs(run: Run, pipe: Pipeline) -> Iterator[Any]:
    while True:
        outputs = run("run", pipe.run)
        yield shown(outputs)
        if outputs is StopIteration:
            run("reset", pipe.reset)


def batches_from_python(run: Run, folder: str) -> Iterator[Any]:
    def numbered(i: int) -> np.ndarray:
        if i == 5:
            raise StopIteration
        return constant(i)

    def generated() -> Iterator[np.ndarray]:
        yield from map(constant, range(7))

    source = fn.external_source
    pipe = made(
        lambda: (
            source(numbered),
            source(generated, cycle="quiet"),
            source([constant(i) for i in range(8)], cycle="quiet"),
            drawn(),
        )
    )
    return epochs(run, pipe)


def the_end_of_an_iterable(run: Run, folder: str) -> Iterator[Any]:
    pipe = made(lambda: fn.external_source([constant(i) for i in range(4)], cycle="raise"))
    return epochs(run, pipe)


def samples_from_python(run: Run, folder: str) -> Iterator[Any]:
    numbers = iter(range(10**6))
    source = fn.external_source
    pipe = made(
        lambda: (
            source(lambda: np.array([next(numbers)]), batch=False),
            source(lambda info: np.array([info.idx_in_epoch, info.iteration]), batch=False),
            *source(lambda i: [constant(i), constant(-i)], num_outputs=2),
        )
    )
    return epochs(run, pipe)


def set_up(run: Run, folder: str) -> Iterator[Any]:
    class Own(Pipeline):
        def define_graph(self) -> Any:
            return fn.external_source(name="a"), fn.external_source(name="b"), drawn()

        def iter_setup(self) -> None:
            self.feed_input("a", constant(self._epoch.requested))
            self.feed_input("b", constant(100 * self._epoch.requested))

    pipe = Own(SIZE, 2, None, seed=5)
    pipe.build()
    return epochs(run, pipe)


def worker_processes(run: Run, folder: str) -> Iterator[Any]:
    def generated() -> Iterator[np.ndarray]:
        yield from map(constant, range(9))

    def numbered(info: Any) -> np.ndarray:
        if info.iteration == 4:
            raise StopIteration
        return np.array([info.idx_in_epoch])

    source = fn.external_source
    pipe = made(
        lambda: (
            source(generated, parallel=True, cycle="quiet", prefetch_queue_depth=2),
            source(numbered, batch=False, parallel=True),
        ),
        py_num_workers=2,
    )
    return epochs(run, pipe)


def debug_mode(run: Run, folder: str) -> Iterator[Any]:
    numbers = iter(range(10**6))

    @experimental.pipeline_def(debug=True, batch_size=SIZE, num_threads=2, device_id=None, seed=5)
    def pipe() -> Any:
        own = fn.external_source(lambda: constant(next(numbers)))
        given = fn.external_source(name="given")
        read = reading(folder)
        return own + given * 2, read, drawn(), fn.random.normal(read)

    debugged = pipe()
    for i in range(10**6):
        value = constant(i)
        if i % 2:
            run("feed", debugged.feed_input, "given", value)
            yield shown(run("run", debugged.run))
        else:
            yield shown(run("named", debugged.run, given=value))


def dynamic_calls(run: Run, folder: str) -> Iterator[Any]:
    with ndd.EvalContext(num_threads=2):
        for i in range(10**6):
            batch = ndd.as_batch([np.full((4, 4, 3), (i + k) % 251, np.uint8) for k in range(SIZE)])
            turned = run("batch", ndd.rotate, batch, angle=90.0)
            one = run("one", ndd.flip, batch.tensors[0], horizontal=1)
            yield [np.asarray(t).ravel().tolist() for t in (*turned.tensors, one)]
            yield run("draw", draw, i)


def draw(seed: int) -> Any:
    return [t.item() for t in ndd.random.uniform(batch_size=2, rng=ndd.random.RNG(seed)).tensors]


def dynamic_reader(run: Run, folder: str) -> Iterator[Any]:
    files = ndd.readers.Numpy(file_root=folder, file_filter="*.npy", random_shuffle=True, seed=3)
    while True:
        batch = run("read", files, batch_size=SIZE)
        yield [t.item() for t in batch.tensors]


def iterated(run: Run, pipelines: list[Pipeline], **arguments: Any) -> Iterator[Any]:
    """An iterator of PyTorch, over several epochs."""
    from headrace.plugin.pytorch import DALIGenericIterator

    names = [str(i) for i in range(pipelines[0].num_outputs)]
    batches = DALIGenericIterator(pipelines, names, auto_reset=True, **arguments)
    while True:
        found = run("next", batches.__next__)
        if found is StopIteration:
            yield "end"
        else:
            yield [{name: t.ravel().tolist() for name, t in item.items()} for item in found]


def torch_reader(run: Run, folder: str) -> Iterator[Any]:
    pipe = made(lambda: (reading(folder, random_shuffle=True), drawn()))
    return iterated(run, [pipe], reader_name="Reader")


def torch_last_batch(run: Run, folder: str) -> Iterator[Any]:
    from headrace.plugin.pytorch import LastBatchPolicy

    pipe = made(lambda: (reading(folder, pad_last_batch=True), drawn()))
    policy = LastBatchPolicy.PARTIAL
    return iterated(run, [pipe], reader_name="Reader", last_batch_policy=policy)


def torch_shards(run: Run, folder: str) -> Iterator[Any]:
    def shard(i: int) -> Pipeline:
        return made(lambda: (reading(folder, shard_id=i, num_shards=2), drawn()))

    return iterated(run, [shard(0), shard(1)], reader_name="Reader")


def torch_source(run: Run, folder: str) -> Iterator[Any]:
    pipe = made(lambda: fn.external_source([constant(i) for i in range(4)], cycle="raise"))
    return iterated(run, [pipe])


WAYS = [
    reader,
    scheduled,
    checkpoints,
    named_inputs,
    fed,
    batches_from_python,
    the_end_of_an_iterable,
    samples_from_python,
    set_up,
    worker_processes,
    debug_mode,
    dynamic_calls,
    dynamic_reader,
    torch_reader,
    torch_last_batch,
    torch_shards,
    torch_source,
]


def undisturbed(kind: str, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return action(*args, **kwargs)
    except StopIteration:
        return StopIteration


def compare(way: Way, folder: str, campaign: Campaign) -> None:
    expected = way(undisturbed, folder)
    for number, got in enumerate(way(campaign.run, folder)):
        wanted = next(expected)
        assert got == wanted, f"result {number}, after an exception at {campaign.where}"
        if campaign.left <= 0:
            return
    raise AssertionError("no more results")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_next_results_are_in_step(way: Way, folder: str) -> None:
    compare(way, folder, Campaign(COUNT))


# ---- signals ----


def slow_calls(run: Run, folder: str) -> Iterator[Any]:
    """The signal comes while the engine works."""
    with ndd.EvalContext(num_threads=2):
        for i in range(10**6):
            batch = ndd.as_batch(np.full((4, 150, 150, 3), i % 251, np.uint8), layout="HWC")
            blurred = run("blur", ndd.gaussian_blur, batch, sigma=20.0)
            yield [int(np.asarray(t)[70, 70, 0]) for t in blurred.tensors]


@pytest.mark.parametrize("way", [slow_calls, named_inputs, debug_mode, worker_processes, reader])
def test_signals_at_any_time(way: Way, folder: str) -> None:
    before = signal.getsignal(signal.SIGALRM)
    try:
        compare(way, folder, Timer(200))
    finally:
        signal.signal(signal.SIGALRM, before)


# ---- other failures ----


def test_a_source_that_raises_moves_no_other_source() -> None:
    numbers, asked = iter(range(100)), []

    def second(i: int) -> np.ndarray:
        asked.append(i)
        if len(asked) in (2, 3, 7):
            raise ValueError("not now")
        return constant(i)

    pipe = made(
        lambda: (fn.external_source(lambda: constant(next(numbers))), fn.external_source(second))
    )
    found: list[Any] = []
    while len(found) < 6:
        try:
            found.append(shown(pipe.run()))
        except ValueError:
            continue
    assert found == [[[[i]] * SIZE] * 2 for i in range(6)]
    assert len(asked) > 8


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_memory_limit_loses_no_batch(tmp_path: Path, depth: int) -> None:
    for i in range(9):
        np.save(tmp_path / f"{i}.npy", np.full(1 << 20, i, np.uint8))
    pipe = Pipeline(1, 2, None, prefetch_queue_depth=depth, host_memory_limit=5 << 20)
    with pipe:
        pipe.set_outputs(fn.readers.numpy(file_root=str(tmp_path), file_filter="*.npy"))
    held: list[Any] = []
    seen, refused = [], 0
    while len(seen) < 30:
        try:
            held.append(pipe.run())
            seen.append(int(np.asarray(held[-1][0][0])[0]))
        except MemoryError as error:
            assert "host_memory_limit" in str(error) and held
            held.clear()
            refused += 1
    assert seen == [i % 9 for i in range(30)]
    assert refused > 2 and pipe.errors() == []
