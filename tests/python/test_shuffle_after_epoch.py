# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""shuffle_after_epoch of containers: every epoch has whole files in another order."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import headrace  # noqa: E402
import lmdbs  # noqa: E402
import test_mxnet as mxnet  # noqa: E402
import test_webdataset as webdataset  # noqa: E402
import tfrecords  # noqa: E402
from headrace.cli import tfrecord2idx  # noqa: E402

SIZES = [3, 1, 5, 2, 4]
ALL = list(range(sum(SIZES)))
FILES = [ALL[sum(SIZES[:i]) : sum(SIZES[: i + 1])] for i in range(len(SIZES))]


def write(reader: str, folder: Path) -> dict[str, Any]:
    """A data set of these files, whose items are single bytes. Returns the reader's arguments."""
    if reader == "mxnet":
        offsets, at, paths = [], 0, []
        for k, items in enumerate(FILES):
            records = [mxnet.record(bytes([i]), float(i)) for i in items]
            for r in records:
                offsets.append(at)
                at += len(r)
            paths.append(folder / f"{k}.rec")
            paths[-1].write_bytes(b"".join(records))
        (folder / "idx").write_text("".join(f"{i}\t{offset}\n" for i, offset in enumerate(offsets)))
        return {"path": [str(p) for p in paths], "index_path": str(folder / "idx")}
    paths = []
    for k, items in enumerate(FILES):
        path = folder / str(k)
        if reader == "webdataset":
            webdataset.write(path, [(f"{i:02}.x", bytes([i])) for i in items])
        elif reader == "tfrecord":
            path.write_bytes(
                b"".join(tfrecords.record(tfrecords.example({"x": bytes([i])})) for i in items)
            )
        elif reader == "caffe":
            lmdbs.write(path, [(b"%02d" % i, lmdbs.datum(bytes([i]), i)) for i in items])
        else:
            lmdbs.write(path, [(b"%02d" % i, one_byte(i)) for i in items])
        paths.append(str(path))
    if reader == "webdataset":
        return {"paths": paths, "ext": ["x"]}
    if reader == "tfrecord":
        return {
            "path": paths,
            "index_path": [tfrecord2idx.write_index(p, p + ".idx") for p in paths],
        }
    return {"path": paths}


def one_byte(i: int) -> bytes:
    picture = lmdbs.tensor(lmdbs.STRING, [bytes([i])])
    return lmdbs.tensors(picture, lmdbs.tensor(lmdbs.INT32, [i]))


def epochs(
    package: ModuleType, reader: str, count: int, size: int = len(ALL), **arguments: Any
) -> list[list[int]]:
    """The items of the first `count` epochs."""
    if reader == "tfrecord":
        tf = __import__(f"{package.__name__}.tfrecord", fromlist=["x"])
        arguments["features"] = {"x": tf.FixedLenFeature((), tf.string, "")}
    pipe = package.Pipeline(1, 1, None, seed=7, prefetch_queue_depth=1)
    with pipe:
        out = getattr(package.fn.readers, reader)(shuffle_after_epoch=True, **arguments)
        out = out["x"] if isinstance(out, dict) else out
        pipe.set_outputs(out[0] if isinstance(out, (list, tuple)) else out)
    pipe.build()
    return [[int(np.array(pipe.run()[0].at(0))[0]) for _ in range(size)] for _ in range(count)]


def is_whole(epoch: list[int]) -> bool:
    """Whether it consists of the files, each of them once and in its order."""
    while epoch:
        file = next((f for f in FILES if f == epoch[: len(f)]), None)
        if not file:
            return False
        epoch = epoch[len(file) :]
    return True


@pytest.mark.parametrize("reader", ["webdataset", "tfrecord", "mxnet", "caffe", "caffe2"])
def test_files_stay_whole(reader: str, tmp_path: Path) -> None:
    if reader.startswith("caffe"):
        pytest.importorskip("lmdb")
    arguments = write(reader, tmp_path)
    read = epochs(headrace, reader, 6, **arguments)
    assert all(is_whole(epoch) and sorted(epoch) == ALL for epoch in read)
    assert len({tuple(epoch) for epoch in read}) > 3


def test_shards_split_an_epoch(tmp_path: Path) -> None:
    arguments = write("webdataset", tmp_path)
    shards = [
        epochs(headrace, "webdataset", 3, 5, num_shards=3, shard_id=k, **arguments)
        for k in range(3)
    ]
    for epoch in range(3):
        parts = [
            shards[(k - epoch) % 3][epoch] for k in range(3)
        ]  # shard k goes on with shard k + 1
        assert is_whole(sum(parts, []))


def test_with_random_shuffle(tmp_path: Path) -> None:
    arguments = write("webdataset", tmp_path)
    for epoch in epochs(headrace, "webdataset", 3, random_shuffle=True, **arguments):
        assert sorted(epoch) == ALL and not is_whole(epoch)


def test_not_with_stick_to_shard(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stick_to_shard"):
        epochs(headrace, "webdataset", 1, stick_to_shard=True, **write("webdataset", tmp_path))


@pytest.mark.live_dali
@pytest.mark.parametrize("reader", ["webdataset", "tfrecord", "mxnet"])
def test_dali_does_the_same(reader: str, tmp_path: Path, live_dali: ModuleType) -> None:
    assert all(is_whole(epoch) for epoch in epochs(live_dali, reader, 4, **write(reader, tmp_path)))
