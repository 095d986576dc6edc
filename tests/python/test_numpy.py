# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""decoders.numpy and readers.numpy, compared with NumPy."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import headrace  # noqa: E402
from headrace import fn, pipeline_def, types  # noqa: E402

TYPES = "b1 u1 <u2 <u4 <u8 i1 <i2 <i4 <i8 <f2 <f4 <f8 >u2 >u4 >u8 >i2 >i4 >i8 >f2 >f4 >f8".split()
SHAPES = [(), (1,), (7,), (0,), (3, 4), (1, 5), (5, 1), (0, 3), (40, 33), (2, 3, 4), (17, 1, 70, 2)]


def array(shape: tuple[int, ...], dtype: str, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    return random.integers(0, 2 if dtype == "b1" else 120, shape).astype(dtype)


def coded(values: Any, version: tuple[int, int] = (1, 0)) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, values, version=version)
    return out.getvalue()


def with_header(header: str, data: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("utf-8")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def decode(contents: list[bytes], **arguments: Any) -> list[Any]:
    @pipeline_def(batch_size=len(contents), num_threads=2, device_id=None)
    def define() -> Any:
        source = [[np.frombuffer(content, np.uint8) for content in contents]]
        return fn.decoders.numpy(fn.external_source(source=source), **arguments)

    (batch,) = define().run()
    return [batch.at(i).copy() for i in range(len(contents))]


def same(ours: Any, expected: Any) -> None:
    assert ours.dtype == expected.dtype.newbyteorder("=")
    assert ours.shape == expected.shape
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_decodes(dtype: str, fortran: bool) -> None:
    for k, shape in enumerate(SHAPES):
        values = array(shape, dtype)
        if fortran:
            values = np.asfortranarray(values)
        (decoded,) = decode([coded(values, (1 + k % 3, 0))])
        same(decoded, values)


def test_decodes_large_arrays_of_one_batch() -> None:
    values = [array((100, 130 + i), "<f4", i) for i in range(8)]
    values[1::2] = [np.asfortranarray(v) for v in values[1::2]]
    for mine, expected in zip(decode([coded(v) for v in values]), values, strict=True):
        same(mine, expected)


@pytest.mark.parametrize(
    "header",
    [
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<i2'}",
        '{"descr":"<i2","fortran_order":False,"shape":(2,3)}',
        "{ 'descr' : '<i2' ,\n 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , }   \n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{'descr': '=i2', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': 'i2', 'fortran_order': False, 'shape': (2, 3), }",
    ],
)
def test_any_header(header: str) -> None:
    values = np.arange(6, dtype="<i2").reshape(2, 3)
    for version in (1, 2, 3):
        (decoded,) = decode([with_header(header, values.tobytes(), version)])
        same(decoded, values)


@pytest.mark.parametrize("fortran", [False, True])
def test_empty_arrays(fortran: bool) -> None:
    """Strides have to fit, as in NumPy, which refuses the same shapes."""
    header = "{{'descr': '<f8', 'fortran_order': {}, 'shape': {}}}"
    for shape in ((0,), (3, 0, 4), (0, 2**40), (2**40, 0)):
        (found,) = decode([with_header(header.format(fortran, shape))])
        assert found.shape == np.empty(shape).shape == shape
    for shape in ((0, 2**40, 2**40), (2**40, 2**40, 0), (2**62, 0, 2**62), (2**62, 0)):
        with pytest.raises(ValueError, match="too big|dimension"):
            np.empty(shape)
        with pytest.raises(RuntimeError, match="too large|overflow"):
            decode([with_header(header.format(fortran, shape))])


def test_elements_that_are_not_aligned() -> None:
    values = np.arange(4000, dtype="<f8")
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4000,)}"
    for blanks in range(9):
        same(decode([with_header(header + " " * blanks, values.tobytes())])[0], values)


