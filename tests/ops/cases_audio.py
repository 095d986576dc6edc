# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators on audio."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness import Case, Data, exact

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
import sounds as writers  # noqa: E402


def signal(length: int, seed: int = 3) -> np.ndarray:
    """A chirp with a little noise, in [-1, 1]."""
    t = np.arange(length) / 16000
    noise = np.random.default_rng(seed).standard_normal(length)
    return (0.7 * np.sin(2 * np.pi * (200 + 900 * t) * t * 3) + 0.02 * noise).astype(np.float32)


def spectral(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Within 5e-6 of the largest value: single precision of the transform."""
    scale = float(np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=5e-6 * scale)


def decibels(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Within 1e-4 dB."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Of decoders in single precision: within 5e-6 of full scale, or 1 as INT16."""
    limit = {"float32": 5e-6, "int16": 1, "int32": 10000}[theirs.dtype.name]
    np.testing.assert_allclose(ours.astype(float), theirs.astype(float), rtol=0, atol=limit)


SIGNALS = Data([signal(3000), signal(700, 4)])
SPECTRA = Data([np.abs(signal(40 * 9, i)).reshape(40, 9) for i in (1, 2)])


def spectrograms() -> list[Case]:
    options: list[dict[str, Any]] = [
        {},
        {"nfft": 512, "window_length": 320, "window_step": 160},
        {"nfft": 400, "window_length": 400, "window_step": 160},
        {"power": 1},
        {"layout": "tf"},
        {"reflect_padding": False},
        {"center_windows": False},
        {"center_windows": False, "reflect_padding": False, "layout": "tf", "power": 1},
        {"window_length": 4, "window_fn": [0.5, 1.0, 1.0, 0.25], "window_step": 3},
        {"nfft": 301, "window_length": 300},
    ]
    # Powers of two, small factors, odd sizes and large primes.
    sizes = (3, 4, 5, 6, 7, 8, 9, 15, 30, 31, 37, 62, 74, 121, 360, 511, 514, 1000)
    options += [{"nfft": n, "window_length": n, "window_step": 100} for n in sizes]
    cases = [Case("spectrogram", [SIGNALS], args, spectral) for args in options]
    short = [Data([signal(n).reshape(shape)]) for n, shape in ((1, (1,)), (5, (5, 1)), (9, (1, 9)))]
    return cases + [Case("spectrogram", [x], {"window_length": 16}, spectral) for x in short]


def filter_banks() -> list[Case]:
    options: list[dict[str, Any]] = [
        {},
        {"nfilter": 80, "sample_rate": 16000.0},
        {"nfilter": 10, "sample_rate": 16000.0, "freq_low": 100.0, "freq_high": 6000.0},
        {"nfilter": 10, "sample_rate": 16000.0, "mel_formula": "htk"},
        {"nfilter": 10, "sample_rate": 16000.0, "normalize": False},
        {"nfilter": 3, "sample_rate": 8000.0, "freq_high": 3900.0},
    ]
    layouts = [SPECTRA, *(Data(SPECTRA.samples, layout) for layout in ("ft", "tf"))]
    cases = [Case("mel_filter_bank", [x], args, spectral) for x in layouts for args in options]
    whole = Data([signal(2 * 17 * 5).reshape(2, 17, 5)])
    return [*cases, Case("mel_filter_bank", [whole], {"nfilter": 4}, spectral)]


POWERS = Data(
    [np.array([[1e-3, 2, 0, -1], [70, 1e-30, 5, 0.3]], np.float32), np.zeros((1, 3), np.float32)]
)
DECIBELS: list[dict[str, Any]] = [
    {},
    {"multiplier": 20.0},
    {"reference": 2.5},
    {"cutoff_db": -30.0},
    {"multiplier": 20.0, "reference": 1.0, "cutoff_db": -80.0},
]


def sounds() -> list[Case]:
    """Files of every container; mono and stereo ones, so that the mean of channels is exact."""
    numbers, floats = (make(700, 2) for make in (writers.noise, writers.signal))
    mono = numbers[:300, :1]
    laws = np.arange(512).reshape(256, 2) // 2
    batches = [
        [writers.wav(numbers >> 16), writers.wav(mono >> 16, rate=44100)],
        [writers.wav(numbers >> 24 & 255, "u1"), writers.w64(numbers, "i3")],
        [writers.rf64(numbers, "i4"), writers.wav(numbers >> 16, big=True)],
        [writers.wav(floats, "f4"), writers.wav(floats[:5] * 1e5, "f8")],
        [writers.wav(laws, "ulaw"), writers.au(laws, "alaw"), writers.aiff(laws, "i1", 8000)],
        [writers.aiff(numbers, "i3"), writers.aiff(numbers >> 16, code=b"sowt")],
        [writers.caf(numbers, "i4"), writers.caf(floats, "f4", big=False)],
        [writers.wav(mono[:0]), writers.wav(mono >> 16)[:200]],
    ]
    cases = []
    for batch in batches:
        data = Data([np.frombuffer(file, np.uint8) for file in batch])
        for dtype in ("types.FLOAT", "types.INT16", "types.INT32"):
            for downmix in (False, True):
                cases.append(Case("decoders.audio", [data], {"dtype": dtype, "downmix": downmix}))
    first = Data([np.frombuffer(file, np.uint8) for file in batches[0]])
    rates = Data([np.float32(11025), np.float32(48000)])
    for args in (
        {"sample_rate": rates},
        {"sample_rate": 44100.0, "quality": 80.0, "downmix": True},
        {"sample_rate": 8000.0, "quality": 0.0, "dtype": "types.INT16"},
        {"sample_rate": 22050.0, "dtype": "types.INT32"},
    ):
        cases.append(Case("decoders.audio", [first], args, close))
    folder = Path(__file__).resolve().parents[1] / "fuzz/corpus/audio_coded"
    for name, compare in (("flac", exact), ("flac24", exact), ("vorbis", close), ("opus", close)):
        data = Data([np.fromfile(folder / name, np.uint8)])
        for dtype in ("types.FLOAT", "types.INT16", "types.INT32"):
            cases.append(Case("decoders.audio", [data], {"dtype": dtype}, compare))
        cases.append(Case("decoders.audio", [data], {"downmix": True}, compare))
    return cases


CASES = spectrograms() + filter_banks() + sounds()
CASES += [Case("to_decibels", [x], args, decibels) for x in (POWERS, SPECTRA) for args in DECIBELS]

# Resampling, in single precision, is among the cases that the sweep makes of this one.
BASES = {"decoders.audio": Case("decoders.audio", sounds()[0].inputs, {}, close)}
DIFFERENT = {
    r"^decoders\.audio: (sample_rate|quality)=.*-1\.0": "a negative rate or quality is refused",
    r"^decoders\.audio: sample_rate=.*\b0\.0": (
        "with a rate of 0 the file's own rate is returned, not 0"
    ),
}

INTEGERS = Data([np.arange(600, dtype=np.int16)])
WAVE = Data([np.frombuffer(writers.wav(np.zeros((9, 1))), np.uint8)])
ERRORS = [
    Case("spectrogram", [INTEGERS], {}),
    Case("spectrogram", [SPECTRA], {}),
    Case("spectrogram", [SIGNALS], {"nfft": 256}),
    Case("spectrogram", [SIGNALS], {"power": 3}),
    Case("spectrogram", [SIGNALS], {"window_fn": [1.0, 2.0]}),
    Case("spectrogram", [SIGNALS], {"center_windows": False, "window_length": 1000}),
    Case("mel_filter_bank", [INTEGERS], {}),
    Case("to_decibels", [INTEGERS], {}),
    Case("decoders.audio", [INTEGERS], {}),
    Case("decoders.audio", [WAVE], {"dtype": "types.UINT8"}),
    *[
        Case("decoders.audio", [Data([np.frombuffer(file, np.uint8)])], {})
        for file in (
            b"no sound at all",
            b"RIFF\0\0\0\0WAVE",
            writers.wav(np.zeros((9, 1)))[:40],
            writers.wav(np.zeros((9, 1)), rate=0),
            writers.wav(np.zeros((9, 0))),
        )
    ],
]
