# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The CUDA module that these tests run with: the real one if there is a device, otherwise the fake one."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import _core
from waiting import until

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))  # photos
os.environ.setdefault("HEADRACE_FAKE_DEVICES", "2")


class Counts(ctypes.Structure):
    """fake_counts: live objects, and errors of the caller."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in "allocs pinned streams events bytes peak broken misused copies work copied".split()
    ]

    def alive(self) -> dict[str, int]:
        names = "allocs pinned streams events bytes broken misused".split()
        return {name: getattr(self, name) for name in names if getattr(self, name)}


class Module:
    """The module in use. `fake` is the library of the fake module, or None."""

    def __init__(self) -> None:
        self.path = os.environ.get("HEADRACE_CUDA_MODULE", "")
        beside = Path(_core.__file__).parent / "libheadrace_cuda.so"
        if not self.path and beside.exists() and _devices(str(beside)):
            self.path = str(beside)
        if not self.path:
            self.path = next(map(str, _built()), "")
            os.environ["HEADRACE_CUDA_MODULE"] = self.path
        self.fake = None
        if self.path:
            library = ctypes.CDLL(self.path)
            self.fake = library if hasattr(library, "hr_fake_counts") else None

    def counts(self) -> Counts:
        counts = Counts()
        assert self.fake is not None
        self.fake.hr_fake_counts(ctypes.byref(counts))
        return counts

    def fail(self, spec: str | None) -> None:
        """Injects failures, in the form of HEADRACE_FAKE_FAIL; None ends them."""
        assert self.fake is not None
        self.fake.hr_fake_fail(None if spec is None else spec.encode())


def _devices(path: str) -> int:
    count = ctypes.c_int32(0)
    library = ctypes.CDLL(path)
    library.hr_cuda_module.restype = ctypes.POINTER(ctypes.c_void_p)
    table = library.hr_cuda_module()
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int32), ctypes.c_void_p)
    function(table[1])(ctypes.byref(count), None)  # after two 32-bit integers
    return count.value


def _built() -> Iterator[Path]:
    """The path of the built fake module; those of sanitizer builds cannot be loaded here."""
    root = Path(__file__).resolve().parents[2]
    core = Path(_core.__file__).resolve()
    builds = sorted(p for p in root.glob("build/*/tests") if p.parts[-2] not in ("asan", "tsan"))
    for folder in (core.parents[2] / "tests", root / "build/tests", *builds):
        path = folder / "libheadrace_fakecuda.so"
        if path.exists():
            yield path


_module = Module()


def pytest_collection_finish() -> None:
    """What exists now stays until the end: gc.collect, which `module` calls before and after each test, ignores it."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def module() -> Iterator[Module]:
    """The module; with the fake one, a test must not leave live objects."""
    if not _module.path:
        pytest.skip("there is no GPU, and no fake module was built")
    if _module.fake is None:
        yield _module
        return
    gc.collect()
    before = _module.counts().alive()  # objects that a failed test's traceback keeps alive
    yield _module
    _module.fail(None)
    # A pipeline whose last reference a worker drops, inside a Python function, is closed by a thread of its own.
    until(lambda: not _left(before), "nothing is left of the test's pipelines")


def _left(before: dict[str, int]) -> dict[str, int]:
    """The counts of live objects that exceed those before the test."""
    gc.collect()
    after = _module.counts().alive()
    return {name: count for name, count in after.items() if count > before.get(name, 0)}


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEGs in 3 class folders; tests must not change them."""
    from photos import fill

    return fill(tmp_path_factory.mktemp("photos") / "root")


@pytest.fixture
def fake(module: Module) -> Module:
    """The fake module, for failures that a real device does not produce on demand."""
    if module.fake is None:
        pytest.skip("only with the fake module")
    return module
