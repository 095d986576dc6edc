# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Interrupts, exits, forks, threads, dropped pipelines, memory: nothing crashes, hangs or grows."""

from __future__ import annotations

import gc
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("PIL")

import numpy as np  # noqa: E402
from photos import fill, resized, sources, take  # noqa: E402
from waiting import FOREVER_S, HANG_S, until  # noqa: E402

from headrace import Pipeline, fn  # noqa: E402

STALLED = {"HEADRACE_STALL": f"read:{FOREVER_S}000000"}


def threads() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def resident() -> float:
    """Memory of this process in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def fed(source: Any, **options: Any) -> Pipeline:
    """A pipeline with one or several Python sources."""
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 2, "device_id": None, **options})
    with pipe:
        many = source if isinstance(source, list) else [source]
        pipe.set_outputs(*[fn.external_source(one) for one in many])
    return pipe


# ---- interrupts ----

WAITS = {
    "reading": ("pipe = resized(sys.argv[1], num_threads=1)", STALLED),
    "a source": ("pipe = fed(lambda i: threading.Event().wait())", {}),
    "a lock": (
        """
        pipe = resized(sys.argv[1], num_threads=1)
        pipe.build()
        other = threading.Thread(target=pipe.run, daemon=True)
        other.start()
        until(lambda: within("Pipeline.run", other), "the thread is in run()")""",
        STALLED,
    ),
}


@pytest.mark.timing
@pytest.mark.parametrize("what", WAITS)
def test_interrupts_end_a_wait_within_a_second(what: str, start: Any, photos_root: Path) -> None:
    make, environment = WAITS[what]
    source = f"""
        import sys, threading
        from photos import resized
        from test_robustness import fed
        from waiting import tell, until, within
        {make}
        pipe.build()
        tell("waiting", lambda: within("Pipeline.run"))
        try:
            pipe.run()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    with start(source, photos_root, **environment) as process:
        assert process.stdout.readline() == "waiting\n", process.stdout.read()
        time.sleep(0.3)  # the threads below run() wait, too
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n", process.stdout.read()
        assert time.monotonic() - begin < 1
        assert process.wait(timeout=HANG_S) == 0
        assert time.monotonic() - begin < 5  # waiting reads are cancelled


def test_an_interrupted_run_loses_nothing(start: Any, photos_root: Path) -> None:
    source = """
        import sys, threading
        from headrace import fn
        from photos import resized, sources
        from waiting import tell, within
        entered, interrupted = threading.Event(), threading.Event()

        def blocks(label):
            entered.set()
            interrupted.wait()
            return label

        pipe = resized(sys.argv[1], num_threads=1)
        with pipe:
            images, labels = pipe._graph_out
            pipe.set_outputs(images, fn.python_function(labels, function=blocks))
        pipe.build()
        tell("waiting", lambda: entered.is_set() and within("Pipeline.run"))
        try:
            pipe.run()
        except KeyboardInterrupt:
            interrupted.set()
            print(sources(pipe.run()[0]))
        """
    with start(source, photos_root) as process:
        assert process.stdout.readline() == "waiting\n", process.stdout.read()
        process.send_signal(signal.SIGINT)
        expected = [f"class0/{i:02}.jpg" for i in range(4)]
        assert process.stdout.readline() == f"{expected}\n"


