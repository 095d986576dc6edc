# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Batches as HTML: images where samples look like images, element type, layout and shapes."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from html import escape
from typing import Any

from headrace._base import types

SIDE = 160  # the largest width and height of an image, in pixels
_MOST = 8  # samples that a batch shows
_CHANNELS = (1, 3, 4)
_MOST_VALUES = 4  # samples of so few elements are shown as numbers
_MOST_BYTES = 1 << 28  # larger samples are not drawn


def png(pixels: Any) -> bytes:
    """The bytes of a PNG file.

    Args:
        pixels: array of uint8 with shape (height, width, channels), where channels is 1, 3 or 4.
    """
    height, width, channels = pixels.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _order(shape: tuple[int, ...], layout: str) -> str | None:
    """The layout of a sample that is an image or a sequence of them: of it or guessed, or None."""
    if not layout and len(shape) == 3:
        layout = "HWC" if shape[2] in _CHANNELS else "CHW" if shape[0] in _CHANNELS else ""
    if layout not in ("HW", "HWC", "CHW", "FHWC", "FCHW") or len(layout) != len(shape):
        return None
    extents = dict(zip(layout, shape))
    return layout if min(shape) > 0 and extents.get("C", 1) in _CHANNELS else None


def pixels(sample: Any) -> Any:
    """A small image of a sample as an array (height, width, channels) of uint8.

    None if it is not an image. A sequence gives its first frame. Values other than uint8 are stretched
    to the range from black to white.
    """
    order = _order(tuple(sample.shape()), sample.layout())
    if order is None or types.is_enum(sample._dtype) or sample.nbytes > _MOST_BYTES:
        return None
    import numpy

    image = numpy.asarray(sample.as_cpu())
    if order[0] == "F":
        image, order = image[0], order[1:]
    if order == "HW":
        image = image[..., None]
    elif order == "CHW":
        image = image.transpose(1, 2, 0)
    step = max(1, -(-max(image.shape[:2]) // SIDE))
    image = image[::step, ::step]
    return image if image.dtype == numpy.uint8 else _stretched(image)


def _stretched(image: Any) -> Any:
    import numpy

    values = image.astype(numpy.float64)
    known = values[numpy.isfinite(values)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
    scale = max(high / 2 - low / 2, 1e-300)  # halves: the difference of huge values overflows
    values = numpy.clip((numpy.nan_to_num(values, nan=low) / 2 - low / 2) / scale, 0, 1)
    return (values * 255 + 0.5).astype(numpy.uint8)


def _values(sample: Any) -> str:
    """The elements of a small sample, or the shape of a larger one."""
    shape = sample.shape()
    if math.prod(shape) in range(1, _MOST_VALUES + 1) and not types.is_enum(sample._dtype):
        import numpy

        return str(numpy.asarray(sample.as_cpu()).tolist())
    return " × ".join(map(str, shape)) or "scalar"


def shown(sample: Any) -> str:
    """An `<img>` of a sample with its image inside, or its values or shape if it is not one."""
    shown = pixels(sample)
    shape = escape(" × ".join(map(str, sample.shape())) or "scalar")
    if shown is None:
        return f'<span class="hr-shape">{escape(_values(sample))}</span>'
    data = base64.b64encode(png(shown)).decode()
    return (
        f'<img alt="{shape}" title="{shape}" src="data:image/png;base64,{data}" '
        'style="image-rendering:auto;margin:2px">'
    )


def label(sample: Any) -> str:
    """What a sample comes from, escaped, or its shape."""
    source = sample.source_info()
    name = source.encode(errors="replace").decode() if source else str(tuple(sample.shape()))
    return escape(name[-200:])


def batch_html(batch: Any, most: int = _MOST) -> str:
    """A batch as HTML."""
    count = len(batch)
    dtype = str(batch.dtype).rpartition(".")[2]
    facts = [type(batch).__name__, f"{count} sample{'s' if count != 1 else ''}", dtype]
    facts += [batch.layout()] if batch.layout() else []
    facts.append(batch._device_name)
    figures = []
    for i in range(min(count, most)):
        sample = batch[i]
        figures.append(
            '<figure style="display:inline-block;margin:4px;vertical-align:top;max-width:170px">'
            f'{shown(sample)}<figcaption style="font-size:11px;overflow-wrap:anywhere">'
            f"{label(sample)}</figcaption></figure>"
        )
    rest = f"<p>and {count - most} more</p>" if count > most else ""
    head = escape(", ".join(facts))
    return f'<div class="hr-batch"><p><b>{head}</b></p>{"".join(figures)}{rest}</div>'