def test_bool_bytes_become_true() -> None:
    header = "{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}"
    (decoded,) = decode([with_header(header, bytes([0, 1, 2, 255]))])
    assert decoded.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_converts_fortran_and_big_endian() -> None:
    values = np.asfortranarray(array((30, 50), ">f4") + np.float32(0.5)).astype(">f4")
    (decoded,) = decode([coded(values)], dtype=types.INT16)
    same(decoded, np.floor(values.astype("<f4") + 0.5).astype("<i2"))


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
HOSTILE = {
    "nothing": (b"", "not a NumPy file"),
    "another file": (b"\x89PNG\r\n\x1a\n" + bytes(90), "not a NumPy file"),
    "version": (b"\x93NUMPY\x04\x00\x10\x00" + bytes(40), "version 4.0"),
    "header of 4 GB": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(40), "limit"),
    "header cut off": (with_header(GOOD)[:30], "only 30"),
    "data cut off": (with_header(GOOD, bytes(23)), "24 bytes, but only 23"),
    "no data": (with_header(GOOD), "24 bytes, but only 0"),
    "data after it": (with_header(GOOD, bytes(25)), "1 bytes follow"),
    "text after it": (with_header(GOOD + "x", bytes(24)), "follows the dictionary"),
    "zero after it": (with_header(GOOD + "\0", bytes(24)), "follows the dictionary"),
    "no shape": (with_header("{'descr': '<f4', 'fortran_order': False}"), "missing"),
    "no dictionary": (with_header("[1, 2]"), "not a dictionary"),
    "no end": (with_header("{'descr': '<f4"), "no end"),
    "another key": (with_header("{'type': 1}"), "key"),
    "complex": (coded(np.zeros(3, "c8")), "c8"),
    "strings": (coded(np.array(["ab"])), "U2"),
    "dates": (coded(np.zeros(3, "M8[D]")), "M8"),
    "structures": (coded(np.zeros(3, [("a", "f4")])), "structures"),
    "negative": (with_header(GOOD.replace("2,", "-2,"), bytes(24)), "not negative"),
    "not a number": (with_header(GOOD.replace("2,", "x,"), bytes(24)), "integer"),
    "no tuple": (with_header(GOOD.replace("(2, 3)", "6"), bytes(24)), "tuple"),
    "huge extent": (with_header(GOOD.replace("2,", "9" * 30 + ","), bytes(24)), "too large"),
    "huge shape": (with_header(GOOD.replace("2, 3", f"{2**40}, {2**40}"), bytes(24)), "overflow"),
    "empty and huge": (with_header(GOOD.replace("2, 3", f"0, {2**61}")), "overflow"),
    "large shape": (with_header(GOOD.replace("2, 3", f"{2**40}, 3"), bytes(24)), "only 24"),
    "dimensions": (with_header(GOOD.replace("2, 3", "1, " * 99), bytes(24)), "dimensions"),
    "no comma": (with_header(GOOD.replace("2, 3", "2 3"), bytes(24)), "comma"),
    "order": (with_header(GOOD.replace("False", "Maybe"), bytes(24)), "fortran_order"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    content, message = HOSTILE[name]
    with pytest.raises(RuntimeError, match=message):
        decode([content])


def test_wrong_input() -> None:
    with pytest.raises(RuntimeError, match="INT32"):

        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def define() -> Any:
            return fn.decoders.numpy(np.zeros(3, np.int32))

        define().run()


# ---- the reader ----


def read(
    count: int, iterations: int = 1, expect: Any = None, batch: int | None = None, **arguments: Any
) -> list[Any]:
    """The samples of `iterations` batches. Arguments that are functions are called in the pipeline."""

    @pipeline_def(batch_size=batch or count, num_threads=2, device_id=None)
    def define() -> Any:
        made = {key: value() if callable(value) else value for key, value in arguments.items()}
        return fn.readers.numpy(name="reader", **made)

    pipe = define()
    pipe.build()
    if expect is not None:
        assert pipe.epoch_size("reader") == expect
    out = []
    for _ in range(iterations):
        (result,) = pipe.run()
        out += [result.at(i).copy() for i in range(len(result))]
    return out


def tree(folder: Path) -> dict[str, Any]:
    """Files at the top, in sub-folders, and deeper; hidden ones; with other names."""
    arrays = {}
    names = "b.npy a.npy .h.npy s1/c.npy s0/z.npy s0/d.npy .s/e.npy s0/deep/x.npy s1/no.NPY t.txt"
    for k, name in enumerate(names.split()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays[name] = np.full((2, 3), k, np.int16)
        path.write_bytes(coded(arrays[name]))
    return arrays


def test_file_root(tmp_path: Path) -> None:
    arrays = tree(tmp_path)
    order = ".h.npy a.npy b.npy .s/e.npy s0/d.npy s0/z.npy s1/c.npy".split()
    for mine, name in zip(read(7, expect=7, file_root=str(tmp_path)), order, strict=True):
        same(mine, arrays[name])
    (mine,) = read(1, expect=1, file_root=str(tmp_path), file_filter="?o.NPY")
    same(mine, arrays["s1/no.NPY"])


def test_file_list_and_files(tmp_path: Path) -> None:
    arrays = tree(tmp_path)
    names = ["s1/c.npy", "a.npy", "s0/deep/x.npy"]
    (tmp_path / "list").write_text("\n\n".join(names) + "\r\n")
    for arguments in (
        {"file_list": str(tmp_path / "list")},
        {"file_list": str(tmp_path / "list"), "file_root": str(tmp_path)},
        {"files": names, "file_root": str(tmp_path)},
        {"files": [str(tmp_path / name) for name in names]},
    ):
        for mine, name in zip(read(3, expect=3, **arguments), names, strict=True):
            same(mine, arrays[name])


@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_reads_whole(tmp_path: Path, dtype: str, fortran: bool) -> None:
    for k, shape in enumerate(SHAPES):
        values = array(shape, dtype)
        if fortran:
            values = np.asfortranarray(values)
        path = tmp_path / f"{k}.npy"
        path.write_bytes(coded(values, (1 + k % 3, 0)))
        same(read(1, files=[str(path)])[0], values)


WINDOWS: list[tuple[tuple[int, ...], dict[str, Any], Any]] = [
    ((7, 5), {"roi_start": [1, 2], "roi_end": [3, 4]}, np.s_[1:3, 2:4]),
    ((7, 5), {"roi_start": [1], "roi_end": [3]}, np.s_[1:3, 1:3]),
    ((7, 5), {"roi_start": [1, 2], "roi_shape": [2, 2]}, np.s_[1:3, 2:4]),
    ((7, 5), {"roi_start": [1, 1]}, np.s_[1:, 1:]),
    ((7, 5), {"roi_end": [3, 3]}, np.s_[:3, :3]),
    ((7, 5), {"rel_roi_start": [0.34, 0.1], "rel_roi_end": [0.7, 0.5]}, np.s_[2:5, 1:3]),
    ((7, 5), {"rel_roi_start": [0.34, 0.1], "rel_roi_shape": [0.36, 0.4]}, np.s_[2:5, 1:3]),
    ((7, 5), {"rel_roi_start": [0.34, 0.1], "roi_shape": [2, 2]}, np.s_[2:4, 1:3]),
    ((7, 5), {"roi_start": [1, 1], "rel_roi_end": [0.5, 0.5]}, np.s_[1:4, 1:3]),
    ((7, 5), {"roi_start": [3, 1], "roi_end": [3, 3]}, np.s_[3:3, 1:3]),
    ((7, 5), {"roi_start": [1], "roi_end": [3], "roi_axes": [-1]}, np.s_[:, 1:3]),
    ((7, 5), {"roi_start": [1, 2], "roi_end": [3, 4], "roi_axes": [1, 0]}, np.s_[2:4, 1:3]),
    ((7, 5), {"roi_start": [-1, 2], "roi_end": [9, 4], "out_of_bounds_policy": "trim_to_shape"}, np.s_[:, 2:4]),
    ((20, 30, 40, 50), {"roi_start": [3, 5, 7, 11], "roi_shape": [2, 13, 20, 30]}, np.s_[3:5, 5:18, 7:27, 11:41]),
    ((20, 30, 40, 50), {"roi_start": [3], "roi_end": [9], "roi_axes": [1]}, np.s_[:, 3:9]),
    ((20, 30, 40, 50), {"roi_start": [49], "roi_end": [50], "roi_axes": [3]}, np.s_[..., 49:]),
    ((900, 700), {"roi_start": [100, 650], "roi_end": [800, 660]}, np.s_[100:800, 650:660]),
    ((300000,), {"roi_start": [100], "roi_end": [299999]}, np.s_[100:299999]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["<f4", ">i2", "b1"])
@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("case", range(len(WINDOWS)))
def test_windows(tmp_path: Path, case: int, fortran: bool, dtype: str) -> None:
    shape, arguments, index = WINDOWS[case]
    values = array(shape, dtype)
    path = tmp_path / "a.npy"
    path.write_bytes(coded(np.asfortranarray(values) if fortran else values))
    same(read(1, files=[str(path)], **arguments)[0], values[index])


@pytest.mark.parametrize("fortran", [False, True])
def test_padded_windows(tmp_path: Path, fortran: bool) -> None:
    values = array((4, 5, 6), ">i4")
    path = tmp_path / "a.npy"
    path.write_bytes(coded(np.asfortranarray(values) if fortran else values))
    arguments = {"files": [str(path)], "out_of_bounds_policy": "pad", "fill_value": -6.9}
    for start, size in (
        ([-1, -2, -3], [9, 9, 9]),
        ([2, -3, 5], [1, 5, 4]),
        ([50, 0, 0], [2, 2, 2]),
    ):
        expected = np.full(size, -7, np.int32)
        low = np.maximum(start, 0)
        high = np.minimum(np.add(start, size), values.shape)
        if (high > low).all():
            inner = tuple(slice(a - s, b - s) for a, b, s in zip(low, high, start, strict=True))
            expected[inner] = values[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        same(read(1, roi_start=start, roi_shape=size, **arguments)[0], expected)


def test_a_header_longer_than_the_first_request(tmp_path: Path) -> None:
    values = array((30, 20), "<f8")
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (30, 20)}" + " " * 9000
    (tmp_path / "a.npy").write_bytes(with_header(header, values.tobytes()))
    (mine,) = read(1, files=[str(tmp_path / "a.npy")], roi_start=[2, 3], roi_end=[4, 9])
    same(mine, values[2:4, 3:9])


def test_windows_per_sample(tmp_path: Path) -> None:
    """The windows are data: constants of the sample, random numbers, and outputs of other readers."""
    paths, arrays = [], []
    for k in range(6):
        arrays.append(array((30 + k, 40), "<i4", k))
        paths.append(str(tmp_path / f"{k}.npy"))
        Path(paths[-1]).write_bytes(coded(np.asfortranarray(arrays[-1]) if k % 2 else arrays[-1]))
    labels = [7, 0, 3, 2, 9, 5]

    @pipeline_def(batch_size=3, num_threads=3, device_id=None, seed=5)
    def define() -> Any:
        start = fn.random.uniform(range=[0, 9], shape=[2], dtype=types.INT32)
        _, label = fn.readers.file(files=paths, labels=labels)
        size = fn.cat(label + 1, label + 2)
        window = fn.readers.numpy(files=paths, roi_start=start, roi_shape=size, name="windows")
        return window, start, size, fn.readers.numpy(files=paths)

    pipe = define()
    pipe.build()
    starts = set()
    for k in range(4):
        windows, start, size, whole = pipe.run()
        for i in range(3):
            number = (3 * k + i) % 6
            y, x = start.at(i)
            h, w = size.at(i)
            assert (h, w) == (labels[number] + 1, labels[number] + 2)
            same(windows.at(i), arrays[number][y : y + h, x : x + w])
            same(whole.at(i), arrays[number])
            starts.add((int(y), int(x)))
    assert len(starts) > 5


def test_same_windows_after_a_checkpoint(tmp_path: Path) -> None:
    values = array((50, 60), "<f4")
    for k in range(7):
        (tmp_path / f"{k}.npy").write_bytes(coded(values + np.float32(k)))

    @pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=5, enable_checkpointing=True)
    def define() -> Any:
        start = fn.random.uniform(range=[0, 40], shape=[2], dtype=types.INT32)
        return fn.readers.numpy(
            file_root=str(tmp_path),
            random_shuffle=True,
            roi_start=start,
            roi_shape=[5, 6],
            name="r",
        )

    def batches(pipe: Any, count: int) -> list[Any]:
        return [out.at(i).copy() for _ in range(count) for (out,) in [pipe.run()] for i in range(2)]

    first = define()
    first.build()
    batches(first, 3)
    state = first.checkpoint()
    expected = batches(first, 4)
    again = define(checkpoint=state)
    again.build()
    for mine, theirs in zip(batches(again, 4), expected, strict=True):
        same(mine, theirs)


def test_order(tmp_path: Path) -> None:
    for k in range(10):
        (tmp_path / f"{k}.npy").write_bytes(coded(np.array(k)))
    root = {"file_root": str(tmp_path), "expect": 10}
    assert [int(v) for v in read(10, **root)] == list(range(10))
    shuffled = [int(v) for v in read(10, random_shuffle=True, **root)]
    assert shuffled != list(range(10)) and sorted(shuffled) == list(range(10))
    shards = [read(5, num_shards=2, shard_id=k, **root) for k in range(2)]
    assert [int(v) for shard in shards for v in shard] == list(range(10))


@pytest.mark.parametrize("name", [key for key in HOSTILE if key != "data after it"])
@pytest.mark.parametrize("window", [False, True])
def test_hostile_files(tmp_path: Path, name: str, window: bool) -> None:
    content, message = HOSTILE[name]
    path = tmp_path / "bad.npy"
    path.write_bytes(content)
    arguments = {"roi_start": [0], "roi_end": [1]} if window else {}
    if not window and name == "header cut off":
        message = "only 30"
    with pytest.raises(RuntimeError, match=rf"bad\.npy.*({message}|ends in its header)"):
        read(1, files=[str(path)], **arguments)


BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"roi_start": [-1, 1], "roi_end": [3, 3]}, "from -1 to 3"),
    ({"roi_start": [1, 1], "roi_end": [3, 9]}, "dimension 1, which has 5"),
    ({"roi_start": [3, 1], "roi_end": [1, 3]}, "before its start"),
    ({"roi_start": [1, 2, 3], "roi_end": [3, 4, 5]}, "3 elements for 2 axes"),
    ({"roi_start": [1], "roi_end": [3], "roi_axes": [2]}, "2"),
    ({"roi_start": [1, 1], "roi_end": [3, 3], "roi_axes": [0, 0]}, "0"),
    ({"roi_start": [1, 2], "roi_end": [3, 4], "roi_shape": [1, 1]}, "roi_shape"),
    ({"roi_start": [1, 2], "rel_roi_start": [0.1, 0.2]}, "rel_roi_start"),
    ({"out_of_bounds_policy": "wrap"}, "out_of_bounds_policy"),
    ({"use_o_direct": True}, "dont_use_mmap"),
    ({"roi_start": [0, 0], "roi_shape": [2**31 - 1] * 2, "out_of_bounds_policy": "pad"}, "overflow|memory"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BAD_ARGUMENTS)))
