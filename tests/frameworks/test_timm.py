# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms of timm in `headrace.torch.DataLoader`: the images are those that timm makes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

timm_data = pytest.importorskip("timm.data")

import torch  # noqa: E402
import torch.utils.data as data  # noqa: E402
from headrace.torch import DataLoader, explain  # noqa: E402
from PIL import Image  # noqa: E402
from timm.data import auto_augment, create_transform  # noqa: E402
from timm.data.random_erasing import RandomErasing  # noqa: E402
from timm.data.transforms import (  # noqa: E402
    MaybePILToTensor,
    MaybeToTensor,
    RandomResizedCropAndInterpolation,
)
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import Compose, Normalize  # noqa: E402

COUNT = 12


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("timm")
    for k in range(COUNT):
        (folder / f"c{k % 2}").mkdir(exist_ok=True)
        noise = np.random.default_rng(k).integers(0, 256, (6, 7, 3), np.uint8)
        image = Image.fromarray(noise).resize((70 + k, 60), Image.Resampling.BICUBIC)
        image.save(folder / f"c{k % 2}" / f"{k}.png")
    return str(folder)


def loaded(root: str, transform: Any, epochs: int = 1) -> list[torch.Tensor]:
    loader = DataLoader(ImageFolder(root, transform), 1)
    assert loader.explain().way == "files", str(loader.explain())
    return [image for _ in range(epochs) for images, _ in loader for image in images]


@pytest.mark.parametrize("crop_pct", [0.875, 1.0])
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_evaluation(root: str, interpolation: str, crop_pct: float) -> None:
    transform = create_transform(40, interpolation=interpolation, crop_pct=crop_pct)
    expected = [image for images, _ in data.DataLoader(ImageFolder(root, transform), 4) for image in images]
    for got, wanted in zip(loaded(root, transform), expected, strict=True):
        assert (got - wanted).abs().max() <= 1.01 / 255 / 0.224


