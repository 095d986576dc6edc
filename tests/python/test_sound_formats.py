# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""decoders.audio: every format of sound files that is read, with every encoding, byte order and number of
channels, behind tags and between other chunks. ADPCM is compared with FFmpeg. What is not read is refused by its
name, and no header makes a file long."""

from __future__ import annotations

import io
import itertools
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import sounds  # noqa: E402
from headrace import Pipeline, fn, types  # noqa: E402
from test_audio import coded, decode  # noqa: E402

FRAMES = 333  # odd, so that chunks of bytes are padded
ROOT = Path(__file__).parents[2]
INTEGERS = ("i2", "i3", "i4")
FLOATS = ("f4", "f8")
LAWS = ("ulaw", "alaw")


class Format:
    """A writer of `sounds`, with what it can write."""

    def __init__(self, write: Callable[..., bytes], kinds: Any, channels: Any = (1, 2, 5), **more: Any) -> None:  # fmt: skip
        self.write, self.kinds, self.channels = write, kinds, channels
        self.more = more

    def cases(self) -> Any:
        names = list(self.more)
        for kind, channels in itertools.product(self.kinds, self.channels):
            for values in itertools.product(*self.more.values()):
                more = dict(zip(names, values, strict=True))
                yield kind, channels, more


AIFC = {"i2": b"sowt", "f4": b"fl32", "f8": b"fl64", "ulaw": b"ulaw", "alaw": b"alaw"}


def aifc(samples: Any, kind: str, rate: int = 16000) -> bytes:
    return sounds.aiff(samples, kind, rate, AIFC[kind])


OTHER = sounds.chunk(b"LIST", b"seven b")
FORMATS = {  # by the names in docs/audio.md
    "WAV": Format(
        sounds.wav, ("u1", *INTEGERS, *FLOATS, *LAWS), big=(False, True), reverse=(False, True)
    ),
    "RF64": Format(sounds.rf64, ("u1", *INTEGERS, *FLOATS, *LAWS)),
    "W64": Format(sounds.w64, ("u1", *INTEGERS, *FLOATS, *LAWS)),
    "AIFF": Format(sounds.aiff, ("i1", *INTEGERS)),
    "AIFC": Format(aifc, tuple(AIFC)),
    "CAF": Format(sounds.caf, ("i1", *INTEGERS, *FLOATS, *LAWS), big=(False, True)),
    "AU": Format(sounds.au, (*INTEGERS, *FLOATS, *LAWS), big=(False, True)),
    "NIST SPHERE": Format(sounds.nist, ("i1", *INTEGERS, *LAWS), big=(False, True)),
    "VOC": Format(sounds.voc, ("u1", "i2", *LAWS), (1, 2), old=(False, True)),
    "AVR": Format(sounds.avr, ("u1", "i1", "i2"), (1, 2)),
    "IRCAM": Format(sounds.ircam, ("i2", "i4", "f4", *LAWS), big=(False, True)),
    "PAF": Format(sounds.paf, ("i1", "i2"), big=(False, True)),
    "PVF": Format(sounds.pvf, ("i1", "i2", "i4")),
    "8SVX": Format(sounds.svx, ("i1", "i2"), (1,)),
    "MPC 2000": Format(sounds.mpc, ("i2",), (1, 2)),
    "WVE": Format(sounds.wve, ("alaw",), (1,)),
    "HTK": Format(sounds.htk, ("i2",), (1,)),
}


def law(codes: Any, kind: str) -> Any:
    """The INT16 numbers of G.711's codes, by its definition in segments."""
    plain = 255 - codes if kind == "ulaw" else codes ^ 0x55
    segment, step = plain >> 4 & 7, plain & 15
    if kind == "ulaw":
        size = (((2 * step + 33) << segment) - 33) * 4
        return np.where(plain & 128, -size, size)
    size = np.where(segment == 0, 2 * step + 1, (2 * step + 33) << np.maximum(segment - 1, 0)) * 8
    return np.where(plain & 128, size, -size)


