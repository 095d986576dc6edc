# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What a transform is called with: an image, or a structure that has one, with masks and boxes.

torchvision's v2 transforms take any structure of lists, tuples and dictionaries. They change what they
know in it and leave the rest alone; so do the pipelines.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._pytree import tree_flatten, tree_unflatten

from headrace.torch._compile.table import owned
from headrace.torch._loading.opened import encoded

_FORMATS = ("XYXY", "XYWH", "CXCYWH")
_LABELS = (torch.uint8, torch.bool, torch.int32, torch.int64, torch.float32, torch.float64)
_MASKS = (torch.uint8, torch.bool, torch.int64)


class Kind(NamedTuple):
    """What a pipeline gets.

    Attributes:
        what: "file" (the path of an image, opened as torchvision's default_loader does), "encoded" (its
            bytes), "PIL" or "tensor"; beside an image, "mask", "boxes" or "labels".
        channels: of an image; the dimensions of masks and labels.
        detail: the type of masks and labels; the format of boxes.
    """

    what: str
    channels: int = 3
    detail: Any = None


class Joint(NamedTuple):
    """An image, and what belongs to it."""

    kinds: tuple[Kind, ...]


AnyKind = Kind | Joint
FILE, ENCODED, RGB = Kind("file"), Kind("encoded"), Kind("PIL", 3)


def kinds_of(kind: AnyKind) -> tuple[Kind, ...]:
    """One per input of the pipeline; the image is the first."""
    return kind.kinds if isinstance(kind, Joint) else (kind,)


def with_image(kind: AnyKind, image: Kind) -> AnyKind:
    """With another kind of image."""
    return Joint((image, *kind.kinds[1:])) if isinstance(kind, Joint) else image


class Call:
    """What a transform is called with.

    Args:
        value: its argument, or a tuple of several.
        transforms: those that the pipeline will run. They say which labels belong to the boxes.

    Attributes:
        kind: None: nothing that a pipeline takes.
    """

    def __init__(self, value: Any, transforms: list[Any]) -> None:
        self._leaves, self._spec = [value], None
        self._places: tuple[int, ...] = (0,)
        self.kind: AnyKind | None = image_kind(value)
        if isinstance(value, (tuple, list, dict)):
            self._leaves, self._spec = tree_flatten(value)
            self._places = ()
            self._look(value, transforms)

    @property
    def image(self) -> Any:
        """The image, if there is one."""
        return self._leaves[self._places[0]] if self._places else None

    def _look(self, value: Any, transforms: list[Any]) -> None:
        tv = sys.modules.get("torchvision.tv_tensors")
        found = [_leaf_kind(leaf, tv) for leaf in self._leaves]
        images = [i for i, kind in enumerate(found) if kind and kind.what in ("PIL", "tensor", "encoded")]
        if tv is None or len(images) != 1 or any(kind == _ODD for kind in found):
            return
        labels = _labels(value, self._leaves, transforms)
        boxes = [i for i, kind in enumerate(found) if kind and kind.what == "boxes"]
        if labels is None or len(boxes) > 1:
            return
        for i in labels:
            found[i] = _label_kind(self._leaves[i], self._leaves[boxes[0]] if boxes else None)
            if found[i] is None:
                return
        others = [i for i, kind in enumerate(found) if kind and i != images[0]]
        sized = [i for i in (images[0], *others) if i not in labels]
        if len({_size(self._leaves[i], tv) for i in sized}) > 1:  # many transforms refuse it
            return
        self._places = (images[0], *others)
        kinds = [found[i] for i in self._places]
        self.kind = Joint(tuple(kind for kind in kinds if kind is not None))

    def arrays(self) -> list[NDArray[Any]] | None:
        """What the pipeline gets. None: a mask has values that do not fit."""
        assert self.kind is not None
        found = []
        for kind, place in zip(kinds_of(self.kind), self._places):
            array = _ARRAYS.get(kind.what, image_array)(self._leaves[place])
            if array is None:
                return None
            found.append(array)
        return found

    def replaced(self, make: Callable[[int, Any], Any], result: Any = None) -> Any:
        """The structure with `make(slot, leaf)` in place of what the pipeline makes.

        Args:
            result: what the transforms returned, which has these leaves then.
        """
        leaves = list(self._leaves)
        if result is not None:
            leaves = [result] if self._spec is None else tree_flatten(result)[0]
        if len(leaves) != len(self._leaves):
            raise TypeError("the transform returns another structure than it gets")
        for slot, place in enumerate(self._places):
            leaves[place] = make(slot, leaves[place])
        return leaves[0] if self._spec is None else tree_unflatten(leaves, self._spec)


def ran(parts: list[Any], value: Any, several: bool) -> Any:
    """What transforms make of the arguments of the first one, as a Compose calls them."""
    for part in parts:
        value = part(*value) if several else part(value)
    return value


_ODD = Kind("odd")  # a pipeline does not take it, though a transform would change it


