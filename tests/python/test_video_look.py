# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""color_space and rotate of the operators that decode videos, compared with libswscale and NumPy."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import videos  # noqa: E402
from headrace import Pipeline, fn, types  # noqa: E402
from test_video_containers import has_decoders  # noqa: E402
from test_video_frames import rgb  # noqa: E402

pytestmark = pytest.mark.skipif(not has_decoders(), reason="there is no video module")

NAMES = {1: "bt709", 5: "bt601", 6: "bt601", 9: "bt2020", 4: "fcc", 7: "smpte240m"}


def decode(path: Path | str, **arguments: Any) -> Any:
    data = [np.fromfile(path, np.uint8)]
    pipe = Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(fn.decoders.video(fn.external_source(lambda: data), **arguments))
    return np.array(pipe.run()[0][0])


def swscale(path: Path | str, matrix: str, full: bool | None = None) -> Any:
    with av.open(str(path)) as file:
        return np.stack([rgb(frame, matrix, full) for frame in file.decode(video=0)])


FILES: dict[str, dict[str, Any]] = {
    "h264.mp4": {"codec": "h264"},
    "h264.ts": {"codec": "h264"},
    "hevc.mkv": {"codec": "hevc"},
    "vp9.webm": {"codec": "vp9"},
    "vp9.ivf": {"codec": "vp9"},
    "av1.mp4": {"codec": "av1"},
    # which have no matrix of their own
    "mpeg4.mp4": {"codec": "mpeg4", "container": {"movflags": "write_colr"}},
    "mpeg4.mkv": {"codec": "mpeg4"},
    # which always have that of BT.601
    "vp8.webm": {"codec": "vp8"},
}


@pytest.mark.parametrize("matrix", [1, 6, 9])
@pytest.mark.parametrize("name", FILES)
def test_matrix_of_the_file(name: str, matrix: int, tmp_path: Path) -> None:
    path = tmp_path / name
    videos.make(path, frames=3, matrix=matrix, **FILES[name])
    plain = decode(path)
    np.testing.assert_array_equal(plain, swscale(path, "bt601"))
    found = decode(path, color_space="auto")
    np.testing.assert_array_equal(found, swscale(path, "bt601" if "vp8" in name else NAMES[matrix]))
    assert np.array_equal(found, plain) == (matrix == 6 or "vp8" in name)
    for asked in ("bt601", "bt709", "bt2020"):
        np.testing.assert_array_equal(decode(path, color_space=asked), swscale(path, asked))


@pytest.mark.parametrize("name", ["h264.mp4", "vp9.webm", "mpeg4.mp4", "mpeg4.mkv"])
def test_full_range(name: str, tmp_path: Path) -> None:
    """Streams that state it are always converted by it, and containers are asked with `auto`."""
    path = tmp_path / name
    videos.make(path, frames=3, matrix=1, full_range=True, **FILES[name])
    stated = "mpeg4" not in name
    np.testing.assert_array_equal(decode(path), swscale(path, "bt601", stated))
    np.testing.assert_array_equal(
        decode(path, color_space="auto"), swscale(path, "bt709", full=True)
    )


