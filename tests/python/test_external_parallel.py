# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""external_source(parallel=True): the same programs with Headrace and with live DALI; worker processes that crash, are
killed or abandoned; reuse of memory."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import headrace
import numpy as np
import pytest
from conftest import child_environment
from headrace import Pipeline, fn
from headrace._external import worker
from waiting import HANG_S, until_ended

METHODS = ["fork", "spawn"]


def batch(value: int, n: int = 2) -> list[np.ndarray]:
    return [np.full(3, value, np.int32)] * n


def by_index(i: int) -> list[np.ndarray]:
    if i >= 4:
        raise StopIteration
    return batch(i)


def by_info(info: Any) -> list[np.ndarray]:
    if info.iteration >= 4:
        raise StopIteration
    return batch(info.iteration + 100 * info.epoch_idx)


def by_sample(info: Any) -> np.ndarray:
    if info.idx_in_epoch >= 11:
        raise StopIteration
    parts = [info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx]
    return np.array([*parts, *range(info.idx_in_epoch)], np.int16)


def generate() -> Any:
    for i in range(4):
        yield batch(i)


class Items:
    def __init__(self) -> None:
        self.n = 0

    def __iter__(self) -> Any:
        self.n = 0
        return self

    def __next__(self) -> Any:
        if self.n == 4:
            raise StopIteration
        self.n += 1
        return batch(self.n)


class Callable:
    def __call__(self, i: int) -> list[np.ndarray]:
        return by_index(i)


def no_argument() -> list[np.ndarray]:
    return batch(1)


def fails(i: int) -> list[np.ndarray]:
    if i == 2:
        raise ValueError("on purpose")
    return batch(i)


def build(package: Any, source: Any, size: int = 2, options: Any = None, **kwargs: Any) -> Any:
    pipe = package.Pipeline(size, 1, None, **{"py_num_workers": 2, **(options or {})})
    with pipe:
        out = package.fn.external_source(source=source, parallel=True, **kwargs)
        pipe.set_outputs(*(out if isinstance(out, list) else [out]))
    pipe.start_py_workers()
    return pipe


def outcome(package: Any, *args: Any, **kwargs: Any) -> Any:
    """Three epochs of 8 runs: samples, or "S" for StopIteration; otherwise the type of the exception."""
    try:
        pipe = build(package, *args, **kwargs)
        got: list[Any] = []
        for _ in range(3):
            for _ in range(8):
                try:
                    got.append([[np.array(x).tolist() for x in out] for out in pipe.run()])
                except StopIteration:
                    got.append("S")
            pipe.reset()
        return got
    except Exception as error:
        return type(error)


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "callable": (by_index, {}),
    "ahead": (by_index, {"prefetch_queue_depth": 3}),
    "batch info": (by_info, {"batch_info": True}),
    "samples": (by_sample, {"batch": False}),
    "samples, three": (by_sample, {"batch": False, "size": 3}),
    "samples, five": (by_sample, {"batch": False, "size": 5, "prefetch_queue_depth": 2}),
    "object": (Callable(), {}),
    "two outputs": (lambda i: (batch(i), batch(-i)), {"num_outputs": 2}),
    "two outputs of samples": (
        lambda s: (np.array(s.idx_in_epoch), np.array([1.5])),
        {"num_outputs": 2, "batch": False},
    ),
    "generator": (generate(), {}),
    "iterator": (iter([batch(1), batch(2)]), {}),
    "iterable of samples": ([np.zeros(3)] * 4, {"batch": False}),
    "no argument": (no_argument, {}),
    "two arguments": (lambda a, b: batch(a), {}),
    "callable, cycle": (by_index, {"cycle": True}),
    "not to copy": (by_index, {"no_copy": True}),
    "to copy": (by_index, {"no_copy": False}),
    "nothing ahead": (by_index, {"prefetch_queue_depth": 0}),
    "hint": (by_index, {"bytes_per_sample_hint": 100}),
    "no hint": (by_index, {"bytes_per_sample_hint": -1}),
    "layout": (by_index, {"layout": "X"}),
    "wrong layout": (by_index, {"layout": "XY"}),
    "wrong type": (lambda i: batch(i), {"dtype": 9}),
    "smaller": (lambda i: batch(i, 1), {}),
    "larger": (lambda i: batch(i, 3), {}),
    "types differ": (lambda i: [np.zeros(3), np.zeros(3, np.int32)], {}),
    "half": (lambda i: [np.full(3, i, np.float16)] * 2, {}),
    "growing": (lambda i: [np.full(40 ** (i % 4), i, np.int32)] * 2, {}),
    "not dense": (lambda i: [np.arange(24).reshape(4, 6)[::2, ::-1] + i] * 2, {}),
    **{
        f"{name}, cycle={cycle}": (source, {"cycle": cycle})
        for name, source in [("list", [batch(i) for i in range(4)]), ("function", generate)]
        for cycle in (None, False, True, "quiet", "raise")
    },
    "own iterator": (Items(), {"cycle": "raise"}),
}