def image_kind(image: Any) -> Kind | None:
    """What this image is to a transform; None: nothing that a pipeline takes."""
    if isinstance(image, torch.Tensor):
        fits = image.dtype == torch.uint8 and image.dim() == 3 and image.shape[0] in (1, 3)
        return Kind("tensor", image.shape[0]) if fits and not image.is_cuda else None
    if encoded(image) is not None:
        return ENCODED
    channels = {"RGB": 3, "L": 1}.get(getattr(image, "mode", ""))
    return Kind("PIL", channels) if channels else None


def _leaf_kind(leaf: Any, tv: Any) -> Kind | None:
    if hasattr(leaf, "mode") and hasattr(leaf, "getbands"):
        return image_kind(leaf) or _ODD
    if tv is None or not isinstance(leaf, tv.TVTensor):
        return None
    if leaf.is_cuda or leaf.requires_grad:
        return _ODD
    if type(leaf) is tv.Image:
        return image_kind(leaf) or _ODD
    if type(leaf) is tv.Mask and leaf.dtype in _MASKS:
        if leaf.dim() == 2 or (leaf.dim() == 3 and leaf.shape[0] == 1):
            return Kind("mask", leaf.dim(), str(leaf.dtype))
    if type(leaf) is tv.BoundingBoxes and leaf.dtype == torch.float32:
        fits = leaf.dim() == 2 and leaf.shape[1] == 4 and leaf.format.name in _FORMATS
        if fits and getattr(leaf, "clamping_mode", "soft") == "soft":
            return Kind("boxes", 2, leaf.format.name)
    return _ODD


def _label_kind(labels: Any, boxes: Any) -> Kind | None:
    plain = type(labels) is torch.Tensor and not labels.is_cuda and not labels.requires_grad
    if not plain or boxes is None or labels.dim() == 0 or len(labels) != len(boxes):
        return None
    return Kind("labels", labels.dim(), str(labels.dtype)) if labels.dtype in _LABELS else None


def _labels(value: Any, leaves: list[Any], transforms: list[Any]) -> list[int] | None:
    """The places of the labels that SanitizeBoundingBoxes removes with boxes. None: it is unclear."""
    places: list[list[int]] = []
    for transform in transforms:
        if type(transform).__name__ != "SanitizeBoundingBoxes" or not owned(type(transform)):
            continue
        try:
            found = transform._labels_getter(value)
        except Exception:  # the transform will say so
            return None
        every = [] if found is None else list(found) if isinstance(found, (list, tuple)) else [found]
        where = [[i for i, leaf in enumerate(leaves) if leaf is one] for one in every]
        if any(len(one) != 1 for one in where):
            return None
        places.append(sorted({one[0] for one in where}))
    if any(one != places[0] for one in places):
        return None
    return places[0] if places else []


def _size(leaf: Any, tv: Any) -> tuple[int, int]:
    """Height and width."""
    if isinstance(leaf, tv.BoundingBoxes):
        return tuple(leaf.canvas_size)  # type: ignore[return-value]
    if isinstance(leaf, torch.Tensor):
        return tuple(leaf.shape[-2:])
    return leaf.size[1], leaf.size[0]


def image_array(image: Any) -> NDArray[np.uint8]:
    """The bytes HWC of an image that has a kind, or its file."""
    file = encoded(image)
    if file is not None:
        return np.frombuffer(file, np.uint8)
    if isinstance(image, torch.Tensor):
        return np.array(np.moveaxis(image.numpy(), 0, 2), order="C")  # the code may change its tensor
    array = np.asarray(image)
    return array if array.ndim == 3 else array[:, :, np.newaxis]


def image_of(array: NDArray[np.uint8], kind: Kind) -> Any:
    """The image of which `image_array` made this, but for what is not in the pixels."""
    from PIL import Image

    if kind.what == "tensor":
        return torch.from_numpy(array).permute(2, 0, 1).clone()
    if kind == ENCODED:
        return Image.open(io.BytesIO(array.tobytes())).convert("RGB")
    return Image.fromarray(array if kind.channels == 3 else array[:, :, 0])


def _mask_array(mask: Any) -> NDArray[np.uint8] | None:
    array = mask.numpy()
    if array.dtype == np.int64 and array.size and (array.min() < 0 or array.max() > 255):
        return None
    return np.array(array.reshape(*array.shape[-2:], 1), np.uint8)


def _rows(boxes: Any) -> NDArray[np.float32]:
    """As `src/ops/torchvision/rows.h` says."""
    rows = np.zeros((len(boxes) + 1, 5), np.float32)
    rows[0, 2:4] = boxes.canvas_size[::-1]
    rows[1:, :4] = boxes.numpy()
    rows[:, 4] = np.arange(-1, len(boxes))
    if boxes.format.name == "XYWH":
        rows[1:, 2:4] += rows[1:, :2]
    elif boxes.format.name == "CXCYWH":
        rows[1:, :2] -= rows[1:, 2:4] * np.float32(0.5)
        rows[1:, 2:4] += rows[1:, :2]
    return rows


def _label_array(labels: Any) -> NDArray[Any]:
    return np.array(labels.numpy(), order="C")


_ARRAYS: dict[str, Callable[[Any], NDArray[Any] | None]] = {
    "mask": _mask_array,
    "boxes": _rows,
    "labels": _label_array,
}
