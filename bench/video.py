#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Decoding of videos on one core: frames per CPU-second of Headrace, DALI and PyAV, in turns.

    bench/video.py [--rounds 3] [--data FOLDER]   FOLDER: class folders of JPEG files, for the content of the videos

Each measurement is a process of its own, which counts its user and system time after a first batch.
"""

from __future__ import annotations

import argparse
import importlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import photographs

SIZE = (640, 360)
FRAMES = 240
CODECS = {
    "h264": ("libx264", {"preset": "medium", "crf": "23", "bf": "3", "g": "60"}),
    "hevc": ("libx265", {"preset": "fast", "x265-params": "log-level=none:keyint=60"}),
    "vp9": ("libvpx-vp9", {"deadline": "good", "cpu-used": "4", "b": "1000000", "g": "60"}),
}
TASKS = {  # arguments of decoders.video
    "all": {},
    "stride": {"stride": 4, "sequence_length": 16},
}


def write(path: Path, codec: str, photos: list[Path]) -> None:
    """A camera moves over photographs, two seconds each."""
    import av
    import numpy as np
    from PIL import Image

    name, options = CODECS[codec]
    noise = np.random.default_rng(1)
    with av.open(str(path), "w") as out:
        stream = out.add_stream(name, rate=30, options=options)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for i in range(FRAMES):
            if i % 60 == 0:
                picture = np.asarray(
                    Image.open(photos[i // 60]).convert("RGB").resize((960, 540)), np.int16
                )
            x, y = 3 * (i % 60), (i % 60) * 2
            moved = picture[y : y + SIZE[1], x : x + SIZE[0]]
            grain = noise.integers(-3, 4, moved.shape[:2])[..., None]
            frame = np.clip(moved + grain, 0, 255).astype(np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        out.mux(stream.encode(None))


def starts(task: str, count: int) -> list[int]:
    last = FRAMES - 64 if task == "stride" else 1
    return [random.Random(i).randrange(last) for i in range(count)]


def pipeline(module: str, path: str, task: str, calls: int) -> Callable[[], int]:
    """A function that runs one batch of one clip, and returns the number of frames."""
    import numpy as np

    root = importlib.import_module(module)
    fn = importlib.import_module(module + ".fn")
    data = np.fromfile(path, np.uint8)
    first = iter(starts(task, calls + 8) * 2)
    pipe_class = root.Pipeline if module == "headrace" else root.pipeline.Pipeline
    pipe = pipe_class(1, 1, None, prefetch_queue_depth=1)
    with pipe:
        clip = fn.external_source(lambda: [data])
        if task == "all":
            video = fn.decoders.video(clip)
        else:
            start = fn.external_source(lambda: [np.array(next(first), np.int32)])
            video = fn.decoders.video(clip, start_frame=start, **TASKS[task])
        pipe.set_outputs(video)
    pipe.build()

    def run() -> int:
        (out,) = pipe.run()
        return int(out[0].shape()[0])

    return run


def with_pyav(path: str, task: str, calls: int) -> Callable[[], int]:
    """The same with PyAV: seeks to the key frame before, and converts the frames that are wanted."""
    import av

    first = iter(starts(task, calls + 8))

    def run() -> int:
        start = next(first)
        with av.open(path) as file:
            stream = file.streams.video[0]
            stream.codec_context.thread_count = 1
            wanted = set(range(FRAMES) if task == "all" else range(start, start + 64, 4))
            step = 1 / (stream.average_rate * stream.time_base)
            if task != "all":
                file.seek(int(start * step), stream=stream)
            count = 0
            for frame in file.decode(stream):
                number = round(frame.pts / step)
                if number in wanted:
                    frame.to_ndarray(format="rgb24")
                    count += 1
                if number >= max(wanted):
                    break
        return count

    return run


def work(engine: str, path: str, task: str, seconds: float) -> None:
    """Prints frames per CPU-second."""
    calls = 400
    run = with_pyav(path, task, calls) if engine == "pyav" else pipeline(engine, path, task, calls)
    run()
    frames, begin = 0, time.process_time()
    while time.process_time() - begin < seconds:
        frames += run()
    print(frames / (time.process_time() - begin))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--data", help=photographs.HELP)
    parser.add_argument("--worker", nargs=3)
    options = parser.parse_args()
    if options.worker:
        work(*options.worker, options.seconds)
        return
    photos = sorted(Path(options.data or photographs.folder()).glob("*/*"))[:: 7]
    with tempfile.TemporaryDirectory() as folder:
        paths = {codec: Path(folder) / f"{codec}.mp4" for codec in CODECS}
        for codec, path in paths.items():
            write(path, codec, photos)
            print(f"{codec}: {path.stat().st_size} bytes, {FRAMES} frames of {SIZE[0]}x{SIZE[1]}")
        rates: dict[tuple[str, str, str], list[float]] = {}
        for _ in range(options.rounds):
            for codec, path in paths.items():
                for task in TASKS:
                    for engine in ("headrace", "pyav", "nvidia.dali"):
                        if engine == "nvidia.dali" and codec != "vp9":
                            continue  # its CPU decoders have no H.264 and HEVC
                        command = [sys.executable, __file__, "--seconds", str(options.seconds)]
                        command += ["--worker", engine, str(path), task]
                        done = subprocess.run(command, capture_output=True, text=True, check=True)
                        rate = float(done.stdout.split()[-1])
                        rates.setdefault((codec, task, engine), []).append(rate)
    for (codec, task, engine), found in rates.items():
        middle = sorted(found)[len(found) // 2]
        print(f"{codec:5} {task:7} {engine:12} {middle:8.0f} {min(found):8.0f} .. {max(found):.0f}")


if __name__ == "__main__":
    main()
