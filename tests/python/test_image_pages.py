# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Files with several pictures: pages of TIFF, frames of GIF, WebP and PNG animations."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from headrace import Pipeline, fn, types
from photos import photo
from PIL import Image, ImageSequence
from tiffs import pages

PICTURES = [np.array(photo(i, (31, 23))) for i in range(4)]


def saved(kind: str, pictures: list[np.ndarray], **options: Any) -> bytes:
    file = io.BytesIO()
    first, *rest = map(Image.fromarray, pictures)
    first.save(file, kind, save_all=True, append_images=rest, **options)
    return file.getvalue()


TIFF = saved("TIFF", PICTURES)
WEBP = saved("WEBP", PICTURES, lossless=True)
GIF = saved("GIF", PICTURES)
PNG = saved("PNG", PICTURES)
PNM = b"".join(b"P6 31 23 255\n" + p.tobytes() for p in PICTURES)
ALL = np.stack(PICTURES)


def run(
    data: bytes, op: Any = fn.decoders.image, strict: bool = False, **kwargs: Any
) -> tuple[np.ndarray, list[str]]:
    """The output, and the messages of warnings."""
    pipe = Pipeline(1, 1, None, strict=strict)
    with pipe:
        pipe.set_outputs(op(fn.external_source(lambda: [np.frombuffer(data, np.uint8)]), **kwargs))
    found = np.array(pipe.run()[0][0])
    return found, [error["message"] for error in pipe.errors()]


def test_a_page_by_its_number() -> None:
    for i, picture in enumerate(PICTURES):
        found, warnings = run(TIFF, page=i)
        np.testing.assert_array_equal(found, picture)
        assert not warnings
    with pytest.raises(RuntimeError, match="no page 4: the file has 4, numbered from 0"):
        run(TIFF, page=4)
    with pytest.raises((RuntimeError, ValueError, TypeError), match="page"):
        run(TIFF, page=-1)


def test_a_page_for_each_sample() -> None:
    pipe = Pipeline(4, 2, None)
    with pipe:
        files = fn.external_source(lambda: [np.frombuffer(TIFF, np.uint8)] * 4)
        page = fn.external_source(lambda: [np.int32(i) for i in (2, 0, 3, 1)])
        pipe.set_outputs(fn.decoders.image(files, page=page))
    for i, found in zip((2, 0, 3, 1), pipe.run()[0]):
        np.testing.assert_array_equal(np.array(found), PICTURES[i])


@pytest.mark.parametrize(
    ("data", "what"),
    [(TIFF, "pages"), (WEBP, "pages"), (GIF, "pages"), (PNG, "images"), (PNM, "images")],
    ids=["TIFF", "WebP", "GIF", "PNG", "PNM"],
)
def test_pages_that_are_left_out(data: bytes, what: str) -> None:
    """The first is taken, with a warning; strict=True makes it an error; page=0 says that it is meant."""
    first = pillow_frames(data)[0] if data is GIF else PICTURES[0]
    found, warnings = run(data)
    np.testing.assert_array_equal(found, first)
    assert warnings and all(f"3 more {what}, which are left out" in text for text in warnings)
    with pytest.raises(RuntimeError, match=f"3 more {what}.*strict=True"):
        run(data, strict=True)
    found, warnings = run(data, strict=True, page=0)
    np.testing.assert_array_equal(found, first)
    assert not warnings
    for name, kwargs in {
        "image_crop": {"crop": (4, 6)},
        "image_random_crop": {},
        "image_slice": {},
    }.items():
        with pytest.raises(RuntimeError, match="left out"):
            run(data, getattr(fn.decoders, name), strict=True, **kwargs)
    assert run(data, fn.peek_image_shape, strict=True)[0].tolist() == [23, 31, 3]


def test_one_page_has_no_warning() -> None:
    for kind in ("TIFF", "WEBP", "PNG"):
        assert not run(saved(kind, PICTURES[:1]), strict=True)[1]


