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


INTEGER_TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")
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


def filtered(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Equal; the sum of the two products may be rounded once in DALI."""
    if theirs.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(ours, theirs)


def preemphasis() -> list[Case]:
    rng = np.random.default_rng(11)
    wave = Data([signal(50), signal(1), signal(3001)])
    numbers = [Data([rng.integers(0, 100, n).astype(d) for n in (7, 2000)]) for d in INTEGER_TYPES]
    halves = Data([np.array([1.5, 2.5, -3.5, 300, -300, 7, 3e9, -3e9], np.float32)])
    options: list[dict[str, Any]] = [
        {},
        {"border": "zero"},
        {"preemph_coeff": 0.0},
        {"preemph_coeff": Data([np.float32(x) for x in (0.5, 0, -1)])},
    ]
    cases = [Case("preemphasis_filter", [wave], args, filtered) for args in options]
    several = [Data([signal(50), signal(9)]), Data([signal(12).reshape(3, 4)], "tc")]
    cases += [Case("preemphasis_filter", [x], {"border": "reflect"}, filtered) for x in several]
    cases += [Case("preemphasis_filter", [x], {}, filtered) for x in numbers]
    cases += [
        Case("preemphasis_filter", [halves], {"dtype": f"types.{t}", "preemph_coeff": 0.5}, exact)
        for t in "UINT8 INT8 UINT16 INT16 UINT32 INT32 UINT64 INT64 FLOAT FLOAT64".split()
    ]
    doubles = Data([np.array([1 / 3, 2 / 3, 1e10 / 7])])
    return [*cases, Case("preemphasis_filter", [doubles], {"dtype": "types.FLOAT64"}, filtered)]


def regions() -> list[Case]:
    """Noise between silence and faint noise, where what is left of sums decides."""
    rng = np.random.default_rng(7)

    def sound(lead: int, loud: int, trail: int, faint: int) -> np.ndarray:
        parts = [np.zeros(lead), rng.standard_normal(loud) * 0.3, np.zeros(trail)]
        return np.concatenate([*parts, rng.standard_normal(faint) * 1e-5]).astype(np.float32)

    lengths = ((3000, 5000, 9000, 0), (0, 700, 20000, 3000), (40, 30, 50, 0), (0, 1, 0, 0))
    sounds = Data([sound(*n) for n in (*lengths, (8000, 9000, 15000, 500))])
    silent = Data([np.zeros(100, np.float32), np.full(300, 1e-3, np.float32)])
    options: list[dict[str, Any]] = [
        {},
        {"window_length": 256},
        {"window_length": 256, "reset_interval": 1024},
        {"window_length": 64, "reset_interval": 64},
        {"window_length": 100, "reset_interval": -1},
        {"window_length": 1, "cutoff_db": -20.0},
        {"cutoff_db": -30.0, "reference_power": 0.5},
        {"cutoff_db": 0.0},
        {"cutoff_db": 3.0},
    ]
    cases = [Case("nonsilent_region", [x], args) for x in (sounds, silent) for args in options]
    numbers = [Data([(x * 100).astype(d) for x in sounds.samples]) for d in INTEGER_TYPES[1::2]]
    numbers += [
        Data([np.abs(x * 100).astype(d) for x in sounds.samples]) for d in INTEGER_TYPES[::2]
    ]
    odd = {"window_length": 300, "reset_interval": 100}
    return cases + [Case("nonsilent_region", [x], args) for x in numbers for args in ({}, odd)]


def cepstra() -> list[Case]:
    mel = Data([signal(80 * 30, i).reshape(80, 30) * 40 for i in (1, 2)], "ft")
    narrow = Data([signal(7 * 9, i).reshape(7, 9) for i in (3, 4)])
    options: list[dict[str, Any]] = [{}, {"n_mfcc": 13, "lifter": 22.0}, {"n_mfcc": 100}]
    options += [{"dct_type": t, "lifter": 5.0 * (t - 2)} for t in (1, 2, 3, 4)]
    options += [{"dct_type": t, "normalize": True, "n_mfcc": 3} for t in (2, 3, 4)]
    options += [{"axis": 1}, {"axis": 1, "n_mfcc": 4, "lifter": 3.0, "dct_type": 3}]
    cases = [Case("mfcc", [x], args, spectral) for x in (mel, narrow) for args in options]
    whole = Data([signal(2 * 7 * 3 * 5).reshape(2, 7, 3, 5)])
    return cases + [Case("mfcc", [whole], {"axis": a, "n_mfcc": 5}, spectral) for a in range(4)]


def whole_spectra() -> list[Case]:
    options: list[dict[str, Any]] = [{}, {"power": 1}, {"nfft": 0}, {"nfft": 64}, {"nfft": 5}]
    flat = Data([signal(40), signal(40, 5)])
    cases = [Case("power_spectrum", [flat], args, spectral) for args in options]
    grid = Data([signal(19 * 24).reshape(19, 24)], "ab")
    options += [{"axis": a} for a in (0, 1, -2)] + [
        {"axis": 0, "nfft": 16},
        {"axis": 0, "nfft": 30},
    ]
    cases += [Case("power_spectrum", [grid], args, spectral) for args in options]
    block = Data([signal(3 * 8 * 5).reshape(3, 8, 5)])
    return cases + [Case("power_spectrum", [block], {"axis": a}, spectral) for a in (1, 2)]


def resampled(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Of signals that span their type: 1e-5 of full scale, or 1 of small integers. The sweep has floats up to 255, of
    which 1e-5 is less than two units in the last place."""
    if theirs.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, rtol=3e-7, atol=1e-5)
        return
    limit = max(1, np.iinfo(theirs.dtype).max * 1e-5)
    np.testing.assert_allclose(ours.astype(float), theirs.astype(float), rtol=0, atol=limit)


