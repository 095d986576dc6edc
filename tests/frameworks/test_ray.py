# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipelines as Ray actors on a cluster of several local nodes: each sample once, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

ray = pytest.importorskip("ray")

import headrace  # noqa: E402
from headrace import fn, pipeline_def  # noqa: E402
from headrace.ray import Loader, MapBatches  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402
from waiting import HANG_S, running, until_ended  # noqa: E402

SAMPLES = 53
BATCH = 4
MB = 1 << 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A node of the trainer, and one for actors."""
    os.environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    head = {"num_cpus": 0, "object_store_memory": 80 * MB, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=8, object_store_memory=80 * MB)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A function that makes pipelines: the number and a random number of each sample."""
    root = tmp_path_factory.mktemp("numbered")
    files = [str(root / f"{i}") for i in range(SAMPLES)]
    for i, path in enumerate(files):
        Path(path).write_bytes(bytes([i, 0, 0]))

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=5)
    def numbered(shard_id: int, num_shards: int) -> Any:
        data, labels = fn.readers.file(
            files=files,
            random_shuffle=True,
            shard_id=shard_id,
            num_shards=num_shards,
            pad_last_batch=True,
        )
        return data, labels, fn.random.uniform(range=[0, 1])

    return numbered


Rows = list[tuple[int, float]]


def rows(batch: Any) -> Rows:
    data, labels, draws = batch
    assert data[:, 0].tolist() == labels.tolist() and labels.dtype == np.int64
    return [(int(n), float(x)) for n, x in zip(labels, draws.reshape(-1))]


def process_of(loader: Any, actor: int) -> int:
    handle = loader._slots[actor]._actor
    return int(ray.get(handle.__ray_call__.remote(lambda _: __import__("os").getpid())))


def epoch(batches: Any) -> list[Rows]:
    return [rows(batch) for batch in batches]


def flat(batches: list[Rows]) -> Rows:
    return [row for batch in batches for row in batch]


@pytest.fixture(scope="module")
def expected(cluster: Any, make: Any) -> list[list[Rows]]:
    """Three epochs of two actors, which nothing disturbs, checked against one pipeline."""
    with Loader(make, 2) as loader:
        length = len(loader)
        epochs = [epoch(loader) for _ in range(3)]
        assert loader.epoch == 3
    pipes = [make(shard_id=i, num_shards=2) for i in (0, 1)]
    first = [np.asarray(x).reshape(-1) for pipe in pipes for x in [pipe.run()[1].as_array()]]
    assert [[n for n, _ in batch] for batch in epochs[0][:2]] == [x.tolist() for x in first]
    for one in epochs:
        assert sorted(n for n, _ in flat(one)) == list(range(SAMPLES))
        assert len(one) == length == 14
    assert len({str(one) for one in epochs}) == 3
    return epochs


def test_a_killed_actor_costs_nothing(make: Any, expected: Any) -> None:
    with Loader(make, 2, prefetch=3) as loader:
        taken: list[Rows] = []
        killed = []
        for i, batch in enumerate(loader):
            taken.append(rows(batch))
            if i in (1, 2):
                killed.append(process_of(loader, i % 2))
                os.kill(killed[-1], signal.SIGKILL)
        assert taken == expected[0]
        killed.append(process_of(loader, 1))
        os.kill(killed[-1], signal.SIGKILL)  # between two epochs
        assert epoch(loader) == expected[1]
        alive = [process_of(loader, actor) for actor in (0, 1)]
        assert len({*killed, *alive}) == 5


def test_a_dead_node_costs_nothing(cluster: Any, make: Any, expected: Any) -> None:
    spare = {"num_cpus": 2, "resources": {"spare": 2}, "object_store_memory": 80 * MB}
    node = cluster.add_node(**spare)
    other = None
    taken: list[Rows] = []
    # Only these nodes have the resource, so the first one dies with both actors and their batches.
    with Loader(make, 2, prefetch=3, resources={"spare": 1}) as loader:
        for i, batch in enumerate(loader):
            taken.append(rows(batch))
            if i == 4:
                process = process_of(loader, 1)
                cluster.remove_node(node, allow_graceful=False)
                until_ended([process])
                other = cluster.add_node(**spare)
    assert taken == expected[0]
    cluster.remove_node(other)


