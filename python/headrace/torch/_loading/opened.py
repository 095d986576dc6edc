# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Images that Pillow opens, but decodes only if somebody needs their pixels.

`opening` replaces `PIL.Image.open` while a data set's code runs. What it opens is Pillow's own object
until its pixels are used; if a transform of the pipeline gets it first, the pipeline decodes the file.
"""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Iterator
from typing import Any

try:
    from PIL import Image, JpegImagePlugin, PngImagePlugin
except ImportError:  # then no code opens images with it
    Image = None  # type: ignore[assignment]

_BYTES = "_headrace_bytes"  # the attribute that has the file until the pixels are used
_ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}
_thread = threading.local()


def encoded(image: Any) -> bytes | None:
    """The file from which the RGB pixels of this image would be decoded, if they have not been."""
    found = getattr(image, "__dict__", {}).get(_BYTES)
    return found if found is not None and image.mode == "RGB" else None


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Within it, this thread opens images that are decoded when they are needed. The caller holds a lock."""
    if Image is None or not isinstance(getattr(Image.Image, "im", None), property):
        yield
        return
    original, before = Image.open, getattr(_thread, "opening", False)

    def opened(*args: Any, **kwargs: Any) -> Any:
        image = original(*args, **kwargs)
        return _deferred(image, original) if getattr(_thread, "opening", False) else image

    _thread.opening, Image.open = True, opened
    try:
        yield
    finally:
        _thread.opening, Image.open = before, original


def _deferred(image: Any, reopen: Callable[[Any], Any]) -> Any:
    """This image, or one that is decoded later."""
    if type(image) not in (JpegImagePlugin.JpegImageFile, PngImagePlugin.PngImageFile):
        return image
    if image.mode not in ("RGB", "L") or "transparency" in image.info or image.fp is None:
        return image
    if image.format not in _ENDS or getattr(image, "is_animated", False):  # MPO, APNG
        return image
    if image.format == "PNG" and [tile[3] for tile in image.tile] != [
        image.mode
    ]:  # 16 bits, 2 bits
        return image
    data = _content(image.fp)
    # Pillow says of a file that is cut off what it has to say. In PNG, it finds metadata after the pixels.
    if not _ends(data, _ENDS[image.format]) or image.format == "PNG" and b"eXIf" in data:
        return image
    if getattr(image, "_exclusive_fp", False):
        image.fp.close()
        image.fp = io.BytesIO(data)  # for those who look whether there is one
    kind = type(image)
    if kind not in _kinds:
        _kinds[kind] = _deferring(kind)
    image.__dict__[_BYTES], image.__dict__["_reopen"] = data, reopen
    image.__class__ = _kinds[kind]
    return image


def _content(file: Any) -> bytes:
    """All of a file, whose position stays."""
    if type(file) is io.BytesIO:
        return file.getvalue()  # which copies nothing
    place = file.tell()
    file.seek(0)
    data: bytes = file.read()
    file.seek(place)
    return data


def _ends(data: bytes, end: bytes) -> bool:
    """Whether data end so, but for zeros."""
    return data.endswith(end) or data[-1:] == b"\0" and data.rstrip(b"\0").endswith(end)


class _Pixels:
    """What `load` returns: access to the pixels, which are decoded when they are accessed."""

    def __init__(self, image: Any) -> None:
        self._image = image

    def __getitem__(self, place: Any) -> Any:
        return self._image.im and self._image.load()[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._image.im and self._image.load().__setitem__(place, value)


def _deferring(kind: Any) -> Any:
    """A subclass of Pillow's class of an image, which has no pixels yet. With pixels, the object is of
    the class itself."""

    def settled(image: Any, load: bool) -> None:
        data, reopen = image.__dict__.pop(_BYTES), image.__dict__.pop("_reopen")
        image.__class__ = kind
        fresh = reopen(io.BytesIO(data))
        if kind is Image.Image:
            image.im = fresh.convert("RGB").im
            return
        kept = {name: image.__dict__[name] for name in ("filename", "info") if name in vars(image)}
        image.__dict__ = {**fresh.__dict__, **kept}
        image.__dict__.pop(_BYTES, None)  # of a loader whose data set has another loader
        if load:
            image.load()

    def needs(name: str, load: bool) -> Callable[..., Any]:
        def method(image: Any, *args: Any, **kwargs: Any) -> Any:
            settled(image, load)
            return getattr(image, name)(*args, **kwargs)

        return method

    def get_im(image: Any) -> Any:
        settled(image, True)
        return image.im

    def reduced(image: Any, protocol: Any) -> Any:
        """For copy and pickle, which make an object of the same class."""
        settled(image, True)
        return image.__reduce_ex__(protocol)

    def convert(image: Any, mode: Any = None, *args: Any, **kwargs: Any) -> Any:
        if mode != "RGB" or args or kwargs:
            settled(image, True)
            return image.convert(mode, *args, **kwargs)
        new = Image.Image()
        new._mode, new._size, new.info = "RGB", image.size, image.info.copy()
        new.__dict__[_BYTES], new.__dict__["_reopen"] = image.__dict__[_BYTES], image._reopen
        new.__class__ = _plain()
        return new

    def copy(image: Any) -> Any:
        return convert(image, "RGB") if image.mode == "RGB" else needs("copy", True)(image)

    def load(image: Any) -> Any:
        return _Pixels(image)

    members: dict[str, Any] = {"load": load, "convert": convert, "copy": copy}
    members |= {"__reduce_ex__": reduced}
    members |= {"im": property(get_im, Image.Image.im.fset)}  # type: ignore[attr-defined]
    for name in ("draft", "seek", "verify"):
        if hasattr(kind, name):
            members[name] = needs(name, False)
    if hasattr(kind, "text"):
        members["text"] = property(lambda image: settled(image, True) or image.text)
    return type(kind.__name__, (kind,), {**members, "__module__": kind.__module__})


def _plain() -> Any:
    if Image.Image not in _kinds:
        _kinds[Image.Image] = _deferring(Image.Image)
    return _kinds[Image.Image]


_kinds: dict[Any, Any] = {}