def of_type(wave: np.ndarray, kind: str) -> np.ndarray:
    """The wave in the range of an integer type."""
    info = np.iinfo(kind)
    middle = 0.5 * info.max if info.min == 0 else 0.0
    return (middle + wave * (info.max - middle) * 0.9).astype(kind)


def resamplings() -> list[Case]:
    waves = Data([signal(900) * 0.9, signal(1, 5), signal(333, 6) * 0.5])
    options: list[dict[str, Any]] = [
        {"scale": 2.0},
        {"scale": Data([np.float32(x) for x in (0.5, 1, 2.75625)])},
        {"in_rate": 16000.0, "out_rate": 44100.0},
        {
            "in_rate": Data([np.float32(x) for x in (16000, 8000, 3)]),
            "out_rate": Data([np.float32(x) for x in (22050, 8000, 0)]),
        },
        {"out_length": 77},
        {"out_length": Data([np.int64(x) for x in (0, 4, 1234)])},
        {"scale": 1.5, "quality": 0.0},
        {"scale": 0.7, "quality": 100.0},
        {"scale": 1e-6},
    ]
    cases = [Case("audio_resample", [waves], args, resampled) for args in options]
    stereo = Data([signal(600).reshape(300, 2), signal(20, 4).reshape(10, 2)], "tc")
    cases += [
        Case("audio_resample", [stereo], args, resampled) for args in (options[0], options[4])
    ]
    small = ("u1", "i1", "u2", "i2", "u4", "i4")
    for kind in small:
        wave = Data([of_type(signal(500), kind)])
        cases.append(Case("audio_resample", [wave], {"scale": 1.25}, resampled))
        for dtype in ("UINT8", "INT16", "FLOAT"):
            args = {"scale": 0.8, "dtype": f"types.{dtype}"}
            cases.append(Case("audio_resample", [wave], args, resampled))
    for dtype in ("UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32"):
        args = {"scale": 1.25, "dtype": f"types.{dtype}"}
        cases.append(Case("audio_resample", [waves], args, resampled))
    return cases


CASES = spectrograms() + filter_banks() + sounds()
CASES += preemphasis() + regions() + cepstra() + whole_spectra() + resamplings()
CASES += [Case("to_decibels", [x], args, decibels) for x in (POWERS, SPECTRA) for args in DECIBELS]

