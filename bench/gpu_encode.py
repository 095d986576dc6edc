# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""JPEG files per second that encoders.jpeg makes of images in GPU memory, and nvJPEG through torchvision, if there is a GPU.

Checks first that the files are those of the CPU. The images are photographs from FOLDER, resized; all samples of a batch
are the same one, so that nothing but encoding takes time.

A pipeline works on some batches ahead of the one that is taken, so a few of those that a window counts were begun before
it. A window therefore begins when batches have to be waited for, and it is so long that these few make no difference: see
`rate`. The number is the median of three windows.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from headrace import Pipeline, fn, types
from PIL import Image

SIZES = {(256, 256): 512, (720, 1280): 64}  # images in a batch
AHEAD = 8  # batches in flight besides that which is taken, at most, with a queue of one batch
LEAST = 25 * AHEAD  # batches of a window: of its rate, those begun before are a twenty-fifth at most
CASES: list[dict[str, Any]] = [
    {},
    {"quality": 90},
    {"quality": 90, "subsampling": "4:4:4"},
    {"quality": 90, "restart_rows": 0},
    {"optimize": True},
]


def pipeline(image: np.ndarray, batch: int, device: str, case: dict[str, Any]) -> Pipeline:
    pipe = Pipeline(batch, 8, 0, prefetch_queue_depth=1)
    with pipe:
        source = types.Constant(image, device=device, layout="HWC")
        pipe.set_outputs(fn.encoders.jpeg(source, **case))
    return pipe


def file_of(output: Any) -> bytes:
    return np.asarray(output[0]).tobytes()


def rate(run: Callable[[], Any], batch: int, seconds: float) -> float:
    """Images per second. A window has `seconds` and LEAST batches, or more."""
    for _ in range(3 * AHEAD):  # all that were begun while nobody took them, and some more
        run()
    rates = []
    for _ in range(3):
        start, count = time.perf_counter(), 0
        while count < LEAST or time.perf_counter() - start < seconds:
            run()
            count += 1
        rates.append(count * batch / (time.perf_counter() - start))
    return statistics.median(rates)


def nvjpeg(image: np.ndarray, batch: int, quality: int, seconds: float) -> float | None:
    import torch
    import torchvision

    if not torch.cuda.is_available():
        return None
    tensors = [torch.from_numpy(image).permute(2, 0, 1).contiguous().cuda() for _ in range(batch)]

    def run() -> None:
        torchvision.io.encode_jpeg(tensors, quality=quality)
        torch.cuda.synchronize()

    return rate(run, batch, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="photographs; the first one by name is used")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a window, at least")
    parser.add_argument("--batch", type=int, help="instead of 512 and 64")
    args = parser.parse_args()
    path = sorted(p for p in Path(args.folder).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))[0]
    for (height, width), batch in SIZES.items():
        batch = args.batch or batch
        image = np.array(Image.open(path).convert("RGB").resize((width, height)))
        for case in CASES:
            expected = file_of(pipeline(image, 1, "cpu", case).run()[0])
            pipe = pipeline(image, batch, "gpu", case)
            assert file_of(pipe.run()[0].as_cpu()) == expected
            text = f"{width} x {height}, {case}, {len(expected)} bytes: {rate(pipe.run, batch, args.seconds):,.0f}/s"
            if set(case) <= {"quality"}:
                other = nvjpeg(image, batch, case.get("quality", 75), args.seconds)
                text += "" if other is None else f"; nvJPEG {other:,.0f}/s"
            print(text, flush=True)


if __name__ == "__main__":
    main()
