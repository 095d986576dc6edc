# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A writer of JPEG 2000 files: codestreams by OpenJPEG's encoder, boxes by hand."""

from __future__ import annotations

import ctypes
import struct
import tempfile
from ctypes import POINTER, c_char, c_char_p, c_float, c_int, c_uint16, c_uint32, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

SRGB, GREY, SYCC = 16, 17, 18
CODESTREAM, UNKNOWN_COLOURS = 0, -1  # OPJ_CODEC_J2K, OPJ_CLRSPC_UNKNOWN


class _Parameters(ctypes.Structure):
    """opj_cparameters_t up to the sizes of precincts."""

    _fields_ = [
        *((name, c_int) for name in "tile_size_on tx0 ty0 tdx tdy disto_alloc fixed".split()),
        ("fixed_quality", c_int),
        ("matrice", c_void_p),
        ("comment", c_char_p),
        ("csty", c_int),
        ("progression", c_int),
        ("poc", c_char * 148 * 32),
        ("numpocs", c_uint32),
        ("numlayers", c_int),
        ("rates", c_float * 100),
        ("distoratio", c_float * 100),
        *((name, c_int) for name in "numresolution cblockw cblockh mode irreversible".split()),
        *((name, c_int) for name in "roi_component roi_shift res_spec".split()),
        ("prcw", c_int * 33),
        ("prch", c_int * 33),
        ("rest", c_char * 32768),
    ]


class _ComponentParameters(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in "dx dy w h x0 y0 prec bpp sgnd".split()]


class _Component(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in "dx dy w h x0 y0 prec bpp sgnd decoded factor".split()),
        ("data", POINTER(c_int)),
        ("alpha", c_uint16),
    ]


class _Image(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in "x0 y0 x1 y1 numcomps color_space".split()),
        ("comps", POINTER(_Component)),
        ("icc", c_void_p),
        ("icc_size", c_uint32),
    ]


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL("libopenjp2.so.7")
    library.opj_image_create.restype = POINTER(_Image)
    library.opj_create_compress.restype = c_void_p
    library.opj_stream_create_default_file_stream.restype = c_void_p
    return library


