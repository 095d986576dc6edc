# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""GIF: every frame of generated files equals Pillow's; damaged files are errors."""

from __future__ import annotations

import dataclasses
import io
import struct
import warnings
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from PIL import Image

# ---- a writer that can do what no encoder does ----


def lzw(pixels: bytes, bits: int, rng: np.random.Generator) -> bytes:
    """Codes of the pixels, with a clear code now and then."""
    clear, codes = 1 << bits, {bytes([i]): i for i in range(1 << bits)}
    often = int(rng.choice([0, 50, 3000]))
    out, count, width = 0, 0, bits + 1
    table, following, last = dict(codes), clear + 2, b""

    def put(code: int) -> None:
        nonlocal out, count
        out |= code << count
        count += width

    put(clear)
    for byte in pixels:
        text = last + bytes([byte])
        if text in table:
            last = text
            continue
        put(table[last])
        if following < 4096:
            table[text] = following
            following += 1
            if following > 1 << width and width < 12:
                width += 1
        last = bytes([byte])
        if often and rng.integers(often) == 0:
            put(table[last])
            last = b""
            # The decoder is one string behind, and makes its next code wider for that of `last`.
            if following + 1 > 1 << width and following < 4096 and width < 12:
                width += 1
            put(clear)
            table, following, width = dict(codes), clear + 2, bits + 1
    if last:
        put(table[last])
        if following + 1 > 1 << width and following < 4096 and width < 12:
            width += 1
    put(clear + 1)
    return out.to_bytes((count + 7) // 8, "little")


def blocks(data: bytes, size: int = 255) -> bytes:
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return b"".join(bytes([len(p)]) + p for p in parts) + b"\0"


@dataclasses.dataclass
class Frame:
    pixels: np.ndarray  # numbers of colours
    at: tuple[int, int] = (0, 0)
    table: np.ndarray | None = None
    transparent: int | None = None
    disposal: int = 0
    interlaced: bool = False
    control: bool = True


def order(height: int, interlaced: bool) -> list[int]:
    if not interlaced:
        return list(range(height))
    return [
        y for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(first, height, step)
    ]


def flags_of(table: np.ndarray | None) -> int:
    return 0 if table is None else 0x80 | (len(table).bit_length() - 2)


def write(
    size: tuple[int, int],
    table: np.ndarray | None,
    background: int,
    frames: list[Frame],
    bits: int,
    seed: int = 0,
) -> bytes:
    rng = np.random.default_rng(seed)
    out = b"GIF89a" + struct.pack("<HHBBB", size[1], size[0], flags_of(table), background, 0)
    out += b"" if table is None else table.tobytes()
    out += b"!\xfe" + blocks(b"a comment")
    for f in frames:
        if f.control:
            flags = f.disposal << 2 | (f.transparent is not None)
            out += b"!\xf9\x04" + struct.pack("<BHB", flags, 10, f.transparent or 0) + b"\0"
        h, w = f.pixels.shape
        out += b"," + struct.pack(
            "<HHHHB", f.at[1], f.at[0], w, h, flags_of(f.table) | f.interlaced << 6
        )
        out += b"" if f.table is None else f.table.tobytes()
        stored = f.pixels[order(h, f.interlaced)].astype(np.uint8).tobytes()
        out += bytes([bits]) + blocks(lzw(stored, bits, rng), int(rng.integers(1, 256)))
    return out + b";"


def random_file(seed: int, pages: int) -> bytes:
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(2, 9))
    size = (int(rng.integers(1, 40)), int(rng.integers(1, 40)))

    def make_table() -> np.ndarray:
        return rng.integers(0, 256, (1 << bits, 3), np.uint8)

    shared = None if rng.integers(8) == 0 and pages == 1 else make_table()
    frames = []
    for _ in range(pages):
        y, x = int(rng.integers(size[0])), int(rng.integers(size[1]))
        h, w = int(rng.integers(1, size[0] - y + 1)), int(rng.integers(1, size[1] - x + 1))
        if rng.integers(2):
            y, x, h, w = 0, 0, *size
        runs = rng.integers(0, 1 << bits, (h, w)) // int(rng.integers(1, 1 << bits))
        frames.append(
            Frame(
                runs,
                (y, x),
                make_table() if shared is not None and rng.integers(3) == 0 else None,
                int(rng.integers(1 << bits)) if rng.integers(2) else None,
                int(rng.integers(4)),
                bool(rng.integers(2)),
                bool(rng.integers(4)),
            )
        )
    return write(size, shared, int(rng.integers(1 << bits)), frames, bits, seed)


# ---- comparing ----


def pillow(data: bytes, page: int, mode: str) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(page + 1):
            image.seek(i)
            image.load()
        return np.array(image.convert(mode))


def run(data: bytes, **kwargs: Any) -> np.ndarray:
    with Pipeline(1, 1, None) as pipe:
        pipe.set_outputs(
            fn.decoders.image(fn.external_source(lambda: [np.frombuffer(data, np.uint8)]), **kwargs)
        )
    return np.array(pipe.run()[0][0])