@pytest.mark.filterwarnings("ignore:There will be run only")
@pytest.mark.parametrize("name", CASES)
def test_as_in_dali(name: str, live_dali: Any) -> None:
    source, kwargs = CASES[name]
    theirs = outcome(live_dali, source, **kwargs)
    ours = outcome(headrace, source, **kwargs)
    assert ours == theirs


@pytest.mark.parametrize("method", METHODS)
def test_what_spawned_workers_need(method: str, live_dali: Any) -> None:
    """Lambdas and local functions are sent with the variables that they use, in both engines."""
    offset = 5

    def local(info: Any) -> np.ndarray:
        return helper(info.idx_in_epoch + offset)

    def helper(value: int) -> np.ndarray:
        return np.full(2, value, np.int32) if value else local  # type: ignore[return-value]

    for source in (local, lambda info: np.array([info.idx_in_epoch * offset])):
        got = []
        for package in (headrace, live_dali):
            options = {"py_start_method": method}
            pipe = build(package, source, batch=False, options=options)
            got.append([np.array(pipe.run()[0].as_array()).tolist() for _ in range(3)])
        assert got[0] == got[1]


def test_own_picklers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, live_dali: Any) -> None:
    (tmp_path / "own_pickler.py").write_text(
        "import pickle\n"
        "def dumps(value, prefix=b''):\n    return prefix + pickle.dumps(value)\n"
        "def loads(data, skip=0):\n    return pickle.loads(data[skip:])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parent}")
    import own_pickler

    from test_external_parallel import by_index as source

    for package in (headrace, live_dali):
        for pickler in (own_pickler, (own_pickler, {"prefix": b"ab"}, {"skip": 2})):
            options = {"py_start_method": "spawn", "py_callback_pickler": pickler}
            assert build(package, source, options=options).run()[0].at(0)[0] == 0
        with pytest.raises(ValueError, match="py_callback_pickler"):
            build(package, source, options={"py_callback_pickler": own_pickler})


@pytest.mark.parametrize("depth", [1, 3])
def test_exceptions_pass_through(depth: int) -> None:
    pipe = build(headrace, fails, prefetch_queue_depth=depth, options={"prefetch_queue_depth": 1})
    assert [pipe.run()[0].at(0)[0] for _ in range(2)] == [0, 1]
    for _ in range(2):
        with pytest.raises(ValueError, match="on purpose") as caught:
            pipe.run()
        assert "test_external_parallel.py" in str(caught.value.__cause__)


