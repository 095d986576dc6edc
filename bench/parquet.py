# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures readers.parquet.

    python bench/parquet.py rows [--compression snappy] [--shuffle]
    python bench/parquet.py open
    python bench/parquet.py train PHOTOS

*rows*: rows of 110 kB that cannot be compressed, in row groups of 100, per second of CPU time; also what pyarrow alone
takes for them. *open*: building a pipeline of 1,000 files of 1,000 rows. *train*: images of class folders, decoded
from their files and from a Parquet file, in turn. Files are written to --scratch (a temporary folder by default).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace import Pipeline, fn

ROWS, SIZE, GROUP = 4000, 110_000, 100
BATCH = 64
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def table(files: list[bytes], labels: list[int]) -> Any:
    images = [{"bytes": data, "path": f"{i}.jpg"} for i, data in enumerate(files)]
    return pa.table({"image": pa.array(images, IMAGE), "label": pa.array(labels, pa.int64())})


def write(path: Path, files: Iterator[tuple[bytes, int]], compression: str) -> None:
    rows: list[tuple[bytes, int]] = []
    options = {"compression": compression, "use_dictionary": compression != "none"}
    with pq.ParquetWriter(path, table([b""], [0]).schema, **options) as writer:
        for row in files:
            rows.append(row)
            if len(rows) == GROUP:
                writer.write_table(table(*map(list, zip(*rows, strict=True))))
                rows = []
        if rows:
            writer.write_table(table(*map(list, zip(*rows, strict=True))))


def pipeline(path: str, threads: int, **arguments: Any) -> Pipeline:
    pipe = Pipeline(BATCH, threads, None, seed=1)
    with pipe:
        columns = ["image", "label"]
        pipe.set_outputs(*fn.readers.parquet(paths=path, columns=columns, name="R", **arguments))
    return pipe


def measure_rows(folder: Path, arguments: argparse.Namespace) -> None:
    path = folder / "rows.parquet"
    rng = np.random.default_rng(1)
    write(path, ((rng.bytes(SIZE), i) for i in range(ROWS)), arguments.compression)
    for _ in range(arguments.repeat):
        cpu = time.process_time()
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            file.read_row_group(group, columns=["image.bytes", "label"], use_threads=False)
        print(f"pyarrow alone: {ROWS / (time.process_time() - cpu):,.0f} rows per CPU-second")
    pipe = pipeline(str(path), 2, random_shuffle=arguments.shuffle, initial_fill=256)
    for _ in range(arguments.repeat):
        cpu, wall, rows = time.process_time(), time.perf_counter(), 0
        while rows < ROWS:
            rows += len(pipe.run()[0])
        used = time.process_time() - cpu
        rate = rows / (time.perf_counter() - wall)
        print(f"readers.parquet: {rows / used:,.0f} rows per CPU-second, {rate:,.0f} per second")


def measure_open(folder: Path, arguments: argparse.Namespace) -> None:
    for i in range(1000):
        if i == 0:
            write(folder / "0000.parquet", ((b"x", k) for k in range(1000)), "snappy")
        else:
            (folder / f"{i:04}.parquet").write_bytes((folder / "0000.parquet").read_bytes())
    for _ in range(arguments.repeat):
        pipe = pipeline(f"{folder}/*.parquet", 2)
        start = time.perf_counter()
        pipe.build()
        print(f"{pipe.epoch_size('R'):,} rows: {time.perf_counter() - start:.2f} s")


def measure_training(folder: Path, arguments: argparse.Namespace) -> None:
    photos = Path(arguments.photos)
    names = sorted(p for p in photos.glob("*/*") if p.is_file())
    classes = sorted({p.parent.name for p in names})
    rows = ((p.read_bytes(), classes.index(p.parent.name)) for p in names)
    write(folder / "photos.parquet", rows, "none")

    def build(kind: str) -> Pipeline:
        pipe = Pipeline(BATCH, arguments.threads, None, seed=1)
        order = {"random_shuffle": True, "name": "R"}
        with pipe:
            if kind == "files":
                files, labels = fn.readers.file(file_root=str(photos), **order)
            else:
                files, labels = fn.readers.parquet(
                    paths=f"{folder}/photos.parquet", columns=["image", "label"], **order
                )
            images = fn.decoders.image_random_crop(files)
            images = fn.resize(images, size=[224, 224])
            pipe.set_outputs(fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip()), labels)
        return pipe

    pipes = {kind: build(kind) for kind in ("files", "parquet")}
    rates: dict[str, list[float]] = {kind: [] for kind in pipes}
    for _ in range(arguments.repeat + 1):  # the first pass makes indices of the files
        for kind, pipe in pipes.items():
            start, done = time.perf_counter(), 0
            while done < max(len(names), 2000):
                done += len(pipe.run()[0])
            rates[kind].append(done / (time.perf_counter() - start))
    best = {kind: max(values[1:]) for kind, values in rates.items()}
    print(f"{best['files']:,.0f} images per second from files, {best['parquet']:,.0f} from Parquet "
          f"({best['parquet'] / best['files']:.3f})")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["rows", "open", "train"])
    parser.add_argument("photos", nargs="?")
    parser.add_argument("--compression", default="none")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scratch")
    arguments = parser.parse_args()
    run = {"rows": measure_rows, "open": measure_open, "train": measure_training}[arguments.what]
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        run(Path(folder), arguments)


if __name__ == "__main__":
    main()
