# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Every kind of member of a tar archive, from several writers: readers.webdataset gives what Python's
tarfile reads, or refuses the member by name. None vanishes."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from headrace import Pipeline, fn  # noqa: E402
from headrace.cli import wds2idx  # noqa: E402

EXT = ["jpg", "cls"]
FORMS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
TEXT = b"contents" * 100
# What may stand in the place of a file: by its type, whether the reader must give its contents.
READ = {b"0": True, b"\0": True, b"7": True}
TYPES = [bytes([c]) for c in (0, *b"01234567", *range(ord("A"), ord("Z") + 1))]
# Headers that describe others, and folders, are not members.
NOT_MEMBERS = (b"5", b"D", b"K", b"L", b"V", b"X")


def read(path: Path, missing: str = "empty", **arguments: Any) -> list[list[bytes]]:
    with Pipeline(1, 1, None) as pipe:
        out = fn.readers.webdataset(
            paths=str(path), ext=EXT, missing_component_behavior=missing, name="R", **arguments
        )
        pipe.set_outputs(*out)
    pipe.build()
    return [[np.asarray(x.at(0)).tobytes() for x in pipe.run()] for _ in range(pipe.epoch_size("R"))]


def by_tarfile(path: Path) -> dict[str, bytes]:
    """What tarfile reads of the members that are not folders, with links followed."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = None if member.isdir() else archive.extractfile(member)
            found[member.name] = file.read() if file else b""
    return found


def outcome(path: Path, missing: str) -> list[list[bytes]] | str:
    try:
        return read(path, missing)
    except (NotImplementedError, RuntimeError) as error:
        return str(error)


def check(path: Path, name: str = "a.jpg") -> None:
    """Sample a is read as tarfile does, or refused with its name; never left out."""
    files = by_tarfile(path)
    expected = [[files[f"{s}.{e}"] for e in EXT] for s in "ab"]
    for missing in ("empty", "skip", "error"):
        got = outcome(path, missing)
        if isinstance(got, str):
            assert f"'{name}' " in got and str(path) in got, got
        else:
            assert got == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", TYPES, ids=lambda k: k.decode("latin1") if k != b"\0" else "NUL")
def test_types_of_tarfile(kind: bytes, form: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=FORMS[form]) as archive:
        for name, data in (("a.jpg", TEXT), ("a.cls", b"1"), ("b.jpg", b"B"), ("b.cls", b"2")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            if name == "a.jpg":
                info.type, info.linkname = kind, "b.jpg"
                info.size = 0 if kind in b"123456" and kind != b"\0" else len(data)
            archive.addfile(info, io.BytesIO(data) if info.size else None)
    if kind in NOT_MEMBERS:
        return  # the text of this one is not a valid description
    if kind in READ:
        assert read(path) == [[TEXT, b"1"], [b"B", b"2"]]
        assert read(path, "error") == [[TEXT, b"1"], [b"B", b"2"]]
        return
    for missing in ("empty", "skip", "error"):
        with pytest.raises(NotImplementedError, match="the member 'a.jpg' "):
            read(path, missing)


needs_tar = pytest.mark.skipif(not shutil.which("tar"), reason="the program tar is not installed")


def tar(folder: Path, *options: str) -> Path:
    names = ["a.jpg", "a.cls", "b.jpg", "b.cls"]
    out = folder / "s.tar"
    subprocess.run(["tar", "-C", str(folder), *options, "-cf", str(out), *names], check=True)
    return out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in (("a.jpg", TEXT), ("a.cls", b"1"), ("b.jpg", b"B"), ("b.cls", b"2")):
        (tmp_path / name).write_bytes(data)
    return tmp_path


def hole(path: Path, pieces: int) -> None:
    """A file with holes, and with more pieces than fit in one header."""
    with path.open("wb") as file:
        for i in range(pieces):
            file.seek(1_000_000 * (i + 1))
            file.write(b"end%d" % i)


SPARSE = [
    ("--format=gnu",),
    ("--format=oldgnu",),
    *(("--format=posix", f"--sparse-version={v}") for v in ("0.0", "0.1", "1.0")),
]


@needs_tar
@pytest.mark.parametrize("pieces", [1, 40])
@pytest.mark.parametrize("options", SPARSE, ids=" ".join)
def test_sparse_files(options: tuple[str, ...], pieces: int, folder: Path) -> None:
    (folder / "a.jpg").unlink()
    hole(folder / "a.jpg", pieces)
    path = tar(folder, "-S", *options)
    check(path)
    with pytest.raises(NotImplementedError, match="'a.jpg' is a sparse file.*--sparse"):
        read(path)
    with pytest.raises(ValueError, match="'a.jpg' is not a regular file"):
        wds2idx.lines(str(path))
    # One that no output needs does not matter, and the members after it are found.
    os.rename(folder / "a.jpg", folder / "b.txt")
    (folder / "a.jpg").write_bytes(TEXT)
    names = ["a.jpg", "a.cls", "b.txt", "b.jpg", "b.cls"]
    subprocess.run(["tar", "-C", folder, "-S", *options, "-cf", path, *names], check=True)
    assert read(path, "error") == [[TEXT, b"1"], [b"B", b"2"]]


@needs_tar
@pytest.mark.parametrize("form", ["v7", "ustar", "gnu", "oldgnu", "posix"])
def test_links(form: str, folder: Path) -> None:
    (folder / "b.jpg").unlink()
    os.link(folder / "a.jpg", folder / "b.jpg")
    path = tar(folder, f"--format={form}")
    check(path, "b.jpg")
    with pytest.raises(NotImplementedError, match="'b.jpg' is a hard link.*--hard-dereference"):
        read(path, "skip")
    with pytest.raises(ValueError, match="'b.jpg' is not a regular file"):
        wds2idx.lines(str(path))
    assert read(tar(folder, f"--format={form}", "--hard-dereference")) == [[TEXT, b"1"], [TEXT, b"2"]]
    (folder / "b.jpg").unlink()
    os.symlink("a.jpg", folder / "b.jpg")
    with pytest.raises(NotImplementedError, match="'b.jpg' is a symbolic link.*--dereference"):
        read(tar(folder, f"--format={form}"), "skip")
    assert read(tar(folder, f"--format={form}", "-h", "--hard-dereference"))[1][0] == TEXT


@needs_tar
def test_several_volumes(folder: Path) -> None:
    """The first volume ends in the middle of a file, with which the second one begins."""
    (folder / "b.jpg").write_bytes(TEXT * 30)
    volumes = [folder / "1.tar", folder / "2.tar", folder / "3.tar"]
    command = ["tar", "-C", folder, "-M", "-L", "20", "--format=gnu"]
    files = [option for volume in volumes for option in ("-f", volume)]
    subprocess.run([*command, *files, "-c", "a.jpg", "a.cls", "b.jpg", "b.cls"], check=True)
    with pytest.raises(RuntimeError, match="1.tar.*does not fit"):
        read(volumes[0])
    with pytest.raises(NotImplementedError, match="2.tar.*'b.jpg' is continued from another volume"):
        read(volumes[1])


@needs_tar
@pytest.mark.parametrize("form", ["gnu", "posix"])
def test_labels_and_folders(form: str, folder: Path) -> None:
    os.mkdir(folder / "d.jpg")
    path = folder / "s.tar"
    names = ["d.jpg", "a.jpg", "a.cls", "b.jpg", "b.cls"]
    for more in (["-V", "label.jpg"], ["-V", "label.jpg", "-g", str(folder / "list")]):
        subprocess.run(["tar", "-C", folder, f"--format={form}", *more, "-cf", path, *names], check=True)
        assert read(path, "error") == [[TEXT, b"1"], [b"B", b"2"]]


def test_pax_values(tmp_path: Path) -> None:
    """Names and sizes that only extended headers have, and a path that one takes back."""
    path = tmp_path / "a.tar"
    globally: dict[str, str] = {"path": "all.jpg"}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, pax_headers=globally) as archive:
        for name, data, headers in (
            ("x", TEXT, {"path": "é" * 150 + "/a.jpg"}),
            ("y", b"1", {"path": "é" * 150 + "/a.cls", "size": "1"}),
        ):
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(data), headers
            archive.addfile(info, io.BytesIO(data))
    assert read(path, "error") == [[TEXT, b"1"]]


@pytest.mark.parametrize("sizes", [(0, 0), (100, 0), (0, 600)])
@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_compressed(mode: str, sizes: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, mode) as archive:
        for name, size in zip(("a.jpg", "a.cls"), sizes):
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(np.random.default_rng(size).bytes(size)))
    name = {"gz": "gzip", "bz2": "bzip2", "xz": "xz"}[mode[2:]]
    with pytest.raises(NotImplementedError, match=rf"compressed \({name}\).*decompress the archive"):
        read(path)


@pytest.mark.parametrize("indexed", [False, True])
def test_extensions_that_are_not_there(indexed: bool, folder: Path) -> None:
    path = folder / "s.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("a.jpg", "a.cls", "b.jpg", "b.seg.png"):
            info = tarfile.TarInfo(name)
            archive.addfile(info)
    more = {}
    if indexed:
        (folder / "s.idx").write_text("\n".join(wds2idx.lines(str(path))))
        more = {"index_paths": str(folder / "s.idx")}
    with Pipeline(1, 1, None) as pipe:
        out = fn.readers.webdataset(
            paths=str(path), ext=["jpeg", "cls"], missing_component_behavior="skip", **more
        )
        pipe.set_outputs(*out)
    with pytest.raises(RuntimeError, match=r"ext \('jpeg', 'cls'\).* are 'jpg', 'cls', 'seg.png'"):
        pipe.build()
