# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Decoding of videos on a GPU: frames per second, resized to 224 x 224.

    python bench/gpu_video.py make FOLDER              writes the videos; needs PyAV
    python bench/gpu_video.py FOLDER [--threads 16] [--dali]    measures, with DALI as well

For each video: all frames in order; only the first and last frame of each group of pictures, which is nearly what the
decoders alone can do, because hardly anything is copied or converted; and 16 frames at stride 4 from random positions, on
the GPU and on the CPU. Of the second, the decoded frames are counted. The videos have no B-frames, so none is skipped.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

import numpy as np

GOP, FRAMES, BATCH = 60, 300, 16
VIDEOS = {
    "h264-1080.mp4": ("libx264", 1920, 1080, {"crf": "30", "preset": "veryfast", "bf": "0", "sc_threshold": "0"}),
    "hevc-1080.mp4": (
        "libx265", 1920, 1080,
        {"crf": "32", "preset": "ultrafast", "x265-params": "log-level=error:keyint=60:bframes=0:scenecut=0"},
    ),
    "h264-360.mp4": ("libx264", 640, 360, {"crf": "26", "preset": "veryfast", "bf": "0", "sc_threshold": "0"}),
}  # fmt: skip


def make(path: pathlib.Path, codec: str, width: int, height: int, options: dict[str, str]) -> None:
    """Writes a video of blocks that move behind noise."""
    import av

    rng = np.random.default_rng(1)
    blocks = (
        rng.integers(0, 255, (height // 8 + 40, width // 8 + 40, 3), np.uint8)
        .repeat(8, 0)
        .repeat(8, 1)
    )
    noise = rng.integers(0, 24, (height, width, 3), np.uint8)
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=30, options={"g": str(GOP), **options})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for i in range(FRAMES):
            y, x = i * 3 % 200, i * 5 % 200
            picture = blocks[y : y + height, x : x + width] // 2 + np.roll(noise, i, 0)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode(None))


def measure(device: str, threads: int, seconds: float, **arguments: Any) -> float:
    """Frames of the output per second."""
    from headrace import fn, pipeline_def

    @pipeline_def(batch_size=BATCH, num_threads=threads, device_id=0, seed=1)
    def define() -> Any:
        video = fn.experimental.readers.video(device="gpu", name="reader", **arguments)
        if device == "cpu":  # frames that the CPU needs are decoded there
            return fn.resize(video, size=[224, 224]), video.cpu()
        return fn.resize(video, size=[224, 224])

    return rate(define(), int(arguments["sequence_length"]), seconds)


def measure_dali(threads: int, seconds: float, **arguments: Any) -> float:
    """The same with the faster of DALI's two readers; nan if both fail."""
    from nvidia.dali import fn, pipeline_def

    rates = [float("nan")]
    for reader in (fn.readers.video, fn.experimental.readers.video):

        @pipeline_def(batch_size=BATCH, num_threads=threads, device_id=0, seed=1)
        def define(reader: Any = reader) -> Any:
            return fn.resize(reader(device="gpu", name="reader", **arguments), size=[224, 224])

        try:
            rates.append(rate(define(), int(arguments["sequence_length"]), seconds))
        except RuntimeError as error:
            print(f"DALI: {str(error).splitlines()[0]}")
    return max(rates, key=lambda value: -1.0 if value != value else value)


def rate(pipe: Any, length: int, seconds: float) -> float:
    """Frames of the output per second."""
    pipe.build()
    for _ in range(3):
        pipe.run()
    start, batches = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        pipe.run()
        batches += 1
    return batches * BATCH * length / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="+", metavar="[make] FOLDER")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--dali", action="store_true")
    args = parser.parse_args()
    folder = pathlib.Path(args.words[-1])
    if args.words[0] == "make":
        folder.mkdir(parents=True, exist_ok=True)
        for name, how in VIDEOS.items():
            make(folder / name, *how)
        return
    print(f"{args.threads} threads, frames per second")
    for name in VIDEOS:
        files = [str(folder / name)] * 8
        common = {
            "threads": args.threads,
            "seconds": args.seconds,
            "filenames": files,
            "random_shuffle": True,
        }
        every = measure("gpu", sequence_length=GOP, step=GOP, **common)
        ends = measure("gpu", sequence_length=2, stride=GOP - 1, step=GOP, **common)
        clips = [measure(d, sequence_length=16, stride=4, step=7, **common) for d in ("gpu", "cpu")]
        decoded = ends / 2 * GOP
        print(
            f"{name}: all {every:.0f}, decoders alone {decoded:.0f} ({every / decoded:.0%}), "
            f"clips {clips[0]:.0f}, on the CPU {clips[1]:.0f}",
            flush=True,
        )
        if args.dali:
            every = measure_dali(sequence_length=GOP, step=GOP, **common)
            clip = measure_dali(sequence_length=16, stride=4, step=7, **common)
            print(f"{name}: DALI: all {every:.0f}, clips {clip:.0f}", flush=True)


if __name__ == "__main__":
    main()
