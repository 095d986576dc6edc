# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.webdataset: tar archives written by Python's tarfile and by the program tar."""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import headrace  # noqa: E402
from headrace import Pipeline, fn, pipeline_def, types  # noqa: E402
from headrace.cli import wds2idx  # noqa: E402
from records import ORDERS, needs_strace, system_calls  # noqa: E402

Members = Sequence[tuple[str, bytes]]
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def write(path: Path, members: Members, form: str = "ustar") -> str:
    """A tar archive with these files."""
    with tarfile.open(path, "w", format=FORMATS[form]) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return str(path)


def samples(count: int, seed: int = 3) -> list[tuple[str, bytes, bytes]]:
    """Names, pictures and labels."""
    random = np.random.default_rng(seed)
    return [
        (f"{i:04}", random.integers(0, 256, 1 + 97 * i, np.uint8).tobytes(), b"%d" % (i % 7))
        for i in range(count)
    ]


def members(items: Sequence[tuple[str, bytes, bytes]]) -> list[tuple[str, bytes]]:
    return [pair for name, jpg, cls in items for pair in ((name + ".jpg", jpg), (name + ".cls", cls))]


def make(package: ModuleType, batch: int = 1, **arguments: Any) -> Any:
    pipe = package.Pipeline(batch, 2, None, seed=5)
    with pipe:
        out = package.fn.readers.webdataset(name="Reader", **arguments)
        pipe.set_outputs(*(out if isinstance(out, (list, tuple)) else [out]))
    pipe.build()
    return pipe


def read(package: ModuleType, count: int = -1, batch: int = 1, **arguments: Any) -> list[tuple[Any, ...]]:
    """The outputs of `count` samples, or of one epoch: (bytes, type, shape) of each."""
    pipe = make(package, batch, **arguments)
    count = count if count >= 0 else pipe.reader_meta("Reader")["epoch_size"]
    out: list[tuple[Any, ...]] = []
    while len(out) < count:
        batches = pipe.run()
        for i in range(batch):
            arrays = [np.array(b.at(i)) for b in batches]
            out.append(tuple((a.tobytes(), a.dtype.str, a.shape) for a in arrays))
    return out[:count]


def first_bytes(rows: Sequence[tuple[Any, ...]]) -> list[tuple[bytes, ...]]:
    return [tuple(output[0] for output in row) for row in rows]


@pytest.mark.parametrize("form", FORMATS)
def test_samples(form: str, tmp_path: Path) -> None:
    items = samples(20)
    paths = [write(tmp_path / f"{k}.tar", members(items[10 * k : 10 * k + 10]), form) for k in (0, 1)]
    rows = read(headrace, paths=paths, ext=["jpg", "cls"])
    assert first_bytes(rows) == [(jpg, cls) for _, jpg, cls in items]
    assert rows[3][0][1:] == ("|u1", (len(items[3][1]),))
    # The order of outputs is that of `ext`, whatever the order in the archive is.
    assert first_bytes(read(headrace, paths=paths, ext=["cls", "jpg"])) == [
        (cls, jpg) for _, jpg, cls in items
    ]


