# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Jobs of simulated processes: pipelines with `global_batch` that take their parts in one process."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace import Pipeline, fn, types
from headrace import tfrecord as tf
from PIL import Image
from tfrecords import example, record

ITEMS = 97
BAD = [i for i in range(ITEMS) if i % 13 == 5]
SEED = 5


def item(i: int) -> bytes:
    """An image, or bytes that are none."""
    if i in BAD:
        return b"not an image"
    pixels = np.random.default_rng(i).integers(0, 256, (4 + i % 3, 5, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "png")
    return out.getvalue()


def fill(root: Path) -> Path:
    """The same items as files, archives, records and rows."""
    items = [item(i) for i in range(ITEMS)]
    (root / "files" / "all").mkdir(parents=True)
    for i, data in enumerate(items):
        (root / "files" / "all" / f"{i:02}.png").write_bytes(data)
    for k, (first, end) in enumerate(((0, 40), (40, 47), (47, ITEMS))):
        with tarfile.open(root / f"{k}.tar", "w") as tar:
            for i in range(first, end):
                member = tarfile.TarInfo(f"{i:02}.png")
                member.size = len(items[i])
                tar.addfile(member, io.BytesIO(items[i]))
        packed = [record(example({"x": data})) for data in items[first:end]]
        (root / f"{k}.tfrecord").write_bytes(b"".join(packed))
    pq.write_table(pa.table({"x": pa.array(items, pa.binary())}), root / "x.parquet", row_group_size=9)
    return root


def files(root: Path, **more: Any) -> Any:
    return fn.readers.file(file_root=str(root / "files"), name="R", **more)[0]


def archives(root: Path, **more: Any) -> Any:
    paths = [str(root / f"{k}.tar") for k in range(3)]
    return fn.readers.webdataset(paths=paths, ext=["png"], name="R", **more)


def records(root: Path, **more: Any) -> Any:
    paths = [str(root / f"{k}.tfrecord") for k in range(3)]
    described = {"x": tf.FixedLenFeature((), tf.string, "")}
    return fn.readers.tfrecord(path=paths, features=described, name="R", **more)["x"]


def rows(root: Path, **more: Any) -> Any:
    return fn.readers.parquet(paths=str(root / "x.parquet"), columns="x", name="R", **more)


SHUFFLED = {"random_shuffle": True}
READERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "files": (files, SHUFFLED),
    "files in order": (files, {}),
    "archives": (archives, {"initial_fill": 20, **SHUFFLED}),
    "records": (records, {"initial_fill": 20, **SHUFFLED}),
    "rows": (rows, {"initial_fill": 20, **SHUFFLED}),
    "whole archives": (archives, {"shuffle_after_epoch": True}),
    "lists": (files, {"shuffle_after_epoch": True}),
    "padded": (files, {"pad_last_batch": True, **SHUFFLED}),
    "weights": (files, {"sampler": {"weights": [1.0 + i % 5 for i in range(ITEMS)]}}),
    "order": (files, {"sampler": {"order": [*range(ITEMS - 1, 0, -2), 5, 5]}, **SHUFFLED}),
}
CONTAINERS = ("files", "archives", "records", "rows")


def make(
    root: Path,
    reader: str,
    batch: int | None = None,
    state: bytes | None = None,
    on_error: str = "skip",
    **more: Any,
) -> Pipeline:
    """A pipeline that augments; `more`: arguments of its reader."""
    read, arguments = READERS[reader]
    pipe = Pipeline(
        batch,
        1,
        None,
        seed=SEED,
        on_error=on_error,
        enable_checkpointing=True,
        checkpoint=state,
    )
    with pipe:
        data = read(root, **{**arguments, **more})
        image = fn.decoders.image(data, output_type=types.RGB)
        angle = fn.random.uniform(range=(-40.0, 40.0))
        pipe.set_outputs(fn.rotate(image, angle=angle, fill_value=0), angle)
    return pipe


def world(
    root: Path, reader: str, ranks: int, batch: int, state: bytes | None = None, **more: Any
) -> list[Pipeline]:
    """The processes of a job."""
    split = [{"num_shards": ranks, "shard_id": rank, "global_batch": batch} for rank in range(ranks)]
    return [make(root, reader, state=state, **one, **more) for one in split]


def joined(parts: list[Any]) -> list[tuple[Any, ...]]:
    """The samples of a batch of the job, in order: place, shape, bytes, angle."""
    found = []
    for rank, (images, angles) in enumerate(parts):
        slots = parts[rank].slots or range(len(images))
        for i, slot in enumerate(slots):
            image = np.array(images.at(i))
            found.append((slot * len(parts) + rank, image.shape, image.tobytes(), float(angles.at(i))))
    return sorted(found)


def digest(parts: list[Any]) -> str:
    return hashlib.sha256(repr(joined(parts)).encode()).hexdigest()


def run(pipes: list[Pipeline], steps: int) -> list[str]:
    """The hashes of the next batches of a job."""
    return [digest([pipe.run() for pipe in pipes]) for _ in range(steps)]


def close(pipes: list[Pipeline]) -> None:
    for pipe in pipes:
        pipe.close()
