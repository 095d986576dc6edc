#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""GPU time of log-mel spectra of 1,024 s of audio, and of the same in PyTorch (torch.stft, a product of matrices, log10).

    python bench/gpu_audio.py [--seconds 16] [--batch 64]

The signals are on the GPU already. Times are of one batch: the sum of all kernels according to PyTorch's profiler, and the
median time by the clock. Results are compared with PyTorch's and, for bytes, with those of the CPU.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from headrace import fn, pipeline_def

RATE, HOP, MELS, ROUNDS = 16000, 160, 80, 20
SHAPES = [
    (512, 320, "ft"),
    (512, 400, "ft"),
    (512, 400, "tf"),
    (400, 400, "ft"),
    (1024, 1024, "ft"),
]
LOWEST = 1e-10  # in PyTorch, of what the logarithm is taken


def log_mel(signals: Any, nfft: int, window: int, layout: str) -> tuple[Any, Any, Any]:
    spectra = fn.spectrogram(
        signals, nfft=nfft, window_length=window, window_step=HOP, layout=layout
    )
    mel = fn.mel_filter_bank(spectra, sample_rate=float(RATE), nfilter=MELS)
    return spectra, mel, fn.to_decibels(mel, reference=1.0, cutoff_db=-100.0)


def pipeline(samples: list[Any], device: str, shape: tuple[int, int, str]) -> Any:
    @pipeline_def(
        batch_size=len(samples),
        num_threads=4,
        device_id=0 if device == "gpu" else None,
        prefetch_queue_depth=2,
    )
    def definition() -> Any:
        signals = fn.external_source(lambda: samples, device=device)
        return log_mel(signals, *shape)[2]

    return definition()


def torch_log_mel(signals: Any, shape: tuple[int, int, str], bank: Any) -> Any:
    nfft, length, layout = shape
    window = torch.hann_window(length, periodic=True, device=signals.device)
    spectra = torch.stft(
        signals, nfft, HOP, length, window, pad_mode="reflect", return_complex=True
    )
    mel = bank @ spectra.abs().square()
    out = 10 * torch.log10(mel.clamp(min=LOWEST))
    return out if layout == "ft" else out.transpose(1, 2).contiguous()


def bank_of(nfft: int) -> Any:
    """The weights of mel_filter_bank, as a matrix."""

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def definition() -> Any:
        one = fn.external_source(lambda: [np.eye(nfft // 2 + 1, dtype=np.float32)])
        return fn.mel_filter_bank(one, sample_rate=float(RATE), nfilter=MELS)

    return torch.from_numpy(np.array(definition().run()[0][0])).cuda()


def kernels_of(run: Callable[[], Any]) -> tuple[dict[str, float], float]:
    """Milliseconds of each kernel in a run, and the median time by the clock."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    found: dict[str, float] = defaultdict(float)
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for _ in range(ROUNDS):
            run()
        torch.cuda.synchronize()
    for event in prof.events():
        if event.device_type == DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset")):
            length = event.time_range.end - event.time_range.start
            found[event.name] += length / ROUNDS * 1e-3
    return found, statistics.median(times)


def report(name: str, run: Callable[[], Any]) -> None:
    run()
    found, clock = kernels_of(run)
    print(f"{name:34} {sum(found.values()):7.3f} ms of kernels, {clock:7.3f} ms by the clock")
    for kernel, milliseconds in sorted(found.items(), key=lambda item: -item[1])[:5]:
        print(f"    {milliseconds:7.3f} ms  {kernel[:100]}")


def compare(pipe: Any, signals: Any, shape: tuple[int, int, str], bank: Any) -> None:
    few = list(signals[:2].cpu().numpy())
    ours = pipe.run()[0]
    cpu = pipeline(few, "cpu", shape).run()[0]
    theirs = torch_log_mel(signals[:2], shape, bank)
    for i in range(len(few)):
        sample = torch.from_dlpack(ours[i]).cpu()
        same = np.array_equal(sample.numpy(), np.array(cpu[i]))
        # PyTorch centres transforms, not windows, and its windows begin with a zero.
        rows = sample.mean(1 if shape[2] == "ft" else 0)
        other = theirs[i].cpu().mean(1 if shape[2] == "ft" else 0)
        far = (rows - other).abs().max().item()
        print(f"    sample {i}: bytes of the CPU: {same}; bands' means differ by {far:.3f} dB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=16)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    generator = torch.Generator(device="cuda").manual_seed(1)
    signals = 0.3 * torch.randn(
        (args.batch, args.seconds * RATE), device="cuda", generator=generator
    )
    print(torch.cuda.get_device_name(0), tuple(signals.shape))
    for shape in SHAPES:
        nfft, window, layout = shape
        bank = bank_of(nfft)
        label = f"nfft {nfft}, window {window}, {layout}"
        print(label)
        pipe = pipeline(list(signals), "gpu", shape)
        compare(pipe, signals, shape, bank)
        report("  Headrace", pipe.run)
        report("  PyTorch", lambda shape=shape, bank=bank: torch_log_mel(signals, shape, bank))
        hann = torch.hann_window(window, device="cuda")
        report(
            "  PyTorch, torch.stft alone",
            lambda nfft=nfft, hann=hann, window=window: torch.stft(
                signals, nfft, HOP, window, hann, pad_mode="reflect", return_complex=True
            ),
        )


if __name__ == "__main__":
    main()