@pytest.mark.parametrize("form", ["gnu", "pax"])
def test_long_names_and_links(form: str, tmp_path: Path) -> None:
    stem = "folder/" * 30 + "n" * 99
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=FORMATS[form]) as archive:
        for name, data in ((stem + ".jpg", b"1"), (stem + ".cls", b"2"), ("é" * 60 + ".jpg", b"3")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.linkname = "l" * 200
            archive.addfile(info, io.BytesIO(data))
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
                link = tarfile.TarInfo("other" * 50 + ".txt")
                link.type = kind
                link.linkname = "t" * 150
                archive.addfile(link)
    assert first_bytes(read(headrace, paths=str(path), ext=["jpg", "cls"])) == [(b"1", b"2"), (b"3", b"")]


@pytest.mark.skipif(not shutil.which("tar"), reason="the program tar is not installed")
@pytest.mark.parametrize("form", ["v7", "ustar", "gnu", "oldgnu", "posix"])
def test_archives_of_tar(form: str, tmp_path: Path) -> None:
    items = samples(5)
    names = []
    for name, data in members(items):
        (tmp_path / name).write_bytes(data)
        names.append(name)
    archive = tmp_path / "a.tar"
    subprocess.run(["tar", f"--format={form}", "-cf", str(archive), *names], cwd=tmp_path, check=True)
    assert first_bytes(read(headrace, paths=str(archive), ext=["jpg", "cls"])) == [
        (jpg, cls) for _, jpg, cls in items
    ]


def test_base_256_size(tmp_path: Path) -> None:
    """GNU tar writes sizes that do not fit in octal digits in binary."""
    path = Path(write(tmp_path / "a.tar", [("a.jpg", b"abc"), ("b.jpg", b"de")]))
    data = bytearray(path.read_bytes())
    data[124:136] = b"\x80" + bytes(10) + b"\x03"
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    path.write_bytes(data)
    assert first_bytes(read(headrace, paths=str(path), ext="jpg")) == [(b"abc",), (b"de",)]


def test_braces(tmp_path: Path) -> None:
    items = samples(12)
    for k in range(12):
        write(tmp_path / f"{'ab'[k % 2]}-{k // 2:03}.tar", members(items[k : k + 1]))
    rows = read(headrace, paths=str(tmp_path / "{a,b}-{000..005}.tar"), ext="jpg")
    assert first_bytes(rows) == [(jpg,) for _, jpg, _ in items[::2] + items[1::2]]
    with pytest.raises(RuntimeError, match="more than 1000000 paths"):
        read(headrace, paths="{0..99999}{0..99999}", ext="jpg")
    literal = write(tmp_path / "{x}{1..}{2..1}.tar", members(items[:1]))
    assert len(read(headrace, paths=literal, ext="jpg")) == 1


def test_dtypes(tmp_path: Path) -> None:
    values = np.arange(6, dtype="<f4")
    path = write(tmp_path / "a.tar", [("a.f", values.tobytes()), ("a.i", b"\1\0\2\0"), ("b.f", b"")])
    rows = read(headrace, paths=path, ext=["f", "i"], dtypes=[types.FLOAT, types.INT16])
    assert rows[0] == ((values.tobytes(), "<f4", (6,)), (b"\1\0\2\0", "<i2", (2,)))
    assert rows[1] == ((b"", "<f4", (0,)), (b"", "<i2", (0,)))
    with pytest.raises(RuntimeError, match="'a.i' has 4 bytes, which is not a multiple of 8"):
        read(headrace, paths=path, ext="i", dtypes=types.INT64)


def test_far_components(tmp_path: Path) -> None:
    """Components with much between them are read one by one."""
    big = bytes(1 << 20)
    path = write(
        tmp_path / "a.tar", [("a.jpg", b"J"), ("a.big", big), ("a.cls", b"C"), ("a.big2", big), ("a.x", b"X")]
    )
    rows = read(headrace, paths=path, ext=["x", "jpg", "none", "cls"])
    assert first_bytes(rows) == [(b"X", b"J", b"", b"C")]


@pytest.mark.parametrize("fill", [1, 5, 1024])
def test_shuffled_and_resumed(fill: int, tmp_path: Path) -> None:
    items = samples(40)
    paths = [write(tmp_path / f"{k}.tar", members(items[20 * k : 20 * k + 20])) for k in (0, 1)]

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=11, enable_checkpointing=True)
    def define() -> Any:
        return fn.readers.webdataset(
            paths=paths, ext="jpg", random_shuffle=True, initial_fill=fill, name="r", num_shards=2
        )

    def take(pipe: Pipeline, batches: int) -> list[bytes]:
        runs = [pipe.run()[0] for _ in range(batches)]
        return [np.array(out.at(i)).tobytes() for out in runs for i in range(4)]

    whole = take(define(), 30)
    assert sorted(whole[:40]) == sorted(jpg for _, jpg, _ in items)
    assert whole[:40] != whole[40:80]
    first = define()
    assert take(first, 7) == whole[:28]
    assert take(define(checkpoint=first.checkpoint()), 23) == whole[28:]


