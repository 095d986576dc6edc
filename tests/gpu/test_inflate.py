# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""decoders.inflate against data that the lz4 package and zlib compressed, on the CPU and on a GPU."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import lz4.block
import numpy as np
import pytest

from headrace import Pipeline, fn, types

RNG = np.random.default_rng(3)
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "LZ4": lambda data: lz4.block.compress(data, store_size=False),
    "deflate": lambda data: zlib.compress(data, 9)[2:-4],
    "zlib": zlib.compress,
    "gzip": gzip.compress,
}


def texts() -> list[bytes]:
    """Data with long and short matches, at distances from 1 up, and data without any."""
    words = [RNG.bytes(int(n)) for n in RNG.integers(1, 40, 20)]
    mixed = [b"".join(words[i] for i in RNG.integers(0, 20, n)) for n in (1, 7, 300, 5000)]
    runs = [b"x" * 1000, b"ab" * 700 + b"c", b"1234567" * 100, bytes(70000)]
    return [b"", b"a", b"hello world", RNG.bytes(50), RNG.bytes(70000), *mixed, *runs]


TEXTS = texts()


def inflate(samples: list[Any], gpu: bool = False, feeds: dict[str, Any] | None = None, **arguments: Any) -> Any:
    pipe = Pipeline(len(samples), 2, 0 if gpu else None)
    with pipe:
        data = fn.external_source(lambda: [np.frombuffer(s, np.uint8) for s in samples])
        nodes = {k: fn.external_source([v], cycle=True) for k, v in (feeds or {}).items()}
        pipe.set_outputs(fn.decoders.inflate(data.gpu() if gpu else data, **nodes, **arguments))
    out = pipe.run()[0]
    return out.as_cpu() if gpu else out


def sizes(samples: list[bytes]) -> list[np.ndarray]:
    return [np.array([len(s)], np.int32) for s in samples]


@pytest.mark.parametrize("algorithm", COMPRESSORS)
def test_comes_back(algorithm: str) -> None:
    coded = [COMPRESSORS[algorithm](text) for text in TEXTS]
    out = inflate(coded, feeds={"shape": sizes(TEXTS)}, algorithm=algorithm)
    assert [np.asarray(x).tobytes() for x in out] == TEXTS


@pytest.mark.parametrize("mode", ["default", "fast", "high_compression"])
def test_levels_of_lz4(mode: str) -> None:
    coded = [lz4.block.compress(text, mode=mode, store_size=False) for text in TEXTS]
    out = inflate(coded, feeds={"shape": sizes(TEXTS)})
    assert [np.asarray(x).tobytes() for x in out] == TEXTS


@pytest.mark.usefixtures("module")
def test_on_a_gpu() -> None:
    coded = [COMPRESSORS["LZ4"](text) for text in TEXTS]
    out = inflate(coded, gpu=True, feeds={"shape": sizes(TEXTS)})
    assert [np.asarray(x).tobytes() for x in out] == TEXTS


@pytest.mark.usefixtures("module")
def test_damage_on_a_gpu_ends_in_zeros() -> None:
    text = RNG.bytes(100) + bytes(range(50)) * 4
    coded = COMPRESSORS["LZ4"](text)
    cut = np.asarray(inflate([coded[:60]], gpu=True, shape=len(text))[0])
    assert not cut[cut.size // 2 :].any() and cut.size == len(text)
    with pytest.raises(RuntimeError, match="zlib"):
        inflate([zlib.compress(text)], gpu=True, shape=len(text), algorithm="zlib")


VIDEOS = [RNG.integers(0, 8, (n, 12, 10, 3)).astype(np.float32) for n in (3, 1, 5)]


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("lists", ["sizes", "offsets", "both"])
def test_chunks(lists: str, gpu: bool, request: pytest.FixtureRequest) -> None:
    if gpu:
        request.getfixturevalue("module")
    chunks = [[COMPRESSORS["LZ4"](frame.tobytes()) for frame in video] for video in VIDEOS]
    lengths = [np.array([len(c) for c in sample], np.int32) for sample in chunks]
    starts = [np.concatenate([[0], np.cumsum(n)[:-1]]).astype(np.int32) for n in lengths]
    samples = [b"".join(sample) for sample in chunks]
    feeds = {}
    if lists == "both":  # with other bytes between the chunks
        samples = [b"".join(b"--" + c for c in sample) for sample in chunks]
        starts = [s + 2 * np.arange(1, s.size + 1, dtype=np.int32) for s in starts]
    if lists != "sizes":
        feeds["chunk_offsets"] = starts
    if lists != "offsets":
        feeds["chunk_sizes"] = lengths
    out = inflate(
        samples, gpu, feeds, shape=[12, 10, 3], dtype=types.FLOAT, layout="HWC", sequence_axis_name="D"
    )
    assert out.layout() == "DHWC"
    for mine, video in zip(out, VIDEOS, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), video)


