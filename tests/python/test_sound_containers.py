# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""decoders.audio and readers.nemo_asr on the sound of containers, compared with PyAV."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import sounds  # noqa: E402
from headrace import Pipeline, fn, types  # noqa: E402
from test_audio import decode  # noqa: E402
from test_video_containers import has_decoders  # noqa: E402

pytestmark = pytest.mark.skipif(not has_decoders(), reason="there is no video module")

KINDS = [  # container, codec, rate, layout, whether there are pictures
    ("mp4", "aac", 44100, "stereo", False),
    ("ipod", "aac", 16000, "mono", False),
    ("mp4", "aac", 48000, "5.1", True),
    ("mp4", "libopus", 48000, "stereo", False),
    ("mp4", "ac3", 48000, "stereo", False),
    ("mp4", "libmp3lame", 44100, "stereo", False),
    ("mov", "alac", 44100, "stereo", False),
    ("mov", "pcm_s16le", 44100, "stereo", False),
    ("webm", "libopus", 48000, "stereo", False),
    ("webm", "libopus", 48000, "mono", True),
    ("matroska", "aac", 44100, "stereo", True),
    ("matroska", "pcm_s24le", 44100, "stereo", False),
    ("adts", "aac", 44100, "stereo", False),
    ("flv", "aac", 44100, "stereo", False),
    ("mpegts", "aac", 44100, "stereo", True),
    ("mpeg", "mp2", 44100, "stereo", False),
    ("avi", "libmp3lame", 44100, "stereo", True),
]


def add_sound(out: Any, codec: str, rate: int, layout: str, frames: int) -> Any:
    stream = out.add_stream(codec, rate=rate, layout=layout)
    t = np.arange(frames) / rate
    tones = 300 + 170 * np.arange(stream.layout.nb_channels)[:, None]
    waves = (0.4 * np.sin(2 * np.pi * tones * t)).astype(np.float32)
    frame = av.AudioFrame.from_ndarray(waves, format="fltp", layout=layout)
    frame.rate = rate
    return stream, frame


def written(
    form: str,
    codec: str,
    rate: int = 44100,
    layout: str = "stereo",
    pictures: bool = False,
    frames: int = 30000,
    options: dict[str, str] | None = None,
) -> bytes:
    """A file of tones, one per channel, that FFmpeg wrote."""
    with tempfile.TemporaryDirectory() as folder:  # `faststart` opens the file again
        path = Path(folder) / "file"
        write(path, form, codec, rate, layout, pictures, frames, options or {})
        return path.read_bytes()


def write(
    path: Path,
    form: str,
    codec: str,
    rate: int,
    layout: str,
    pictures: bool,
    frames: int,
    options: dict[str, str],
) -> None:
    with av.open(str(path), "w", format=form, options=options) as out:
        if pictures:
            video = out.add_stream("vp8" if form == "webm" else "mpeg4", rate=25)
            video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        stream, sound = add_sound(out, codec, rate, layout, frames)
        form_of = stream.codec_context.format.name if stream.codec_context.format else "fltp"
        for part in av.AudioResampler(format=form_of, layout=layout, rate=rate).resample(sound):
            out.mux(stream.encode(part))
        out.mux(stream.encode(None))
        for i in range(10 if pictures else 0):
            picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 9 * i, np.uint8))
            out.mux(video.encode(picture))
        if pictures:
            out.mux(video.encode(None))


def read(file: bytes) -> tuple[Any, int]:
    """What PyAV makes of the sound of a file, as floats, and its rate."""
    parts = []
    with av.open(io.BytesIO(file)) as source:
        for frame in source.decode(audio=0):
            x = frame.to_ndarray()
            planar = frame.format.is_planar
            parts.append(x.T if planar else x.reshape(-1, frame.layout.nb_channels))
            rate = frame.sample_rate
    x = np.concatenate(parts)
    if x.dtype != np.float32:
        x = (x / 2.0 ** (8 * x.dtype.itemsize - 1)).astype(np.float32)
    return x, rate


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k[:2])))
def test_samples(kind: Any) -> None:
    file = written(*kind)
    want, rate = read(file)
    (found,), rates = decode([file])
    assert rates == [rate]
    assert found.shape == want.shape and len(found) >= 30000
    np.testing.assert_allclose(found, want, atol=1e-6)
    assert np.abs(found).max() > 0.3
    (integers,), _ = decode([file], dtype=types.INT16)
    np.testing.assert_allclose(integers, np.clip(found * 32767.0, -32768, 32767), atol=2)


def test_tags_in_front() -> None:
    file = written("adts", "aac")
    tag = b"ID3\4\0\0\0\0\0\x14" + bytes(20)
    (found, want), _ = decode([tag + file, file])
    np.testing.assert_array_equal(found, want)


def test_in_a_batch_and_in_parts(tmp_path: Path) -> None:
    """Files of all kinds in one batch, and parts of them that a manifest selects."""
    files = [written(*kind) for kind in KINDS[:12]]
    whole, _ = decode([sounds.wav(np.zeros((9, 1))), *files])
    lines = []
    for i, file in enumerate(files):
        (tmp_path / f"{i}.bin").write_bytes(file)
        for part in ({}, {"offset": 0.1, "duration": 0.25}):
            lines.append(json.dumps({"audio_filepath": str(tmp_path / f"{i}.bin"), **part}))
    (tmp_path / "list.json").write_text("\n".join(lines))
    pipe = Pipeline(len(lines), 2, None)
    with pipe:
        audio, rate = fn.readers.nemo_asr(
            manifest_filepaths=str(tmp_path / "list.json"), read_text=False, downmix=False
        )
        pipe.set_outputs(audio, rate)
    audio, rate = pipe.run()
    for i in range(len(files)):
        want, hertz = whole[i + 1], float(np.array(rate[2 * i]))
        np.testing.assert_array_equal(np.array(audio[2 * i]), want)
        start, length = int(0.1 * hertz), int(0.25 * hertz)
        np.testing.assert_array_equal(np.array(audio[2 * i + 1]), want[start : start + length])