def test_all_pages() -> None:
    pipe = Pipeline(1, 1, None, strict=True)
    with pipe:
        files = fn.external_source(lambda: [np.frombuffer(TIFF, np.uint8)])
        frames = fn.decoders.image(files, all_pages=True)
        cut = fn.decoders.image_slice(
            files, all_pages=True, start=[3, 5], shape=[7, 11], axes=[0, 1]
        )
        crop = fn.decoders.image_crop(
            files, all_pages=True, crop=(7, 11), crop_pos_x=0, crop_pos_y=0
        )
        some = fn.decoders.image_random_crop(files, all_pages=True, seed=5)
        one = fn.decoders.image_random_crop(files, page=1, seed=5)
        shape = fn.peek_image_shape(files, all_pages=True)
        turned = fn.flip(frames, horizontal=1)
        grey = fn.decoders.image(files, all_pages=True, output_type=types.GRAY, dtype=types.FLOAT)
        pipe.set_outputs(frames, cut, crop, some, one, shape, turned, grey)
    out = pipe.run()
    assert out[0].layout() == "FHWC"
    found = [np.array(o[0]) for o in out]
    np.testing.assert_array_equal(found[0], ALL)
    np.testing.assert_array_equal(found[1], ALL[:, 3:10, 5:16])
    np.testing.assert_array_equal(found[2], ALL[:, :7, :11])
    assert found[3].shape[0] == 4 and found[3].ndim == found[4].ndim + 1 == 4
    assert found[5].tolist() == [4, 23, 31, 3]
    np.testing.assert_array_equal(found[6], ALL[:, :, ::-1])
    assert found[7].shape == (4, 23, 31, 1) and found[7].dtype == np.float32


def test_all_pages_of_one() -> None:
    found, _ = run(saved("TIFF", PICTURES[:1]), all_pages=True)
    np.testing.assert_array_equal(found, ALL[:1])
    file = io.BytesIO()
    Image.fromarray(PICTURES[0]).save(file, "PNG")
    np.testing.assert_array_equal(run(file.getvalue(), all_pages=True)[0], ALL[:1])


def pillow_frames(data: bytes, mode: str = "RGB") -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.stack([np.array(f.convert(mode)) for f in ImageSequence.Iterator(image)])


@pytest.mark.parametrize("lossless", [True, False])
def test_webp_animation(lossless: bool) -> None:
    """Frames that cover a part, are blended, and are disposed of."""
    rng = np.random.default_rng(lossless)
    pictures = []
    for i in range(6):
        picture = np.zeros((40, 50, 4), np.uint8)
        y, x = (int(v) for v in rng.integers(0, 20, 2))
        picture[y : y + 15, x : x + 25, :3] = np.array(photo(i, (25, 15)))
        picture[y : y + 15, x : x + 25, 3] = rng.integers(0, 256) if i else 255
        pictures.append(picture)
    data = saved("WEBP", pictures, lossless=lossless, kmax=0, allow_mixed=not lossless)
    expected = pillow_frames(data, "RGBA")
    found, _ = run(data, all_pages=True, output_type=types.ANY_DATA)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(run(data, all_pages=True)[0], expected[..., :3])
    cut, _ = run(data, fn.decoders.image_slice, page=3, start=[3, 5], shape=[17, 31], axes=[0, 1])
    np.testing.assert_array_equal(cut, expected[3, 3:20, 5:36, :3])
    for cut_at in range(30, len(data) - 1, 97):
        with pytest.raises(RuntimeError, match="WebP|webp|page"):
            run(data[:cut_at], all_pages=True)


def test_what_cannot_be_had() -> None:
    unequal = saved("TIFF", [PICTURES[0], PICTURES[1][:9]])
    with pytest.raises(RuntimeError, match="page 1 has 31x9 pixels .* page 0 has 31x23"):
        run(unequal, all_pages=True)
    np.testing.assert_array_equal(run(unequal, page=1)[0], PICTURES[1][:9])
    for data, name in ((PNG, "png"), (PNM, "pnm")):
        with pytest.raises(
            RuntimeError, match=f"of a {name} file with several images, only the first"
        ):
            run(data, page=1)
        with pytest.raises(
            RuntimeError, match=f"of a {name} file with several images, only the first"
        ):
            run(data, all_pages=True)
    with pytest.raises((RuntimeError, ValueError, TypeError), match="page"):
        run(TIFF, page=1, all_pages=True)


def plain_page(picture: np.ndarray, kind: int = 0) -> Any:
    return ([picture.tobytes()], picture.shape, 2, 1, {254: (4, [kind])})


