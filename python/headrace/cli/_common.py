# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What the commands share: their error, and arguments of the same kind."""

from __future__ import annotations

import argparse
import importlib
import os

from headrace import _core


class UserError(Exception):
    """An error caused by the user's input, reported in one line without a traceback."""


def need(*modules: str) -> None:
    """Called by a command before its work: the modules are those of packages in the extra `cli`.

    Raises:
        UserError: one is not installed.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            package = {"PIL": "pillow"}.get(module, module)
            raise UserError(
                f"this command needs {package}, which is not installed: pip install headrace[cli]"
            ) from None


def masked(text: str) -> str:
    """The text without passwords and signatures of URLs, as it may be printed."""
    return _core.mask_secrets(text.encode("utf-8", "backslashreplace").decode())


def one_line(text: str) -> str:
    """The masked text with escapes in place of line breaks and other characters that are not printable."""
    return masked("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))


def check_output(path: str) -> None:
    """Called by a command before its work: `path` is the file that it will write.

    Raises:
        UserError: its folder does not exist, or no file can be written there.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise UserError(f"cannot write {path}: no such folder: {folder}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UserError(f"cannot write {path}: permission denied")


def positive(text: str) -> int:
    """An argument that is an integer of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def seconds(text: str) -> float:
    """An argument that is a duration."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text}")
    return value


def add_folder(parser: argparse.ArgumentParser, metavar: str = "DIR") -> None:
    """Adds the folder of images, as `dir`."""
    parser.add_argument(
        "dir", metavar=metavar, help="folder with one subfolder of images per class"
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Adds `--threads`."""
    parser.add_argument(
        "--threads",
        type=positive,
        default=len(os.sched_getaffinity(0)),
        help="worker threads; by default one per CPU that this process may use",
    )


def add_batch_size(parser: argparse.ArgumentParser) -> None:
    """Adds `--batch-size`."""
    parser.add_argument("--batch-size", type=positive, default=64, help="samples per batch")


def add_no_progress(parser: argparse.ArgumentParser) -> None:
    """Adds `--no-progress`."""
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar")