@pytest.mark.parametrize("level", [0, 3, 9, 10])
@pytest.mark.parametrize("name", [n for n in auto_augment.NAME_TO_OP if "Blur" not in n])
def test_operations(root: str, name: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one operation, one magnitude and one filter, only a sign is left to chance."""
    given = {"translate_const": 20, "translate_pct": 0.3, "img_mean": (10, 20, 30)}
    given["interpolation"] = Image.Resampling.BILINEAR  # type: ignore[assignment]
    op = auto_augment.AugmentOp(name, prob=1.0, magnitude=level, hparams=given)
    transform = Compose([auto_augment.RandAugment([op], 1), MaybePILToTensor()])
    if name in ("Desaturate", "TranslateX", "TranslateY"):
        assert name in explain(transform).steps[0].reason
        return
    found = loaded(root, transform)
    drawn = set()
    for (path, _), got in zip(ImageFolder(root).samples, found, strict=True):
        image = Image.open(path).convert("RGB")
        near = []
        for sign in (0.0, 1.0):
            with monkeypatch.context() as changed:
                changed.setattr(random, "random", lambda sign=sign: sign)
                black = (name, level) in (("Posterize", 0), ("PosterizeIncreasing", 10))
                # New versions of Pillow refuse to keep 0 bits.
                expected = np.zeros((*image.size[::-1], 3)) if black else np.asarray(op(image), int)
            near.append(np.abs(got.numpy().transpose(1, 2, 0) - expected).max() <= 1)
        assert any(near)
        drawn.add(tuple(near))
    if len(drawn) > 1:
        assert drawn == {(True, False), (False, True)}


def test_magnitudes_are_normally_distributed(root: str) -> None:
    """The brightness of an image is its mean times 1.8 times the magnitude / 10 plus 0.1."""
    hparams = {"magnitude_std": 1.5, "img_mean": (0, 0, 0), "translate_const": 0}
    op = auto_augment.AugmentOp("Brightness", prob=1.0, magnitude=4, hparams=hparams)
    transform = Compose([auto_augment.RandAugment([op], 1), MaybePILToTensor()])
    torch.manual_seed(1)
    found, files = loaded(root, transform, 40), ImageFolder(root, MaybePILToTensor())
    plain = [image.double().mean() for image, _ in files] * 40
    levels = [((a.double().mean() / b) - 0.1) / 0.18 for a, b in zip(found, plain)]
    inside = np.array([v for v in levels if v < 6])  # lighter images are cut at 255
    expected = np.clip(np.random.default_rng(1).normal(4, 1.5, 20000), 0, 10)
    expected = expected[expected < 6]
    assert abs(inside.mean() - expected.mean()) < 0.25
    assert abs(inside.std() - expected.std()) < 0.2


def test_one_of_two_filters_is_drawn(root: str) -> None:
    crop = RandomResizedCropAndInterpolation((32, 32), (1.0, 1.0), (1.0, 1.0), "random")
    square = Path(root).parent / "square" / "c"
    square.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(7).integers(0, 256, (48, 48, 3), np.uint8)
    for k in range(24):
        Image.fromarray(noise).save(square / f"{k}.png")
    expected = {
        name: np.asarray(Image.fromarray(noise).resize((32, 32), name), int)
        for name in (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
    }
    found = loaded(str(square.parent), Compose([crop, MaybePILToTensor()]))
    drawn = set()
    for got in found:
        pixels = got.numpy().transpose(1, 2, 0)
        near = [name for name, wanted in expected.items() if np.abs(pixels - wanted).max() <= 1]
        assert len(near) == 1
        drawn.update(near)
    assert len(drawn) == 2


def test_erased_parts(root: str) -> None:
    erase = RandomErasing(0.5, device="cpu")
    normalize = Normalize([0.0] * 3, [0.5] * 3)
    found = loaded(root, Compose([MaybeToTensor(), normalize, erase]), 4)
    plain = [image for image, _ in ImageFolder(root, Compose([MaybeToTensor(), normalize]))] * 4
    shares = []
    for got, wanted in zip(found, plain, strict=True):
        differs = ((got - wanted).abs() > 0.02).any(0)
        assert not got[:, differs].any()
        shares.append(differs.double().mean().item())
    assert 0.25 < np.mean([share > 0 for share in shares]) < 0.75
    assert max(shares) < 0.36


RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "rand-augment": {"auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 0.25},
    "uniform magnitudes": {"auto_augment": "rand-m9-mstd101"},
    "auto-augment": {"auto_augment": "v0", "interpolation": "random"},
    "original": {"auto_augment": "originalr-mstd0.5", "vflip": 0.5},
    "prefetcher": {"auto_augment": "rand-m9-n3", "use_prefetcher": True},
    "no augmentation": {"no_aug": True},
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_are_compiled(root: str, name: str) -> None:
    transform = create_transform(32, is_training=True, **RECIPES[name])
    found = loaded(root, transform)
    assert len(found) == COUNT and all(image.shape == (3, 32, 32) for image in found)
    assert len({image.numpy().tobytes() for image in found}) == COUNT


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "augmix": ({"auto_augment": "augmix-m5-w4-d2"}, "no operator"),
    "weights": ({"auto_augment": "rand-tweights"}, "without replacement"),
    "3a": ({"auto_augment": "3a"}, "Desaturate"),
    "noise": ({"re_prob": 0.2, "re_mode": "pixel"}, "`mode` is 'pixel'"),
    "regions": ({"re_prob": 0.2, "re_count": 3}, "several regions"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_named(name: str) -> None:
    more, reason = REFUSED[name]
    (step,) = explain(create_transform(32, is_training=True, **more)).python
    assert reason in step.reason


def test_a_magnitude_that_means_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    op = auto_augment.AugmentOp("Solarize", magnitude=3)
    op.level_fn = lambda level, hparams: (level,)
    (step,) = explain(Compose([auto_augment.RandAugment([op], 1), MaybePILToTensor()])).python
    assert "differs from that of timm" in step.reason
