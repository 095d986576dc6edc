# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""DALI's results for the cases, stored in `recorded/`, for comparison without DALI.

There is one file per operator. For every sample it has the shape and up to `KEPT` bytes of elements, spread over the
sample; `Output.pick` takes the same elements of another result. For a refused case it has the type of the exception.
The key of a result is the text of its case and a checksum of its inputs, so a case that changes has no result until
record.py runs DALI again.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import lzma
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from harness import Data, Engine, Failure, Interps, Output

FOLDER = Path(__file__).resolve().parent / "recorded"
ROOT = f"{FOLDER.parents[2]}/".encode()
KEPT = 256  # bytes per sample
ENDED = "Ended"  # the entry of a case that crashed DALI


class Unrecorded(Exception):
    """DALI's result of a case is not recorded."""


def _checksum(value: Any, before: int) -> int:
    """The checksum of an input or an argument."""
    if isinstance(value, Data):
        for sample in value.samples:
            array = np.asarray(sample)
            before = zlib.crc32(f"{array.dtype} {array.shape}".encode(), before)
            before = zlib.crc32(array.tobytes(), before)
        return zlib.crc32(value.layout.encode(), before)
    if isinstance(value, Interps):
        return zlib.crc32(repr(value.values).encode(), before)
    if hasattr(value, "samples"):
        return _checksum(Data(value.samples), before)
    return before


def _paths(case: Any) -> str:
    """The file names that a case has as its input, relative to the tree."""
    contents = [np.asarray(sample).astype(np.uint8).tobytes() for sample in case.inputs[0].samples]
    return str([text.partition(ROOT)[2] for text in contents])


def key(case: Any) -> str:
    """The key of a case's result."""
    check = 0
    args = getattr(case, "args", {})
    plain = {k: v for k, v in args.items() if isinstance(v, (str, int, float, list, tuple))}
    text = f"{case} {plain}"
    if file_of(case) == "io.file.read":
        return f"{zlib.crc32((text + _paths(case)).encode()):08x}"
    for value in [*getattr(case, "inputs", ()), *args.values()]:
        check = _checksum(value, check)
    return f"{zlib.crc32(text.encode()):08x}{check:08x}"


@dataclasses.dataclass
class Picked(Output):
    """A recorded output: `samples` has only some elements, and `shapes` the shapes of the whole samples."""

    shapes: list[tuple[int, ...]]

    def all_shapes(self) -> list[tuple[int, ...]]:
        return self.shapes

    def pick(self, i: int, whole: np.ndarray) -> np.ndarray:
        return whole.reshape(-1)[positions(whole.size, self.samples[i].size)]


def positions(size: int, count: int) -> np.ndarray:
    """`count` positions out of `size`, or all if there are fewer; their distances avoid any period of the sample."""
    if count >= size:
        return np.arange(size)
    return np.sort(np.arange(count, dtype=np.int64) * 2654435761 % size)


def picked(output: Output, kept: int = KEPT) -> Picked:
    """The part of an output to record: `kept` bytes per sample."""
    samples = []
    for sample in output.samples:
        flat = sample.reshape(-1)
        count = min(flat.size, max(kept // max(flat.itemsize, 1), 1))
        samples.append(flat[positions(flat.size, count)])
    return Picked(output.layout, output.dtype, samples, [s.shape for s in output.samples])


def pack(result: list[Output] | Failure, kept: int = KEPT) -> tuple[Any, bytes]:
    """A result as JSON and bytes."""
    if isinstance(result, Failure):
        return result.kind, b""
    entry, content = [], b""
    for output in (picked(output, kept) for output in result):
        kinds = sorted({sample.dtype.str for sample in output.samples})
        assert len(kinds) <= 1, "a batch has one type"
        entry.append([output.layout, output.dtype, kinds, output.shapes,
                      [sample.size for sample in output.samples]])  # fmt: skip
        content += b"".join(sample.tobytes() for sample in output.samples)
    return entry, content


def length(entry: Any) -> int:
    """Number of bytes of elements that belong to an entry of `pack`."""
    if isinstance(entry, str):
        return 0
    return sum(sum(sizes) * np.dtype(kinds[0]).itemsize for _, _, kinds, _, sizes in entry if kinds)


def unpack(entry: Any, content: bytes) -> list[Output] | Failure:
    """The inverse of `pack`."""
    if isinstance(entry, str):
        return Failure(entry, "as recorded")
    outputs: list[Output] = []
    at = 0
    for layout, dtype, kinds, shapes, sizes in entry:
        samples = []
        for size in sizes:
            sample = np.frombuffer(content, kinds[0], size, at)
            at += sample.nbytes
            samples.append(sample)
        outputs.append(Picked(layout, dtype, samples, [tuple(shape) for shape in shapes]))
    return outputs


def save(name: str, results: dict[str, tuple[Any, bytes]]) -> None:
    """Writes a file of results."""
    index: dict[str, Any] = {}
    at = 0
    for label, (entry, content) in sorted(results.items()):
        index[label] = [at, entry]
        at += len(content)
    blob = b"".join(content for _, (_, content) in sorted(results.items()))
    text = json.dumps(index, separators=(",", ":")).encode()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.xz").write_bytes(lzma.compress(text + b"\n" + blob, preset=9))


@functools.cache
def load(name: str) -> tuple[dict[str, Any], bytes]:
    """The index of a file of results, and their bytes."""
    path = FOLDER / f"{name}.xz"
    if not path.is_file():
        return {}, b""
    text, _, blob = lzma.decompress(path.read_bytes()).partition(b"\n")
    return json.loads(text), blob


def file_of(case: Any) -> str:
    """The file that a case's result is in."""
    return str(getattr(case, "op", "expressions"))


class Recorded:
    """Replaces an engine: returns the recorded results of DALI."""

    name = "nvidia.dali"

    def result(self, case: Any) -> list[Output] | Failure:
        """The recorded result.

        Raises:
            Unrecorded: the case has no recorded result.
        """
        index, blob = load(file_of(case))
        found = index.get(key(case))
        if found is None or found[1] == ENDED:
            raise Unrecorded("DALI's result of this case is not recorded: run tests/ops/record.py")
        return unpack(found[1], blob[found[0] :])


def oracle(live: bool) -> Engine | Recorded:
    """DALI itself, or its recorded results."""
    return Engine("nvidia.dali") if live else Recorded()