def test_exceptions_that_do_not_pickle() -> None:
    class Local(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__("has lost its way")

    def source(i: int) -> Any:
        raise Local(1, 2)

    with pytest.raises(RuntimeError, match="Local: has lost its way"):
        build(headrace, source).run()


def test_slots_are_used_again() -> None:
    pipe = build(headrace, lambda i: [np.full(5000, i, np.int32)] * 2)
    for i in range(40):
        assert pipe.run()[0].at(1)[-1] == i
    few = len(pipe.external_source_shm_statistics()["capacities"])
    assert 2 <= few <= 6
    held = [pipe.run()[0] for _ in range(10)]
    assert [out.at(0)[0] for out in held] == list(range(40, 50))
    assert len(pipe.external_source_shm_statistics()["capacities"]) >= 10


def slots(package: Any, hint: int | None) -> tuple[set[int], set[int], bool]:
    """The sizes of the slots before the first batch, and whether they have grown for samples of 3 MiB."""
    pipe = build(
        package,
        lambda info: np.zeros((3, 1 << 20), np.uint8),
        7,
        {"py_num_workers": 3},
        batch=False,
        bytes_per_sample_hint=hint,
    )
    pipe.build()
    before = pipe.external_source_shm_statistics()
    pipe.run()
    after = pipe.external_source_shm_statistics()["capacities"]
    return set(before["capacities"]), set(before["per_sample_capacities"]), min(after) >= 6 << 20


@pytest.mark.parametrize("hint, size", [(None, 1 << 20), (1000, 1 << 20), (2 << 20, 6 << 20)])
def test_hint(hint: int | None, size: int) -> None:
    """A slot is for a worker's share of the batch: at most 3 of 7 samples."""
    assert slots(headrace, hint) == ({size}, {size // 3}, True)


@pytest.mark.parametrize("hint", [None, 1000, 2 << 20])
def test_hint_as_in_dali(hint: int | None, live_dali: Any) -> None:
    assert slots(headrace, hint)[:2] == slots(live_dali, hint)[:2]


def test_batches_outlive_the_pipeline_and_are_not_copied() -> None:
    pipe = build(headrace, lambda i: [np.full(100, i, np.float32)] * 2)
    outs = [pipe.run()[0] for _ in range(3)]
    slots = pipe._feeder.pool.all_slots()
    lies = [out.as_tensor().data_ptr() for out in outs]
    begin = [np.frombuffer(slot.map, np.uint8).ctypes.data for slot in slots]
    assert all(any(b <= at < b + 1 << 20 for b in begin) for at in lies)
    del pipe, slots
    gc.collect()
    assert [out.as_tensor().shape()[0] for out in outs] == [2] * 3
    assert [out.at(1)[99] for out in outs] == [0, 1, 2]


def test_with_operators_and_a_second_source() -> None:
    pipe = Pipeline(4, 2, None, py_num_workers=3)
    with pipe:
        a = fn.external_source(
            lambda s: np.full((8, 9, 3), s.idx_in_epoch, np.uint8),
            batch=False,
            parallel=True,
            layout="HWC",
        )
        b = fn.external_source(lambda i: [np.array(i)] * 4, parallel=True)
        pipe.set_outputs(fn.resize(a, size=(4, 4)), b + 1)
    for i in range(10):
        images, numbers = pipe.run()
        assert [int(x.max()) for x in images.as_array()] == list(range(4 * i, 4 * i + 4))
        assert numbers.as_array().tolist() == [i + 1] * 4


class Counting:
    """An iterable of `length` batches, each with its number."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Any:
        return (batch(i) for i in range(self.length))


class Ending:
    """A source of samples that ends after `length` batches."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __call__(self, info: Any) -> np.ndarray:
        if info.iteration >= self.length:
            raise StopIteration
        return np.full(3, info.iteration + 100 * info.epoch_idx, np.int32)


@pytest.mark.filterwarnings("ignore:There will be run only")
@pytest.mark.parametrize("depths", [(1, 3, 1), (3, 3, 3)])
@pytest.mark.parametrize("lengths", [(8, 4, 6), (4, 6, 8)])
@pytest.mark.parametrize("cycles", [("raise", "raise"), ("quiet", "raise"), (True, True)])
def test_sources_of_different_lengths(
    cycles: tuple[Any, Any], lengths: tuple[int, int, int], depths: tuple[int, int, int]
) -> None:
    """An iterator goes on where it is when another source ends the epoch, in this process or in a worker."""

    def outputs(parallel: bool) -> list[Any]:
        pipe = Pipeline(2, 1, None, py_num_workers=2)

        def ahead(k: int) -> dict[str, Any]:
            return {"parallel": True, "prefetch_queue_depth": depths[k]} if parallel else {}

        with pipe:
            first = fn.external_source(source=Ending(lengths[0]), batch=False, **ahead(0))
            others = [
                fn.external_source(source=Counting(lengths[k]), cycle=cycles[k - 1], **ahead(k))
                for k in (1, 2)
            ]
            pipe.set_outputs(first, *others)
        found: list[Any] = []
        for _ in range(17):
            try:
                found.append([int(out.at(0)[0]) for out in pipe.run()])
            except StopIteration:
                found.append("end")
                pipe.reset()
        pipe.close()
        return found

    expected = outputs(False)
    assert "end" in expected
    assert outputs(True) == expected


def test_workers_do_not_wait_for_tasks_that_others_took(monkeypatch: pytest.MonkeyPatch) -> None:
    own, send_own = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    shared, send_shared = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    tasks: list[Any] = []
    ready = [shared, own]  # the task of the shared socket has been taken by another worker

    class Poll:

        def register(self, *_: Any) -> None:
            pass

        def poll(self) -> list[tuple[int, int]]:
            return [(ready.pop(0).fileno(), select.POLLIN)]

    monkeypatch.setattr(worker.select, "poll", Poll)
    with open(os.devnull) as file:
        socket.send_fds(send_own, [b"task"], [file.fileno()])
        thread = threading.Thread(target=lambda: tasks.append(worker._next_task(own, shared)), daemon=True)
        thread.start()
        thread.join(HANG_S)
        assert tasks and tasks[0][0] == b"task"
        assert os.fstat(tasks[0][1]).st_rdev == os.fstat(file.fileno()).st_rdev
        os.close(tasks[0][1])
    for sock in (own, send_own, shared, send_shared):
        sock.close()


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_workers_that_die_are_reported(how: str) -> None:
    def source(i: int) -> list[np.ndarray]:
        if i == 3:
            os._exit(7) if how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        return batch(i)

    pipe = build(headrace, source)
    pids = pipe._feeder.pool.pids
    expected = "exit status 7" if how == "exit" else "SIGKILL"
    with pytest.raises(RuntimeError, match=expected):
        for _ in range(8):
            pipe.run()
    with pytest.raises(RuntimeError, match=expected):
        pipe.run()
    until_ended(pids)


def shared_memory() -> list[str]:
    """The files of this process with which workers hand over samples."""
    links = []
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the folder itself
            links.append(os.readlink(f"/proc/self/fd/{fd}"))
    return [link for link in links if link.startswith("/memfd:headrace-samples")]


def test_dropped_pipelines_end_their_workers() -> None:
    gc.collect()
    before = shared_memory()
    pids: list[int] = []
    for _ in range(3):
        pipe = build(headrace, lambda i: batch(i))
        pipe.run()
        pids += pipe._feeder.pool.pids
        assert len(shared_memory()) > len(before)
        del pipe
        gc.collect()
    until_ended(pids)
    assert len(shared_memory()) == len(before)


@pytest.mark.parametrize("method", METHODS)
def test_scripts_find_the_workers_under_the_names_of_dali(method: str) -> None:
    options: dict[str, Any] = {"py_num_workers": 2, "py_start_method": method}
    pipe = Pipeline(2, 1, None, **options)
    with pipe:
        pipe.set_outputs(fn.external_source(by_info, batch=True, batch_info=True, parallel=True))
    assert pipe._py_pool is None
    pipe.build()
    pool = pipe._py_pool
    watch = pool.pool._observer.thread
    assert len(set(pool.pids())) == pool.num_workers == 2
    assert all(Path(f"/proc/{pid}").exists() for pid in pool.pids()) and watch.is_alive()
    pids = pool.pids()
    gc.disable()  # references alone must be enough
    try:
        del pool, pipe
    finally:
        gc.enable()
    assert not watch.is_alive() and not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_closing_the_pool_ends_the_workers() -> None:
    pipe = Pipeline(2, 1, None)
    with pipe:
        pipe.set_outputs(fn.external_source(by_index, parallel=True))
    pipe.build()
    watch = pipe._py_pool._observer.thread
    pipe._py_pool.close()
    assert not watch.is_alive()


def test_busy_workers_of_closed_pipelines_are_ended() -> None:
    # no luck: the workers are killed there
    pipe = build(headrace, lambda i: batch(i) if i == 0 else signal.pause())
    pids = pipe._feeder.pool.pids
    pool = pipe._feeder.pool
    pool.send(pool.ticket(0, 1, [(0, 0, 2, 1, 0)]))
    pipe.close()
    until_ended(pids)


CHILD = """
    import os, signal, sys
    import numpy as np
    from headrace import Pipeline, fn
    from waiting import tell, within

    def source(i):
        if i >= 3:
            open(f"{sys.argv[3]}{i}", "w").close()
            signal.pause()  # no luck: the worker is killed here
        return [np.full(3, i)] * 2

    if __name__ == "__main__":
        pipe = Pipeline(2, 1, None, py_num_workers=2, py_start_method=sys.argv[1])
        with pipe:
            pipe.set_outputs(fn.external_source(source, parallel=True, prefetch_queue_depth=2))
        pipe.run()
        print(*pipe._feeder.pool.pids, flush=True)
        how = sys.argv[2]
        if how == "end":
            sys.exit(0)
        if how == "raise":
            raise ValueError
        blocked = [sys.argv[3] + "3", sys.argv[3] + "4"]  # in one worker each
        tell("waiting", lambda: all(map(os.path.exists, blocked)) and within("Pipeline.run"))
        while True:
            pipe.run()
"""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", ["end", "raise", "interrupt", "kill", "terminate"])
def test_no_process_is_left(how: str, method: str, tmp_path: Path, start: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(CHILD))
    process = subprocess.Popen(
        [sys.executable, str(script), method, how, str(tmp_path / "blocked")],
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    if how not in ("end", "raise"):
        assert process.stdout.readline() == "waiting\n"
    if how == "interrupt":
        os.killpg(process.pid, signal.SIGINT)
    elif how in ("kill", "terminate"):
        process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
    process.wait(HANG_S)
    until_ended(pids)
    errors = process.stderr.read() if process.stderr is not None else ""
    if how == "interrupt":
        assert errors.count("KeyboardInterrupt") == 1, errors
    if how == "raise":
        assert "ValueError" in errors
    if how == "end":
        assert not errors, errors


LARGE = 1 << 20  # bytes of a source: much more than fits into a pipe


def test_spawned_workers_that_die_at_the_start_are_reported(tmp_path: Path, start: Any) -> None:
    """A script without `if __name__ == "__main__"` runs again in each worker, which then ends."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, sys
            if os.getppid() != int(sys.argv[1]):
                sys.exit(3)
            from headrace import Pipeline, fn
            data = bytes({LARGE})
            pipe = Pipeline(2, 1, None, py_num_workers=2, py_start_method="spawn")
            with pipe:
                pipe.set_outputs(fn.external_source(lambda i: [data] * 2, parallel=True))
            try:
                pipe.run()
            except RuntimeError as error:
                print(error)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script), str(os.getpid())],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert "ended unexpectedly with exit status 3" in done.stdout, done


def test_an_interrupt_does_not_end_workers_that_start() -> None:
    data = np.zeros(LARGE, np.uint8)
    pipe = Pipeline(2, 1, None, py_num_workers=2, py_start_method="spawn")
    with pipe:
        pipe.set_outputs(fn.external_source(lambda i: [data + i] * 2, parallel=True))
    pipe.build()
    for pid in pipe._feeder.pool.pids:
        os.kill(pid, signal.SIGINT)  # long before it has imported anything
    assert [int(np.asarray(pipe.run()[0][0])[0]) for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["samples", "batches", "iterator"])
def test_more_requests_than_sockets_hold(kind: str, method: str, tmp_path: Path) -> None:
    """Both the queue of tasks and that of results are full, and each side waits for the other one. A child, because the
    wrong way would hang."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(f"""
        import numpy as np
        from headrace import Pipeline, fn

        def sample(info):
            return np.full(2, info.idx_in_epoch, np.int32)

        def batch(iteration):
            return [np.full(2, 2 * iteration + k, np.int32) for k in range(2)]

        class Iterator:
            def __iter__(self):
                self.number = -2
                return self

            def __next__(self):
                self.number += 2
                return [np.full(2, self.number + k, np.int32) for k in range(2)]

        if __name__ == "__main__":
            source = dict(samples=sample, batches=batch, iterator=Iterator())["{kind}"]
            pipe = Pipeline(2, 1, None, py_num_workers=2, py_start_method="{method}")
            with pipe:
                pipe.set_outputs(fn.external_source(
                    source=source, parallel=True, batch="{kind}" != "samples",
                    prefetch_queue_depth=300 if "{kind}" == "samples" else 600))
            pipe.build()
            outputs = [pipe.run()[0] for _ in range(4)]
            print([int(out.at(k)[0]) for out in outputs for k in range(2)])
        """)
    )
    done = subprocess.run(
        [sys.executable, program],
        env=child_environment(),
        timeout=HANG_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[0] == str(list(range(8))), done.stderr
