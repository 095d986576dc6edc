# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""use_o_direct: the same bytes, read past the system's page cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import headrace
from headrace import fn

SIZES = [0, 1, 4095, 4096, 4097, 8192, 12_289, 110_000, 300_001]  # around blocks, and larger
PAGE = mmap.PAGESIZE


@pytest.fixture(params=["/tmp", "/dev/shm"])
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A disk, and memory, where some kernels refuse O_DIRECT."""
    if not os.access(request.param, os.W_OK):
        pytest.skip(f"{request.param} cannot be written")
    with tempfile.TemporaryDirectory(dir=request.param) as path:
        yield Path(path)


def noise(size: int) -> bytes:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()


def run(count: int, reader, **arguments) -> list[list[bytes]]:
    """The samples of an epoch, as bytes, by the output."""
    pipe = headrace.Pipeline(4, 2, None, prefetch_queue_depth=1)
    with pipe:
        outputs = reader(name="reader", **arguments)
        pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
    samples: list[list[bytes]] = []
    while len(samples) < count:
        batches = pipe.run()
        samples += zip(*([batch.at(i).tobytes() for i in range(4)] for batch in batches))
    return samples[:count]


def test_files(folder: Path) -> None:
    files = []
    for size in SIZES[1:]:  # an empty file is an error
        files.append(folder / str(size))
        files[-1].write_bytes(noise(size))
    for direct in (True, False):
        samples = run(len(files), fn.readers.file, files=list(map(str, files)), use_o_direct=direct)
        assert [s[0] for s in samples] == [f.read_bytes() for f in files]


def test_members_of_an_archive(folder: Path) -> None:
    """Several spans of a file that stays open, at offsets that are not those of blocks. Two members
    of a sample are far from each other, or neighbours, which are read at once."""
    with tarfile.open(folder / "a.tar", "w") as tar:
        for i, size in enumerate(SIZES):
            for extension, data in (("a", noise(size)), ("b", noise(5000 + i)), ("c", b"x" * i)):
                (folder / "part").write_bytes(data)
                tar.add(folder / "part", f"{i:02}.{extension}")
    samples = run(
        len(SIZES),
        fn.readers.webdataset,
        paths=str(folder / "a.tar"),
        ext=["a", "b", "c"],
        use_o_direct=True,
    )
    expected = [(noise(size), noise(5000 + i), b"x" * i) for i, size in enumerate(SIZES)]
    assert samples == expected


def test_arrays(folder: Path) -> None:
    arrays = [np.random.default_rng(i).random((i + 1, 700)) for i in range(5)]
    for i, array in enumerate(arrays):
        np.save(folder / f"{i}.npy", array)
    arguments = {"file_root": str(folder), "use_o_direct": True, "dont_use_mmap": True}
    samples = run(5, fn.readers.numpy, **arguments)
    assert [s[0] for s in samples] == [a.tobytes() for a in arrays]


def resident(path: Path) -> int:
    """How many pages of a file are in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = path.stat().st_size
    pages = (ctypes.c_ubyte * ((size + PAGE - 1) // PAGE))()
    with path.open("r+b") as f, mmap.mmap(f.fileno(), size) as memory:
        start = ctypes.c_char.from_buffer(memory)
        failed = libc.mincore(
            ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), pages
        )
        del start
    assert not failed, os.strerror(ctypes.get_errno())
    return sum(page & 1 for page in pages)


def evict(path: Path) -> None:
    with path.open("rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_the_page_cache_is_not_filled(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(noise(1_000_000))
    evict(path)
    if resident(path):
        pytest.skip("the file system does not forget what was written")
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        pytest.skip("the file system has no O_DIRECT")
    data = run(1, fn.readers.file, files=[str(path)], use_o_direct=True)[0][0]
    assert data == noise(1_000_000)
    assert resident(path) == 0
    run(1, fn.readers.file, files=[str(path)])
    assert resident(path) == (1_000_000 + PAGE - 1) // PAGE
