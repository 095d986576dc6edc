#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains a small speech recogniser on a manifest of NeMo, with SpecAugment.

A manifest has a JSON object per line: {"audio_filepath": ..., "duration": ..., "text": ...}. The pipeline makes
normalised log-mel spectra of the sounds, masks bands of frequencies and of time, and pads them to batches. Without a
manifest, sounds are made first: the letters of their texts are tones.

    speech_train.py train.json --epochs 10
    speech_train.py --draw 32
"""

from __future__ import annotations

import argparse
import json
import tempfile
import wave
from pathlib import Path
from typing import Any

import numpy as np
import torch
from headrace import fn, pipeline_def
from headrace.plugin.base_iterator import LastBatchPolicy
from headrace.plugin.pytorch import DALIGenericIterator

RATE = 16000
LETTERS = " 'abcdefghijklmnopqrstuvwxyz"
BLANK = len(LETTERS)


@pipeline_def
def speech(manifest: str, bands: int, masks: int) -> tuple[Any, ...]:
    """Spectra (bands, frames), their frames, texts as bytes, and their lengths; padded to the longest of a batch."""
    audio, text = fn.readers.nemo_asr(
        manifest_filepaths=[manifest], sample_rate=float(RATE), read_sample_rate=False,
        shuffle_after_epoch=True, name="Reader",
    )  # fmt: skip
    audio = fn.preemphasis_filter(audio)
    power = fn.spectrogram(audio, nfft=512, window_length=400, window_step=160)
    mel = fn.mel_filter_bank(power, nfilter=bands, sample_rate=float(RATE))
    x = fn.normalize(fn.to_decibels(mel, cutoff_db=-80.0), axes=[1], epsilon=1e-5)
    for axis, most in ((0, 0.2), (1, 0.05)) if masks else ():  # frequencies, time
        x = fn.erase(
            x, axes=[axis], normalized_anchor=True, normalized_shape=True, fill_value=0.0,
            anchor=fn.random.uniform(range=[0, 1], shape=[masks]),
            shape=fn.random.uniform(range=[0, most], shape=[masks]),
        )  # fmt: skip
    return (
        fn.pad(x, fill_value=0.0),
        fn.shapes(x)[1],
        fn.pad(text, fill_value=0),
        fn.shapes(text)[0],
    )


def draw(folder: Path, count: int) -> str:
    """Writes sounds of random texts, and returns the path of their manifest."""
    rng = np.random.default_rng(1)
    lines = []
    for i in range(count):
        text = "".join(rng.choice(list("abcd"), rng.integers(3, 7)))
        t = np.arange(RATE // 8) / RATE
        tones = [
            np.sin(2 * np.pi * 300 * 2 ** "abcd".index(letter) * t) * np.hanning(len(t))
            for letter in text
        ]
        samples = np.concatenate(tones) + 0.01 * rng.standard_normal(len(t) * len(text))
        path = folder / f"{i:04}.wav"
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes((samples * 20000).astype("<i2").tobytes())
        lines.append(
            json.dumps({"audio_filepath": str(path), "duration": len(samples) / RATE, "text": text})
        )
    (folder / "train.json").write_text("\n".join(lines), encoding="utf-8")
    return str(folder / "train.json")


def codes(text: torch.Tensor) -> torch.Tensor:
    """Places of letters in LETTERS; other bytes become spaces."""
    table = torch.zeros(256, dtype=torch.long)
    for i, letter in enumerate(LETTERS):
        table[ord(letter)] = i
    return table[text.long()]


class Recogniser(torch.nn.Module):
    """Convolutions over time; every second frame says which letter it is."""

    def __init__(self, bands: int, width: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv1d(bands, width, 5, stride=2, padding=2), torch.nn.ReLU(),
            torch.nn.Conv1d(width, width, 5, padding=2), torch.nn.ReLU(),
            torch.nn.Conv1d(width, BLANK + 1, 1),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.layers(x)
        return scores.log_softmax(1).permute(2, 0, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("manifest", nargs="?", help="a manifest of NeMo")
    parser.add_argument(
        "--draw", type=int, default=32, help="number of sounds to make without a manifest"
    )
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--bands", type=int, default=80)
    parser.add_argument("--masks", type=int, default=2, help="masks per axis; 0: no SpecAugment")
    parser.add_argument("--width", type=int, default=64, help="channels of the network")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        train(args, args.manifest or draw(Path(folder), args.draw))


def train(args: argparse.Namespace, manifest: str) -> None:
    pipe = speech(
        manifest,
        args.bands,
        args.masks,
        batch_size=args.batch_size,
        num_threads=args.threads,
        device_id=None,
        seed=1,
    )
    names = ["spectra", "frames", "text", "letters"]
    loader = DALIGenericIterator(pipe, names, reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL,
                                 auto_reset=True)  # fmt: skip
    model = Recogniser(args.bands, args.width)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    ctc = torch.nn.CTCLoss(blank=BLANK, zero_infinity=True)
    for epoch in range(args.epochs):
        losses, sounds = [], 0
        for [batch] in loader:
            scores = model(batch["spectra"])
            frames = (batch["frames"] + 1) // 2
            loss = ctc(scores, codes(batch["text"]), frames, batch["letters"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            sounds += len(batch["text"])
        print(f"epoch {epoch + 1}: {sounds} sounds, mean loss {sum(losses) / len(losses):.3f}")


if __name__ == "__main__":
    main()
