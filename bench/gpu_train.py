# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures input pipelines for training and evaluation on a GPU, from files to fp16 batches in device memory, through
the PyTorch iterators of Headrace, DALI and torchvision.

    python bench/gpu_train.py FOLDER [--files 10000] [--seconds 2] [--rounds 3] [--quick]

FOLDER contains class folders of JPEG files. Distinct copies are written to --scratch until there are --files files, so
that the data do not fit into the CPU's caches. Batch size 256 with 16 threads is measured for both pipelines, then
other batch sizes and thread counts one by one. All contenders of a case run in one process, in interleaved rounds.
Prints a table and one JSON line per case: images per second, kernel time and host CPU time per image, and ratios to
DALI.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import containers
import torch
from augmentations import Api

MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
CONTENDERS = {
    "headrace": "headrace",
    "headrace-index": "headrace",
    "headrace-cache": "headrace",  # with indices, and with the files in pinned memory
    "headrace-webdataset": "headrace",  # the same files in a container
    "headrace-tfrecord": "headrace",
    "dali": "nvidia.dali",
    "torchvision": "torchvision",
}
CACHE_SIZE = 16 << 30
# headrace: like an endless first epoch, because indices are made but never kept.
OPTIONS: dict[str, dict[str, Any]] = {
    name: {"index_memory_limit": 1} for name in ("headrace", "headrace-webdataset", "headrace-tfrecord")
}


# ---- data ----


def spread(source: pathlib.Path, target: pathlib.Path, count: int) -> None:
    """Writes `count` copies of the files of `source` to class folders in `target`. Each has its own comment segment
    after the SOI marker."""
    files = sorted(p for p in source.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    if not files:
        raise SystemExit(f"no JPEG files in {source}")
    for i in range(count):
        data = files[i % len(files)].read_bytes()
        note = f"copy {i}".encode()
        segment = b"\xff\xfe" + (len(note) + 2).to_bytes(2, "big") + note
        folder = target / f"class{i % 100:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:06}.jpg").write_bytes(data[:2] + segment + data[2:])


# ---- contenders ----


def dali_like(name: str, kind: str, root: str, batch: int, threads: int) -> Iterator[Any]:
    """The README's pipeline with device="mixed" and the API of the contender's module: endless (images, labels)."""
    m = Api(CONTENDERS[name])
    fn, types = m.fn, m.types
    container = name.partition("-")[2]

    @m.package.pipeline_def(
        batch_size=batch, num_threads=threads, device_id=0, seed=12, exec_dynamic=True, **OPTIONS.get(name, {})
    )
    def define() -> Any:
        order: dict[str, Any] = {"random_shuffle": kind == "train", "pad_last_batch": True, "name": "Reader"}
        if container == "cache":
            order["cache_size"] = CACHE_SIZE
        if container in containers.READERS:
            files, labels = containers.READERS[container](m, containers.made(container, root), **order)
        else:
            files, labels = fn.readers.file(file_root=root, **order)
        if kind == "train":
            images = fn.decoders.image_random_crop(
                files, device="mixed", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
            )
            images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_TRIANGULAR)
            extra: dict[str, Any] = {"mirror": fn.random.coin_flip()}
        else:
            images = fn.resize(fn.decoders.image(files, device="mixed"), resize_shorter=256)
            extra = {"crop": (224, 224)}
        images = fn.crop_mirror_normalize(
            images, dtype=types.FLOAT16, output_layout="CHW", mean=list(MEAN), std=list(STD), **extra
        )
        return images, labels

    plugin = importlib.import_module(m.module + ".plugin.pytorch")
    loader = plugin.DALIClassificationIterator(define(), reader_name="Reader", auto_reset=True)
    while True:
        for data in loader:
            yield data[0]["data"], data[0]["label"]


def torchvision_like(kind: str, root: str, batch: int, threads: int) -> Iterator[Any]:
    """torchvision's usual transforms in a DataLoader with Pillow, copied to the device."""
    from torchvision import datasets
    from torchvision import transforms as t

    steps: list[Any] = [t.RandomResizedCrop(224), t.RandomHorizontalFlip()]
    if kind == "eval":
        steps = [t.Resize(256), t.CenterCrop(224)]
    mean, std = [m / 255 for m in MEAN], [s / 255 for s in STD]
    dataset = datasets.ImageFolder(root, t.Compose([*steps, t.ToTensor(), t.Normalize(mean, std)]))
    loader = torch.utils.data.DataLoader(
        dataset, batch, shuffle=kind == "train", num_workers=threads, pin_memory=True, drop_last=True,
        persistent_workers=True,
    )  # fmt: skip
    while True:
        for images, labels in loader:
            yield images.cuda(non_blocking=True).half(), labels


def open_contender(name: str, kind: str, root: str, batch: int, threads: int) -> Iterator[Any]:
    if name == "torchvision":
        return torchvision_like(kind, root, batch, threads)
    return dali_like(name, kind, root, batch, threads)


# ---- measuring ----


def cpu_seconds() -> float:
    """CPU time of this process and its living children."""
    total = time.process_time()
    tick = os.sysconf("SC_CLK_TCK")
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            try:
                fields = pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            total += (int(fields[11]) + int(fields[12])) / tick
    return total