def test_an_interrupted_iterator_loses_nothing(start: Any, photos_root: Path) -> None:
    pytest.importorskip("torch")
    source = """
        import sys, threading
        from headrace import fn
        from photos import resized
        from headrace.plugin.pytorch import DALIClassificationIterator
        from waiting import tell, within
        calls, labels, interrupted, entered, go = 0, [], 0, threading.Event(), threading.Event()

        def blocks(label):  # in the third batch
            global calls
            calls += 1
            if calls == 10:
                entered.set()
                go.wait()
            return label

        pipe = resized(sys.argv[1], num_threads=1, prefetch_queue_depth=1)
        with pipe:
            images, numbers = pipe._graph_out
            pipe.set_outputs(images, fn.python_function(numbers, function=blocks))
        iterator = DALIClassificationIterator(pipe, reader_name="Reader")
        def in_third():
            return entered.is_set() and len(labels) == 8 and within("_DaliBaseIterator.__next__")

        tell("waiting", in_third)
        while True:
            try:
                labels += next(iterator)[0]["label"].flatten().tolist()
            except KeyboardInterrupt:
                interrupted += 1
                go.set()
            except StopIteration:
                break
        print(interrupted, labels)
        """
    with start(source, photos_root) as process:
        assert process.stdout.readline() == "waiting\n", process.stdout.read()
        process.send_signal(signal.SIGINT)
        labels = [i // 8 for i in range(24)]
        assert process.stdout.readline() == f"1 {labels}\n"


# ---- exits ----

ENDS = {
    "running": "pipes = [resized(ROOT, prefetch_queue_depth=4) for _ in range(3)]\n"
    "for pipe in pipes: pipe.run()",
    "built only": "pipe = resized(ROOT); pipe.build()",
    "outputs held": "outputs = resized(ROOT).run()",
    "arrays held": "array = np.asarray(resized(ROOT).run()[0].as_array())",
    "held by a module that stays": "import zlib; zlib.kept = resized(ROOT).run(); zlib.me = zlib",
    "a thread in run": "pipe = resized(ROOT)\n"
    "def work():\n    try:\n        while True: pipe.run()\n    except RuntimeError: pass\n"
    "thread = threading.Thread(target=work, daemon=True); thread.start()\n"
    "until(lambda: within('Pipeline.run', thread), 'the thread is in run()')",
    "use in atexit": "pipe = resized(ROOT); pipe.run(); atexit.register(pipe.run)",
    "use in __del__": "class Late:\n    def __del__(self):\n        try: self.pipe.run()\n"
    "        except RuntimeError: pass\nlate = Late(); late.pipe = resized(ROOT); late.pipe.run()",
    "an exception on the way": "pipe = resized(ROOT); outputs = pipe.run()\n"
    "try: raise ValueError(pipe)\nexcept ValueError as error: kept = error",
    "a cycle": "pipe = resized(ROOT); pipe.me = [pipe, pipe.run()]; del pipe",
    "garbage is not collected": "gc.disable(); pipe = resized(ROOT); pipe.me = pipe; pipe.run()",
}


SLOW = [(how, "read:300000") for how in ("running", "built only", "a thread in run")]


@pytest.mark.parametrize("how, stall", [(how, "") for how in ENDS] + SLOW)
def test_the_interpreter_ends(how: str, stall: str, child: Any, photos_root: Path) -> None:
    source = "import atexit, gc, sys, threading\nimport numpy as np\nfrom photos import resized\n"
    source += "from waiting import until, within\nROOT = sys.argv[1]\n" + ENDS[how]
    output = child(source, photos_root, HEADRACE_STALL=stall)
    assert "Traceback" not in output and "rror" not in output, output


def test_dropped_pipelines_end_at_once(photos_root: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        before = threads()
        for run in range(4):
            pipe = resized(photos_root, prefetch_queue_depth=3)
            for _ in range(run):
                pipe.run()
            del pipe
            # other pipelines of this process may share the threads, which end when they are idle
            until(lambda: threads() <= before, "its threads have ended")
    finally:
        gc.enable()


def test_outputs_outlive_their_pipeline(photos_root: Path) -> None:
    expected = np.array(resized(photos_root).run()[0].as_array())
    outputs = resized(photos_root).run()
    array, sample = np.asarray(outputs[0].as_array()), outputs[0][2]
    del outputs
    for _ in range(3):
        resized(photos_root, seed=3, random_shuffle=True).run()  # free memory is reused
    assert np.array_equal(array, expected) and np.array_equal(np.asarray(sample), expected[2])


def test_closing_while_a_thread_waits(child: Any, photos_root: Path) -> None:
    source = """
        import sys, threading
        from photos import resized
        from waiting import until, within
        pipe = resized(sys.argv[1], num_threads=1)
        pipe.build()
        told = []
        def work():
            try:
                while True:
                    pipe.run()
            except RuntimeError as error:
                told.append(str(error))
        thread = threading.Thread(target=work)
        thread.start()
        until(lambda: within("Pipeline.run", thread), "the thread is in run()")
        pipe.close()
        thread.join()
        assert "closed" in told[0], told
        print("good")
        """
    assert child(source, photos_root, **STALLED) == "good\n"


# ---- forks ----


def test_children_may_do_anything_but_use_the_pipeline(child: Any, photos_root: Path) -> None:
    output = child(
        """
        import gc, os, sys
        from photos import resized, sources
        pipe = resized(sys.argv[1], num_threads=4, prefetch_queue_depth=4, enable_checkpointing=True,
                       on_error="skip")
        held = [pipe.run() for _ in range(3)]
        uses = [pipe.run, pipe.errors, pipe.stats, pipe.explain, pipe.describe, pipe.checkpoint,
                pipe.epoch_size, pipe.reader_meta, pipe.reset, pipe.schedule_run]

        def in_child(number):
            if number % 3 == 0:
                for use in uses:
                    try:
                        use()
                    except RuntimeError as error:
                        assert "fork" in str(error), error
                    else:
                        raise AssertionError(use)
            elif number % 3 == 1:
                assert held[0][0].as_array().sum() > 0
                held.clear()
                globals().pop("pipe")
                uses.clear()
                gc.collect()
            else:
                own = resized(sys.argv[1])
                assert len(sources(own.run()[0])) == 4

        for number in range(30):
            pipe.run()
            pid = os.fork()
            if pid == 0:
                in_child(number)
                sys.exit(7)  # with the interpreter's normal shutdown
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7, number
        assert len(pipe.run()[0]) == 4
        print("good")
        """,
        photos_root,
    )
    assert output.endswith("good\n")


def test_beside_a_dataloader(child: Any, photos_root: Path) -> None:
    pytest.importorskip("torch")
    child(
        """
        import sys
        import torch
        from photos import resized, sources
        pipe = resized(sys.argv[1], num_threads=2, prefetch_queue_depth=3)
        first = pipe.run()
        class Numbers(torch.utils.data.Dataset):
            def __len__(self): return 40
            def __getitem__(self, i): return torch.tensor(i) + 0 * int(first[1].as_array()[0, 0])
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2)
        for epoch in range(2):
            seen = []
            for numbers in loader:
                seen += numbers.tolist()
                assert len(pipe.run()[0]) == 4
            assert seen == list(range(40))
        """,
        photos_root,
    )


def test_two_processes_share_a_folder(start: Any, photos_root: Path, tmp_path: Path) -> None:
    (tmp_path / "root" / "one").mkdir(parents=True)
    fill(tmp_path / "root", classes=1, each=6)
    (tmp_path / "root" / "one" / "bad.jpg").write_bytes(b"junk")
    source = """
        import sys
        from photos import resized
        pipe = resized(sys.argv[1], on_error="skip", quarantine=sys.argv[2], batch_size=7)
        for _ in range(100):
            assert len(pipe.run()[0]) == 6
        pipe.close()
        """
    quarantine = tmp_path / "bad.txt"
    both = [start(source, tmp_path / "root", quarantine) for _ in range(2)]
    for process in both:
        output = process.communicate(timeout=HANG_S)[0]
        assert process.returncode == 0, output
    lines = quarantine.read_text().splitlines()
    assert len(lines) >= 200 and all(line.startswith("one/bad.jpg\t") for line in lines)


# ---- threads ----


def test_threads_share_a_reader(photos_root: Path) -> None:
    expected = take(resized(photos_root, 16), 4 * 60)
    pipe = resized(photos_root, 16)
    taken: dict[int, Any] = {}
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(15):
                outputs = pipe.run()
                columns = [[np.asarray(s).tobytes() for s in batch] for batch in outputs]
                taken[outputs.iteration] = list(zip(*columns, strict=True))
                pipe.stats()
                pipe.errors()
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(HANG_S)
    assert not failures and sorted(taken) == list(range(60))
    assert [sample for number in range(60) for sample in taken[number]] == expected


def test_threads_share_a_source() -> None:
    def numbers() -> Any:
        for number in range(200):
            yield np.full((2, 1), number)

    pipe = fed(numbers())
    taken: list[int] = []

    def work() -> None:
        try:
            while True:
                taken.append(int(pipe.run()[0].as_array()[0, 0]))
        except StopIteration:
            pass

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(HANG_S)
    assert sorted(taken) == list(range(200))


def test_reports_do_not_wait_for_a_run(child: Any, photos_root: Path) -> None:
    child(
        """
        import sys, threading
        from photos import resized
        from waiting import until, within
        pipe = resized(sys.argv[1], num_threads=1)
        pipe.build()
        told = []
        def work():
            try:
                pipe.run()
            except RuntimeError as error:
                told.append(str(error))
        thread = threading.Thread(target=work)
        thread.start()
        until(lambda: within("Pipeline.run", thread), "the thread is in run()")
        for _ in range(20):
            pipe.stats(), pipe.errors(), pipe.explain()
        assert not told and thread.is_alive()
        pipe.close()
        thread.join()
        assert "closed" in told[0], told
        """,
        photos_root,
        **STALLED,
    )


# ---- several sources ----


def counting() -> Any:
    number = 0
    while True:
        yield np.full((2, 1), number)
        number += 1


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("fault", ["raises", "bad batch"])
def test_sources_stay_together(fault: str, first: bool, depth: int) -> None:
    """When one source fails, its samples are not combined with another batch of the other source."""
    calls = 0

    def faulty(number: int) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3 and fault == "raises":
            raise OSError("once")
        return np.full((2 if calls != 3 else 5, 1), number)

    both: list[Any] = [faulty, counting()] if first else [counting(), faulty]
    pipe = fed(both, prefetch_queue_depth=depth)
    pairs, errors = [], 0
    while len(pairs) < 6:
        try:
            one, other = pipe.run()
            pairs.append((int(one.as_array()[0, 0]), int(other.as_array()[0, 0])))
        except (OSError, RuntimeError):
            errors += 1
    lost = fault == "bad batch"
    assert errors == 1 and all(one == other for one, other in pairs)
    assert [one for one, _ in pairs] == [n for n in range(7) if not (lost and n == 2)][:6]


def test_sources_begin_again_together() -> None:
    batches = [np.full((2, 1), number) for number in range(3)]
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipe:
        both = [fn.external_source(batches, cycle="raise") for _ in range(2)]
        pipe.set_outputs(*both)
    for _ in range(3):
        pairs = []
        with pytest.raises(StopIteration):
            while True:
                one, other = pipe.run()
                pairs.append((int(one.as_array()[0, 0]), int(other.as_array()[0, 0])))
        pipe.reset()
        assert pairs == [(0, 0), (1, 1), (2, 2)]


# ---- memory ----


def grown(pipe: Pipeline, iterations: int = 2000) -> float:
    for _ in range(200):
        pipe.run()
    gc.collect()
    before = resident()
    for _ in range(iterations):
        pipe.run()
    return resident() - before


def test_iterations_grow_nothing(photos_root: Path) -> None:
    assert grown(resized(photos_root, 16, batch_size=2)) < 4
    assert grown(fed(lambda _: np.zeros((2, 100, 100), np.uint8))) < 4
    assert grown(fed(counting())) < 4


def test_bad_samples_grow_nothing(tmp_path: Path) -> None:
    fill(tmp_path, classes=1, each=1)
    (tmp_path / "class0" / "bad.jpg").write_bytes(b"junk")
    pipe = resized(tmp_path, 16, batch_size=2, on_error="skip")
    for _ in range(10_100):
        pipe.run()  # the list of errors is full
    assert grown(pipe) < 4
    assert len(pipe.errors()) == 10_000 and pipe.stats()["bad_samples"] > 12_000


def test_pipelines_grow_nothing(photos_root: Path) -> None:
    def make() -> None:
        pipe = resized(photos_root, 16)
        for _ in range(2):
            pipe.run()

    for _ in range(20):
        make()
    gc.collect()
    before, running = resident(), threads()
    for _ in range(60):
        make()
    gc.collect()
    assert resident() - before < 6 and threads() == running


def test_held_outputs_meet_the_memory_limit(photos_root: Path) -> None:
    """An error costs no batch: once memory is released, the batch that failed comes, and all others after it."""
    limit = 2 << 20
    pipe = resized(photos_root, 128, host_memory_limit=limit, num_threads=3)
    held: list[Any] = []
    results: list[list[str] | None] = []

    def step() -> None:
        try:
            outputs = pipe.run()
            results.append(sources(outputs[0]))
            held.append(outputs)
        except MemoryError as error:
            assert "host_memory_limit" in str(error) and "release outputs" in str(error)
            results.append(None)

    for _ in range(16):
        step()  # does not wait forever
    assert 4 <= len(held) <= 11 and pipe.stats()["memory_bytes"] <= limit  # 192 KiB each
    held.clear()
    for _ in range(12):
        step()
        held.clear()
    assert None in results[:16] and None not in results[16:]
    every = [f"class{i // 8}/{i % 8:02}.jpg" for i in range(24)] * 5
    for number, names in enumerate(names for names in results if names):
        assert names == every[4 * number : 4 * number + 4]
    assert pipe.errors() == []  # the files are not at fault


def test_a_limit_that_nothing_fits(photos_root: Path) -> None:
    for policy in ("raise", "replace", "skip"):
        pipe = resized(photos_root, 256, host_memory_limit=400_000, on_error=policy)
        for _ in range(3):
            with pytest.raises(MemoryError, match="host_memory_limit"):
                pipe.run()  # a batch has 786,432 bytes
        pipe = resized(photos_root, host_memory_limit=100, on_error=policy)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="was bad|host_memory_limit"):
                pipe.run()  # every file is larger: the files are at fault


# ---- iterators ----


@pytest.mark.parametrize("error", [OSError, RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("pipelines", [1, 2])
def test_iterators_go_on_after_a_source_raised(
    error: type[BaseException], pipelines: int, photos_root: Path
) -> None:
    """The interrupted round comes next; pipelines stay in step, and epochs keep their length."""
    pytest.importorskip("torch")
    from headrace.plugin.pytorch import DALIGenericIterator

    calls = 0

    def shaky(number: int) -> Any:
        nonlocal calls
        calls += 1
        if calls in (5, 6, 9):
            raise error("now and then")
        return np.full((4, 1), number)

    pipes = []
    for i in range(pipelines):
        pipe = resized(photos_root, 8, shard_id=i, num_shards=pipelines, pad_last_batch=True)
        with pipe:
            source = shaky if i == pipelines - 1 else (lambda number: np.full((4, 1), number))
            pipe.set_outputs(*pipe._graph_out, fn.external_source(source))
        pipes.append(pipe)
    loader = DALIGenericIterator(
        pipes, ["image", "label", "number"], reader_name="Reader", prepare_first_batch=False
    )
    rounds = 6 // pipelines
    failures, taken = 0, []
    for _ in range(3):
        while True:
            try:
                taken.append([data["number"][0].item() for data in next(loader)])
            except StopIteration:
                try:
                    loader.reset()  # prefetches from the source; Ctrl-C leaves the epoch as it was
                    break
                except error:
                    assert error is KeyboardInterrupt
                    failures += 1
            except error:
                failures += 1
    assert failures == 3
    assert taken == [[number] * pipelines for number in range(3 * rounds)]