# With a low-pass filter; rates that rise have none, and every sample of the second has its own.
WAVES = Data([signal(900) * 0.9, signal(1, 5), signal(333, 6) * 0.5])
STEREO = Data([signal(600).reshape(300, 2), signal(20, 4).reshape(10, 2)], "tc")
OURS = [
    Case("audio_resample", [data], {"lowpass": True, **args})
    for data in (WAVES, STEREO, Data([of_type(signal(500), "i2")]))
    for args in (
        {"scale": 0.4},
        {"scale": 2.0},
        {"in_rate": 44100.0, "out_rate": 8000.0, "quality": 100.0},
        {"in_rate": 48000.0, "out_rate": 44100.0, "quality": 0.0},
        {"out_length": 7},
        {"scale": 0.005},
    )
]
OURS.append(
    Case(
        "audio_resample",
        [WAVES],
        {"lowpass": True, "scale": Data([np.float32(x) for x in (0.5, 1, 0.27)])},
    )
)

# Resampling, in single precision, is among the cases that the sweep makes of this one.
BASES = {
    "audio_resample": Case("audio_resample", [SIGNALS], {"scale": 2.0}, resampled),
    "decoders.audio": Case("decoders.audio", sounds()[0].inputs, {}, close),
}
DIFFERENT = {
    r"^nonsilent_region: window_length=(-1|0)$": "a window without elements is refused",
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
    Case("preemphasis_filter", [Data([signal(9) > 0])], {}),
    Case("preemphasis_filter", [SIGNALS], {"dtype": "types.FLOAT16"}),
    Case("preemphasis_filter", [SIGNALS], {"border": "wrap"}),
    Case("nonsilent_region", [SPECTRA], {}),
    Case("nonsilent_region", [Data([np.ones(9)])], {}),
    Case("nonsilent_region", [SIGNALS], {"reference_power": 0.0}),
    Case("nonsilent_region", [SIGNALS], {"reference_power": -1.0}),
    Case("nonsilent_region", [SIGNALS], {"reset_interval": 100}),
    Case("nonsilent_region", [SIGNALS], {"reset_interval": -2}),
    Case("nonsilent_region", [SIGNALS], {"window_length": 200}),
    *[
        Case("audio_resample", [SIGNALS], args)
        for args in (
            {},
            {"scale": -1.0},
            {"in_rate": 8.0},
            {"in_rate": 0.0, "out_rate": 4.0},
            {"in_rate": 4.0, "out_rate": -1.0},
            {"out_length": -1},
            {"scale": 2.0, "out_length": 5},
            {"scale": 2.0, "in_rate": 5.0, "out_rate": 2.0},
            {"scale": 2.0, "quality": -1.0},
            {"scale": 2.0, "quality": 101.0},
            {"scale": 2.0, "dtype": "types.FLOAT64"},
            {"scale": 2.0, "dtype": "types.INT64"},
        )
    ],
    Case("audio_resample", [Data([np.ones(9)])], {"scale": 2.0}),
    Case("audio_resample", [Data([np.ones((2, 2, 2), np.float32)])], {"scale": 2.0}),
    Case("mfcc", [SIGNALS], {}),
    Case("mfcc", [Data([np.ones((4, 4), np.int16)])], {}),
    *[
        Case("mfcc", [SPECTRA], args)
        for args in (
            {"n_mfcc": 0},
            {"axis": 2},
            {"axis": -1},
            {"dct_type": 0},
            {"dct_type": 5},
            {"dct_type": 1, "normalize": True},
        )
    ],
    Case("mfcc", [Data([np.ones((1, 4), np.float32)])], {"dct_type": 1}),
    Case("power_spectrum", [INTEGERS], {}),
    Case("power_spectrum", [SPECTRA], {"axis": 2}),
    Case("power_spectrum", [SPECTRA], {"power": 3}),
    Case("power_spectrum", [Data([np.ones((2, 2, 2, 2), np.float32)])], {}),
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