def test_one_chunk_has_no_axis() -> None:
    coded = COMPRESSORS["LZ4"](VIDEOS[1].tobytes())
    out = inflate([coded], shape=[12, 30], dtype=types.FLOAT, layout="HW")
    assert out.layout() == "HW" and np.asarray(out[0]).shape == (12, 30)
    assert inflate([coded], shape=[12, 30], dtype=types.FLOAT).layout() == ""


TEXT = b"abcdefgh" * 20 + RNG.bytes(30)
CODED = COMPRESSORS["LZ4"](TEXT)
BAD: list[tuple[bytes, dict[str, Any], str]] = [
    (CODED, {"shape": len(TEXT) - 1}, "chunk 0 of"),
    (CODED, {"shape": len(TEXT) + 1}, "chunk 0 of"),
    (CODED, {"shape": 160}, "chunk 0 of"),
    (CODED[:-1], {"shape": len(TEXT)}, "chunk 0 of"),
    (CODED + b"\x10a", {"shape": len(TEXT)}, "chunk 0 of"),
    (b"", {"shape": 0}, "chunk 0 of"),
    (b"\x10a\x00\x00", {"shape": 5}, "chunk 0 of"),  # distance 0
    (b"\x10a\x02\x00\x00", {"shape": 5}, "chunk 0 of"),  # before the beginning
    (b"\xf0\xff\xff", {"shape": 5}, "chunk 0 of"),
    (CODED, {"shape": len(TEXT), "algorithm": "zlib"}, "chunk 0 of"),
    (CODED, {"shape": len(TEXT), "algorithm": "gzip"}, "chunk 0 of"),
    (zlib.compress(TEXT)[:-5], {"shape": len(TEXT), "algorithm": "zlib"}, "chunk 0 of"),
    (zlib.compress(TEXT), {"shape": len(TEXT) - 1, "algorithm": "zlib"}, "chunk 0 of"),
    (CODED, {"shape": len(TEXT), "algorithm": "snappy"}, "algorithm"),
    (CODED, {"shape": len(TEXT), "chunk_sizes": [len(CODED) + 1]}, "chunk 0 has the offset 0"),
    (CODED, {"shape": len(TEXT), "chunk_sizes": [-1]}, "chunk 0 has"),
    (CODED, {"shape": len(TEXT), "chunk_offsets": [0, 9999]}, "chunk 0 has"),
    (CODED, {"shape": len(TEXT), "chunk_offsets": [5, 3]}, "chunk 0 has"),
    (CODED, {"shape": 3, "chunk_offsets": [0], "chunk_sizes": [1, 2]}, "1 elements, but"),
    (CODED, {"shape": []}, "0 dimensions"),
    (CODED, {"shape": [-1]}, "negative"),
    (CODED, {"shape": [2**31 - 1] * 4}, "too large|memory"),
    (CODED, {"shape": len(TEXT), "layout": "HW"}, "does not fit"),
    (CODED, {"shape": len(TEXT), "sequence_axis_name": "FG"}, "single character"),
]


@pytest.mark.parametrize("coded, arguments, message", BAD, ids=range(len(BAD)))
def test_refused(coded: bytes, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((RuntimeError, ValueError, MemoryError), match=message):
        inflate([coded], **arguments)


def test_any_bytes() -> None:
    """Damaged blocks are errors or have other bytes of the right size; nothing else is written."""
    failed = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        damaged = bytearray(CODED)
        for at in rng.integers(0, len(damaged), 1 + seed % 4):
            damaged[at] = rng.integers(256)
        try:
            assert np.asarray(inflate([bytes(damaged)], shape=len(TEXT))[0]).size == len(TEXT)
        except RuntimeError:
            failed += 1
    assert 20 < failed < 300
