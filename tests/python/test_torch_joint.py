# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Images with masks and boxes through `headrace.torch.DataLoader`: what moves one moves all.

Transforms without randomness are compared with torchvision's own results. For random ones, the image
shows where each pixel comes from, so that masks and boxes can be computed from it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import torch.utils.data as data  # noqa: E402
from headrace.torch import DataLoader  # noqa: E402
from torch.utils._pytree import tree_flatten  # noqa: E402
from torchvision import tv_tensors as tv  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

COUNT = 9
DTYPES = {tv.Image: torch.float32, tv.Mask: torch.int64, "others": None}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Smooth images, and masks with an edge everywhere."""
    folder = tmp_path_factory.mktemp("joint")
    for k in range(COUNT):
        rng = np.random.default_rng(k)
        small = Image.fromarray(rng.integers(0, 256, (6, 7, 3), np.uint8))
        small.resize((90 + k, 71), Image.Resampling.BICUBIC).save(folder / f"{k}.png")
        mask = Image.fromarray(rng.integers(0, 21, (71, 90 + k), np.uint8))
        mask.putpalette(list(range(256)) * 3)
        mask.save(folder / f"{k}.mask.png")
    return folder


class Segmentation(data.Dataset):
    def __init__(self, root: Path, transforms: Any, mask: Callable[[Any], Any] = tv.Mask) -> None:
        self.root, self.transforms, self.mask = root, transforms, mask

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.root / f"{index}.png").convert("RGB")
        mask = self.mask(Image.open(self.root / f"{index}.mask.png"))
        return self.transforms(image, mask)


def number(index: int) -> int:
    """How many boxes a sample has."""
    return index % 4


class Detection(data.Dataset):
    """`form`: of the boxes."""

    def __init__(self, root: Path, transforms: Any, form: str = "XYXY") -> None:
        self.root, self.transforms, self.form = root, transforms, form

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.root / f"{index}.png").convert("RGB")
        rng, n = np.random.default_rng(index), number(index)
        boxes = rng.uniform(0, 45, (n, 4)).astype(np.float32)
        boxes[:, 2:] += boxes[:, :2] * (self.form == "XYXY")
        size = {"canvas_size": (71, 90 + index)}
        target = {
            "boxes": tv.BoundingBoxes(torch.from_numpy(boxes), format=self.form, **size),
            "labels": torch.arange(n) * 10,
            "id": index,
        }
        return self.transforms(image, target)


def listed(samples: Any) -> Any:
    return tuple(zip(*samples))


def tail(*more: Any) -> list[Any]:
    return [v2.ToImage(), v2.ToDtype(DTYPES, scale=True), *more]


def leaves(batch: Any) -> list[Any]:
    return list(tree_flatten(batch)[0])


def check(dataset: Any, differing: float = 0.0, atol: float = 1e-3, **given: Any) -> DataLoader:
    """Compares with PyTorch's loader. `differing`: the share of the values of masks that may differ."""
    expected = list(data.DataLoader(dataset, 4, **given))
    loader = DataLoader(dataset, 4, **given)
    assert loader.explain().way == "workers", str(loader.explain())
    found = list(loader)
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected):
        assert tree_flatten(got)[1] == tree_flatten(wanted)[1]
        for one, other in zip(leaves(got), leaves(wanted)):
            compare(one, other, differing, atol)
    return loader


def compare(one: Any, other: Any, differing: float, atol: float) -> None:
    assert type(one) is type(other)
    if not isinstance(other, torch.Tensor):
        assert one == other
        return
    assert one.shape == other.shape and one.dtype == other.dtype
    if isinstance(other, tv.BoundingBoxes):
        assert one.format == other.format and tuple(one.canvas_size) == tuple(other.canvas_size)
    if other.numel() == 0:
        return
    off = (one.double() - other.double()).abs()
    if other.dtype == torch.float32 and other.dim() >= 3:
        assert off.max() <= 1.01 / 255 or (off > 1.01 / 255).double().mean() <= differing
    elif other.dtype == torch.float32:
        assert off.max() <= atol
    elif isinstance(other, tv.Image) or (other.dtype == torch.uint8 and other.shape[-3] == 3):
        assert off.max() <= 1 or (off > 1).double().mean() <= differing
    else:
        assert (off > 0).double().mean() <= differing