def test_names_and_messages(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", [("d/a.jpg", b"12"), ("d/a.cls", b"1")])
    pipe = make(headrace, paths=path, ext=["jpg", "cls"])
    assert pipe.run()[0][0].source_info() == f"{path}:512:d/a.jpg"
    with pytest.raises(RuntimeError, match=r"a\.tar:512:d/a\.jpg: .*not an image"):
        pipe = Pipeline(1, 1, None)
        with pipe:
            pipe.set_outputs(fn.decoders.image(fn.readers.webdataset(paths=path, ext="jpg")))
        pipe.run()


def index_of(path: Path, text: str) -> dict[str, Any]:
    index = path.with_suffix(".idx")
    index.write_text(text)
    return {"paths": str(path), "index_paths": str(index), "ext": ["jpg", "cls"]}


def test_index(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    write(path, [("a.jpg", b"AJ"), ("a.cls", b"1"), ("b.jpg", b"BJB")])
    text = "v1.2 2\njpg 512 2 a.jpg cls 1536 1 a.cls\njpg 2560 3 b.jpg\n"
    for index in (text, text.replace("v1.2", "v1.1").replace(" a.jpg", "").replace(" a.cls", "").replace(" b.jpg", "")):
        assert first_bytes(read(headrace, **index_of(path, index))) == [(b"AJ", b"1"), (b"BJB", b"")]
    assert len(read(headrace, **index_of(path, text.replace("v1.2 2", "v1.2 1")))) == 1
    for wrong, message in (
        ("", "no version signature found"),
        ("v1.3 1\n", r"Unsupported version of the index file \(v1.3\)"),
        ("v1.2\n", "no sample count found"),
        ("v1.2 0\n", "sample count must be positive, got 0"),
        ("v1.2 x\n", "sample count must be positive, got x"),
        ("v1.2 3\njpg 512 2 a.jpg\n", "line 3: no extensions provided for the sample"),
        ("v1.2 2\njpg 512 2 a.jpg", "ends after 1 of 2 samples"),
        ("v1.2 1\njpg 513 2 a.jpg\n", "line 2: tar offset is not a multiple of tar block size .512.: offset 513"),
        ("v1.2 1\njpg -512 2 a.jpg\n", "line 2: offset -512"),
        ("v1.2 1\njpg 512 2\n", "line 2: Could not find all necessary component parameters"),
        ("v1.2 1\njpg 99999999999999999999 2 a.jpg\n", "line 2: Could not find all necessary component parameters"),
        ("v1.2 1\njpg 512000 2 a.jpg\n", "too few for 2 at offset 512000"),
        ("v1.2 1\njpg 512 200000 a.jpg\n", "too few for 200000 at offset 512"),
        ("v1.2 1\njpg 512 9223372036854775000 a.jpg\n", "a.tar"),
    ):
        with pytest.raises(RuntimeError, match=message):
            read(headrace, **index_of(path, wrong))
    with pytest.raises(RuntimeError, match="must match the number of archives.*1 index_paths for 2"):
        read(headrace, paths=[str(path)] * 2, index_paths=str(tmp_path / "a.idx"), ext="jpg")


def test_damage(tmp_path: Path) -> None:
    items = samples(6)
    path = tmp_path / "a.tar"
    write(path, members(items))
    good = path.read_bytes()

    def fails(data: bytes, message: str) -> None:
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match=f"path '{path}': .*{message}"):
            read(headrace, paths=str(path), ext="jpg")

    changed = bytearray(good)
    changed[0] ^= 1
    fails(bytes(changed), "no header begins at byte 0")
    fails(b"x" * 2000, "it is not a tar archive")
    fails(good[:1300], "in the middle of an entry")
    fails(good[:512], "the member at byte 0 does not fit")
    large = bytearray(good)
    large[124:135] = b"77777777777"
    large[148:156] = b" " * 8
    large[148:156] = b"%06o\0 " % sum(large[:512])
    fails(bytes(large), "the member at byte 0 does not fit")
    path.write_bytes(bytes(10240))
    for empty in (bytes(10240), b""):
        path.write_bytes(empty)
        with pytest.raises(RuntimeError, match="contain no samples"):
            read(headrace, paths=str(path), ext="jpg")
    with pytest.raises(RuntimeError, match="missing.tar': cannot be opened"):
        read(headrace, paths=[str(tmp_path / "missing.tar")], ext="jpg")
    pax = bytearray(Path(write(tmp_path / "p.tar", [("n" * 300, b"1")], "pax")).read_bytes())
    pax[512:515] = b"999"
    fails(bytes(pax), "a pax header is damaged")


@needs_strace
def test_system_calls(tmp_path: Path) -> None:
    """The samples of an archive are read with one call each, from a file that stays open."""
    items = [(f"{i:04}", bytes(20_000), b"1") for i in range(1000)]
    path = write(tmp_path / "data.tar", members(items))
    lines = system_calls(f'fn.readers.webdataset(paths={path!r}, ext=["jpg", "cls"])', tmp_path / "log")
    assert sum("data.tar" in line for line in lines) == 2  # once to scan it
    reads = sum("preadv2(" in line for line in lines)
    scans = 1000  # a request for the headers of a sample, and none for its data
    assert 1000 <= reads - scans <= 1350  # those of the next epoch are read ahead


def test_wds2idx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = samples(5)
    names = [("d/" + name, data) for name, data in members(items)]
    path = tmp_path / "a.b.tar"
    write(path, [*names[:4], (".hidden.jpg", b"1"), ("noext", b"2"), *names[4:]], "pax")
    assert wds2idx.main([str(path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/a.idx\n"
    arguments = {"paths": str(path), "ext": ["jpg", "cls"]}
    with_index = make(headrace, **arguments, index_paths=str(tmp_path / "a.idx"))
    assert with_index.run()[0][0].source_info() == f"{path}:512:d/0000.jpg"
    rows = read(headrace, **arguments, index_paths=str(tmp_path / "a.idx"))
    assert first_bytes(rows) == [(jpg, cls) for _, jpg, cls in items]
    assert wds2idx.main([str(path), str(tmp_path / "other")]) == 0
    assert (tmp_path / "other").read_text() == (tmp_path / "a.idx").read_text()
    kept = sorted(tmp_path.iterdir())
    for bad, text in ((b"x" * 2000, "a.b.tar: "), (bytes(10240), "contains no samples")):
        path.write_bytes(bad)
        assert wds2idx.main([str(path)]) == 1 and text in capsys.readouterr().err
    write(path, [("a b.jpg", b"1")])
    assert wds2idx.main([str(path)]) == 1 and "contains blanks" in capsys.readouterr().err
    assert wds2idx.main([str(tmp_path / "none.tar")]) == 1 and "none.tar" in capsys.readouterr().err
    assert wds2idx.main([str(path), "/dev/full"]) == 1
    assert sorted(tmp_path.iterdir()) == kept


# ---- the cache of scans ----

MASK = (1 << 64) - 1


def checksum(data: bytes) -> int:
    """That of file_store.c."""
    value, prime = len(data), 0x9E3779B97F4A7C15
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        value = ((value ^ int.from_bytes(data[at : at + 8], "little")) * prime) & MASK
        value ^= value >> 32
    for byte in data[whole:]:
        value = ((value ^ byte) * prime) & MASK
    return value ^ value >> 29


def forge(path: Path, old: bytes, new: bytes) -> None:
    """Changes the result in a cache file, as somebody who knows the format could."""
    data = path.read_bytes()
    magic, _, key_size, about_size, size = struct.unpack_from("<5Q", data)
    at = 40 + key_size + about_size
    about, result = data[at - about_size : at], data[at:].replace(old, new)
    assert result != data[at:]
    assert len(data) == at + size
    total = checksum(about) ^ checksum(result)
    path.write_bytes(struct.pack("<5Q", magic, total, key_size, about_size, len(result)) + data[40:at] + result)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("HEADRACE_SCAN_CACHE", str(folder))
    return folder


def name_read(path: str) -> str:
    return str(make(headrace, paths=path, ext="jpg").run()[0][0].source_info())


def test_cache_of_scans(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "a.tar", [("a.jpg", bytes(1 << 20))])
    assert name_read(path).endswith(":a.jpg")
    (kept,) = cache.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    forge(kept, b"a.jpg", b"z.jpg")
    assert name_read(path).endswith(":z.jpg")  # so it is used
    os.utime(path, ns=(1, 1))
    assert name_read(path).endswith(":a.jpg")  # the archive has changed
    assert list(cache.iterdir()) == [kept]
    monkey = write(tmp_path / "small.tar", [("a.jpg", b"1")])
    name_read(monkey)
    assert list(cache.iterdir()) == [kept]  # not worth it


@pytest.mark.parametrize("how", ["cut", "junk", "sum", "offset", "size", "name", "kind", "link", "open", "folder", "fifo"])
def test_cache_that_must_not_be_used(how: str, tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "a.tar", [("a.jpg", bytes(1 << 20))])
    assert name_read(path).endswith(":a.jpg")
    (kept,) = cache.iterdir()
    if how in ("link", "open", "folder"):
        forge(kept, b"a.jpg", b"z.jpg")
    data = kept.read_bytes()
    member = struct.pack("<qqII", 512, 1 << 20, 0, 5)
    if how == "cut":
        kept.write_bytes(data[:-3])
    elif how == "junk":
        kept.write_bytes(b"\xff" * len(data))
    elif how == "sum":
        kept.write_bytes(data.replace(b"a.jpg", b"z.jpg"))
    elif how == "offset":
        forge(kept, member, struct.pack("<qqII", 1 << 40, 1 << 20, 0, 5))
    elif how == "size":
        forge(kept, member, struct.pack("<qqII", 512, 1 << 62, 0, 5))
    elif how == "name":
        forge(kept, member, struct.pack("<qqII", 512, 1 << 20, 0, 500))
    elif how == "kind":
        forge(kept, member, struct.pack("<qqII", 512, 1 << 20, 99, 5))
    elif how == "link":
        kept.rename(tmp_path / "elsewhere")
        kept.symlink_to(tmp_path / "elsewhere")
    elif how == "open":
        kept.chmod(0o666)
    elif how == "folder":
        cache.chmod(0o777)
    else:
        kept.unlink()
        os.mkfifo(kept)
    assert name_read(path).endswith(":a.jpg")


def test_cache_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.tar", [("a.jpg", bytes(1 << 20))])
    for folder in ("/proc/none", "relative", "/dev/null", "x" * 5000, "/" + "x" * 5000):
        monkeypatch.setenv("HEADRACE_SCAN_CACHE", folder)
        assert name_read(path).endswith(":a.jpg")
    monkeypatch.delenv("HEADRACE_SCAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert name_read(path).endswith(":a.jpg")
    assert len(list((tmp_path / "headrace" / "scans").iterdir())) == 1


# ---- compared with DALI ----

ODD: Members = [
    ("a.jpg", b"AJ"),
    ("a.cls", b"1"),
    (".x.jpg", b"hidden"),
    ("d/b.x.jpg", b"BX"),
    ("d/b.jpg", b"BJ"),
    ("noext", b"N"),
    ("d/.h.jpg", b"HH"),
    ("d/c", b"c"),
    ("c.JPG", b"CJ"),
    ("a.jpg", b"A2"),
]
CASES: dict[str, dict[str, Any]] = {
    "one": {"ext": "jpg"},
    "two": {"ext": ["jpg", "cls"]},
    "sets": {"ext": ["jpg;x.jpg", "cls"]},
    "twice": {"ext": ["jpg", "jpg"]},
    "empty-ext": {"ext": ["jpg", ""]},
    "case": {"ext": "jpg", "case_sensitive_extensions": False},
    "case-upper": {"ext": "JPG", "case_sensitive_extensions": False},
    "skip": {"ext": ["jpg", "cls"], "missing_component_behavior": "Skip"},
    "empty": {"ext": ["jpg", "cls"], "missing_component_behavior": "EMPTY"},
    "error": {"ext": ["jpg", "cls"], "missing_component_behavior": "error"},
    "unknown": {"ext": ["jpg", "cls"], "missing_component_behavior": "other"},
    "int16": {"ext": "jpg", "dtypes": "INT16"},
    "int32": {"ext": "jpg", "dtypes": "INT32"},
    "bool": {"ext": "jpg", "dtypes": "BOOL"},
}


@pytest.mark.live_dali
@pytest.mark.parametrize("case", CASES)
def test_samples_as_dali(case: str, tmp_path: Path, live_dali: ModuleType) -> None:
    path = write(tmp_path / "a.tar", ODD)

    def result(package: ModuleType) -> Any:
        arguments = {**CASES[case], "paths": path}
        if "dtypes" in arguments:
            arguments["dtypes"] = [getattr(package.types, arguments["dtypes"])]
        try:
            return read(package, **arguments)
        except Exception as error:
            return type(error)

    ours = result(headrace)
    assert ours == result(live_dali)
    assert (ours is RuntimeError) == (case in ("error", "unknown", "int32", "bool"))


@pytest.mark.live_dali
def test_index_as_dali(tmp_path: Path, live_dali: ModuleType) -> None:
    path = write(tmp_path / "a.tar", [pair for pair in ODD if pair[0] not in ("noext", "d/c")])
    module = Path(live_dali.__file__ or "").parents[2] / "wds2idx.py"
    subprocess.run([sys.executable, str(module), path, str(tmp_path / "theirs")], check=True)
    wds2idx.write_index(path, str(tmp_path / "ours"))
    assert (tmp_path / "ours").read_text() == (tmp_path / "theirs").read_text()


@pytest.mark.live_dali
@pytest.mark.parametrize("order", ORDERS, ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("form", ["ustar", "gnu"])
def test_orders_as_dali(
    form: str, order: dict[str, Any], tmp_path: Path, live_dali: ModuleType
) -> None:
    items = samples(13)
    paths = [write(tmp_path / f"{k}.tar", members(items[7 * k : 7 * k + 7]), form) for k in (0, 1)]
    arguments = {"paths": paths, "ext": ["jpg", "cls"], **order}
    ours = read(headrace, 24, 4, **arguments)
    assert ours == read(live_dali, 24, 4, **arguments)
    assert order or first_bytes(ours)[:13] == [(jpg, cls) for _, jpg, cls in items]