def test_silence_in_front_is_not_added_and_edits_are_applied() -> None:
    """The edit list leaves out the start of the encoder, also when it is written differently."""
    file = written("mp4", "aac", options={"movflags": "faststart"})
    again = written("mp4", "aac", options={"movflags": "frag_keyframe+empty_moov"})
    for x in (file, again):
        (found,), _ = decode([x])
        np.testing.assert_allclose(found, read(x)[0], atol=1e-6)


def cut(file: bytes, part: float) -> bytes:
    return file[: int(len(file) * part)]


@pytest.mark.parametrize("form", ["mp4", "webm", "flv", "mpegts", "matroska"])
def test_cut_files(form: str) -> None:
    """What is left is what the whole file begins with, or the file is refused."""
    codec = "libopus" if form == "webm" else "aac"
    file = written(
        form,
        codec,
        48000,
        options={"movflags": "faststart"} if form == "mp4" else {},
    )
    (whole,), _ = decode([file])
    refused = 0
    for part in (0.5, 0.7, 0.9, 0.99):
        found, _ = decode([sounds.wav(np.zeros((9, 1))), cut(file, part)], on_error="skip")
        if len(found) == 1:
            refused += 1
            continue
        x = found[1]
        kept = max(len(x) - 2048, 0)  # the last packet may be concealed
        assert (part - 0.35) * len(whole) < len(x) <= len(whole)
        np.testing.assert_array_equal(x[:kept], whole[:kept])
    assert refused < 4


def box(kind: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I", 8 + len(content)) + kind + content


def replaced(file: bytes, kind: bytes, at: int, value: int) -> bytes:
    """The file with another number in the only box of a kind; `at`: behind its name."""
    assert file.count(kind) == 1
    at += file.index(kind) + 4
    return file[:at] + struct.pack(">I", value) + file[at + 4 :]


def lying() -> dict[str, bytes]:
    """Files of a few kB whose tables state what would need gigabytes, or hours."""
    aac, pcm = written("mp4", "aac"), written("mov", "pcm_s16le")
    many = replaced(replaced(aac, b"stsz", 4, 100), b"stsz", 8, 0x7FFFFFF0)
    hidden = many.replace(b"edts", b"free", 1)
    fragment = box(
        b"moof",
        box(b"mfhd", bytes(8)),
        box(
            b"traf",
            box(b"tfhd", struct.pack(">IIII", 0x18, 1, 1024, 300)),
            box(b"trun", struct.pack(">II", 0, 0x7FFFFFFF)),
        ),
    )
    live = written("mp4", "aac", options={"movflags": "frag_keyframe+empty_moov"})
    return {
        "samples": many,
        "samples, and another box": hidden,
        "samples of a chunk": replaced(pcm, b"stsc", 12, 0x7FFFFFFF),
        "a fragment": live[: live.index(b"moof") - 4] + fragment,
    }


def test_tables_that_lie() -> None:
    for name, file in lying().items():
        with pytest.raises(RuntimeError, match="MP4: the tables are compressed, or describe more"):
            raise AssertionError(f"{name}: {decode([file])}")


def test_messages() -> None:
    pictures = io.BytesIO()
    with av.open(pictures, "w", format="mp4") as out:
        video = out.add_stream("mpeg4", rate=25)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        out.mux(video.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8))))
        out.mux(video.encode(None))
    cases = {
        "MP4: the file has no sound": pictures.getvalue(),
        "AVI: the codec of the sound, 'adpcm_ms', is not supported": written("avi", "adpcm_ms"),
        "MP4: the headers are damaged": cut(written("mp4", "aac"), 0.5),  # the tables come last
    }
    for message, file in cases.items():
        with pytest.raises(RuntimeError, match=message):
            decode([file])


def test_rate_that_changes() -> None:
    """Two files of AAC one after the other: not one sound."""
    both = written("adts", "aac", 44100) + written("adts", "aac", 22050)
    with pytest.raises(RuntimeError, match="AAC: the sound changes from 2 channels of 44100 Hz"):
        decode([both])


def test_damaged_files_are_skipped() -> None:
    rng = np.random.default_rng(3)
    good = [written(*kind, frames=8000) for kind in KINDS]
    damaged = []
    for i in range(10 * len(good)):
        file = bytearray(good[i % len(good)])
        for _ in range(rng.integers(1, 6)):
            file[rng.integers(0, rng.choice([900, len(file)]))] = rng.integers(0, 256)
        damaged.append(bytes(file[: rng.integers(1, len(file))] if i % 2 else file))
    whole = sounds.wav(np.arange(90)[:, None])
    found, rates = decode([whole, *damaged, whole], on_error="skip", dtype=types.INT16)
    assert 10 < len(found) < len(damaged) - 10
    for kept in (found[0], found[-1]):
        np.testing.assert_array_equal(kept[:, 0], np.arange(90))
    assert all(rate > 0 for rate in rates)


def test_without_the_module() -> None:
    program = """
from test_sound_containers import decode, written
try:
    decode([written("mp4", "aac")])
except RuntimeError as error:
    print(error)
"""
    here = Path(__file__).parent
    paths = [str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "HEADRACE_VIDEO_MODULE": "/nothing.so",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    command = [sys.executable, "-c", program]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "MP4: the video module cannot be opened" in out.stdout
    assert "pip install headrace-video" in out.stdout