def samples_of(kind: str, channels: int) -> tuple[Any, Any]:
    """What is written, and the FLOAT that is read."""
    noise = sounds.noise(FRAMES, channels, 7)
    if kind in FLOATS:
        return noise / 2**31, (noise / 2**31).astype(np.float32)
    if kind in LAWS:
        codes = noise & 255
        return codes, (law(codes, kind) / 2**15).astype(np.float32)
    stored = 8 * int(kind[1])
    kept = noise >> (32 - stored) << (32 - stored)
    written = noise if stored in (24, 32) else noise >> (32 - stored)
    written = written + 128 if kind == "u1" else written
    return written, (kept / 2**31).astype(np.float32)


@pytest.mark.parametrize("name", FORMATS)
def test_matrix(name: str) -> None:
    """Alone, and behind one or two ID3 tags, which contain what looks like MP3."""
    form, files, wanted = FORMATS[name], [], []
    rate = 8000 if name == "WVE" else 12500 if name == "VOC" else 16000
    for kind, channels, more in form.cases():
        written, read = samples_of(kind, channels)
        file = form.write(written, kind, rate, **more)
        for tags in (b"", sounds.id3(), sounds.id3(300, footer=True) + sounds.id3(0)):
            files.append(tags + file)
            wanted.append(read)
    assert len(files) >= 3
    # a batch has one number of dimensions, and any shapes
    found, rates = decode(files)
    assert rates == [rate] * len(files)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
    same, _ = decode(files, dtype=types.INT32)
    for got, want, (kind, _, _) in zip(same[::3], wanted[::3], form.cases(), strict=True):
        if kind not in FLOATS:
            np.testing.assert_array_equal((got / 2**31).astype(np.float32), want)


@pytest.mark.live_dali
@pytest.mark.parametrize("name", [*FORMATS, "ADPCM", "tagged"])
def test_matrix_of_dali(name: str, live_dali: Any) -> None:
    """DALI reads the same samples from the same files, except that it takes what follows the samples of W64 and
    8SVX for samples, loses some behind a tag, and does not look at the encoding of old VOC files."""
    files = []
    for kind, channels, more in FORMATS[name].cases() if name in FORMATS else ():
        if more.get("reverse") or (more.get("old") and kind != "u1"):
            continue
        if name == "NIST SPHERE" and kind in ("i3", "i4"):
            continue  # are refused, unless the header is that of libsndfile
        files.append(FORMATS[name].write(samples_of(kind, channels)[0], kind, **more))
    for code, channels in itertools.product(("ima", "ms"), (1, 2)) if name == "ADPCM" else ():
        data = sounds.adpcm(code, channels, 256, 5)
        files.append(sounds.adpcm_wav(code, channels, 256, data))
    if name == "tagged":
        files = [sounds.id3() + sounds.wav(samples_of("i2", 2)[0]), sounds.id3(300) + coded("flac")]
    for file in files:
        pipe = live_dali.pipeline.Pipeline(1, 1, None)
        with pipe:
            source = live_dali.fn.external_source([[np.frombuffer(file, np.uint8)]])
            pipe.set_outputs(*live_dali.fn.decoders.audio(source))
        pipe.build()
        audio, rate = pipe.run()
        (found,), (found_rate,) = decode([file])
        assert found_rate == float(np.array(rate.at(0)))
        theirs = np.array(audio.at(0))
        same = min(len(found), len(theirs))
        assert same > 300 and (len(found) == len(theirs) or name in ("W64", "8SVX", "tagged"))
        np.testing.assert_array_equal(found[:same], theirs[:same])


def test_other_chunks() -> None:
    """Between the chunks of WAV, of any length, before or after the format."""
    written, read = samples_of("i3", 2)
    odd = sounds.chunk(b"junk", bytes(7)) + sounds.chunk(b"bext", b"fmt data" * 5)
    for before, between, after in itertools.product((b"", odd, OTHER), repeat=3):
        for reverse in (False, True):
            file = sounds.wav(written, "i3", before=before, between=between, after=after, reverse=reverse)  # fmt: skip
            (found,), _ = decode([sounds.id3() + file])
            np.testing.assert_array_equal(found, read)