def test_smaller_copies_are_not_left_out() -> None:
    """Thumbnails and masks are marked as such. They can be decoded, but nobody misses them."""
    for kind in (1, 4):
        data = pages([plain_page(PICTURES[0]), plain_page(PICTURES[1][::2, ::2].copy(), kind)])
        assert not run(data, strict=True)[1]
        np.testing.assert_array_equal(run(data, page=1)[0], PICTURES[1][::2, ::2])


def test_damaged_chains() -> None:
    """A ring of pages ends, and what follows a damaged directory does not exist."""
    data = pages([plain_page(p) for p in PICTURES])
    ends = []
    at = struct.unpack_from("<L", data, 4)[0]
    while at:
        ends.append(at + 2 + 12 * struct.unpack_from("<H", data, at)[0])
        at = struct.unpack_from("<L", data, ends[-1])[0]
    assert len(ends) == 4
    for first in range(4):
        for target in (0, 1, 2, 3):
            start = struct.unpack_from("<L", data, 4 if target == 0 else ends[target - 1])[0]
            ring = bytearray(data)
            struct.pack_into("<L", ring, ends[first], start)
            np.testing.assert_array_equal(run(bytes(ring))[0], PICTURES[0])
            if target <= first:
                np.testing.assert_array_equal(run(bytes(ring), page=first)[0], PICTURES[first])
        cut = bytearray(data)
        struct.pack_into("<L", cut, ends[first], 1 << 30)
        np.testing.assert_array_equal(run(bytes(cut), page=first)[0], PICTURES[first])
        with pytest.raises(RuntimeError, match=f"no page {first + 1}"):
            run(bytes(cut), page=first + 1)


def test_many_pages_of_one_strip() -> None:
    """The memory that a small file asks for is limited."""
    sides = {256: (4, [8192]), 257: (4, [8192]), 278: (4, [8192])}
    black = zlib.compress(bytes(8192 * 8192))
    once = ([black], (8192, 8192, 1), 1, 8, sides)
    empty: Any = ([b""], (8192, 8192, 1), 1, 8, {**sides, 273: (4, [8]), 279: (4, [len(black)])})
    with pytest.raises(RuntimeError, match=r"over the limit of .*max_image_pixels"):
        run(pages([once] + [empty] * 40), all_pages=True)


@pytest.mark.parametrize("lossless", [True, False])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_frames_of_webp(mode: str, lossless: bool) -> None:
    """The first frame of animations, also of one that does not fill the image, is what Pillow shows."""
    images = [Image.fromarray(p).convert(mode) for p in PICTURES]
    if mode == "RGBA":
        images[0].putalpha(Image.fromarray(PICTURES[1][..., 0]))
    file = io.BytesIO()
    images[0].save(file, "WEBP", save_all=True, append_images=images[1:], lossless=lossless)
    data = file.getvalue()
    expected = np.asarray(Image.open(io.BytesIO(data)))
    found, _ = run(data, output_type=types.ANY_DATA, page=0)
    np.testing.assert_array_equal(found, expected)
    window, _ = run(
        data, fn.decoders.image_slice, start=[4, 9], shape=[11, 13], axes=[0, 1],
        output_type=types.ANY_DATA, page=0,
    )  # fmt: skip
    np.testing.assert_array_equal(window, expected[4:15, 9:22])
    moved = bytearray(data)
    moved[24:30] = struct.pack("<L", 40)[:3] + struct.pack("<L", 30)[:3]  # a canvas of 41 x 31
    at = data.index(b"ANMF") + 8
    moved[at : at + 6] = b"\3\0\0\2\0\0"  # the frame is at (6, 4)
    expected = np.asarray(Image.open(io.BytesIO(bytes(moved))))
    assert expected.shape[:2] == (31, 41)
    found, _ = run(bytes(moved), output_type=types.ANY_DATA, page=0)
    np.testing.assert_array_equal(found, expected)
    cut, _ = run(
        bytes(moved), fn.decoders.image_slice, start=[2, 3], shape=[6, 38], axes=[0, 1],
        output_type=types.ANY_DATA, page=0,
    )  # fmt: skip
    np.testing.assert_array_equal(cut, expected[2:8, 3:41])
    moved[24:27] = b"\x10\0\0"
    with pytest.raises(RuntimeError, match="the first frame is not inside the image"):
        run(bytes(moved), page=0)
    with pytest.raises(RuntimeError, match="WebP"):
        run(data[: at + 4], page=0)
