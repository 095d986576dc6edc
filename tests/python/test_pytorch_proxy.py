# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The proxy of PyTorch: a pipeline behind the workers of a DataLoader; what breaks while it runs."""

from __future__ import annotations

import collections
import copy
import dataclasses
import gc
import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import child_environment
from waiting import HANG_S, running, until, until_ended

torch = pytest.importorskip("torch")

from headrace import fn, pipeline_def  # noqa: E402
from headrace.plugin.pytorch.experimental import proxy  # noqa: E402
from torch.utils import data as torch_data  # noqa: E402

KEYS: dict[str, Any] = {"num_threads": 2, "device_id": None, "seed": 7}


@pipeline_def(batch_size=4, **KEYS)
def square() -> Any:
    return fn.external_source(name="a") ** 2


@pipeline_def(batch_size=4, **KEYS)
def pair() -> Any:
    a, b = fn.external_source(name="a"), fn.external_source(name="b", no_copy=True)
    return a + b, b - a


@pipeline_def(batch_size=4, **KEYS)
def noise() -> Any:
    return fn.external_source(name="a") + fn.random.uniform(range=[0.0, 1.0])


class Numbers(torch_data.Dataset):  # type: ignore[type-arg]
    """(i, the transform of i), repeated in an array of some shape."""

    def __init__(self, transform: Any, length: int = 10, shape: Any = ()) -> None:
        self.transform = transform
        self.length = length
        self.shape = shape

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> Any:
        return i, self.transform(np.full(self.shape, i, np.int32))


def numbers(length: int) -> list[list[int]]:
    """The squares of 0, 1, 2 ... in batches of 4."""
    return [[i * i for i in range(k, min(k + 4, length))] for k in range(0, length, 4)]


def took(loader: Any) -> list[list[int]]:
    result = []
    for index, value in loader:
        assert value.flatten(1).max(1).values.tolist() == [i * i for i in index.tolist()]
        result.append(value.reshape(len(value), -1)[:, 0].tolist())
    return result


@pytest.fixture
def server() -> Iterator[Any]:
    with proxy.DALIServer(square()) as made:
        yield made


def loader_of(server: Any, workers: int = 2, **options: Any) -> Any:
    ours = {k: options.pop(k) for k in ("length", "shape") if k in options}
    return proxy.DataLoader(
        server, Numbers(server.proxy, **ours), batch_size=4, num_workers=workers, **options
    )


# ---- what comes out --------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_batches_are_those_of_the_pipeline(method: str) -> None:
    server = proxy.DALIServer(square())
    loader = loader_of(server, multiprocessing_context=method, shape=(1, 1))
    for _ in range(2 if method == "fork" else 1):
        assert server._thread is None
        assert took(loader) == numbers(10)
        assert server._thread is not None
        server.stop_thread()
    assert loader.server_started_by_loader


def test_a_loader_stops_the_server_that_it_started() -> None:
    server = proxy.DALIServer(square())
    loader = loader_of(server, shape=(1,))
    assert took(loader) == numbers(10)
    assert server._is_thread_running()
    del loader
    gc.collect()
    assert not server._is_thread_running()


