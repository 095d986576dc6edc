# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace bench`: measures Headrace, DALI and torchvision on one folder, in turns within one run."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import headrace
from headrace._base import messages
from headrace.cli._common import (
    UserError,
    add_batch_size,
    add_folder,
    add_no_progress,
    add_threads,
    need,
    positive,
    seconds,
)
from headrace.cli._pipelines import MEAN, STD, evaluation, find_images, training
from headrace.cli.demo import report

HELP = "measure the speed of the training and evaluation pipelines on a folder"
DESCRIPTION = (
    "Measures images per second and per CPU-second on a folder of images, for the\n"
    "training pipeline (random crop, resize to 224, mirror, normalise) and the\n"
    "evaluation pipeline (resize to 256, crop 224). The compared libraries take turns."
)

PIPELINES = {"train": training, "eval": evaluation}
_WARM_UP = 4  # batches per turn before measuring, so that batches prefetched earlier do not count
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Contender:
    """One library with one pipeline. `take` runs the next batch and returns its number of samples."""

    library: str
    pipeline: str
    take: Callable[[], int]
    close: Callable[[], Any]
    errors: Callable[[], list[dict[str, Any]]] = list  # of Headrace: bad files
    images: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    rounds: list[float] = field(default_factory=list)
    bad_files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return self.images / self.seconds

    @property
    def per_cpu_second(self) -> float:
        return self.images / self.cpu_seconds


def cpu_seconds() -> float:
    """CPU seconds used by this process with all its threads, and by its living children."""
    total = time.process_time()
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                children = file.read().split()
            for child in children:
                with open(f"/proc/{child}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / _TICKS
        except OSError:
            continue  # the thread or child has just ended
    return total


def _gone() -> Any:
    raise RuntimeError("this contender is closed")


def _of_pipeline(library: str, name: str, pipe: Any) -> Contender:
    pipe.build()
    return Contender(library, name, lambda: len(pipe.run()[0]), lambda: None)


def _headrace(name: str, source: dict[str, Any], batch: int, threads: int) -> Contender:
    pipe = PIPELINES[name](
        headrace, source, batch_size=batch, num_threads=threads, seed=0, on_error="replace"
    )
    contender = _of_pipeline("headrace", name, pipe)
    contender.errors = pipe.errors
    return contender


def _dali(name: str, source: dict[str, Any], batch: int, threads: int) -> Contender:
    import nvidia.dali as dali  # type: ignore[import-not-found,unused-ignore]

    pipe = PIPELINES[name](
        dali, source, batch_size=batch, num_threads=threads, seed=0, exec_dynamic=True
    )
    return _of_pipeline("dali", name, pipe)


def _torchvision(name: str, source: dict[str, Any], batch: int, threads: int) -> Contender:
    import torch
    from torchvision import datasets, transforms

    torch.set_num_threads(1)
    finish = [
        transforms.ToTensor(),
        transforms.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]),
    ]
    if name == "train":
        steps = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), *finish]
    else:
        steps = [transforms.Resize(256), transforms.CenterCrop(224), *finish]
    if "file_root" not in source:
        raise UserError("torchvision reads class folders only")
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(source["file_root"], transforms.Compose(steps)),
        batch_size=batch,
        shuffle=name == "train",
        num_workers=threads,
        persistent_workers=True,
    )
    batches = _endless(loader)
    return Contender("torchvision", name, lambda: len(next(batches)[0]), batches.close)


def _endless(loader: Any) -> Any:
    while True:
        yield from loader


CONTENDERS = {"headrace": _headrace, "dali": _dali, "torchvision": _torchvision}
_MODULES = {"dali": "nvidia.dali", "torchvision": "torchvision"}


def _installed(library: str) -> bool:
    try:
        return importlib.util.find_spec(_MODULES[library]) is not None
    except ModuleNotFoundError:  # the parent package `nvidia` is not installed
        return False


def _settle() -> None:
    """Waits until the previous contender has filled its queues, so that its work is not counted."""
    for _ in range(50):
        before = cpu_seconds()
        time.sleep(0.1)
        if cpu_seconds() - before < 0.01:
            return


def _turn(contender: Contender, seconds: float) -> None:
    _settle()
    for _ in range(_WARM_UP):
        contender.take()
    images = 0
    cpu, start = cpu_seconds(), time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        images += contender.take()
    contender.images += images
    contender.seconds += spent
    contender.cpu_seconds += cpu_seconds() - cpu
    contender.rounds.append(images / spent)


def measure(
    folder: str,
    threads: int,
    batch_size: int,
    seconds: float,
    rounds: int,
    libraries: list[str],
    pipelines: list[str],
    advance: Callable[[], object] = lambda: None,
) -> list[Contender]:
    """Measures every library with every pipeline. The libraries take turns.

    Idle contenders keep prefetched batches, and torchvision keeps sleeping workers. They use no CPU time during
    another contender's turn, which starts only when the CPU is idle.

    Args:
        seconds: measured seconds per library and pipeline.
        rounds: number of turns into which they are split.
        advance: called after each turn.

    Raises:
        UserError: no images to read, or a pipeline failed.
    """
    source, _ = find_images(folder)
    results = []
    for name in pipelines:
        contenders = []
        for library in libraries:
            with _failures(library, name):
                contenders.append(CONTENDERS[library](name, source, batch_size, threads))
        for _ in range(rounds):
            for contender in contenders:
                with _failures(contender.library, name):
                    _turn(contender, seconds / rounds)
                advance()
        for contender in contenders:
            contender.bad_files = contender.errors()
            contender.close()
            # drops the pipeline, which ends its workers
            contender.take = contender.close = contender.errors = _gone
        results.extend(contenders)
    return results