@pytest.mark.parametrize("matrix", [4, 7])
def test_old_matrices(matrix: int, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    videos.make(path, frames=2, matrix=matrix)
    np.testing.assert_array_equal(decode(path, color_space="auto"), swscale(path, NAMES[matrix]))


def test_files_that_say_nothing_are_bt601(tmp_path: Path) -> None:
    for name in ("h264.mp4", "vp9.webm", "mpeg4.mp4"):
        path = tmp_path / name
        videos.make(path, frames=2, codec=FILES[name]["codec"])
        np.testing.assert_array_equal(decode(path, color_space="auto"), swscale(path, "bt601"))


@pytest.mark.parametrize("matrix", [8, 10, 14])
def test_other_matrices_are_refused_by_name(matrix: int, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    videos.make(path, frames=2, matrix=matrix)
    decode(path)
    with pytest.raises(RuntimeError, match=f"matrix {matrix} of H.273, which is not supported"):
        decode(path, color_space="auto")
    with pytest.raises(RuntimeError, match="color_space"):
        decode(path, color_space="bt708")


@pytest.mark.parametrize("size", [(64, 48), (63, 48), (64, 47), (63, 47), (65, 33)])
def test_odd_sizes(size: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "a.webm"
    videos.make(path, "vp9", 2, size=size, matrix=1)
    found = decode(path, color_space="auto").astype(int)
    assert np.abs(found - swscale(path, "bt709")).max() <= 1
    videos.make(path, "vp9", 2, size=size)
    assert np.abs(decode(path).astype(int) - swscale(path, "bt601")).max() <= 1


# ---- rotate ----


def shown(frames: Any, matrix: tuple[int, int, int, int]) -> Any:
    """Every pixel where the matrix puts it: (x, y) becomes (a x + c y, b x + d y)."""
    a, b, c, d = (int(np.sign(v)) for v in matrix)
    _, height, width, _ = frames.shape
    y, x = np.mgrid[0:height, 0:width]
    to_x, to_y = a * x + c * y, b * x + d * y
    to_x, to_y = to_x - to_x.min(), to_y - to_y.min()
    out = np.zeros((len(frames), to_y.max() + 1, to_x.max() + 1, 3), np.uint8)
    out[:, to_y, to_x] = frames
    return out


TURNS = [(a, 0, 0, d) for a, d in itertools.product((1, -1), repeat=2)]
TURNS += [(0, b, c, 0) for b, c in itertools.product((1, -1), repeat=2)]


@pytest.mark.parametrize("size", [(64, 48), (63, 47)])
@pytest.mark.parametrize("matrix", TURNS)
def test_every_turn(
    matrix: tuple[int, int, int, int], size: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "a.mp4"
    videos.make(path, "vp9" if size[0] % 2 else "h264", 3, size=size)
    plain = decode(path)
    videos.turn(path, matrix)
    np.testing.assert_array_equal(decode(path), plain)
    found = decode(path, rotate=True)
    np.testing.assert_array_equal(found, shown(plain, matrix))
    assert np.array_equal(found, plain) == (matrix == (1, 0, 0, 1))
    with av.open(str(path)) as file:
        angle = next(file.decode(video=0)).rotation
    if np.linalg.det(np.reshape(matrix, (2, 2))) > 0:
        np.testing.assert_array_equal(found, np.rot90(plain, angle // 90, (1, 2)))


def test_known_directions(tmp_path: Path) -> None:
    """Without matrices: what a phone that was held upright writes is turned clockwise by 90 degrees."""
    path = tmp_path / "a.mp4"
    videos.make(path, frames=2)
    plain = decode(path)
    videos.turn(path, (0, 1, -1, 0))
    np.testing.assert_array_equal(decode(path, rotate=True), np.rot90(plain, -1, (1, 2)))
    videos.turn(path, (-1, 0, 0, 1))
    np.testing.assert_array_equal(decode(path, rotate=True), plain[:, :, ::-1])


@pytest.mark.parametrize(
    "first, second", [(TURNS[4], TURNS[5]), (TURNS[6], TURNS[2]), (TURNS[1],) * 2]
)
def test_track_and_movie(first: Any, second: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    videos.make(path, frames=2)
    plain = decode(path)
    videos.turn(path, first)
    videos.turn(path, second, movie=True)
    np.testing.assert_array_equal(decode(path, rotate=True), shown(shown(plain, first), second))


def test_other_angles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    videos.make(path, frames=2)
    for matrix in ((1, 1, -1, 1), (1, 0, 1, 1), (1, 0, 0, 0), (1, 1, 1, 1)):
        videos.turn(path, matrix)
        decode(path)
        with pytest.raises(RuntimeError, match="not a multiple of 90 degrees"):
            decode(path, rotate=True)
    videos.turn(path, (0, 0, 0, 0))  # written by programs that do not know better
    np.testing.assert_array_equal(decode(path, rotate=True), decode(path))


@pytest.mark.parametrize("matrix", TURNS)
def test_matroska(matrix: tuple[int, int, int, int], tmp_path: Path) -> None:
    """FFmpeg writes the matrix as a projection."""
    source, target = tmp_path / "a.mp4", tmp_path / "a.mkv"
    videos.make(source, frames=3)
    videos.turn(source, matrix)
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        stream = new.add_stream_from_template(old.streams.video[0])
        for packet in old.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                new.mux(packet)
    assert (b"\x76\x70" in target.read_bytes()) == (matrix != (1, 0, 0, 1))
    np.testing.assert_array_equal(decode(target), decode(source))
    np.testing.assert_array_equal(decode(target, rotate=True), decode(source, rotate=True))


# ---- every operator ----


def first(pipe: Pipeline) -> Any:
    return np.array(pipe.run()[0][0])


def test_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    videos.make(path, frames=6, matrix=1)
    videos.turn(path, (0, 1, -1, 0))
    want = decode(path, color_space="auto", rotate=True)[:4]
    assert want.shape == (4, 64, 48, 3)
    look = {"color_space": "auto", "rotate": True}
    same = {"filenames": [str(path)], "sequence_length": 4}

    def read(reader: Any, **arguments: Any) -> Any:
        pipe = Pipeline(1, 1, None)
        with pipe:
            pipe.set_outputs(reader(**same, **arguments))
        return first(pipe)

    np.testing.assert_array_equal(read(fn.experimental.readers.video, **look), want)
    np.testing.assert_array_equal(read(fn.experimental.readers.video), decode(path)[:4])
    stored = read(fn.experimental.readers.video, image_type=types.YCbCr)
    turned = read(fn.experimental.readers.video, image_type=types.YCbCr, **look)
    np.testing.assert_array_equal(turned, np.rot90(stored, -1, (1, 2)))

    pipe = Pipeline(1, 1, None)
    with pipe:
        pipe.set_outputs(fn.experimental.inputs.video(name="clip", sequence_length=4, **look))
    pipe.feed_input("clip", [np.fromfile(path, np.uint8)])
    np.testing.assert_array_equal(first(pipe), want)


def test_frames_that_do_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    videos.make(path, frames=3)
    videos.turn(path, (0, -1, 1, 0))
    found = decode(path, frames=[2, 7], fill_value=[1, 2, 3], rotate=True)
    np.testing.assert_array_equal(found[0], np.rot90(decode(path)[2]))
    assert found.shape == (2, 64, 48, 3) and (found[1] == [1, 2, 3]).all()
    assert decode(path, frames=[7], rotate=True).shape == (1, 64, 48, 3)