@pytest.mark.parametrize("seed", range(60))
def test_first_frame(seed: int) -> None:
    data = random_file(seed, 1 if seed % 2 else 3)
    np.testing.assert_array_equal(run(data, page=0), pillow(data, 0, "RGB"))
    found = run(data, page=0, output_type=types.ANY_DATA)
    mode = "RGBA" if found.shape[2] == 4 else "RGB"
    np.testing.assert_array_equal(found, pillow(data, 0, mode))
    with Image.open(io.BytesIO(data)) as image:
        assert ("transparency" in image.info) == (mode == "RGBA")


@pytest.mark.parametrize("seed", range(60))
def test_animations(seed: int) -> None:
    """All frames at once, a window of them, and one by its number."""
    data = random_file(seed, pages := 2 + seed % 5)
    frames = run(data, all_pages=True)
    expected = np.stack([pillow(data, i, "RGB") for i in range(pages)])
    np.testing.assert_array_equal(frames, expected)
    with_alpha = run(data, all_pages=True, output_type=types.ANY_DATA)
    mode = "RGBA" if with_alpha.shape[-1] == 4 else "RGB"
    np.testing.assert_array_equal(
        with_alpha, np.stack([pillow(data, i, mode) for i in range(pages)])
    )
    np.testing.assert_array_equal(run(data, page=pages - 1), expected[-1])


def test_long_strings() -> None:
    """Tables that fill up with and without being cleared."""
    for seed, bits in enumerate((2, 8, 8, 5)):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 256, (1 << bits, 3), np.uint8)
        pixels = rng.integers(0, 1 << bits, (301, 299))
        if seed == 2:
            pixels[:] = 7
        data = write((301, 299), table, 0, [Frame(pixels)], bits, seed)
        np.testing.assert_array_equal(run(data), table[pixels])


def test_encoded_by_pillow() -> None:
    rng = np.random.default_rng(1)
    pictures = [Image.fromarray(rng.integers(0, 256, (20, 30, 3), np.uint8)) for _ in range(4)]
    file = io.BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], disposal=2, loop=0)
    data = file.getvalue()
    expected = np.stack([pillow(data, i, "RGB") for i in range(4)])
    np.testing.assert_array_equal(run(data, all_pages=True), expected)
    with Pipeline(1, 1, None) as pipe:
        files = fn.external_source(lambda: [np.frombuffer(data, np.uint8)])
        pipe.set_outputs(
            fn.decoders.image_slice(files, page=2, start=[3, 5], shape=[7, 11], axes=[0, 1]),
            fn.peek_image_shape(files),
            fn.decoders.image(files, page=1, output_type=types.GRAY, dtype=types.FLOAT),
        )
    window, shape, grey = (np.array(o[0]) for o in pipe.run())
    np.testing.assert_array_equal(window, expected[2, 3:10, 5:16])
    assert list(shape) == [20, 30, 3]
    luma = expected[1] @ [0.299, 0.587, 0.114] / 255
    assert grey.shape == (20, 30, 1)
    assert np.abs(grey[..., 0] - luma).max() < 0.51 / 255


# ---- damage ----

TABLE = np.arange(12, dtype=np.uint8).reshape(4, 3) * 20
GOOD = Frame(np.arange(64).reshape(8, 8) % 4)


def test_damage_is_an_error() -> None:
    outside = Frame(GOOD.pixels, (4, 0))
    high = Frame(GOOD.pixels + 2)  # 3 bits: numbers up to 5 of a table of 4
    whole = write((8, 8), TABLE, 0, [GOOD], 2)
    two = write((8, 8), TABLE, 0, [GOOD, GOOD], 2)
    cases = [
        (write((8, 8), TABLE, 0, [GOOD, outside], 2), {"page": 1}, "not inside the image"),
        (write((8, 8), TABLE, 0, [high], 3), {}, "colour [45] of a table of 4"),
        (write((8, 8), TABLE, 0, [], 2), {}, "has no image"),
        (write((0, 0), TABLE, 0, [Frame(GOOD.pixels[:0])], 2), {}, "no pixels"),
        (whole[:-2], {}, "ends early"),
        (whole[:9], {}, "ends early"),
        (two[:-9], {"all_pages": True}, "page 1: GIF: the file ends early"),
        (whole.replace(b";", b"?"), {"page": 1}, "unknown kind 0x3f"),
        (whole, {"page": 1}, "no page 1"),
    ]
    for data, arguments, message in cases:
        with pytest.raises(RuntimeError, match=message):
            run(data, **arguments)
    np.testing.assert_array_equal(run(two[:-9], page=0), TABLE[GOOD.pixels])


def test_short_data() -> None:
    """Fewer pixels than the image has."""
    rows = write((8, 8), TABLE, 0, [Frame(GOOD.pixels[:5])], 2)
    head = rows.index(b",")
    data = rows[: head + 7] + b"\x08" + rows[head + 8 :]
    with pytest.raises(RuntimeError, match="the data end before the pixels do"):
        run(data)


def test_mutations() -> None:
    """Whatever is changed: an image or an error, of the size that the header gives."""
    rng = np.random.default_rng(0)
    whole = random_file(11, 3)
    outcomes = set()
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(6, len(data)))] = int(rng.integers(256))
        try:
            frames = run(bytes(data), all_pages=True)
        except RuntimeError as error:
            outcomes.add("GIF" in str(error) or "page" in str(error) or "pixels" in str(error))
        else:
            assert frames.ndim == 4
            outcomes.add("read")
    assert {True, "read"} <= outcomes <= {True, "read"}
