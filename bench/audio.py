#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures audio in Headrace and DALI's CPU back end: seconds of sound per second of CPU time, one thread.

Every row is a pipeline in each engine, in this process. Rounds are interleaved, and CPU time is that of the process
until it is idle again. Figures are medians of the rounds; the ratio is Headrace's figure divided by DALI's.

    audio.py                  all rows
    audio.py wav spectrogram  rows whose names contain one of these
"""

from __future__ import annotations

import argparse
import importlib
import io
import statistics
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from bench_ops import settle

RATE, SECONDS, BATCH = 16000, 4.6, 16
ENGINES = ("headrace", "nvidia.dali")


def wave(i: int) -> np.ndarray:
    """Something between speech and noise: harmonics that fade in and out."""
    t = np.arange(int(RATE * SECONDS)) / RATE
    rng = np.random.default_rng(i)
    tones = sum(np.sin(2 * np.pi * (110 + 7 * i) * k * t) / k for k in range(1, 30))
    return (0.15 * tones * (1 + np.sin(9 * t + i)) + 0.01 * rng.standard_normal(len(t))).astype(
        np.float32
    )


def files(kind: str) -> list[np.ndarray]:
    """Sound files, written by libsndfile."""
    import soundfile

    out = []
    for i in range(BATCH):
        file = io.BytesIO()
        form = {"wav": ("WAV", "PCM_16"), "flac": ("FLAC", "PCM_16"), "vorbis": ("OGG", "VORBIS"),
                "opus": ("OGG", "OPUS")}[kind]  # fmt: skip
        soundfile.write(file, wave(i), RATE, format=form[0], subtype=form[1])
        out.append(np.frombuffer(file.getvalue(), np.uint8))
    return out


def features(fn: Any, types: Any, data: Any) -> Any:
    """The whole way from a file to normalised features in one tensor."""
    audio, _ = fn.decoders.audio(data, downmix=True)
    audio = fn.preemphasis_filter(audio)
    x = fn.spectrogram(audio, nfft=512, window_length=320, window_step=160)
    x = fn.mel_filter_bank(x, nfilter=80, sample_rate=RATE)
    x = fn.to_decibels(x)
    return fn.pad(fn.normalize(x, axes=[1]))


def spectra(**arguments: int) -> Callable[..., Any]:
    return lambda fn, types, x: fn.spectrogram(x, **arguments)


# Name: what is fed, and the operators.
ROWS: dict[str, tuple[str, Callable[..., Any]]] = {
    **{f"decode {k}": (k, lambda fn, types, x: fn.decoders.audio(x)[0]) for k in ("wav", "flac", "vorbis", "opus")},
    "spectrogram 512/320/160": ("signal", spectra(nfft=512, window_length=320, window_step=160)),
    "spectrogram 400/400/160": ("signal", spectra(nfft=400, window_length=400, window_step=160)),
    "spectrogram 2048/2048/512": ("signal", spectra(nfft=2048, window_length=2048, window_step=512)),
    "resample 16 -> 44.1 kHz": (
        "signal", lambda fn, types, x: fn.audio_resample(x, in_rate=16000, out_rate=44100)
    ),
    "resample 16 -> 8 kHz": ("signal", lambda fn, types, x: fn.audio_resample(x, scale=0.5)),
    "preemphasis": ("signal", lambda fn, types, x: fn.preemphasis_filter(x)),
    "nonsilent_region": ("signal", lambda fn, types, x: fn.nonsilent_region(x)[0]),
    "mel 80 + dB": (
        "spectrum",
        lambda fn, types, x: fn.to_decibels(fn.mel_filter_bank(x, nfilter=80, sample_rate=RATE)),
    ),
    "mfcc 40 of 80": ("mel", lambda fn, types, x: fn.mfcc(x, n_mfcc=40)),
    **{f"features from {k}": (k, features) for k in ("wav", "flac", "vorbis")},
}  # fmt: skip


def fed(kind: str) -> list[np.ndarray]:
    if kind == "signal":
        return [wave(i) for i in range(BATCH)]
    if kind in ("spectrum", "mel"):
        rng = np.random.default_rng(1)
        shape = (257 if kind == "spectrum" else 80, int(RATE * SECONDS) // 160 + 1)
        return [rng.random(shape, dtype=np.float32) for _ in range(BATCH)]
    return files(kind)


class Loop:
    """A pipeline of one engine."""

    def __init__(self, engine: str, batch: list[np.ndarray], call: Callable[..., Any]) -> None:
        root, fn, types = (importlib.import_module(engine + end) for end in ("", ".fn", ".types"))

        @root.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1)
        def pipeline() -> Any:
            return call(fn, types, fn.external_source(source=lambda: batch))

        self.pipe = pipeline()
        self.pipe.build()
        for _ in range(2):
            self.pipe.run()
        self.iterations = max(2, round(0.3 / max(self.measure(2), 1e-5)))

    def measure(self, iterations: int) -> float:
        """CPU seconds per batch."""
        before = settle()
        for _ in range(iterations):
            self.pipe.run()
        return (settle() - before) / iterations


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="rows whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'':28}{'Headrace':>12}{'DALI':>12}{'ratio':>8}   seconds of sound per second of CPU time"
    )
    for name, (kind, call) in ROWS.items():
        if args.names and not any(part in name for part in args.names):
            continue
        batch = fed(kind)
        loops = [Loop(engine, batch, call) for engine in ENGINES]
        times: list[list[float]] = [[], []]
        for _ in range(args.rounds):
            for loop, found in zip(loops, times, strict=True):
                found.append(loop.measure(loop.iterations))
        ours, theirs = (BATCH * SECONDS / statistics.median(t) for t in times)
        print(f"{name:28}{ours:12,.0f}{theirs:12,.0f}{ours / theirs:8.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