SAME: dict[str, list[Any]] = {
    "resize": [v2.Resize((40, 50))],
    "shorter side": [v2.Resize(31)],
    "longer side": [v2.Resize(40, max_size=45)],
    "larger": [v2.Resize((90, 131))],
    "bicubic": [v2.Resize((35, 50), interpolation=3)],
    "centre": [v2.CenterCrop((36, 60))],
    "centre with padding": [v2.CenterCrop((80, 120))],
    "pad": [v2.Pad((3, 5, 7, 2), fill={tv.Mask: 255, "others": 9})],
    "flips": [v2.RandomHorizontalFlip(1.0), v2.RandomVerticalFlip(1.0)],
    "apply": [v2.RandomApply([v2.RandomRotation((180, 180))], p=1.0)],
    "choice": [v2.RandomChoice([v2.RandomRotation((0, 0)), v2.RandomInvert(1.0)], p=[0.0, 1.0])],
    "colours": [v2.ColorJitter((1.3, 1.3)), v2.RandomSolarize(100, p=1.0), v2.Resize((40, 50))],
}
WARPS: dict[str, list[Any]] = {
    "rotation": [v2.RandomRotation((30, 30), fill={tv.Mask: 255, "others": 0})],
    "affine": [v2.RandomAffine((20, 20), (0.0, 0.0), (1.2, 1.2), (5, 5, 3, 3))],
}


@pytest.mark.parametrize("name", SAME)
def test_masks_are_those_of_torchvision(root: Path, name: str) -> None:
    loader = check(Segmentation(root, v2.Compose([*SAME[name], *tail()])), collate_fn=listed)
    assert all(step.compiled for step in loader.explain().steps)


@pytest.mark.parametrize("name", WARPS)
def test_masks_turn_with_their_image(root: Path, name: str) -> None:
    """PyTorch rounds positions another way, so some pixels are those next to the right ones."""
    check(Segmentation(root, v2.Compose([*WARPS[name], *tail()])), 0.02, collate_fn=listed)


@pytest.mark.parametrize("name", [*SAME, *WARPS])
def test_boxes_are_those_of_torchvision(root: Path, name: str) -> None:
    steps = {**SAME, **WARPS}
    form = ("XYXY", "XYWH", "CXCYWH")[list(steps).index(name) % 3]
    dataset = Detection(root, v2.Compose([*steps[name], *tail()]), form)
    # torchvision's boxes are a pixel off their image if it pads an odd number of pixels.
    atol = 1.0 if name == "centre with padding" else 1e-3
    loader = check(dataset, 0.01, atol, collate_fn=listed)
    assert all(step.compiled for step in loader.explain().steps)


@pytest.mark.parametrize("form", ["XYXY", "XYWH", "CXCYWH"])
def test_boxes_are_removed_with_their_labels(root: Path, form: str) -> None:
    sanitize = [v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=9.0)]
    steps = [v2.CenterCrop(50), *tail(), v2.ConvertBoundingBoxFormat("CXCYWH"), *sanitize]
    dataset = Detection(root, v2.Compose(steps), form)
    check(dataset, collate_fn=listed)
    kept = [len(target["labels"]) for target in listed(dataset[i] for i in range(COUNT))[1]]
    assert 0 < sum(kept) < sum(map(number, range(COUNT)))  # some, but not all


def test_pure_tensors(root: Path) -> None:
    check(Detection(root, v2.Compose([v2.Resize(30), *tail(v2.ToPureTensor())])), collate_fn=listed)


