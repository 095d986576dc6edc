# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""An encoder of JPEG XL files: that of libjxl, where it is installed."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


def library() -> Any:
    """libjxl, or None."""
    for minor in range(30, 6, -1):
        try:
            found = ctypes.CDLL(f"libjxl.so.0.{minor}")
        except OSError:
            continue
        for name in ("JxlEncoderCreate", "JxlEncoderFrameSettingsCreate"):
            getattr(found, name).restype = ctypes.c_void_p
        return found
    return None


class Format(ctypes.Structure):
    _fields_ = [
        ("channels", ctypes.c_uint32),
        ("type", ctypes.c_int),
        ("endianness", ctypes.c_int),
        ("align", ctypes.c_size_t),
    ]


# Places in JxlBasicInfo, in units of four bytes.
WIDTH, HEIGHT, BITS, EXPONENT, ORIGINAL, ORIENTATION, COLOURS, EXTRA, ALPHA, ALPHA_EXPONENT = (
    1, 2, 3, 4, 9, 12, 13, 14, 15, 16,
)  # fmt: skip


def encoded(
    pixels: np.ndarray,
    *,
    bits: int | None = None,
    orientation: int = 1,
    lossless: bool = True,
    container: bool = False,
) -> bytes:
    """A file of pixels (height, width, channels): uint8, uint16 or float32."""
    lib = library()
    height, width, channels = pixels.shape
    encoder = ctypes.c_void_p(lib.JxlEncoderCreate(None))
    info = (ctypes.c_uint32 * 128)()
    lib.JxlEncoderInitBasicInfo(info)
    is_float = pixels.dtype.kind == "f"
    bits = bits or 8 * pixels.itemsize
    info[WIDTH], info[HEIGHT], info[BITS], info[EXPONENT] = width, height, bits, 8 * is_float
    info[ORIGINAL], info[ORIENTATION] = lossless, orientation
    info[COLOURS] = 1 if channels < 3 else 3
    if channels in (2, 4):
        info[EXTRA], info[ALPHA], info[ALPHA_EXPONENT] = 1, bits, 8 * is_float
    assert lib.JxlEncoderUseContainer(encoder, int(container)) == 0
    if bits > 12:
        lib.JxlEncoderSetCodestreamLevel(encoder, 10)
    assert lib.JxlEncoderSetBasicInfo(encoder, info) == 0
    encoding = (ctypes.c_double * 64)()
    lib.JxlColorEncodingSetToSRGB(encoding, int(channels < 3))
    assert lib.JxlEncoderSetColorEncoding(encoder, encoding) == 0
    settings = ctypes.c_void_p(lib.JxlEncoderFrameSettingsCreate(encoder, None))
    if lossless:
        assert lib.JxlEncoderSetFrameLossless(settings, 1) == 0
    kind = 0 if is_float else 2 if pixels.itemsize == 1 else 3
    data = pixels.tobytes()
    form = Format(channels, kind, 0, 0)
    assert (
        lib.JxlEncoderAddImageFrame(settings, ctypes.byref(form), data, ctypes.c_size_t(len(data)))
        == 0
    )
    lib.JxlEncoderCloseInput(encoder)
    out = ctypes.create_string_buffer(len(data) * 2 + 100000)
    at = ctypes.c_void_p(ctypes.addressof(out))
    left = ctypes.c_size_t(len(out))
    assert lib.JxlEncoderProcessOutput(encoder, ctypes.byref(at), ctypes.byref(left)) == 0
    lib.JxlEncoderDestroy(encoder)
    return out.raw[: len(out) - left.value]
