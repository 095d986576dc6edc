# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What pipelines on a GPU cost on the host, per image. With the module that does nothing, no GPU is needed:

    ninja -C build headrace_idlecuda
    python bench/bench_gpu_host.py FOLDER --module build/tests/libheadrace_idlecuda.so
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import time
from typing import Any

import containers

# The part after the hyphen is a container: the same files in one archive.
PIPELINES = ["train", "train-webdataset", "train-tfrecord", "color_twist", "TrivialAugmentWide", "RandAugment"]


def define(kind: str, folder: str, batch: int, threads: int) -> Any:
    from augmentations import AUGMENTATIONS, Api
    from headrace import fn, pipeline_def, types

    augmentation, _, container = kind.partition("-")

    @pipeline_def(batch_size=batch, num_threads=threads, device_id=0, seed=1, enable_conditionals=True)
    def define() -> Any:
        if container:
            read = containers.READERS[container]
            files, labels = read(Api("headrace"), containers.made(container, folder), random_shuffle=True)
        else:
            files, labels = fn.readers.file(file_root=folder, random_shuffle=True)
        images = fn.resize(fn.decoders.image_random_crop(files, device="mixed"), size=[224, 224])
        if augmentation != "train":
            images = AUGMENTATIONS[augmentation].dali(Api("headrace"), images)
        images = fn.crop_mirror_normalize(
            images, dtype=types.FLOAT16, mean=[124, 116, 104], std=[58, 57, 57], mirror=fn.random.coin_flip()
        )
        return images, labels.gpu()

    pipe = define()
    pipe.build()
    return pipe


def measure(pipe: Any, batches: int, batch: int, calls: Any) -> str:
    before, start, called = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter(), calls()
    for _ in range(batches):
        pipe.run()
    after, seconds, images = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - start, batches * batch
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    switches = after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw
    return (
        f"{images / seconds:8,.0f} img/s  {1e6 * user / images:6.1f} us user  {1e6 * system / images:6.1f} us system"
        f"  per batch: {switches[0] / batches:.0f} + {switches[1] / batches:.0f} switches,"
        f"  {(calls() - called) / batches:.0f} calls"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--module", help="libheadrace_idlecuda.so; without it, the GPU")
    parser.add_argument("--pipelines", nargs="+", default=PIPELINES)
    parser.add_argument("--threads", nargs="+", type=int, default=[2, 8])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    calls: Any = int
    if args.module:
        os.environ["HEADRACE_CUDA_MODULE"] = args.module
        calls = ctypes.CDLL(args.module).hr_idle_calls
        calls.restype = ctypes.c_int64
    for threads in args.threads:
        pipes = {kind: define(kind, args.folder, args.batch, threads) for kind in args.pipelines}
        for pipe in pipes.values():
            for _ in range(8):
                pipe.run()
        for _ in range(args.rounds):
            for kind, pipe in pipes.items():
                print(f"{threads:2} threads {kind:20}", measure(pipe, args.batches, args.batch, calls), flush=True)


if __name__ == "__main__":
    main()