@pytest.mark.parametrize("stop", [0, 3, 14])
def test_states_resume_exactly(make: Any, expected: Any, stop: int) -> None:
    with Loader(make, 2) as loader:
        iterator = iter(loader)
        taken = [rows(next(iterator)) for _ in range(stop)]
        state = loader.state_dict()
    with Loader(make, 2) as again:
        again.load_state_dict(state)
        assert again.state_dict() == state
        if stop < 14:
            assert taken + epoch(again) == expected[0]
        assert epoch(again) == expected[1]
    assert len(str(state)) < 3000


def test_another_number_of_actors(make: Any, expected: Any) -> None:
    with Loader(make, 2) as loader:
        iterator = iter(loader)
        taken = [rows(next(iterator)) for _ in range(5)]
        state = loader.state_dict()
    with Loader(make, 3) as other:
        other.load_state_dict(state)
        iterator = iter(other)
        batch = next(iterator)  # what was left of the round of two
        assert rows(batch) == expected[0][5]
        os.kill(process_of(other, 0), signal.SIGKILL)
        taken += [rows(batch), *(rows(next(iterator)) for _ in range(2))]
        state = other.state_dict()
        assert sorted(flat(taken + epoch(iterator))) == sorted(flat(expected[0]))
    with Loader(make, 1) as one:
        one.load_state_dict(state)
        assert sorted(flat(taken + epoch(one))) == sorted(flat(expected[0]))
        assert sorted(flat(epoch(one))) == sorted(flat(expected[1]))


def test_trainers_and_epochs(make: Any, expected: Any) -> None:
    """Two trainers get equal batches that together are the epoch; a loop that was left is not continued."""
    with Loader(make, 1, rank=0, world_size=2) as one, Loader(make, 1, rank=1, world_size=2) as two:
        both = [epoch(one), epoch(two)]
        assert [len(x) for batches in both for x in batches] == [4, 4, 4, 4, 4, 4, 3] * 2
        assert {n for batches in both for n, _ in flat(batches)} == set(range(SAMPLES))
    with Loader(make, 2) as loader:
        old = iter(loader)
        assert rows(next(old)) == expected[0][0]
        assert epoch(loader) == expected[1]
        with pytest.raises(RuntimeError, match="newer one"):
            next(old)
        loader.set_epoch(0)
        assert loader.epoch == 0 and epoch(loader) == expected[0]


def test_back_pressure(cluster: Any) -> None:
    """Actors do not run ahead of a trainer that is slow."""

    @pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=5, prefetch_queue_depth=1)
    def large(shard_id: int, num_shards: int) -> Any:
        _, labels = fn.readers.file(
            files=[__file__] * 400,
            pad_last_batch=True,
            shard_id=shard_id,
            num_shards=num_shards,
        )
        return fn.random.uniform(range=[0, 1], shape=[MB // 4]), labels

    with Loader(large, 2, prefetch=8, prefetch_bytes=9 * MB) as loader:
        for i, (images, _) in enumerate(loader):
            assert images.nbytes == 2 * MB and not images.flags.writeable
            asked = [len(slot._asked) for slot in loader._slots]
            assert max(asked) <= 2 and sum(asked) * 2 * MB <= 9 * MB
            if i == 20:
                break


def test_errors_have_the_traceback_of_the_actor(cluster: Any, make: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"this is not a JPEG file")

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=5)
    def broken(shard_id: int, num_shards: int) -> Any:
        data, _ = fn.readers.file(
            files=[str(tmp_path / "a.jpg")], shard_id=shard_id, num_shards=num_shards, pad_last_batch=True
        )
        return fn.decoders.image(data)

    def fails(shard_id: int, num_shards: int) -> Any:
        raise KeyError("no such file system")

    with Loader(broken, 1) as loader, pytest.raises(RuntimeError, match=r"a\.jpg") as caught:
        next(iter(loader))
    assert "_actor.py" in str(caught.value)
    with Loader(fails, 2) as loader, pytest.raises(KeyError, match="no such file system"):
        len(loader)

    def dies(shard_id: int, num_shards: int) -> Any:
        os._exit(1)

    with Loader(dies, 1) as loader, pytest.raises(RuntimeError, match="4 times in a row"):
        len(loader)
    with Loader(make, 1, num_cpus=1000, start_timeout=1) as loader:
        with pytest.raises(RuntimeError, match="within 1 s.*ray status"):
            len(loader)


def test_wrong_arguments(make: Any, expected: Any) -> None:
    for wrong in ({"actors": 0}, {"actors": 1, "rank": 1}, {"actors": 1, "framework": "tf"}):
        with pytest.raises(ValueError):
            Loader(make, **wrong)
    with pytest.raises(TypeError, match="function"):
        Loader(make(shard_id=0, num_shards=1), 1)
    loader = Loader(make, 1)
    good = {"shards": 4, "world_size": 2, "epoch": 0, "taken": 1, "before": b"", "after": b""}
    for state in (None, {}, {**good, "taken": 2}, {**good, "world_size": 0}, {**good, "before": ""}):
        with pytest.raises(ValueError, match="not a state"):
            loader.load_state_dict(state)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="after a multiple of 2 batches"):
        loader.load_state_dict(good)