def test_bad_arguments(tmp_path: Path, case: int) -> None:
    arguments, message = BAD_ARGUMENTS[case]
    (tmp_path / "a.npy").write_bytes(coded(array((7, 5), "<i4")))
    with pytest.raises((RuntimeError, ValueError, MemoryError), match=message):
        read(1, files=[str(tmp_path / "a.npy")], **arguments)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("none.npy")
    for arguments, message in (
        ({"files": [str(tmp_path / "none.npy")]}, "none.npy"),
        ({"file_list": str(tmp_path / "list")}, "none.npy"),
        ({"file_root": str(tmp_path / "none")}, "none"),
        ({"file_root": str(tmp_path)}, "no files found"),
        ({"files": []}, "empty"),
        ({}, "file_root, file_list and files"),
        ({"files": [str(tmp_path / "none.npy")], "roi_start": [0]}, "none.npy"),
    ):
        with pytest.raises(RuntimeError, match=message):
            read(1, **arguments)


@pytest.mark.live_dali
def test_against_dali(tmp_path: Path, live_dali: Any) -> None:
    tree(tmp_path)
    values = array((17, 31), "<i2")
    (tmp_path / "c.npy").write_bytes(coded(values))
    (tmp_path / "f.npy").write_bytes(coded(np.asfortranarray(values)))
    files = {"files": [str(tmp_path / "c.npy"), str(tmp_path / "f.npy")]}
    outside = {"roi_start": [-3, 5], "roi_shape": [9, 40], "fill_value": 2.5}
    cases: list[dict[str, Any]] = [
        {"file_root": str(tmp_path)},
        {"file_root": str(tmp_path), "random_shuffle": True},
        {"file_root": str(tmp_path), "num_shards": 3, "shard_id": 1},
        *[{**files, **arguments} for shape, arguments, _ in WINDOWS if shape == (7, 5)],
        *[{**files, **outside, "out_of_bounds_policy": p} for p in ("pad", "trim_to_shape")],
    ]
    for case in cases:
        results = []
        for module in (live_dali, headrace):

            @module.pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=3)
            def define() -> Any:
                return module.fn.readers.numpy(name="r", **case)  # noqa: B023

            pipe = define()
            pipe.build()
            size = pipe.epoch_size("r")
            batches = [pipe.run()[0] for _ in range((size + 1) // 2)]
            results.append((size, [np.array(b.at(i)) for b in batches for i in range(2)][:size]))
        (size, theirs), (mine_size, mine) = results
        assert size == mine_size
        if case.get("random_shuffle"):  # another order of the same samples
            theirs, mine = (sorted(r, key=lambda a: a.tobytes()) for r in (theirs, mine))
        for a, b in zip(mine, theirs, strict=True):
            same(a, b)


def read_members(path: Path, *members: str, **more: Any) -> list[Any]:
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define() -> Any:
        out = fn.readers.numpy(files=[str(path)], members=list(members), **more)
        return tuple(out) if len(members) > 1 else out

    return [batch.at(0).copy() for batch in define().run()]


def decode_members(path: Path, *members: str, **more: Any) -> list[Any]:
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define() -> Any:
        data = fn.external_source(source=[[np.fromfile(path, np.uint8)]])
        out = fn.decoders.numpy(data, members=list(members), **more)
        return tuple(out) if len(members) > 1 else out

    return [batch.at(0).copy() for batch in define().run()]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("members", [read_members, decode_members])
def test_members_of_archives(members: Any, save: Any, tmp_path: Path) -> None:
    arrays = {
        "image": array((40, 60, 3), "u1"),
        "turned": np.asfortranarray(array((70, 50), ">f4")),
        "zero": array((), "<i8"),
        "empty": array((0, 3), "<f8"),
        "truth": array((9,), "b1"),
    }
    save(tmp_path / "a.npz", **arrays)
    for got, expected in zip(members(tmp_path / "a.npz", *arrays), arrays.values(), strict=True):
        same(got, expected)
    same(members(tmp_path / "a.npz", "turned.npy")[0], arrays["turned"])


def test_members_of_another_type(tmp_path: Path) -> None:
    arrays = {"a": array((70, 80), "u1"), "b": np.asfortranarray(array((70, 50), "i4"))}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    got = decode_members(tmp_path / "a.npz", "b", "a", dtype=types.FLOAT)
    same(got[0], arrays["b"].astype("f4"))
    same(got[1], arrays["a"].astype("f4"))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_with_zip64(method: int, tmp_path: Path) -> None:
    values = array((300,), "<i4")
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        with archive.open("a.npy", "w", force_zip64=True) as member:
            member.write(coded(values))
        for i in range(
            70_000 if method == zipfile.ZIP_STORED else 1
        ):  # more than a short directory can count
            archive.writestr(zipfile.ZipInfo(f"{i}"), b"")
        archive.writestr("z.npy", coded(values[:7]))
    first, last = read_members(tmp_path / "a.npz", "a", "z")
    same(first, values)
    same(last, values[:7])


def test_hostile_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=array((4000,), "<i4"))
    good = path.read_bytes()
    directory = good.rindex(b"PK\1\2")
    cases = {
        "no directory": good[:directory],
        "directory is damaged": good[:directory] + b"PK\0" + good[directory + 3 :],
        "member 'a': .*cannot have been deflated": good[: directory + 24]
        + b"\xfe" * 4
        + good[directory + 28 :],
        "member 'a': .*no header of a member begins here": good[: directory + 42]
        + b"\x09" * 4
        + good[directory + 46 :],
        "member 'a': .*does not fit": good[: directory + 20] + b"\x7f" * 3 + good[directory + 23 :],
        "member 'a': .*damaged": good[:80] + bytes(8) + good[88:],
        "member 'a': .*checksum": good[: directory + 16] + bytes(4) + good[directory + 20 :],
        "member 'a': .*compressed in another way": good[: directory + 10]
        + b"\x0c"
        + good[directory + 11 :],
        "not an archive": coded(array((3,), "<i4")),
    }
    for message, content in cases.items():
        path.write_bytes(content)
        for members in (read_members, decode_members):
            with pytest.raises(RuntimeError, match=message):
                members(path, "a")
    path.write_bytes(good)
    with pytest.raises(RuntimeError, match="name the arrays to read in `members`"):
        decode([good])
    with pytest.raises(RuntimeError, match="no member 'b'"):
        read_members(path, "b")
    with pytest.raises(RuntimeError, match="windows"):
        read_members(path, "a", roi_start=[0])
    for cut in range(0, len(good), max(len(good) // 40, 1)):
        path.write_bytes(good[:cut])
        with pytest.raises(RuntimeError):
            read_members(path, "a")


PAIRS = [
    {"roi_start": [1, 2], "rel_roi_start": [0.1, 0.2]},
    {"roi_end": [3, 4], "rel_roi_end": [0.4, 0.5]},
    {"roi_end": [3, 4], "roi_shape": [1, 1]},
    {"roi_end": [3, 4], "rel_roi_shape": [0.4, 0.5]},
    {"rel_roi_end": [0.5, 0.4], "roi_shape": [1, 1]},
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_windows_given_twice_are_refused_when_built(tmp_path: Path, pair: dict[str, Any]) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(coded(array((7, 5), "<f4")))

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def definition() -> Any:
        return fn.readers.numpy(files=[str(path)], **pair)

    pipe = definition()  # as in DALI, this succeeds
    with pytest.raises(RuntimeError, match="mutually exclusive"):
        pipe.build()


def test_arrays_of_different_types_are_not_a_batch(tmp_path: Path) -> None:
    paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
    paths[0].write_bytes(coded(array((2, 3), "<i4")))
    paths[1].write_bytes(coded(array((2, 3), "<f4")))
    with pytest.raises(RuntimeError, match="b.npy.*Inconsistent data.*is float with 2 .* int32 with 2"):
        read(2, files=[str(path) for path in paths])