MASKS: dict[str, Callable[[Any], Any]] = {
    "two dimensions": lambda opened: tv.Mask(np.array(opened)),
    "int64": lambda opened: tv.Mask(torch.from_numpy(np.array(opened)).long()),
    "bool": lambda opened: tv.Mask(torch.from_numpy(np.array(opened) > 9)),
}


@pytest.mark.parametrize("name", MASKS)
def test_kinds_of_masks(root: Path, name: str) -> None:
    steps = [v2.Resize((40, 50)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    check(Segmentation(root, v2.Compose(steps), MASKS[name]))


def test_values_that_do_not_fit_into_bytes(root: Path) -> None:
    def mask(opened: Any) -> Any:
        pixels = torch.from_numpy(np.array(opened)).long()
        return tv.Mask(torch.where(pixels == 3, -1, pixels))

    steps = [v2.Resize((40, 50)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    check(Segmentation(root, v2.Compose(steps), mask))


class Positions(data.Dataset):
    """The image has the position of each pixel, the mask a function of it, and boxes are pixels."""

    SIDE, POINTS = 200, [(20, 30), (100, 90), (150, 40), (61, 170)]

    def __init__(self, transforms: Any) -> None:
        self.transforms = transforms

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        y, x = np.mgrid[: self.SIDE, : self.SIDE].astype(np.uint8)
        pixels = np.stack([y, x, np.full_like(y, 255)], 2)
        mask = tv.Mask(torch.from_numpy((y ^ x).astype(np.uint8)))
        boxes = torch.tensor([[x, y, x + 8, y + 8] for x, y in self.POINTS], dtype=torch.float32)
        size = {"canvas_size": (self.SIDE, self.SIDE)}
        found = tv.BoundingBoxes(boxes, format="XYXY", **size)
        return self.transforms(Image.fromarray(pixels), {"mask": mask, "boxes": found})


RANDOM: dict[str, list[Any]] = {
    "window": [v2.RandomCrop(120)],
    "padding": [v2.RandomCrop(220, padding=40)],
    "flips": [v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()],
    "rotation": [v2.RandomRotation(40, interpolation=0)],
    "affine": [v2.RandomAffine(20, (0.2, 0.2), (0.8, 1.2), interpolation=0)],
    "perspective": [v2.RandomPerspective(0.4, p=0.8, interpolation=0)],
    "several": [
        v2.RandomAffine(20, (0.1, 0.1), interpolation=0),
        v2.RandomHorizontalFlip(),
        v2.RandomApply([v2.RandomRotation(30, interpolation=0)]),
        v2.RandomCrop(150),
    ],
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_transforms_draw_once_for_all(name: str) -> None:
    torch.manual_seed(4)
    dataset = Positions(v2.Compose([*RANDOM[name], v2.ToImage()]))
    loader = DataLoader(dataset, 8, collate_fn=listed)
    assert loader.explain().way == "workers"
    assert all(step.compiled for step in loader.explain().steps)
    seen = set()
    for images, targets in loader:
        for image, target in zip(images, targets):
            y, x, inside = (plane.numpy().astype(int) for plane in image)
            mask, valid = target["mask"].numpy(), inside == 255
            assert mask.shape == y.shape and valid.mean() > 0.1
            assert np.array_equal(mask[valid], (y ^ x)[valid])
            assert not mask[~valid].any()
            seen.add(image.numpy().tobytes())
            for box, (left, top) in zip(target["boxes"].numpy(), Positions.POINTS):
                found = valid & (abs(x - left - 4) < 3.5) & (abs(y - top - 4) < 3.5)
                rows, columns = np.nonzero(found)
                if not found.any():
                    continue
                assert box[0] - 1 <= columns.min() and columns.max() <= box[2] + 1
                assert box[1] - 1 <= rows.min() and rows.max() <= box[3] + 1
                assert (box[2] - box[0]) * (box[3] - box[1]) < 500
    assert len(seen) > 3


def test_resized_windows_have_the_masks_of_their_image() -> None:
    steps = [v2.RandomResizedCrop(100, scale=(0.3, 0.9), interpolation=2), v2.ToImage()]
    for images, targets in DataLoader(Positions(v2.Compose(steps)), 8, collate_fn=listed):
        for image, target in zip(images, targets):
            y, x = image[0].numpy().astype(int), image[1].numpy().astype(int)
            mask = target["mask"].numpy()
            # Masks take the pixel at the beginning of what an image averages.
            near = [(y + a) ^ (x + b) == mask for a in range(-2, 3) for b in range(-2, 3)]
            assert np.any(near, 0).mean() > 0.99


def test_the_same_with_workers(root: Path) -> None:
    steps = [v2.RandomCrop(60), v2.RandomHorizontalFlip(), *tail()]
    dataset = Detection(root, v2.Compose(steps))
    batches = []
    for workers in (0, 2):
        torch.manual_seed(3)
        loader = DataLoader(dataset, 4, num_workers=workers, collate_fn=listed)
        batches.append([leaves(batch) for batch in loader])
    for one, other in zip(*batches):
        assert all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
                   for a, b in zip(one, other))  # fmt: skip


def test_resume_continues_with_the_same_numbers(root: Path) -> None:
    dataset = Detection(root, v2.Compose([v2.RandomCrop(60), v2.RandomHorizontalFlip(), *tail()]))
    loader = DataLoader(dataset, 2, collate_fn=listed)
    running = iter(loader)
    next(running)
    state, expected = loader.state_dict(), leaves(next(running))
    again = DataLoader(dataset, 2, collate_fn=listed)
    again.load_state_dict(state)
    for one, other in zip(leaves(next(iter(again))), expected):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


REFUSED: dict[str, tuple[list[Any], str]] = {
    "not compiled": ([v2.RandomZoomOut(p=0.0)], "no operator does the same"),
    "images alone": ([v2.RandomErasing(p=0.0)], "for images alone"),
    "grown": ([v2.RandomRotation((0, 0), expand=True)], "`expand` with boxes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_compiled_runs_in_python(root: Path, name: str) -> None:
    """It is named, and the transforms after it are compiled."""
    steps, reason = REFUSED[name]
    transforms = v2.Compose([v2.ToImage(), *steps, v2.Resize((30, 40))])
    loader = check(Detection(root, transforms), 0.01, atol=0.05, collate_fn=listed)
    first = [step for step in loader.explain().steps if not step.compiled]
    assert reason in first[-1].reason and loader.explain().steps[-1].compiled


class Several(Segmentation):
    """Masks of several objects: `explain` says that Python does it all."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.root / f"{index}.png").convert("RGB")
        mask = np.array(Image.open(self.root / f"{index}.mask.png"))
        return self.transforms(image, tv.Mask(np.stack([mask == 1, mask == 2])))


def test_masks_of_several_objects_are_left_to_python(root: Path) -> None:
    dataset = Several(root, v2.Compose([v2.Resize((30, 40)), v2.ToImage()]))
    loader = DataLoader(dataset, 4)
    assert loader.explain().way == "python"
    for got, expected in zip(loader, data.DataLoader(dataset, 4)):
        assert all(map(torch.equal, got, expected))


class Crossed(Positions):
    """Two calls of the transform, whose results are in another order than the calls."""

    def __getitem__(self, index: int) -> Any:
        (a, first), (b, second) = super().__getitem__(index), super().__getitem__(index)
        return a, b, second["mask"], first["mask"]


def test_results_of_several_calls_are_not_mixed_up() -> None:
    dataset = Crossed(v2.Compose([v2.RandomCrop(100), v2.ToImage()]))
    for a, b, second, first in DataLoader(dataset, 4):
        for image, mask in ((a, first), (b, second)):
            assert torch.equal(image[:, 0] ^ image[:, 1], mask)
