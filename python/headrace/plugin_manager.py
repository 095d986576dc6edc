# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Loading of operators from shared libraries. Libraries built for DALI cannot be loaded."""

from __future__ import annotations

import glob
import os

__all__ = ["load_directory", "load_library"]


def load_library(library_path: str, global_symbols: bool = False) -> None:
    """Loads a library of operators.

    Raises:
        RuntimeError: the file does not exist.
        NotImplementedError: the file exists; loading is not implemented.
    """
    if not os.path.isfile(library_path):
        raise RuntimeError(f"Failed to load library: {library_path} is not a file.")
    raise NotImplementedError(
        f"Failed to load library: {library_path}. This version of Headrace does not load operators "
        "from libraries."
    )


def load_directory(plugin_dir_path: str, global_symbols: bool = False) -> None:
    """Loads all libraries `plugin_dir_path/*/libdali_*.so`.

    Raises:
        NotImplementedError: there is at least one.
    """
    for path in sorted(glob.glob(os.path.join(plugin_dir_path, "*", "libdali_*.so"))):
        load_library(path, global_symbols)
