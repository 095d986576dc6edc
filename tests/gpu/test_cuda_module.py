# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The entry point of libheadrace_cuda.so, the file HEADRACE_CUDA_MODULE; needs no GPU."""

from __future__ import annotations

import ctypes as c
import os
import re
import subprocess
from pathlib import Path

import pytest

PATH = os.environ.get("HEADRACE_CUDA_MODULE", "")
pytestmark = pytest.mark.skipif(
    not PATH or "fakecuda" in PATH, reason="HEADRACE_CUDA_MODULE names no module"
)


class Device(c.Structure):
    """hr_cuda_info."""

    _fields_ = (
        ("name", c.c_char * 256),
        ("major", c.c_int32),
        ("minor", c.c_int32),
        ("multiprocessors", c.c_int32),
        ("memory", c.c_size_t),
        ("pci", c.c_char * 32),
    )


class Module(c.Structure):
    """hr_cuda_module_def."""

    _fields_ = (
        ("abi", c.c_uint32),
        ("struct_size", c.c_uint32),
        ("device_count", c.CFUNCTYPE(c.c_int, c.POINTER(c.c_int32), c.c_void_p)),
        ("device_query", c.CFUNCTYPE(c.c_int, c.c_int32, c.POINTER(Device), c.c_void_p)),
        ("others", c.c_void_p * 22),
        ("video", c.c_void_p),
    )


def test_entry() -> None:
    """The table matches device/module.h, and every counted device can be queried."""
    library = c.CDLL(PATH)
    library.hr_cuda_module.restype = c.POINTER(Module)
    module = library.hr_cuda_module().contents
    header = Path(__file__).resolve().parents[2] / "src/device/module.h"
    if header.exists():
        number = re.search(r"define HR_CUDA_ABI_VERSION (\d+)", header.read_text())
        assert number and module.abi == int(number[1])
    assert module.struct_size == c.sizeof(Module)
    assert module.video, "built without the headers of NVDEC"
    count = c.c_int32(-1)
    assert module.device_count(c.byref(count), None) == 0
    assert count.value >= 0
    for i in range(count.value):
        device = Device()
        assert module.device_query(i, c.byref(device), None) == 0
        assert device.name and device.major >= 5 and device.multiprocessors > 0
        assert device.memory > 1 << 30


def test_exports_one_symbol() -> None:
    """No symbol of the CUDA runtime is exported."""
    done = subprocess.run(
        ["nm", "-D", "--defined-only", PATH], check=True, capture_output=True, text=True
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["hr_cuda_module"]