def decoded_by_ffmpeg(file: bytes) -> Any:
    with av.open(io.BytesIO(file)) as source:
        frames = list(source.decode(audio=0))
    parts = [f.to_ndarray() for f in frames]
    channels = frames[0].layout.nb_channels
    planar = frames[0].format.is_planar
    return np.concatenate([p.T if planar else p.reshape(-1, channels) for p in parts])


def microsoft(data: bytes, channels: int, block: int) -> Any:
    """Microsoft's ADPCM, by its description; FFmpeg rounds the prediction in another way."""
    weights = [(256, 0), (512, -256), (0, 0), (192, 64), (240, 0), (460, -208), (392, -232)]
    moves = [230, 230, 230, 230, 307, 409, 512, 614, 768, 614, 512, 409, 307, 230, 230, 230]
    blocks = []
    for at in range(0, len(data), block):
        b = data[at : at + block]
        states = np.frombuffer(b, "<i2", 3 * channels, channels).reshape(3, channels).tolist()
        delta, out = states[0], [states[2], states[1]]
        nibbles = [n for byte in b[7 * channels :] for n in (byte >> 4, byte & 15)]
        for i in range(len(nibbles) // channels):
            row = []
            for k in range(channels):
                code = nibbles[i * channels + k]
                w = weights[b[k]]
                guess = (out[-1][k] * w[0] + out[-2][k] * w[1]) >> 8
                signed = code - 16 if code & 8 else code
                row.append(max(-32768, min(32767, guess + signed * delta[k])))
                delta[k] = max(16, delta[k] * moves[code] >> 8)
            out.append(row)
        blocks.append(out)
    return np.array(sum(blocks, []), np.int16)


@pytest.mark.parametrize("code", ["ima", "ms"])
@pytest.mark.parametrize("channels", [1, 2])
def test_adpcm(code: str, channels: int) -> None:
    """Random blocks, whole and in part."""
    for block, blocks in ((256 * channels, 5), (36 * channels, 40), (1024 * channels, 2)):
        data = sounds.adpcm(code, channels, block, blocks, seed=block)
        file = sounds.adpcm_wav(code, channels, block, data)
        want = decoded_by_ffmpeg(file) if code == "ima" else microsoft(data, channels, block)
        (found,), rate = decode([file], dtype=types.INT16)
        assert rate == [16000] and len(found) > 500 and len(np.unique(found)) > 300
        np.testing.assert_array_equal(found, want)
        (other,), _ = decode([sounds.w64_of(file[20 : file.index(b"data")], data)], dtype=types.INT16)  # fmt: skip
        np.testing.assert_array_equal(other, want)
        (floats,), _ = decode([sounds.id3() + file])
        np.testing.assert_array_equal(floats, (want / 2**15).astype(np.float32))
        head = len(file) - len(data)
        for size in (0, 3, 11 * channels, block, block + 3, 2 * block + 20 * channels):
            (cut,), _ = decode([file[: head + size]], dtype=types.INT16)
            assert len(cut) <= len(want) * size / len(data) + 1
            np.testing.assert_array_equal(cut, want[: len(cut)])
        assert len(cut) >= 2 * len(want) // blocks


@pytest.mark.parametrize("at", range(22, 50, 2))
def test_a_table_of_its_own(at: int) -> None:
    """A WAV file repeats Microsoft's table of weights; one with other weights is refused, not decoded wrongly."""
    data = sounds.adpcm("ms", 1, 256, 2, seed=1)
    file = bytearray(sounds.adpcm_wav("ms", 1, 256, data))
    assert file[12:16] == b"fmt " and file[20:22] == b"\2\0"
    file[20 + at] ^= 1
    with pytest.raises(RuntimeError, match="Microsoft's ADPCM with a table of 7 predictors"):
        decode([bytes(file)])


@pytest.mark.parametrize("blocks", [12, 700])
@pytest.mark.parametrize("code", ["ima", "ms"])
def test_parts(code: str, blocks: int, tmp_path: Path) -> None:
    """Parts of files with ADPCM, and of FLAC behind a tag that is longer than what is read first."""
    data = sounds.adpcm(code, 2, 256, blocks)
    files = {"adpcm.wav": sounds.adpcm_wav(code, 2, 256, data, rate=1000)}
    files["tagged.wav"] = sounds.id3(100000) + files["adpcm.wav"]
    files["tagged.flac"] = sounds.id3(100000) + coded("flac")
    files["plain.wav"] = sounds.id3(100000) + sounds.wav(sounds.noise(3000, 2) >> 16, rate=1000)
    for name, file in files.items():
        (tmp_path / name).write_bytes(file)
        (whole,), (rate,) = decode([file], dtype=types.INT16)
        parts = [(0.0, 0.2), (0.05, 0.1), (0.301, -1), (0.2, 0.11)]
        lines = [
            json.dumps({"audio_filepath": str(tmp_path / name), "offset": offset} | ({"duration": d} if d > 0 else {}))
            for offset, d in parts
        ]  # fmt: skip
        (tmp_path / "manifest").write_text("\n".join(lines))
        pipe = Pipeline(len(parts), 1, None)
        with pipe:
            reader = fn.readers.nemo_asr(
                manifest_filepaths=[str(tmp_path / "manifest")],
                read_text=False,
                dtype=types.INT16,
                downmix=False,
            )
            pipe.set_outputs(*reader)
        found = pipe.run()[0]
        for got, (offset, d) in zip(found, parts, strict=True):
            first = int(offset * rate)
            end = len(whole) if d < 0 else first + int(d * rate)
            assert len(whole) > first + 5
            np.testing.assert_array_equal(np.array(got), whole[first:end])


CORPUS = ROOT / "tests/fuzz/corpus/audio"
LIBSNDFILE = {  # files that libsndfile wrote, and the greatest error of their encoding; ADPCM needs a while
    "nist": 0, "nist_ulaw": 256, "voc": 0, "voc_old": 255, "avr": 0, "ircam": 0, "paf": 0, "pvf": 0,
    "svx": 0, "mpc": 0, "wve": 256, "htk": 0, "ima": None, "ima4": None, "ms": None, "w64_ms": None,
}  # fmt: skip


@pytest.mark.parametrize("name", LIBSNDFILE)
def test_files_of_libsndfile(name: str) -> None:
    """A triangle of 300 frames."""
    i = np.arange(300)
    want = np.abs(i * 11 % 2000 - 1000) * 30 - 15000
    (found,), (rate,) = decode([(CORPUS / name).read_bytes()])
    assert found.shape[1:] == (1,) and 8000 <= rate < 8100
    error = np.abs(found[:300, 0] * 2**15 - want)
    most = LIBSNDFILE[name]
    if most is None:
        assert np.median(error) < 150 and 300 <= len(found) < 600  # whole blocks
    else:
        assert error.max() <= most and len(found) == 300


def test_ima_of_apple() -> None:
    """Blocks of 34 bytes per channel and 64 frames in AIFC, against the WAV form: its blocks begin with
    the first sample, those of Apple with the state before it."""
    rng = np.random.default_rng(4)
    for channels in (1, 2):
        apple, wanted = b"", []
        for _ in range(6):
            columns = []
            for _ in range(channels):
                state, index = int(rng.integers(-250, 250)) * 128, int(rng.integers(0, 89))
                codes = rng.bytes(32)
                apple += struct.pack(">H", (state & 0xFF80) | index) + codes
                wav = sounds.adpcm_wav("ima", 1, 36, struct.pack("<hBB", state, index, 0) + codes)
                columns.append(decoded_by_ffmpeg(wav)[1:])
            wanted.append(np.concatenate(columns, 1))
        want = np.concatenate(wanted)
        comm = struct.pack(">HIH", channels, 6, 16) + struct.pack(">HQ", 16383 + 13, 16000 << 50)
        body = sounds.chunk(b"COMM", comm + b"ima4\0\0", True)
        body += sounds.chunk(b"SSND", bytes(8) + apple, True)
        (found,), _ = decode([sounds.chunk(b"FORM", b"AIFC" + body, True)], dtype=types.INT16)
        np.testing.assert_array_equal(found, want)


def test_damaged_adpcm() -> None:
    for code, at in (("ima", 2), ("ms", 0)):
        data = bytearray(sounds.adpcm(code, 1, 64, 4))
        data[2 * 64 + at] = 99
        with pytest.raises(RuntimeError, match="WAV: the ADPCM block 2 of the samples is damaged"):
            decode([sounds.adpcm_wav(code, 1, 64, bytes(data))])
        file = sounds.adpcm_wav(code, 1, 64, bytes(data))
        frames = struct.unpack_from("<H", file, 38)[0]
        wrong = file[:38] + struct.pack("<H", frames - 1) + file[40:]
        with pytest.raises(RuntimeError, match=f"has {frames} frames .* says {frames - 1}"):
            decode([wrong])
        for block in (0, 1, 3):
            with pytest.raises(RuntimeError, match="a block of"):
                decode([file[:32] + struct.pack("<H", block) + file[34:]])


def test_compressed_behind_tags() -> None:
    """FLAC, Ogg and MP3 behind ID3 tags, and MP3 behind zero bytes, also more than its decoder skips."""
    tags = [sounds.id3(), sounds.id3(5000, footer=True), sounds.id3() * 3]
    for name in ("flac", "vorbis", "opus", "mp3"):
        zeros = (
            [bytes(1), bytes(77), bytes(5000), sounds.id3() + bytes(3000)] if name == "mp3" else []
        )
        files = [coded(name), *(t + coded(name) for t in tags + zeros)]
        found, _ = decode(files)
        assert len(found[0]) >= 5000
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])