def run_for(seconds: float, stream: Iterator[Any]) -> tuple[float, float]:
    """Takes batches for `seconds`; returns images per second and CPU seconds per image."""
    torch.cuda.synchronize()
    count, cpu, start = 0, cpu_seconds(), time.perf_counter()
    while time.perf_counter() - start < seconds:
        images, _ = next(stream)
        count += len(images)
    torch.cuda.synchronize()
    return count / (time.perf_counter() - start), (cpu_seconds() - cpu) / count


def run_epochs(stream: Iterator[Any], root: str, epochs: int) -> None:
    left = epochs * sum(1 for _ in pathlib.Path(root).rglob("*.jpg"))
    while left > 0:
        left -= len(next(stream)[0])


def is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def settle(limit: float = 10.0) -> None:
    """Waits until the previous contender has finished prefetching, so that this does not count for the next one."""
    end = time.perf_counter() + limit
    while time.perf_counter() < end:
        before, start = cpu_seconds(), time.perf_counter()
        time.sleep(0.2)
        if cpu_seconds() - before < 0.3 * (time.perf_counter() - start):
            return


def kernel_seconds(stream: Iterator[Any], batches: int) -> tuple[float, float] | None:
    """Device time per image: the sum over all kernels, and the time during which any kernel ran (kernels of several
    batches overlap). None if the profiler sees no kernels."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    count = 0
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for _ in range(batches):
            images, _ = next(stream)
            count += len(images)
        torch.cuda.synchronize()
    ranges = sorted(
        (event.time_range.start, event.time_range.end)
        for event in prof.events()
        if event.device_type == DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset"))
    )
    total, union, reached = 0.0, 0.0, 0.0
    for start, end in ranges:
        total += end - start
        union += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return (total * 1e-6 / count, union * 1e-6 / count) if ranges else None


def first_batch(name: str, kind: str, root: str, threads: int) -> float:
    """Seconds from the first request to a complete batch of 32, with an empty queue."""
    stream = open_contender(name, kind, root, 32, threads)
    start = time.perf_counter()
    next(stream)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(case: dict[str, Any], names: list[str], root: str, rounds: int, seconds: float) -> dict[str, Any]:
    streams = {}
    for name in names:
        streams[name] = open_contender(name, case["pipeline"], root, case["batch"], case["threads"])
        run_for(seconds / 2, streams[name])
        if name == "headrace-cache":  # until all files are kept
            run_epochs(streams[name], root, 3)
    rates: dict[str, list[float]] = {name: [] for name in names}
    cpu: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, stream in streams.items():
            settle()
            # a DataLoader produces batches in bursts, because its processes start at the same time
            window = seconds * (8 if name == "torchvision" else 1)
            run_for(window / 4, stream)
            rate, host = run_for(window, stream)
            rates[name].append(rate)
            cpu[name].append(host)
    result: dict[str, Any] = dict(case)
    for name, stream in streams.items():
        kernels = kernel_seconds(stream, 20) if name != "torchvision" else None
        result[name] = {
            "images_per_second": round(statistics.median(rates[name])),
            "least": round(min(rates[name])),
            "most": round(max(rates[name])),
            "host_cpu_us": round(statistics.median(cpu[name]) * 1e6, 1),
            "kernel_us": None if kernels is None else round(kernels[0] * 1e6, 2),
            "device_us": None if kernels is None else round(kernels[1] * 1e6, 2),
        }
    for name in names:
        if "dali" in streams and name.startswith("headrace"):
            pairs = zip(rates[name], rates["dali"], strict=True)
            result[name]["times_dali"] = round(statistics.median(a / b for a, b in pairs), 2)
    return result


def cases(quick: bool) -> list[dict[str, Any]]:
    full = [(kind, 256, 16) for kind in ("train", "eval")]
    axes = [] if quick else [("train", 128, 16), ("train", 512, 16), ("train", 256, 4), ("train", 256, 8)]
    return [{"pipeline": kind, "batch": b, "threads": t} for kind, b, t in full + axes]


def show(result: dict[str, Any], names: list[str]) -> None:
    head = f"{result['pipeline']:5} batch {result['batch']:3} threads {result['threads']:2}"
    for name in names:
        r = result[name]
        print(
            f"{head}  {name:14} {r['images_per_second']:8,} img/s ({r['least']:,}-{r['most']:,})"
            f"  host {r['host_cpu_us']:7.1f} us  kernels {r['kernel_us'] or float('nan'):6.2f} us"
            f" (device {r['device_us'] or float('nan'):5.2f})"
            f"{'  x DALI ' + format(r['times_dali'], '.2f') if 'times_dali' in r else ''}"
        )
    print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Input pipelines on a GPU, side by side.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only batch 256 with 16 threads")
    parser.add_argument("--only", nargs="*", choices=sorted(CONTENDERS))
    args = parser.parse_args()
    names = args.only or [name for name, module in CONTENDERS.items() if is_there(module)]
    scratch = args.scratch or pathlib.Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    if not any(scratch.glob("class*")):
        spread(args.folder, scratch, args.files)
    for i, case in enumerate(cases(args.quick)):
        # DataLoader processes are slow to start, and the batch size hardly changes their speed
        some = [n for n in names if i < 2 or n != "torchvision"]
        show(measure(case, some, str(scratch), args.rounds, args.seconds), some)
    for name in names:
        times = [first_batch(name, "train", str(scratch), 16) for _ in range(3)]
        print(f"first batch of 32, cold: {name} {statistics.median(times) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
