# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""decoders.audio: files written here or by libsndfile, compared with the numbers in them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import sounds  # noqa: E402
from headrace import Pipeline, fn, types  # noqa: E402


def decode(files: list[bytes], **arguments: Any) -> tuple[list[Any], list[float]]:
    """The sounds and their rates. Files that cannot be decoded are left out."""
    on_error = arguments.pop("on_error", "raise")
    data = [np.frombuffer(file, np.uint8) for file in files]
    pipe = Pipeline(len(files), 2, None, on_error=on_error)
    with pipe:
        source = fn.external_source(lambda: data)
        pipe.set_outputs(*fn.decoders.audio(source, **arguments))
    audio, rate = pipe.run()
    return [np.array(x) for x in audio], [float(np.array(r)) for r in rate]


NUMBERS = sounds.noise(1500, 3)
FLOATS = sounds.signal(1500, 3)
INTEGERS = {  # file, stored bits
    "wav8": (sounds.wav((NUMBERS >> 24) + 128, "u1"), 8),
    "wav16": (sounds.wav(NUMBERS >> 16), 16),
    "wav24": (sounds.wav(NUMBERS, "i3"), 24),
    "wav32": (sounds.wav(NUMBERS, "i4"), 32),
    "rifx": (sounds.wav(NUMBERS, "i3", big=True), 24),
    "rf64": (sounds.rf64(NUMBERS >> 16), 16),
    "w64": (sounds.w64(NUMBERS, "i3"), 24),
    "aiff8": (sounds.aiff(NUMBERS >> 24, "i1"), 8),
    "aiff24": (sounds.aiff(NUMBERS, "i3"), 24),
    "sowt": (sounds.aiff(NUMBERS >> 16, code=b"sowt"), 16),
    "au": (sounds.au(NUMBERS, "i4"), 32),
    "au_little": (sounds.au(NUMBERS >> 16, big=False), 16),
    "caf": (sounds.caf(NUMBERS, "i3"), 24),
    "caf_little": (sounds.caf(NUMBERS, "i4", big=False), 32),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    file, stored = INTEGERS[name]
    kept = NUMBERS >> (32 - stored) << (32 - stored)
    for dtype, want in (
        (types.INT32, kept),
        (types.INT16, (kept >> 16).astype(np.int16)),
        (types.FLOAT, (kept / 2**31).astype(np.float32)),
    ):
        (found,), rate = decode([file], dtype=dtype)
        assert rate == [16000]
        np.testing.assert_array_equal(found, want)
        assert found.dtype == want.dtype


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_floats(kind: str) -> None:
    files = [sounds.wav(FLOATS, kind), sounds.caf(FLOATS, kind), sounds.au(FLOATS, kind)]
    code = {"f4": b"fl32", "f8": b"FL64"}[kind]
    files += [sounds.wav(FLOATS, kind, big=True), sounds.aiff(FLOATS, kind, code=code)]
    for found in decode(files)[0]:
        np.testing.assert_array_equal(found, FLOATS.astype(np.float32))


def test_laws() -> None:
    """G.711, by its definition in segments."""
    codes = np.arange(256)
    inverted = 255 - codes
    segment, step = inverted >> 4 & 7, inverted & 15
    ulaw = ((2 * step + 33) << segment) - 33
    ulaw = np.where(inverted & 128, -ulaw, ulaw) * 4
    toggled = codes ^ 0x55
    segment, step = toggled >> 4 & 7, toggled & 15
    alaw = np.where(segment == 0, 2 * step + 1, (2 * step + 33) << np.maximum(segment - 1, 0))
    alaw = np.where(toggled & 128, alaw, -alaw) * 8
    for kind, want in (("ulaw", ulaw), ("alaw", alaw)):
        (found,), _ = decode([sounds.wav(codes.reshape(-1, 1), kind)], dtype=types.INT16)
        np.testing.assert_array_equal(found[:, 0], want)


def test_chunks_in_any_order() -> None:
    other = sounds.chunk(b"LIST", b"seven b")
    plain = sounds.wav(NUMBERS, "i3")
    files = [
        sounds.wav(NUMBERS, "i3", reverse=True, before=other, between=other, after=other),
        sounds.wav(NUMBERS, "i3", before=other * 50, after=b"rest"),
        plain[:4] + b"\xff" * 4 + plain[8:40] + b"\xff" * 4 + plain[44:],  # written to a pipe
        plain[:4] + b"\x08\0\0\0" + plain[8:40] + b"\0" * 4 + plain[44:],
    ]
    for found in decode(files, dtype=types.INT32)[0]:
        np.testing.assert_array_equal(found, NUMBERS >> 8 << 8)


def test_downmix() -> None:
    file = sounds.wav(FLOATS, "f4")
    (found,), _ = decode([file], downmix=True)
    want = FLOATS.astype(np.float32).astype(float).mean(1)
    assert found.shape == (1500,)
    np.testing.assert_allclose(found, want, atol=1e-7)
    (integers,), _ = decode([file], downmix=True, dtype=types.INT16)
    np.testing.assert_allclose(integers, want * 32767, atol=0.51)
    (mono,), _ = decode([sounds.wav(NUMBERS[:, :1] >> 16)], downmix=True, dtype=types.INT16)
    np.testing.assert_array_equal(mono, NUMBERS[:, 0] >> 16)


def test_cut_files() -> None:
    """What is there is decoded, down to nothing; a cut header is an error."""
    file = sounds.wav(NUMBERS >> 16)
    for size in (44, 45, 49, 50, 99, len(file) - 1):
        (found,), _ = decode([file[:size]], dtype=types.INT16)
        np.testing.assert_array_equal(found, (NUMBERS >> 16)[: (size - 44) // 6])
    for size in (0, 1, 11, 12, 30, 43):
        with pytest.raises(RuntimeError, match="sound file|no chunk with|too short"):
            decode([file[:size]])


MESSAGES = {
    "not a sound file": b"abcdefghijkl" * 9,
    "1 to 1024 are possible": sounds.wav(np.zeros((9, 0))),
    "not a sampling rate": sounds.wav(np.zeros((9, 1)), rate=0),
    "encoding of the samples is not supported": sounds.wav(np.zeros((9, 1))).replace(
        b"\x10\0\0\0\1\0", b"\x10\0\0\0\x55\0"
    ),
    "two chunks": sounds.wav(np.zeros((9, 1)), reverse=True, before=sounds.chunk(b"data", b"ab")),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        decode([MESSAGES[message]])


CODED = Path(__file__).parents[1] / "fuzz/corpus/audio_coded"


def coded(name: str) -> bytes:
    """A file that libsndfile wrote: the signal below, or a tone."""
    return (CODED / name).read_bytes()


def triangle(frames: int) -> Any:
    i = np.arange(frames)[:, None]
    return np.abs(i * [7, 3] % 2000 - 1000) * 30 - 15000


TONE = 0.5 * np.sin(2 * np.pi * 440 * np.arange(8000) / 16000)[:, None] * [1, 0.5]


def test_flac() -> None:
    deep = triangle(1500) * 250 + np.arange(1500)[:, None]
    (first, second), rates = decode([coded("flac"), coded("flac24")], dtype=types.INT32)
    assert rates == [16000, 44100]
    np.testing.assert_array_equal(first, triangle(5000) << 16)
    np.testing.assert_array_equal(second, deep << 8)
    (first, second), _ = decode([coded("flac"), coded("flac24")])
    np.testing.assert_array_equal(first, (triangle(5000) / 2**15).astype(np.float32))
    np.testing.assert_array_equal(second, (deep / 2**23).astype(np.float32))
    (mixed,), _ = decode([coded("flac")], downmix=True)
    np.testing.assert_array_equal(mixed, (triangle(5000) / 2**15).astype(np.float32).mean(1))


@pytest.mark.parametrize(("name", "limit"), [("vorbis", 0.02), ("opus", 0.03), ("mp3", 0.05)])
def test_lossy(name: str, limit: float) -> None:
    """Close to the sound that was coded, from 8 ms after its abrupt start on."""
    (floats,), rate = decode([coded(name)])
    (integers,), _ = decode([coded(name)], dtype=types.INT16)
    assert rate == [16000]
    assert floats.shape == (8000, 2)
    error = (floats - TONE)[128:7500]
    assert float(np.abs(error).max()) < limit
    np.testing.assert_allclose(integers, np.clip(floats * 32767, -32768, 32767), atol=0.51)


def written(rate: int, layout: str, form: str, frames: int) -> bytes:
    """A sound that FFmpeg wrote, as Ogg Vorbis or FLAC."""
    file = io.BytesIO()
    kind, dtype = ("fltp", np.float32) if form == "ogg" else ("s16", np.int16)
    with av.open(file, "w", format=form) as out:
        stream = out.add_stream("vorbis" if form == "ogg" else "flac", rate=rate, layout=layout)
        stream.options = {"strict": "experimental"}
        t = np.arange(frames) / rate
        tones = 300 + 170 * np.arange(stream.layout.nb_channels)[:, None]
        waves = 0.4 * np.sin(2 * np.pi * tones * t)
        x = waves if form == "ogg" else (waves.T * 30000).reshape(1, -1)
        x = np.ascontiguousarray(x.astype(dtype))
        frame = av.AudioFrame.from_ndarray(x, format=kind, layout=layout)
        frame.rate = rate
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return file.getvalue()


def alone(file: bytes) -> list[Any]:
    """The sound of a file, or nothing."""
    return decode([sounds.wav(NUMBERS >> 16), file], on_error="skip")[0][1:]


def other_codebooks(file: bytes) -> bytes:
    """The same file with another bit in its third header, and the checksum of the page that holds it.
    Of the bits that leave it decodable, the first one that changes the sound is taken."""
    start, end = file.index(b"OggS", 4), file.index(b"OggS", file.index(b"\5vorbis"))
    (sound,) = alone(file)
    for at in range(file.index(b"\5vorbis") + 20, end, 7):
        page = bytearray(file[start:end])
        page[at - start] ^= 4
        page[22:26] = bytes(4)
        checksum = 0
        for byte in page:
            checksum ^= byte << 24
            for _ in range(8):
                checksum = (checksum << 1) ^ (0x104C11DB7 if checksum >> 31 else 0)
        page[22:26] = checksum.to_bytes(4, "little")
        changed = file[:start] + bytes(page) + file[end:]
        found = alone(changed)
        if found and found[0].shape == sound.shape and not np.array_equal(found[0], sound):
            return changed
    raise AssertionError("no bit changes the sound")


def read(file: bytes) -> Any:
    """What FFmpeg's own decoder makes of a file."""
    parts = []
    with av.open(io.BytesIO(file)) as source:
        for frame in source.decode(audio=0):
            x = frame.to_ndarray()
            planar = frame.format.is_planar
            parts.append(x.T if planar else x.reshape(-1, frame.layout.nb_channels))
    x = np.concatenate(parts)
    return x if x.dtype == np.float32 else (x / 2**15).astype(np.float32)


@pytest.mark.parametrize(("form", "limit"), [("ogg", 1e-4), ("flac", 0)])
def test_kept_decoders(form: str, limit: float) -> None:
    """A worker's decoder goes on from file to file: headers repeat, return and change, and files that
    are damaged or go on after their end come between. Every file gives what it gives alone."""
    kinds = [(16000, "stereo"), (44100, "stereo"), (8000, "stereo")]
    if form == "flac":
        kinds += [(16000, "mono"), (44100, "5.1")]
    plain = [written(*kind, form, frames) for kind in kinds for frames in (9000, 2000)]
    broken = bytearray(plain[0])
    broken[len(broken) * 2 // 3] ^= 0x10
    files = [f for i, file in enumerate(plain) for f in (file, plain[i // 2], bytes(broken), file)]
    if form == "ogg":
        files += [plain[0], other_codebooks(plain[0]), plain[0], plain[0] + plain[1], plain[1]]
    each = {file: alone(file) for file in set(files)}
    for file in plain:
        (sound,) = each[file]
        assert len(sound) > 1000
        np.testing.assert_allclose(sound, read(file)[: len(sound)], atol=limit)
    found, _ = decode(files, on_error="skip")
    want = [x for file in files for x in each[file]]
    assert len(found) == len(want) > len(plain)
    for x, y in zip(found, want, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(("rate", "quality"), [(8000, 50), (44100, 0), (16001, 30), (48000, 100)])
def test_resampling(rate: int, quality: float) -> None:
    """The sum of a windowed sinc, in double precision."""
    (found,), rates = decode(
        [sounds.wav(FLOATS[:, :2], "f4")], sample_rate=float(rate), quality=float(quality)
    )
    lobes = int(np.floor(0.007 * quality**2 - 0.09 * quality + 3 + 0.5))
    at = np.arange(-(-1500 * rate // 16000)) * 16000 / rate
    taps = np.ceil(at).astype(int)[:, None] + np.arange(-lobes, lobes)
    x = taps - at[:, None]
    weights = np.sinc(x) * (0.5 + 0.5 * np.cos(np.pi * x / lobes))
    inside = (taps >= 0) & (taps < 1500)
    samples = FLOATS[np.clip(taps, 0, 1499), :2] * inside[..., None]
    want = (weights[..., None] * samples).sum(1)
    assert rates == [rate] and found.shape == want.shape
    np.testing.assert_allclose(found, want, atol=4e-3)  # the table has 32 points per sample


def lowpassed(samples: Any, step: float, count: int, quality: float) -> Any:
    """The sum of a windowed sinc whose cut-off is that of the lower rate, in double precision."""
    lobes, wider = np.floor(0.007 * quality**2 - 0.09 * quality + 3 + 0.5), max(step, 1)
    width = lobes * wider
    x = np.arange(len(samples))[None] - (np.arange(count) * step)[:, None]
    window = np.where(np.abs(x) < width, 0.5 + 0.5 * np.cos(np.pi * x / width), 0)
    return (np.sinc(x / wider) / wider * window) @ samples


@pytest.mark.parametrize("quality", [0, 50, 100])
@pytest.mark.parametrize("rates", [(16000, 8000), (44100, 16000), (48000, 8000), (8000, 11025)])
def test_lowpass(rates: tuple[int, int], quality: float) -> None:
    before, after = rates
    file = sounds.wav(FLOATS[:, :2], "f4", rate=before)
    (found,), _ = decode([file], sample_rate=float(after), quality=float(quality), lowpass=True)
    want = lowpassed(FLOATS[:, :2], before / after, len(found), quality)
    np.testing.assert_allclose(found, want, atol=4e-3)
    (plain,), _ = decode([file], sample_rate=float(after), quality=float(quality))
    assert np.array_equal(found, plain) == (after > before)
    pipe = Pipeline(1, 1, None)
    with pipe:
        x = fn.external_source(lambda: [FLOATS[:, :2].astype(np.float32)])
        out = fn.audio_resample(
            x, in_rate=before, out_rate=after, quality=float(quality), lowpass=True
        )
        pipe.set_outputs(out)
    np.testing.assert_array_equal(np.array(pipe.run()[0][0]), found)


def test_lowpass_removes_what_the_output_cannot_have() -> None:
    """A tone of 3 kHz stays, and one of 5 kHz, which would become 3 kHz at 8 kHz, goes."""
    t = np.arange(16000) / 16000
    levels = {}
    for tone in (3000, 5000):
        file = sounds.wav(0.5 * np.sin(2 * np.pi * tone * t)[:, None], "f4")
        for lowpass in (False, True):
            (found,), _ = decode([file], sample_rate=8000.0, lowpass=lowpass)
            levels[tone, lowpass] = float(np.abs(found[200:-200]).max())
    assert levels[3000, False] > 0.49 and levels[3000, True] > 0.49
    assert levels[5000, False] > 0.49 and levels[5000, True] < 0.001


def test_lowpass_has_a_limit() -> None:
    """The rate of the file may be wrong."""
    file = sounds.wav(np.zeros((90, 1)), rate=2_000_000_000)
    with pytest.raises(RuntimeError, match="1 / 256 is the least"):
        decode([file], sample_rate=8000.0, lowpass=True)


def test_without_the_module() -> None:
    """The core decodes WAV, and says what is missing for the rest."""
    program = """
import numpy as np, sounds
from test_audio import coded, decode
(found,), _ = decode([sounds.wav(np.zeros((7, 1)))])
assert found.shape == (7, 1)
try:
    decode([coded("flac")])
except RuntimeError as error:
    print(error)
"""
    environment = {**os.environ, "HEADRACE_AUDIO_MODULE": "/nothing.so"}
    paths = [str(Path(__file__).parent), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    command = [sys.executable, "-c", program]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "FLAC: the audio module cannot be opened" in out.stdout
    assert "libflac-dev" in out.stdout


def test_damaged_files_are_skipped() -> None:
    """200 damaged files: each is decoded in part or skipped, and the good ones stay."""
    rng = np.random.default_rng(5)
    good = [file for file, _ in INTEGERS.values()]
    good += [coded(name) for name in ("flac", "vorbis", "opus", "mp3")]
    damaged = []
    for i in range(200):
        file = bytearray(good[i % len(good)])
        for _ in range(rng.integers(1, 6)):
            file[rng.integers(0, rng.choice([64, len(file)]))] = rng.integers(0, 256)
        damaged.append(bytes(file[: rng.integers(1, len(file))] if i % 2 else file))
    whole = sounds.wav(NUMBERS >> 16)
    sound, rates = decode([whole, *damaged, whole], on_error="skip", dtype=types.INT16)
    assert 20 < len(sound) < 190
    for kept in (sound[0], sound[-1]):
        np.testing.assert_array_equal(kept, NUMBERS >> 16)
    assert all(rate > 0 for rate in rates)
