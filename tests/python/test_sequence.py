# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.sequence: frames in folders, compared with decoders.image and with DALI."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import headrace  # noqa: E402
from headrace import fn, types  # noqa: E402

FRAMES = {"a": (5, "png"), "b": (2, "jpg"), "c": (7, "bmp"), "d": (0, "")}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of frames of one size, and files that are none."""
    folder = tmp_path_factory.mktemp("sequences")
    random = np.random.default_rng(1)
    for name, (count, extension) in FRAMES.items():
        (folder / name).mkdir()
        for i in range(count):
            coarse = random.integers(0, 256, (4, 5, 3), np.uint8)
            Image.fromarray(np.kron(coarse, np.ones((6, 6, 1), np.uint8))).save(
                folder / name / f"{i}.{extension}"
            )
    (folder / "x.png").write_text("no folder")
    (folder / "a" / "notes.txt").write_text("no picture")
    return folder


def read(
    package: ModuleType, root: Path, count: int = -1, **arguments: Any
) -> list[tuple[Any, str]]:
    """The samples of an epoch, or `count` of them, and their names."""
    pipe = package.Pipeline(1, 2, None, seed=5, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(
            package.fn.readers.sequence(name="Reader", file_root=str(root), **arguments)
        )
    pipe.build()
    count = count if count >= 0 else pipe.reader_meta("Reader")["epoch_size"]
    out = []
    for _ in range(count):
        (batch,) = pipe.run()
        assert batch.layout() == "FHWC"
        out.append((np.array(batch.at(0)), batch[0].source_info()))
    return out


def expected(root: Path, length: int, step: int = 1, stride: int = 1) -> list[list[str]]:
    """The frames of all sequences."""
    out = []
    for name, (count, extension) in FRAMES.items():
        starts = range(0, count - (length - 1) * stride, step)
        out += [[f"{name}/{at + i * stride}.{extension}" for i in range(length)] for at in starts]
    return out


def decode(paths: list[Path], **arguments: Any) -> Any:
    pipe = headrace.Pipeline(len(paths), 1, None)
    with pipe:
        data, _ = fn.readers.file(files=[str(p) for p in paths])
        pipe.set_outputs(fn.decoders.image(data, **arguments))
    return np.stack([np.array(x) for x in pipe.run()[0]])


@pytest.mark.parametrize("kind", [types.RGB, types.BGR, types.GRAY, types.YCbCr, types.ANY_DATA])
def test_frames_are_those_of_the_decoder(kind: Any, root: Path) -> None:
    names = expected(root, 2, 3)
    got = read(headrace, root, sequence_length=2, step=3, image_type=kind)
    assert len(got) == len(names) == 5
    for (frames, name), files in zip(got, names, strict=True):
        assert name == files[0]
        np.testing.assert_array_equal(frames, decode([root / f for f in files], output_type=kind))


@pytest.mark.parametrize(
    "length, step, stride", [(1, 1, 1), (2, 1, 1), (3, 1, 2), (2, 2, 2), (7, 9, 1), (2, 1, 6)]
)
def test_windows(length: int, step: int, stride: int, root: Path) -> None:
    names = expected(root, length, step, stride)
    got = read(headrace, root, sequence_length=length, step=step, stride=stride)
    assert [name for _, name in got] == [files[0] for files in names]
    np.testing.assert_array_equal(got[-1][0], decode([root / f for f in names[-1]]))


def test_long_sequences(tmp_path: Path) -> None:
    """More frames than can be requested at once."""
    (tmp_path / "a").mkdir()
    frames = np.random.default_rng(2).integers(0, 256, (70, 3, 4, 3), np.uint8)
    for i, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / "a" / f"{i:02}.png")
    ((got, _),) = read(headrace, tmp_path, sequence_length=70)
    np.testing.assert_array_equal(got, frames)


def test_turned_as_exif_says(tmp_path: Path) -> None:
    """DALI writes such frames past the end of its memory."""
    (tmp_path / "a").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (24, 16), (9, 80, 7)).save(tmp_path / "a" / "0.jpg", exif=exif)
    ((got, _),) = read(headrace, tmp_path, sequence_length=1)
    assert got.shape == (1, 24, 16, 3)


def test_shuffled(root: Path) -> None:
    names = {files[0] for files in expected(root, 2)}
    got = [name for _, name in read(headrace, root, sequence_length=2, random_shuffle=True)]
    assert set(got) == names and got != sorted(got)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"sequence_length": 8}, "enough frames"),
        ({"sequence_length": 0}, "at least 1"),
        ({}, "sequence_length"),
    ]
    + [({"sequence_length": 2, argument: 0}, "at least 1") for argument in ("step", "stride")],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str, root: Path) -> None:
    with pytest.raises(Exception, match=message):
        read(headrace, root, **arguments)


def test_frames_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    Image.new("RGB", (4, 3)).save(tmp_path / "a" / "0.png")
    Image.new("RGB", (4, 5)).save(tmp_path / "a" / "1.png")
    with pytest.raises(RuntimeError, match=r"frame 1, 'a/1.png'.*2x5x4x3.*2x3x4x3"):
        read(headrace, tmp_path, sequence_length=2)
    (tmp_path / "a" / "1.png").write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match="frame 1, 'a/1.png'"):
        read(headrace, tmp_path, sequence_length=2)


@pytest.mark.live_dali
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["RGB", "BGR", "GRAY"])
def test_as_dali(kind: str, root: Path, live_dali: ModuleType) -> None:
    for window in ({}, {"stride": 2}, {"step": 2, "stride": 2}, {"step": 3}):
        theirs, ours = (
            read(
                package,
                root,
                12,
                sequence_length=2,
                image_type=getattr(package.types, kind),
                **window,
            )
            for package in (live_dali, headrace)
        )
        for (mine, _), (their, _) in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, their)
