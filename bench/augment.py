# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures the training pipeline with augmentations on the CPU, Headrace and DALI in turns.

    python bench/augment.py FOLDER [--rounds 5] [--seconds 2] [schemes ...]

Prints images per CPU-second (user and system time of the process) and the ratio, with its minimum and maximum.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

ENGINES = {"headrace": "headrace", "dali": "nvidia.dali"}


def twist(m: Any, x: Any) -> Any:
    draw = lambda low, high: m.fn.random.uniform(range=[low, high])  # noqa: E731
    return m.fn.color_twist(
        x, hue=draw(-20, 20), saturation=draw(0.6, 1.4), brightness=draw(0.6, 1.4), contrast=draw(0.6, 1.4)
    )


def blur(m: Any, x: Any) -> Any:
    return m.fn.gaussian_blur(x, sigma=m.fn.random.uniform(range=[0.1, 2.0]))


def scheme(module: str, call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda m, x: call(importlib.import_module(f"{m.__name__}.auto_aug.{module}"), x)


SCHEMES: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda m, x: x,
    "color_twist": twist,
    "color_twist, gaussian_blur": lambda m, x: blur(m, twist(m, x)),
    "TrivialAugmentWide": scheme("trivial_augment", lambda a, x: a.trivial_augment_wide(x)),
    "RandAugment(2, 9)": scheme("rand_augment", lambda a, x: a.rand_augment(x, 2, 9)),
    "AutoAugment": scheme("auto_augment", lambda a, x: a.auto_augment(x)),
}


def open_pipeline(engine: str, name: str, folder: str, batch: int) -> Callable[[], Any]:
    """Returns what takes the next batch."""
    m = importlib.import_module(ENGINES[engine])
    for part in ("fn", "types"):
        importlib.import_module(f"{ENGINES[engine]}.{part}")

    @m.pipeline_def(batch_size=batch, num_threads=1, device_id=None, seed=12, enable_conditionals=True)
    def define() -> Any:
        files, labels = m.fn.readers.file(file_root=folder, random_shuffle=True)
        x = m.fn.decoders.image_random_crop(
            files, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
        )
        x = m.fn.resize(x, size=[224, 224], interp_type=m.types.INTERP_TRIANGULAR)
        x = SCHEMES[name](m, x)
        x = m.fn.crop_mirror_normalize(
            x, mirror=m.fn.random.coin_flip(), dtype=m.types.FLOAT, output_layout="CHW",
            mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375],
        )  # fmt: skip
        return x, labels

    pipe = define()
    pipe.build()
    return pipe.run


def cost(take: Callable[[], Any], seconds: float, batch: int) -> float:
    """CPU seconds per image."""
    for _ in range(4):  # batches that were ready do not count
        take()
    start, count = time.process_time(), 0
    while time.process_time() - start < seconds:
        take()
        count += batch
    return (time.process_time() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("schemes", nargs="*", default=list(SCHEMES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| augmentation | Headrace, images per CPU-second | DALI | ratio |\n| --- | --- | --- | --- |")
    for name in args.schemes:
        takes = {e: open_pipeline(e, name, args.folder, args.batch) for e in ENGINES}
        rounds = [
            {e: cost(take, args.seconds, args.batch) for e, take in takes.items()}
            for _ in range(args.rounds)
        ]
        ratios = [r["dali"] / r["headrace"] for r in rounds]
        speed = {e: 1 / statistics.median(r[e] for r in rounds) for e in ENGINES}
        print(
            f"| {name} | {speed['headrace']:.0f} | {speed['dali']:.0f} | {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f}–{max(ratios):.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