def with_lines(file: bytes, old: bytes, new: bytes) -> bytes:
    """A SPHERE file with other lines in its header."""
    assert old in file[:1024]
    return file[:1024].rstrip(b" ").replace(old, new).ljust(1024) + file[1024:]


NIST, VOC = sounds.nist(np.zeros((9, 1))), sounds.voc(np.zeros((9, 1)), old=True)
REFUSED = {
    "GSM 6.10, 0x31": sounds.wav(np.zeros((9, 1))).replace(b"\x10\0\0\0\1\0", b"\x10\0\0\0\x31\0"),
    "MP3, 0x55": sounds.wav(np.zeros((9, 1))).replace(b"\x10\0\0\0\1\0", b"\x10\0\0\0\x55\0"),
    "'alac' with 16 bits .Apple Lossless": sounds.caf(np.zeros((9, 1))).replace(b"lpcm", b"alac"),
    "'MAC3'": sounds.aiff(np.zeros((9, 1)), code=b"MAC3"),
    "G.72x": sounds.au(np.zeros((9, 1))).replace(b"\0\0\0\3", b"\0\0\0\x17", 1),
    "pcm,embedded-shorten-v2.00": with_lines(NIST, b"-s3 pcm", b"-s26 pcm,embedded-shorten-v2.00"),
    "pcm with 7 bytes": with_lines(NIST, b"n_bytes -i 2", b"n_bytes -i 7"),
    "byte order '02'": with_lines(NIST, b"-s2 01", b"-s2 02"),
    "Creative ADPCM": sounds.voc(np.zeros((9, 1))).replace(b"\1\0\0\0\0\0\0\0", b"\1\1\0\0\0\0\0\0"),
    "several blocks": VOC[:-1] + VOC[40:],
    "blocks of type 3": VOC[:-1] + b"\3\3\0\0\1\0\1\0",
    "blocks of 24 bits": sounds.paf(np.zeros((9, 1))).replace(bytes(7) + b"\1", b"\0\0\0\1\0\0\0\1", 1),
    "two channels": sounds.svx(np.zeros((9, 1))).replace(
        b"BODY", b"CHAN\0\0\0\4\0\0\0\6BODY"
    ),
    "compression 1": sounds.svx(np.zeros((9, 1))).replace(b"\x3e\x80\1\0", b"\x3e\x80\1\1"),
    "MP4": b"\0\0\0\x18ftypM4A \0\0\0\0",
    "layer II": b"\xff\xfd\x90\x64" + bytes(99),
    "MATLAB 4": struct.pack("<5I", 0, 1, 1, 0, 11) + b"samplerate\0" + bytes(99),
    "FastTracker": b"Extended Instrument: x" + bytes(99),
    "Matroska": b"\x1a\x45\xdf\xa3" + bytes(99),
    "Ogg file without": b"OggS" + bytes(99),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused_by_name(message: str) -> None:
    for tags in (b"", sounds.id3()):
        with pytest.raises(RuntimeError, match=message):
            decode([tags + REFUSED[message]])
    whole = sounds.wav(np.ones((7, 1)))
    found, _ = decode([whole, REFUSED[message], whole], on_error="skip")
    assert [len(x) for x in found] == [7, 7]


def test_headers_that_end() -> None:
    """Every format is cut everywhere in its header: an error, or samples that the file has."""
    refused = 0
    for name, form in FORMATS.items():
        kind, channels, more = next(iter(form.cases()))
        written, read = samples_of(kind, channels)
        file = form.write(written, kind, **more)
        step = 1 if len(file) < 3 * FRAMES else 13
        for size in range(0, len(file), step):
            try:
                (found,), _ = decode([file[:size]])
            except RuntimeError:
                refused += 1
            else:
                np.testing.assert_array_equal(found, read[: len(found)], err_msg=name)
    assert refused > 300


@pytest.mark.parametrize("tags", [b"", sounds.id3()])
def test_lengths_follow_from_the_file(tags: bytes, tmp_path: Path) -> None:
    """A rate of 1 Hz does not make 2 GB of 64 kB, nor does ADPCM or FLAC; real rates are no problem."""
    long = np.zeros((32768, 1), np.int16)
    adpcm = sounds.adpcm("ima", 1, 1024, 64)
    slow = [sounds.wav(long, rate=1), sounds.adpcm_wav("ima", 1, 1024, adpcm, rate=1)]
    for file in slow:
        path = tmp_path / "slow.wav"
        path.write_bytes(tags + file)
        for arguments in ({"dtype": types.INT16}, {}, {"downmix": True}):
            with pytest.raises(RuntimeError, match=r"at 1 Hz, which is 16000 Hz in the output"):
                decode([tags + file], sample_rate=16000.0, **arguments)
        for part in ({}, {"offset": 1.0}):
            manifest = tmp_path / "manifest.json"
            manifest.write_text(json.dumps({"audio_filepath": str(path), **part}))
            pipe = Pipeline(1, 1, None)
            with pipe:
                reader = fn.readers.nemo_asr(
                    manifest_filepaths=[str(manifest)], sample_rate=16000, read_text=False
                )
                pipe.set_outputs(*reader)
            with pytest.raises(RuntimeError, match=r"slow\.wav.* at 1 Hz"):
                pipe.run()
    with pytest.raises(RuntimeError, match="too much for a file of"):
        decode([tags + coded("flac")], sample_rate=1e9)
    (found,), _ = decode([tags + sounds.wav(long & 255, "ulaw", rate=4000)], sample_rate=192000.0)
    assert len(found) == 48 * len(long)


def test_the_page_lists_what_is_read() -> None:
    """docs/audio.md has a row for each format, with its encodings."""
    page = (ROOT / "docs/audio.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    listed = dict(rows)
    names = {
        "i1": "8",
        "u1": "8",
        "i2": "16",
        "i3": "24",
        "i4": "32",
        "f4": "FLOAT",
        "f8": "FLOAT64",
    }
    names |= {"ulaw": "mu-law", "alaw": "A-law"}
    for name, form in FORMATS.items():
        words = set(re.split(r"[, ]+", listed[name]))
        wanted = {names[kind] for kind in form.kinds}
        wanted |= {"ADPCM"} if name in ("WAV", "W64", "AIFC") else set()
        assert words - {"IMA", "Microsoft", "integers", "bits", "of", "and"} == wanted, name