def codestream(
    planes: list[np.ndarray],
    bits: int | list[int] = 8,
    *,
    signed: bool = False,
    steps: list[tuple[int, int]] | None = None,
    origin: tuple[int, int] = (0, 0),
    tile: tuple[int, int] | None = None,
    tile_origin: tuple[int, int] = (0, 0),
    irreversible: bool = False,
    rates: tuple[float, ...] = (0,),
    resolutions: int | None = None,
    progression: int = 0,
    block: tuple[int, int] = (64, 64),
    precincts: list[tuple[int, int]] | None = None,
    mode: int = 0,
    style: int = 0,
) -> bytes:
    """A codestream with these components. `steps` are their distances (dx, dy) on the reference grid."""
    lib = _library()
    steps = steps or [(1, 1)] * len(planes)
    depth = [bits] * len(planes) if isinstance(bits, int) else bits
    components = (_ComponentParameters * len(planes))()
    for c, plane, (dx, dy), prec in zip(components, planes, steps, depth):
        c.dx, c.dy, c.prec, c.bpp, c.sgnd = dx, dy, prec, prec, signed
        c.h, c.w = plane.shape
    image = lib.opj_image_create(len(planes), components, UNKNOWN_COLOURS)
    image[0].x0, image[0].y0 = origin
    image[0].x1 = origin[0] + planes[0].shape[1] * steps[0][0]
    image[0].y1 = origin[1] + planes[0].shape[0] * steps[0][1]
    for i, plane in enumerate(planes):
        values = np.ascontiguousarray(plane, np.int32)
        ctypes.memmove(image[0].comps[i].data, values.ctypes.data, values.nbytes)

    p = _Parameters()
    lib.opj_set_default_encoder_parameters(ctypes.byref(p))
    p.disto_alloc, p.numlayers = 1, len(rates)
    p.rates[: len(rates)] = rates
    p.irreversible, p.progression, p.mode, p.csty = irreversible, progression, mode, style
    p.cblockw, p.cblockh = block
    smallest = min(min(plane.shape) for plane in planes)
    smallest = min([smallest, *(side // 2 for side in tile or ())])
    p.numresolution = resolutions or min(6, max(1, int(smallest).bit_length()))
    if tile:
        p.tile_size_on, (p.tdx, p.tdy), (p.tx0, p.ty0) = 1, tile, tile_origin
    if precincts:
        p.csty |= 1
        p.res_spec = len(precincts)
        for i, (width, height) in enumerate(precincts):
            p.prcw[i], p.prch[i] = width, height

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.j2k")
        codec = c_void_p(lib.opj_create_compress(CODESTREAM))
        stream = None
        try:
            assert lib.opj_setup_encoder(codec, ctypes.byref(p), image), "opj_setup_encoder"
            stream = c_void_p(lib.opj_stream_create_default_file_stream(bytes(path), 0))
            assert lib.opj_start_compress(codec, image, stream), "opj_start_compress"
            assert lib.opj_encode(codec, stream), "opj_encode"
            assert lib.opj_end_compress(codec, stream), "opj_end_compress"
        finally:
            if stream:
                lib.opj_stream_destroy(stream)
            lib.opj_destroy_codec(codec)
            lib.opj_image_destroy(image)
        return path.read_bytes()


def box(name: bytes, *contents: bytes, long: bool = False) -> bytes:
    body = b"".join(contents)
    if long:
        return struct.pack(">I4sQ", 1, name, 16 + len(body)) + body
    return struct.pack(">I4s", 8 + len(body), name) + body


SIGNATURE = box(b"jP  ", b"\r\n\x87\n")
FILE_TYPE = box(b"ftyp", b"jp2 ", bytes(4), b"jp2 ")


def jp2(
    stream: bytes,
    colours: int | None = SRGB,
    *,
    palette: np.ndarray | None = None,
    mapping: list[tuple[int, int, int]] | None = None,
    channels: list[tuple[int, int, int]] | None = None,
    **header: Any,
) -> bytes:
    """A file around a codestream.

    `palette` has a row per entry and a column per channel; `mapping` lists (component, type, column) and `channels`
    (number, type, association), as the boxes cmap and cdef do.
    """
    size = stream[8:16] if stream[2:4] == b"\xff\x51" else bytes(8)
    x1, y1, x0, y0 = struct.unpack(">4I", stream[8:24])
    count = int.from_bytes(stream[40:42], "big")
    depth = {stream[42 + 3 * i] for i in range(count)}
    bits = depth.pop() if len(depth) == 1 else 255
    del size
    fields = {"height": y1 - y0, "width": x1 - x0, "count": count, "bits": bits} | header
    boxes = [
        box(b"ihdr", struct.pack(">IIHBBBB", *(fields[k] for k in fields), 7, 0, 0)),
    ]
    if bits == 255:
        boxes.append(box(b"bpcc", bytes(stream[42 + 3 * i] for i in range(count))))
    if colours is not None:
        boxes.append(box(b"colr", struct.pack(">BBBI", 1, 0, 0, colours)))
    if palette is not None:
        entries, columns = palette.shape
        kind = palette.dtype.newbyteorder(">")
        widths = bytes([8 * palette.dtype.itemsize - 1] * columns)
        boxes.append(
            box(
                b"pclr",
                struct.pack(">HB", entries, columns),
                widths,
                palette.astype(kind).tobytes(),
            )
        )
        mapping = mapping or [(0, 1, i) for i in range(columns)]
    if mapping is not None:
        boxes.append(box(b"cmap", *(struct.pack(">HBB", *m) for m in mapping)))
    if channels is not None:
        listed = b"".join(struct.pack(">HHH", *c) for c in channels)
        boxes.append(box(b"cdef", struct.pack(">H", len(channels)), listed))
    return SIGNATURE + FILE_TYPE + box(b"jp2h", *boxes) + box(b"jp2c", stream)
