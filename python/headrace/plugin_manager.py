# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Loading of operators from shared libraries (docs/plugins.md). Libraries built for DALI cannot be loaded."""

from __future__ import annotations

import glob
import os

from headrace import _core
from headrace._graph import modules, schema

__all__ = ["load_directory", "load_library"]


def load_library(library_path: str | os.PathLike[str], global_symbols: bool = False) -> None:
    """Loads a library of operators, which are in `fn` and `ops` from then on.

    Loading a library again has no effect.

    Args:
        library_path: its path; a name without a slash that is not a file in the current folder is
            searched for as `dlopen` does.
        global_symbols: makes its symbols available to libraries that are loaded later.

    Raises:
        RuntimeError: the library cannot be loaded, or one of its operators cannot be added. In that
            case none is added.
    """
    path = os.fspath(library_path)
    _core.load_plugin(os.path.abspath(path) if os.path.exists(path) else path, global_symbols)
    modules.forget(schema.reload())


def load_directory(plugin_dir_path: str | os.PathLike[str], global_symbols: bool = False) -> None:
    """Loads all libraries `plugin_dir_path/*/libdali_*.so` and `plugin_dir_path/*/libheadrace_*.so`.

    Raises:
        RuntimeError: one of them cannot be loaded.
    """
    for name in ("libdali_*.so", "libheadrace_*.so"):
        folders = os.path.join(glob.escape(os.fspath(plugin_dir_path)), "*", name)
        for path in sorted(glob.glob(folders)):
            load_library(path, global_symbols)
