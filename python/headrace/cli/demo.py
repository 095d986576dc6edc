# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace demo`: runs the training pipeline on a folder, and shows its speed and a contact sheet."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from typing import Any

import headrace
from headrace.cli._common import (
    UserError,
    add_batch_size,
    add_folder,
    add_no_progress,
    add_threads,
    check_output,
    need,
    positive,
)
from headrace.cli._pipelines import find_images, training
from headrace.cli.show import contact_sheet

HELP = "run the training pipeline on a folder; show its speed and a contact sheet"
DESCRIPTION = (
    "Runs the training pipeline on a folder of images, shows the throughput and\n"
    "where the time went, and writes a contact sheet of augmented samples."
)

_SHOWN = 10  # largest number of bad files that are listed


def _epochs(pipe: Any, epochs: int, show_progress: bool) -> tuple[int, float, float]:
    """Runs whole epochs. Returns the number of images, seconds and CPU-seconds."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    meta = pipe.reader_meta("Reader")
    batches = epochs * -(-meta["epoch_size"] // pipe.max_batch_size)
    images, cpu, start = 0, time.process_time(), time.perf_counter()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("batches, {task.fields[rate]:,.0f} images/s"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not show_progress,
    ) as progress:
        task = progress.add_task("training pipeline", total=batches, rate=0.0)
        for _ in range(batches):
            images += len(pipe.run()[0])
            progress.update(task, advance=1, rate=images / (time.perf_counter() - start))
    return images, time.perf_counter() - start, time.process_time() - cpu


def _throughput(images: int, seconds: float, cpu: float, args: argparse.Namespace) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="throughput", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("samples", f"{images:,}")
    table.add_row("seconds", f"{seconds:.2f}")
    table.add_row("images per second", f"{images / seconds:,.0f}")
    table.add_row("images per CPU-second", f"{images / max(cpu, 1e-9):,.0f}")
    table.add_row("worker threads", str(args.threads))
    return table


def _shares(stats: dict[str, Any]) -> list[tuple[str, float, int]]:
    """Tuples (operator, worker seconds, samples), the most expensive first."""
    rows = [(op["node"], op["seconds"], op["samples"]) for op in stats["operators"]]
    rows.append(("waiting for files", stats["workers_read_wait_s"], stats["files_read"]))
    return sorted((row for row in rows if row[1] > 0), key=lambda row: -row[1])


def _where(stats: dict[str, Any]) -> Any:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    rows = _shares(stats)
    if not rows:
        return ""
    total = sum(seconds for _, seconds, _ in rows) or 1.0
    table = Table(
        box=box.SIMPLE_HEAD,
        title="where the time went",
        title_justify="left",
        caption="Fused operators (here: resize) are counted with the last one of them.",
        caption_justify="left",
    )
    table.add_column("operators")
    for column in ("worker-s", "share", "µs per sample"):
        table.add_column(column, justify="right")
    for name, seconds, samples in rows:
        table.add_row(
            escape(name),
            f"{seconds:.2f}",
            f"{seconds / total:.0%}",
            f"{seconds / max(samples, 1) * 1e6:,.0f}",
        )
    return table


def report(errors: list[dict[str, Any]]) -> list[str]:
    """The lines that report bad files. Each file is listed once, as replaced or as decoded with a warning."""
    replaced = {e["source"]: e["message"] for e in errors if e["action"] != "warning"}
    warned = {e["source"]: e["message"] for e in errors if e["action"] == "warning"}
    warned = {source: text for source, text in warned.items() if source not in replaced}
    lines = []
    for files, one, many in (
        (
            replaced,
            "1 file could not be decoded and was replaced",
            "files could not be decoded and were replaced",
        ),
        (
            warned,
            "1 file is damaged and was decoded with a warning",
            "files are damaged and were decoded with a warning",
        ),
    ):
        if not files:
            continue
        lines.append(f"{one}:" if len(files) == 1 else f"{len(files)} {many}:")
        for source, message in itertools.islice(files.items(), _SHOWN):
            text = message.splitlines()[0] if message else ""
            lines.append(f"  {text}" if source in text else f"  {source}: {text}")
        if len(files) > _SHOWN:
            lines.append(f"  ... and {len(files) - _SHOWN:,} more")
    return lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    add_folder(parser, "DATA")
    add_threads(parser)
    add_batch_size(parser)
    parser.add_argument("--epochs", type=positive, default=3, help="passes over the folder")
    parser.add_argument(
        "-o", "--output", default="headrace-demo.png", help="file of the contact sheet"
    )
    add_no_progress(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    need("rich", "PIL")
    from rich.console import Console

    source, _ = find_images(args.dir)
    check_output(args.output)
    pipe = training(
        headrace,
        source,
        batch_size=args.batch_size,
        num_threads=args.threads,
        seed=0,
        on_error="replace",
    )
    try:
        pipe.build()
        images, seconds, cpu = _epochs(pipe, args.epochs, not args.no_progress)
    except RuntimeError as error:
        raise UserError(str(error).splitlines()[0]) from None
    console = Console()
    console.print(_throughput(images, seconds, cpu, args))
    console.print(_where(pipe.stats()))
    console.print(pipe.explain().splitlines()[0])
    console.print()
    for line in report(pipe.errors()):
        print(line, file=sys.stderr)
    count = contact_sheet(args.dir, args.output, threads=args.threads)
    console.print(f"contact sheet: {os.path.abspath(args.output)} ({count} augmented samples)")
    return 0
