# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace show`: writes a contact sheet of augmented samples."""

from __future__ import annotations

import argparse
import os
from typing import Any

import headrace
from headrace.cli._common import UserError, add_folder, add_threads, need, positive
from headrace.cli._pipelines import find_images, samples
from headrace.cli._target import failures, is_target, load

HELP = "show augmented samples of a folder, or the steps of a pipeline"
DESCRIPTION = (
    "For a folder, writes one image that shows samples augmented as in the training pipeline.\n"
    "For module:function, writes an HTML file with what each step makes of some samples."
)

_GAP = 4  # pixels around a sample
_CAPTION = 14  # height in pixels of the caption under a sample
_PAPER = (250, 250, 250)


def contact_sheet(
    folder: str,
    output: str,
    count: int = 32,
    columns: int = 8,
    size: int = 160,
    seed: int = 0,
    threads: int = 1,
) -> int:
    """Writes a contact sheet.

    Args:
        folder: folder of images.
        output: image file to write.
        count: number of samples.
        columns: samples per row.
        size: width and height of a sample in pixels.

    Returns:
        The number of samples on the sheet.

    Raises:
        UserError: the folder has no images, or the sheet cannot be written.
    """
    source, classes = find_images(folder)
    pipe = samples(
        headrace,
        source,
        size,
        batch_size=count,
        num_threads=threads,
        seed=seed,
        on_error="replace",
        prefetch_queue_depth=1,
    )
    try:
        images, labels = pipe.run()
    except RuntimeError as error:
        raise UserError(str(error).splitlines()[0]) from None
    columns = min(columns, len(images))
    sheet = _paste(
        images, [int(labels.at(i)[0]) for i in range(len(labels))], classes, columns, size
    )
    try:
        sheet.save(output)
    except (OSError, ValueError) as error:  # ValueError: the file extension is not a known format
        raise UserError(f"cannot write {output}: {error}") from None
    return len(images)


def _paste(images: Any, labels: list[int], classes: list[str], columns: int, size: int) -> Any:
    from PIL import Image, ImageDraw

    caption = _CAPTION if classes else 0
    rows = -(-len(images) // columns)
    sheet = Image.new(
        "RGB",
        (columns * (size + _GAP) + _GAP, rows * (size + caption + _GAP) + _GAP),
        _PAPER,
    )
    draw = ImageDraw.Draw(sheet)
    for i in range(len(images)):
        x = _GAP + i % columns * (size + _GAP)
        y = _GAP + i // columns * (size + caption + _GAP)
        sheet.paste(Image.fromarray(images.at(i)), (x, y))
        if caption and labels[i] < len(classes):
            name = classes[labels[i]].encode(errors="replace").decode()
            draw.text((x, y + size + 1), name[: size // 6], fill=(60, 60, 60))
    return sheet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    add_folder(parser, "DIR|MODULE:FUNCTION")
    parser.add_argument(
        "-o", "--output", help="file to write; by default sheet.png, or steps.html for a pipeline"
    )
    parser.add_argument(
        "--count", type=positive, help="number of samples; by default 32, or 4 for a pipeline"
    )
    parser.add_argument("--columns", type=positive, default=8, help="samples per row")
    parser.add_argument(
        "--size", type=positive, default=160, help="width and height of a sample in pixels"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the order and augmentations")
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    if is_target(args.dir):
        with failures():
            shown = load(args.dir, args.count or 4, args.threads, args.seed).show(args.count or 4)
            shown.save(args.output or "steps.html")
        print(f"{args.output or 'steps.html'}: {len(shown.steps)} steps of {args.dir}")
        return 0
    need("PIL")
    output = args.output or "sheet.png"
    count = contact_sheet(
        args.dir, output, args.count or 32, args.columns, args.size, args.seed, args.threads
    )
    print(f"{output}: {count} samples from {os.path.abspath(args.dir)}")
    return 0