INTERRUPTED = """
import os, sys
import ray
from headrace import fn, pipeline_def
from headrace.ray import Loader

@pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=5)
def train(shard_id, num_shards):
    return fn.readers.file(files=[sys.executable] * 1000, shard_id=shard_id, num_shards=num_shards,
                           pad_last_batch=True)[1]

ray.init(address=sys.argv[1], log_to_driver=False)
loader = Loader(train, 2)
while True:
    for i, _ in enumerate(loader):
        if i == 4:
            for slot in loader._slots:
                call = slot._actor.__ray_call__.remote(lambda _: os.getpid())
                print(ray.get(call), flush=True)
"""


def test_an_interrupt_leaves_nothing_behind(cluster: Any) -> None:
    command = [sys.executable, "-c", INTERRUPTED, cluster.address]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    actors = {int(driver.stdout.readline()) for _ in range(2)}
    assert len(running(actors)) == 2
    driver.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in driver.communicate(timeout=HANG_S)[1]
    until_ended(actors)


def test_map_batches(cluster: Any, tmp_path: Path) -> None:
    """The same pixels as the pipeline gives by itself, whatever actor has which batch."""
    pytest.importorskip("pyarrow")
    from PIL import Image

    for i in range(7):
        image = Image.linear_gradient("L").resize((40 + i, 30))
        Image.merge("RGB", (image, image.rotate(90 * i), image)).save(tmp_path / f"{i}.png")
    paths = sorted(str(path) for path in tmp_path.iterdir())

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def decode() -> Any:
        image = fn.decoders.image(fn.external_source(name="bytes"))
        return fn.resize(image, size=[8, 8]), image

    table = [{"bytes": Path(path).read_bytes(), "path": path} for path in paths]
    arguments = (decode, ["bytes"], ["image", "whole"])
    data = ray.data.from_items(table).map_batches(
        MapBatches, fn_constructor_args=arguments, batch_size=3, concurrency=2
    )
    found = {row["path"]: row for row in data.take_all()}
    assert sorted(found) == paths and "bytes" not in found[paths[0]]
    direct = MapBatches(*arguments)
    for path in paths:
        wanted = direct({"bytes": np.array([Path(path).read_bytes()], object)})
        np.testing.assert_array_equal(found[path]["image"], wanted["image"][0])
        np.testing.assert_array_equal(found[path]["whole"], np.asarray(Image.open(path)))
    with pytest.raises(KeyError, match="no column 'bytes'"):
        direct({"path": np.array(paths)})
    with pytest.raises(ValueError, match="1 names"):
        MapBatches(decode, ["bytes"], ["image"])
    assert headrace.__version__