def test_large_inputs_of_many_shapes(server: Any) -> None:
    class Shapes(Numbers):
        def __getitem__(self, i: int) -> Any:
            return i, self.transform(np.full((1 + i // 4, 300, 700), i, np.int32))

    loader = proxy.DataLoader(server, Shapes(server.proxy, 24), batch_size=4, num_workers=2)
    shapes = []
    for index, value in loader:
        assert (value == (index**2).reshape(-1, 1, 1, 1)).all()
        shapes.append(tuple(value.shape))
    assert shapes == [(4, 1 + i, 300, 700) for i in range(6)]
    maps = server._requests._inbox._maps
    assert max(len(slots) for slots in maps.values()) <= 6  # slots are used again


def test_a_worker_may_use_the_memory_of_an_input_again(server: Any) -> None:
    class Reused(Numbers):
        memory = np.zeros(3, np.int32)

        def __getitem__(self, i: int) -> Any:
            self.memory[:] = i
            return i, self.transform(self.memory)

    loader = proxy.DataLoader(server, Reused(server.proxy), batch_size=4, num_workers=2)
    assert took(loader) == numbers(10)


class Tensors(Numbers):
    """Inputs with tensors that the pipeline does not get."""

    def others(self, i: int) -> dict[str, Any]:
        matrix = torch.arange(6.0).reshape(2, 3) + i
        return {
            "half": matrix.to(torch.bfloat16),
            "bits": matrix > 3,
            "complex": torch.complex(matrix, -matrix).conj(),
            "turned": matrix.t(),
            "part": torch.full((1000, 1000), i, dtype=torch.int16)[:, 1],
            "large": torch.full((300, 200), i, dtype=torch.int64),
            "repeated": torch.tensor([i]).expand(50000),
            "none": torch.empty((0, 2), dtype=torch.float64),
            "scalar": torch.tensor(i, dtype=torch.int8),
            "leaf": torch.full((2,), float(i), requires_grad=True),
        }

    def __getitem__(self, i: int) -> Any:
        return self.others(i), super().__getitem__(i)[1]


def test_other_tensors_arrive_as_they_are(server: Any) -> None:
    dataset = Tensors(server.proxy)
    loader = proxy.DataLoader(server, dataset, batch_size=4, num_workers=2, collate_fn=gathered)
    count = 0
    for others, value in loader:
        for k, found in enumerate(others):
            for name, expected in dataset.others(4 * count + k).items():
                got = found[name]
                assert got.dtype == expected.dtype and torch.equal(got, expected), name
                assert got.requires_grad == expected.requires_grad
        assert value.tolist() == numbers(10)[count]
        count += 1
    assert count == 3


def gathered(samples: Any) -> Any:
    return [others for others, _ in samples], torch_data.default_collate([v for _, v in samples])


def test_pictures_of_pillow() -> None:
    image = pytest.importorskip("PIL.Image")

    @pipeline_def(batch_size=2, **KEYS)
    def flipped() -> Any:
        return fn.flip(fn.external_source(name="image"))

    class Pictures(torch_data.Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> Any:
            return server.proxy(image.fromarray(picture(i)))

    def picture(i: int) -> Any:
        return np.random.default_rng(i).integers(0, 255, (5, 7, 3), np.uint8)

    with proxy.DALIServer(flipped()) as server:
        loader = proxy.DataLoader(server, Pictures(), batch_size=2, num_workers=1)
        made = torch.cat(list(loader)).numpy()
    np.testing.assert_array_equal(made, np.stack([picture(i)[:, ::-1] for i in range(4)]))


def test_several_inputs_and_outputs_in_any_order() -> None:
    class Pairs(Numbers):
        def __getitem__(self, i: int) -> Any:
            total, difference = self.transform(b=np.float32([3 * i]), a=np.float32([i]))
            return {"difference": difference, "i": i, "total": total, "again": total}

    with proxy.DALIServer(pair()) as server:
        loader = proxy.DataLoader(server, Pairs(server.proxy), batch_size=4, num_workers=3)
        batches = list(loader)
    index = torch.cat([batch["i"] for batch in batches]).float().reshape(-1, 1)
    assert index.flatten().tolist() == list(range(10))
    assert torch.equal(torch.cat([batch["total"] for batch in batches]), 4 * index)
    assert torch.equal(torch.cat([batch["difference"] for batch in batches]), 2 * index)
    assert all(batch["again"] is batch["total"] for batch in batches)


def test_arguments_of_the_proxy() -> None:
    one, two = proxy.DALIServer(square()).proxy, proxy.DALIServer(pair()).proxy
    assert isinstance(one(np.float32(1)), proxy.DALIOutputSampleRef)
    assert isinstance(one(a=np.float32(1)), proxy.DALIOutputSampleRef)
    assert list(inspect.signature(two).parameters) == ["a", "b"]
    assert [ref.output_idx for ref in two(a=1, b=2)] == [0, 1]
    for call, reason in (
        (lambda: two(1, 2), "too many positional arguments"),
        (lambda: two(a=1), "missing a required argument: 'b'"),
        (lambda: two(a=1, b=2, c=3), "unexpected keyword argument 'c'"),
        (lambda: one(), "missing a required argument: 'a'"),
        (lambda: one(1, 2), "too many positional arguments"),
    ):
        with pytest.raises(ValueError, match=reason):
            call()
    assert copy.deepcopy(one) is one


def test_what_the_server_refuses() -> None:
    with pytest.raises(TypeError, match="takes a pipeline, got 3"):
        proxy.DALIServer(3)  # type: ignore[arg-type]

    @pipeline_def(batch_size=4, **KEYS)
    def closed() -> Any:
        return fn.external_source(source=lambda: [np.float32(1)] * 4, name="a")

    with pytest.raises(RuntimeError, match="doesn't have any inputs"):
        proxy.DALIServer(closed())
    server = proxy.DALIServer(square())
    with pytest.raises(AssertionError, match="num_workers must be greater than 0"):
        iter(loader_of(server, 0))


# ---- without the loader ------------------------------------------------------------------------


@dataclasses.dataclass
class Item:
    value: Any
    parent: Any = None


Point = collections.namedtuple("Point", "x y")


def test_references_are_replaced_in_any_structure(server: Any) -> None:
    def batch(k: int) -> Any:
        return torch_data.default_collate([server.proxy(np.int32(k + i)) for i in range(4)])

    squares = [[(k + i) ** 2 for i in range(4)] for k in range(8)]
    item, inner = Item(batch(0)), {"a": batch(1), "n": 3}
    item.parent = item
    shared = batch(2)
    given = [item, inner, Point(batch(3), "text"), (batch(4), [batch(5)]), shared, shared]
    made = server.produce_data(given)
    assert made is given and made[0] is item and made[1] is inner
    assert item.value.tolist() == squares[0] and item.parent is item
    assert inner["a"].tolist() == squares[1] and inner["n"] == 3
    assert isinstance(made[2], Point) and made[2].x.tolist() == squares[3] and made[2].y == "text"
    assert made[3][0].tolist() == squares[4] and made[3][1][0].tolist() == squares[5]
    assert made[4] is made[5] and made[4].tolist() == squares[2]
    plain = ("x", [1, 2], None)
    assert server.produce_data(plain) is plain
    late, early = batch(6), batch(7)  # taken in another order than they were made
    assert server.produce_data(early).tolist() == squares[7]
    assert server.produce_data(late).tolist() == squares[6]
    assert server.produce_data(late).tolist() == squares[6]  # a second time


def test_a_loader_of_pytorch_and_references(server: Any) -> None:
    loader = torch_data.DataLoader(Numbers(server.proxy), batch_size=4, num_workers=2)
    seen = []
    for batch in loader:
        ref = batch[1]
        assert isinstance(ref, proxy.DALIOutputBatchRef)
        assert ref.pipe_run_ref.is_scheduled and ref.output_idx == 0
        seen.append((ref.pipe_run_ref.batch_id, server.produce_data(batch)[1].tolist()))
    assert seen == list(zip([(0, 0), (1, 0), (0, 1)], numbers(10)))


def test_threads_have_batches_of_their_own(server: Any) -> None:
    barrier = threading.Barrier(3)
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        refs = []
        for i in range(4):
            barrier.wait()
            refs.append(server.proxy(np.int32(10 * k + i)))
        found[k] = torch_data.default_collate(refs)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(3):
        expected = [(10 * k + i) ** 2 for i in range(4)]
        assert server.produce_data(found[k]).tolist() == expected


def test_references_that_form_no_batch(server: Any) -> None:
    collate = proxy._collate_dali_output_sample_ref_fn
    refs = [server.proxy(np.int32(i)) for i in range(3)]
    with pytest.raises(RuntimeError, match="Sample 2 of the batch is at position 1"):
        collate([refs[0], refs[2]])
    collate(refs)
    with pytest.raises(RuntimeError, match="several batches"):
        collate([refs[0], server.proxy(np.int32(3))])


# ---- order -------------------------------------------------------------------------------------


def test_deterministic_order() -> None:
    """With random numbers in the pipeline and a worker that is late, results repeat."""
    others = [multiprocessing.Event() for _ in range(2)]  # batches 1 and 2 have been read

    class Uneven(Numbers):
        def __getitem__(self, i: int) -> Any:
            if i == 0:
                assert all(other.wait(HANG_S) for other in others)
            if i in (7, 11):
                others[i // 4 - 1].set()
            return self.transform(np.float32(i))

    plain = noise(prefetch_queue_depth=1)
    expected = []
    for k in range(6):
        plain.feed_input("a", [np.float32(i) for i in range(4 * k, 4 * k + 4)])
        expected.append(torch.from_numpy(plain.run()[0].as_array().copy()))
    with proxy.DALIServer(noise(), deterministic=True) as server:
        loader = proxy.DataLoader(
            server, Uneven(server.proxy, 24), batch_size=4, num_workers=3, prefetch_factor=2
        )
        found = [batch.clone() for batch in loader]
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        for other in others:
            other.clear()
        next(iter(loader))  # the batches that workers read ahead do not run
        following = [batch.clone() for batch in loader]
    plain_ahead = [plain_run(plain, k) for k in (0, 0, 1, 2, 3, 4, 5)][1:]
    assert all(torch.equal(a, b) for a, b in zip(following, plain_ahead, strict=True))


def plain_run(pipe: Any, k: int) -> Any:
    pipe.feed_input("a", [np.float32(i) for i in range(4 * k, 4 * k + 4)])
    return torch.from_numpy(pipe.run()[0].as_array().copy())


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("deterministic", [False, True])
def test_an_epoch_that_is_left_early(persistent: bool, deterministic: bool) -> None:
    with proxy.DALIServer(square(), deterministic) as server:
        loader = loader_of(server, length=60, shape=(1,), persistent_workers=persistent)
        for _ in range(3):
            for index, value in loader:
                assert value.tolist() == [[i * i] for i in index.tolist()]
                break
        assert took(loader) == numbers(60)
        del loader, index, value
        gc.collect()
        requests = server._requests
        with requests.changed:
            assert not requests._results and not requests._on_demand and not requests._ready


# ---- errors ------------------------------------------------------------------------------------


def test_an_error_of_the_pipeline_reaches_its_batch_only() -> None:
    @pipeline_def(batch_size=4, **KEYS)
    def sliced() -> Any:
        given = fn.external_source(name="a")
        return fn.slice(np.arange(8), given, 1, axes=[0], out_of_bounds_policy="error")

    with proxy.DALIServer(sliced()) as server:
        batches = iter(loader_of(server))
        assert next(batches)[1].flatten().tolist() == [0, 1, 2, 3]
        assert next(batches)[1].flatten().tolist() == [4, 5, 6, 7]
        with pytest.raises(RuntimeError, match="slice"):
            next(batches)
        loader = loader_of(server, length=8)
        assert [batch.flatten().tolist() for _, batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_an_error_of_a_worker_has_its_type(server: Any) -> None:
    class Broken(Numbers):
        def __getitem__(self, i: int) -> Any:
            if i == 5:
                raise KeyError("no such sample")
            return super().__getitem__(i)

    batches = iter(proxy.DataLoader(server, Broken(server.proxy), batch_size=4, num_workers=2))
    assert next(batches)[1].tolist() == numbers(10)[0]
    with pytest.raises(KeyError, match="no such sample"):
        next(batches)
    assert next(batches)[1].tolist() == numbers(10)[2]


@pytest.mark.parametrize("sample", ["text", 3, [1, 2], object()])
def test_an_input_that_is_no_array(server: Any, sample: Any) -> None:
    class Wrong(Numbers):
        def __getitem__(self, i: int) -> Any:
            return self.transform(sample)

    loader = proxy.DataLoader(server, Wrong(server.proxy), batch_size=4, num_workers=1)
    with pytest.raises(RuntimeError, match="NumPy array"):
        next(iter(loader))
    batch = torch_data.default_collate([server.proxy(sample)])
    with pytest.raises(RuntimeError, match="NumPy array"):
        server.produce_data(batch)


def test_inputs_of_several_types_fail_their_batch_only(server: Any) -> None:
    class Mixed(Numbers):
        def __getitem__(self, i: int) -> Any:
            return i, self.transform(np.full((1,), i, np.float32 if i == 5 else np.int32))

    batches = iter(proxy.DataLoader(server, Mixed(server.proxy, 12), batch_size=4, num_workers=1))
    assert next(batches)[1].flatten().tolist() == [0, 1, 4, 9]
    with pytest.raises(RuntimeError, match="position 1 has type 'FLOAT' expected .*'INT32'"):
        next(batches)
    assert next(batches)[1].flatten().tolist() == [64, 81, 100, 121]


def test_a_batch_larger_than_that_of_the_pipeline() -> None:
    with proxy.DALIServer(pair()) as server:

        def produce(count: int) -> Any:
            refs = [server.proxy(a=np.int32(i), b=np.int32(i)) for i in range(count)]
            return server.produce_data(torch_data.default_collate(refs))

        with pytest.raises(RuntimeError, match="batch of 5 samples, expected at most 4"):
            produce(5)
        assert produce(4)[0].tolist() == [0, 2, 4, 6]
        assert produce(2)[0].tolist() == [0, 2]


def test_samples_that_differ_in_shape(server: Any) -> None:
    refs = [server.proxy(np.zeros((1 + i, 2), np.int32)) for i in range(4)]
    batch = torch_data.default_collate(refs)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="differ in shape"):
            server.produce_data(batch)


def test_a_server_that_does_not_run() -> None:
    server = proxy.DALIServer(square())
    batch = torch_data.default_collate([server.proxy(np.int32(3))])
    with pytest.raises(RuntimeError, match="is not running"):
        server.produce_data(batch)
    with server:
        assert server.produce_data(batch).tolist() == [9]


@pytest.mark.parametrize("how", ["garbage", "closed", "forked"])
def test_a_proxy_outlives_its_server(how: str, tmp_path: Path) -> None:
    """What was the server's descriptor is another file's by now: nothing may be written to it."""
    server = proxy.DALIServer(square())
    survivor, requests, batch = server.proxy, server._requests, None
    wake = requests._wake
    with server:
        pass
    if how == "garbage":
        del server
        gc.collect()
    elif how == "closed":
        server._close()
    else:
        requests.leave()
    files = [(tmp_path / "0").open("w+b", buffering=0)]
    while files[-1].fileno() < wake:
        files.append((tmp_path / str(len(files))).open("w+b", buffering=0))
    assert wake in [file.fileno() for file in files]
    with pytest.raises(RuntimeError, match="The DALIServer of this proxy no longer exists"):
        batch = torch_data.default_collate([survivor(np.array(k)) for k in range(3)])
    assert batch is None
    for call in (requests.wake, lambda: requests.take((b"", 0), on_demand=True)):
        with pytest.raises(RuntimeError, match="no longer exists"):
            call()
    requests.close()  # again
    assert [os.fstat(file.fileno()).st_size for file in files] == [0] * len(files)
    for file in files:
        file.close()


def test_a_source_that_ends() -> None:
    @pipeline_def(batch_size=4, **KEYS)
    def mixed() -> Any:
        other = fn.external_source(source=iter([[np.int32(1)] * 4]), name="other")
        return fn.external_source(name="a") + other

    with proxy.DALIServer(mixed()) as server:
        refs = [[server.proxy(np.int32(i)) for i in range(4)] for _ in range(1)]
        assert server.produce_data(torch_data.default_collate(refs[0])).tolist() == [1, 2, 3, 4]
        batch = torch_data.default_collate([server.proxy(np.int32(i)) for i in range(4)])
        with pytest.raises(RuntimeError, match="no more data"):
            server.produce_data(batch)


def test_the_thread_of_the_server_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    server = proxy.DALIServer(square())
    original, calls = server._runner._take, []

    def fail() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError("no memory")
        original()

    monkeypatch.setattr(server._runner, "_take", fail)
    batches = iter(loader_of(server, length=40))
    with pytest.raises(RuntimeError, match="thread of the DALIServer has failed: no memory"):
        for _ in batches:
            pass
    del batches


# ---- processes that are killed -----------------------------------------------------------------

PROGRAM = """
import gc, sys
from multiprocessing.synchronize import SemLock
import numpy as np
from headrace import fn, pipeline_def
from headrace.plugin.pytorch.experimental import proxy

class Data:
    def __init__(self, transform):
        self.transform = transform
    def __len__(self):
        return 1 << 20
    def __getitem__(self, i):
        return self.transform(np.full((64, 1024), i, np.float32))

@pipeline_def(batch_size=4, num_threads=2, device_id=None, py_num_workers=1)
def pipe():
    one = fn.external_source(source=lambda info: np.float32(1), batch=False, parallel=True)
    return fn.external_source(name="a") * one

if __name__ == "__main__":
    made = pipe()
    made.start_py_workers()
    with proxy.DALIServer(made) as server:
        loader = proxy.DataLoader(
            server, Data(server.proxy), batch_size=4, num_workers=3,
            multiprocessing_context=sys.argv[1])
        batches = iter(loader)
        next(batches)
        print(*[w.pid for w in batches._workers], *made._feeder.pool.pids, flush=True)
        locks = [o._semlock.name for o in gc.get_objects() if isinstance(o, SemLock)]
        print(*filter(None, locks), flush=True)
        try:
            for batch in batches:
                pass
        except RuntimeError as error:
            print("error", type(error).__name__, flush=True)
        del batches
"""


@pytest.mark.timing
@pytest.mark.parametrize(
    ("victim", "method"), [("source", "fork"), ("main", "fork"), ("main", "spawn")]
)
def test_a_killed_process(victim: str, method: str, tmp_path: Path) -> None:
    """All end within 2 seconds, with an error, and leave nothing behind."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(script), method],
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    semaphores = process.stdout.readline().split()
    assert len(running(pids)) == 4
    assert bool(semaphores) == (method == "spawn")  # those of forked processes have no names
    os.kill(pids[-1] if victim == "source" else process.pid, signal.SIGKILL)
    killed = time.monotonic()
    if victim == "source":
        line = process.stdout.readline()
        assert line == "error RuntimeError\n", process.stderr.read()
    until_ended(pids)
    assert time.monotonic() - killed < 2
    assert process.wait(HANG_S) == (0 if victim == "source" else -signal.SIGKILL)
    left = [f"/dev/shm/sem.{name.strip('/')}" for name in semaphores]
    until(lambda: not any(map(os.path.exists, left)), "the semaphores are removed")
    files = [name for name in os.listdir("/dev/shm") if name.startswith("torch_")]
    assert not [name for name in files if any(f"_{pid}_" in name for pid in pids)]


@pytest.mark.timing
def test_a_worker_that_is_killed_at_any_time(child: Any) -> None:
    """In a process of its own, because PyTorch raises the error wherever the main thread is."""
    child(
        """
        import os, signal, sys, threading, time
        import numpy as np
        from test_pytorch_proxy import loader_of, numbers, proxy, square, took
        from waiting import until_ended

        with proxy.DALIServer(square()) as server:
            for delay in (0, 0.003, 0.01, 0.03, 0.1):
                batches = iter(loader_of(server, 3, length=1 << 20, shape=(300, 300)))
                next(batches)
                pids = [worker.pid for worker in batches._workers]
                begun = time.monotonic()
                try:
                    threading.Timer(delay, os.kill, (pids[1], signal.SIGKILL)).start()
                    for _ in batches:
                        pass
                except RuntimeError as error:
                    assert "worker" in str(error)
                else:
                    raise AssertionError("no error")
                assert time.monotonic() - begun - delay < 2
                ended = time.monotonic()
                del batches
                until_ended(pids)
                assert time.monotonic() - ended < 2
            again = took(loader_of(server, shape=(300, 300)))  # the server goes on
            assert again == numbers(10)
        """
    )