@contextlib.contextmanager
def _failures(library: str, pipeline: str) -> Iterator[None]:
    """Turns errors of a library into a UserError. Those of Headrace say it in the first line, others anywhere."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        text = str(error).splitlines()[0] if library == "headrace" else " ".join(str(error).split())
        raise UserError(f"{pipeline} pipeline of {library}: {text}") from None


def _as_json(results: list[Contender], args: argparse.Namespace) -> str:
    ours = {c.pipeline: c for c in results if c.library == "headrace"}
    rows = [
        {
            "library": c.library,
            "pipeline": c.pipeline,
            "images": c.images,
            "seconds": round(c.seconds, 4),
            "cpu_seconds": round(c.cpu_seconds, 4),
            "images_per_second": round(c.per_second, 2),
            "images_per_cpu_second": round(c.per_cpu_second, 2),
            "rounds": [round(r, 2) for r in c.rounds],
            "headrace_ratio": round(ours[c.pipeline].per_second / c.per_second, 3),
            "headrace_cpu_ratio": round(ours[c.pipeline].per_cpu_second / c.per_cpu_second, 3),
        }
        for c in results
    ]
    setting = {"threads": args.threads, "batch_size": args.batch_size, "dir": args.dir}
    return json.dumps({"setting": setting, "results": rows}, indent=1)


_COLUMNS = ("images per\nsecond", "spread\n(rounds)", "images per\nCPU-second")
_SPEED_UPS = ("speed-up", "speed-up per\nCPU-second")  # of Headrace over another library


def _spread(rounds: list[float]) -> str:
    """Half the distance between the fastest and the slowest round, as a part of their mean."""
    return f"± {50 * (max(rounds) - min(rounds)) * len(rounds) / sum(rounds):.0f} %"


def _print_table(results: list[Contender]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    ours = {c.pipeline: c for c in results if c.library == "headrace"}
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in ("pipeline", "library"):
        table.add_column(column)
    compared = len(ours) < len(results)
    for column in (*_COLUMNS, *(_SPEED_UPS if compared else ())):
        table.add_column(column, justify="right")
    for c in results:
        own = ours[c.pipeline]
        ratios = ("", "")
        if c is not own:
            ratios = (
                f"{own.per_second / c.per_second:.2f} x",
                f"{own.per_cpu_second / c.per_cpu_second:.2f} x",
            )
        table.add_row(
            c.pipeline,
            c.library,
            f"{c.per_second:,.0f}",
            _spread(c.rounds),
            f"{c.per_cpu_second:,.0f}",
            *(ratios if compared else ()),
        )
    Console().print(table)


@contextlib.contextmanager
def _progress(turns: int, shown: bool) -> Iterator[Callable[[], object]]:
    """A progress bar on a terminal, drawn between turns only: a thread would use measured time."""
    if not (shown and sys.stderr.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        task = progress.add_task("measuring", total=turns)
        progress.refresh()
        yield lambda: progress.update(task, advance=1, refresh=True)


def _names(text: str, known: Any, what: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UserError(
                f"unknown {what} {name!r}; choose from {', '.join(known)}."
                + messages.suggestion(name, known)
            )
    return names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    add_folder(parser)
    add_threads(parser)
    add_batch_size(parser)
    parser.add_argument(
        "--seconds", type=seconds, default=6.0, help="measured time per library and pipeline"
    )
    parser.add_argument(
        "--rounds", type=positive, default=3, help="number of turns into which the time is split"
    )
    parser.add_argument(
        "--compare",
        default="",
        metavar="LIST",
        help="other libraries to measure, if they are installed: dali,torchvision",
    )
    parser.add_argument(
        "--pipeline", default="train,eval", metavar="LIST", help="pipelines to run: train,eval"
    )
    add_no_progress(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    if not args.json:
        need("rich")
    pipelines = _names(args.pipeline, PIPELINES, "pipeline")
    libraries = ["headrace"]
    for library in _names(args.compare, CONTENDERS, "library"):
        if library == "headrace":
            continue
        if _installed(library):
            libraries.append(library)
        else:
            print(f"headrace: {library} is not installed; skipped", file=sys.stderr)
    turns = args.rounds * len(libraries) * len(pipelines)
    with _progress(turns, not (args.no_progress or args.json)) as advance:
        results = measure(
            args.dir,
            args.threads,
            args.batch_size,
            args.seconds,
            args.rounds,
            libraries,
            pipelines,
            advance,
        )
    if args.json:
        print(_as_json(results, args))
    else:
        _print_table(results)
    for line in report([error for c in results for error in c.bad_files]):
        print(line, file=sys.stderr)
    return 0
