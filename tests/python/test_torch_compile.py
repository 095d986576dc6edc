# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""headrace.torch.compile: torchvision itself is the reference."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import headrace.torch  # noqa: E402
from headrace import fn  # noqa: E402
from headrace.torch._compile import state  # noqa: E402
from PIL import Image  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NEAREST, BILINEAR, BICUBIC = (v2.InterpolationMode(m) for m in ("nearest", "bilinear", "bicubic"))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """torch's own threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(photographs: Path) -> Any:
    """Eight photographs."""
    whole = ImageFolder(str(photographs))
    return torch.utils.data.Subset(whole, range(0, len(whole), max(len(whole) // 8, 1))[:8])


def loader(transform: Any, data: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # also that nothing runs in Python
        return headrace.torch.compile(transform, data, **{"num_threads": 2, **kwargs})


def compiled(transform: Any, data: Any, **kwargs: Any) -> list[Any]:
    """The pictures, one by one."""
    return [images[0] for images, _ in loader(transform, data, batch_size=1, **kwargs)]


def differences(transform: Any, data: Any, unit: float = 1.0) -> np.ndarray:
    """Of all elements, in levels."""
    found = []
    for got, (picture, _) in zip(compiled(transform, data), data, strict=True):
        expected = transform(picture)
        assert got.shape == expected.shape and got.dtype == expected.dtype
        found.append(((got.double() - expected.double()).abs() / unit).flatten())
    return torch.cat(found).numpy()


IMAGE = v2.ToImage()
DETERMINISTIC = {
    "resize": [v2.Resize(64), IMAGE],
    "resize up": [v2.Resize(171), IMAGE],
    "resize both": [v2.Resize((40, 90)), IMAGE],
    "resize limit": [v2.Resize(60, max_size=77), IMAGE],
    "resize longer": [v2.Resize(None, max_size=77), IMAGE],
    "resize nearest": [v2.Resize(61, interpolation=NEAREST), IMAGE],
    "resize tensor": [IMAGE, v2.Resize((50, 70), antialias=True)],
    "resize tensor without antialias": [IMAGE, v2.Resize((50, 70), antialias=False)],
    "center crop": [v2.CenterCrop((51, 44)), IMAGE],
    "center crop beyond": [v2.CenterCrop((70, 151)), IMAGE],
    "resize and crop": [v2.Resize(67), v2.CenterCrop(50), IMAGE],
    "pad": [v2.Pad((1, 2, 3, 4), fill=(7, 8, 9)), IMAGE],
    "pad two": [v2.Pad([5, 3], fill=3), v2.PILToTensor()],
    "identity": [torch.nn.Identity(), v2.Identity(), IMAGE, v2.ToPureTensor()],
    "resize bicubic": [v2.Resize(64, interpolation=BICUBIC), IMAGE],
    "resize bicubic both": [v2.Resize((64, 90), interpolation=BICUBIC), IMAGE],
    "resize bicubic up": [v2.Resize((200, 230), interpolation=BICUBIC), IMAGE],
    "gray": [v2.Grayscale(), IMAGE],
    "gray of three": [IMAGE, v2.Grayscale(3), v2.RandomGrayscale(0.0)],
    "random gray": [v2.RandomGrayscale(1.0), IMAGE],
    "gray twice": [v2.Grayscale(), v2.RandomEqualize(1.0), v2.Grayscale(3), v2.RGB(), IMAGE],
    "blur": [v2.GaussianBlur((3, 7), 1.3), IMAGE],
    "invert": [v2.RandomInvert(1.0), IMAGE],
    "posterize": [v2.RandomPosterize(3, 1.0), IMAGE],
    "solarize": [v2.RandomSolarize(100.5, 1.0), IMAGE],
    "sharpen": [v2.RandomAdjustSharpness(2.5, 1.0), IMAGE],
    "smooth": [v2.RandomAdjustSharpness(0.3, 1.0), IMAGE],
    "autocontrast": [v2.RandomAutocontrast(1.0), IMAGE],
    "equalize": [v2.RandomEqualize(1.0), IMAGE],
    "brightness": [v2.ColorJitter(brightness=(1.7, 1.7)), IMAGE],
    "contrast": [v2.ColorJitter(contrast=(0.4, 0.4)), IMAGE],
    "saturation": [v2.ColorJitter(saturation=(1.9, 1.9)), IMAGE],
    "hue": [v2.ColorJitter(hue=(-0.3, -0.3)), IMAGE],
    "v1 hue": [v1.ColorJitter(hue=(0.2, 0.2)), v1.PILToTensor()],
    "rotate": [v2.RandomRotation((27, 27), fill=(9, 8, 7)), IMAGE],
    "rotate about": [v2.RandomRotation((-40, -40), BILINEAR, center=(9, 20)), IMAGE],
    "rotate and grow": [v2.RandomRotation((-135, -135), BICUBIC, expand=True), IMAGE],
    "rotate a quarter": [v2.RandomRotation((90, 90), expand=True), IMAGE],
    "rotate a half": [v2.RandomRotation((180, 180)), IMAGE],
    "affine": [v2.RandomAffine((20, 20), None, (1.2, 1.2), (5, 5, -9, -9), fill=3), IMAGE],
    "affine bilinear": [v2.RandomAffine((0, 0), shear=(30, 30), interpolation=BILINEAR), IMAGE],
    "scale": [v2.RandomAffine((0, 0), scale=(0.7, 0.7), center=(3, 4)), IMAGE],
    "perspective": [v2.RandomPerspective(0.0, p=1.0), IMAGE],
    "apply": [v2.RandomApply([v2.RandomInvert(1.0), v2.GaussianBlur(3, 2.0)], 1.0), IMAGE],
    "do not apply": [v2.RandomApply([v2.GaussianBlur(3)], 0.0), IMAGE],
    "choose": [v2.RandomChoice([v2.GaussianBlur(3), v2.RandomInvert(1.0)], [0, 1]), IMAGE],
    "choose colours": [v2.RandomChoice([v2.RandomInvert(0.0), v2.Grayscale(3)], [0, 2]), IMAGE],
    "order": [v2.RandomOrder([v2.RandomInvert(1.0), v2.RandomEqualize(0.0)]), IMAGE],
    "random without chance": [v2.RandomHorizontalFlip(0.0), v2.RandomVerticalFlip(1.0), IMAGE],
}


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_pixels_are_torchvisions(data: Any, name: str) -> None:
    assert differences(v2.Compose(DETERMINISTIC[name]), data).max() <= 1


def test_every_colour() -> None:
    """The hue of every third level of red, green and blue."""
    levels = np.arange(0, 256, 3, np.uint8)
    every = np.stack(np.meshgrid(levels, levels, levels), 3).reshape(86, -1, 3)
    program = ["all", 1.0, [["hue", 1.0, 0.3], ["saturation", 1.0, 1.5]]]
    picture = v2.functional.adjust_hue(Image.fromarray(every), 0.3)
    expected = np.asarray(v2.functional.adjust_saturation(picture, 1.5))
    assert (augmented(every, program) == expected).all()


def augmented(picture: np.ndarray, program: list[Any]) -> np.ndarray:
    """By the hidden operator, without a transform."""
    pipe = headrace.Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        source = fn.external_source(source=lambda: [picture], layout="HWC")
        pipe.set_outputs(state.call("augment", source, program=program))
    return np.asarray(pipe.run()[0][0])


@pytest.mark.parametrize("program", [
    ["none", 1.0], ["invert"], ["invert", 1.0, 3], ["hue", 1.0, [1, 2, 3]], ["hue", 1.0, {"pick": []}],
    ["one", 1.0, [["invert", 1.0]], [0]], ["one", 1.0, [], []], ["all", 1.0], ["all", "1", []], [],
    ["one", 1.0, [["invert", 1.0]], [-1]], ["order", 1.0, [[["invert", 1.0]]]],
])  # fmt: skip
def test_hostile_programs(program: Any) -> None:
    with pytest.raises(Exception, match="program"):
        augmented(np.zeros((4, 5, 3), np.uint8), program)


@pytest.mark.parametrize("v", [0.0, 1e-30, -1e30, 1e300])
def test_extreme_parameters(v: float) -> None:
    """Any numbers give a picture or an error."""
    names = "posterize solarize brightness contrast saturation hue sharpness"
    ops: list[list[Any]] = [[name, 1.0, v] for name in names.split()]
    ops += [["affine", 1.0, k, v, 2, v, v, v, v, v, 1, v, v, v, v, v] for k in (0, 1, 2)]
    ops += [["rotate", 1.0, k, v, e, 1, v, v, v, v, v] for k in (0, 1, 2) for e in (0, 1)]
    ops += [["perspective", 1.0, k, v, *[v] * 8, v, v, v] for k in (0, 1, 2)]
    for shape in ((4, 5, 3), (1, 1, 1), (0, 3, 3)):
        for op in ops:
            assert augmented(np.full(shape, 9, np.uint8), op).ndim == 3
    assert augmented(np.zeros((0, 5, 3), np.uint8), ["rotate", 1, 0, 45, 1, *[0] * 6]).size == 0


def test_perspective() -> None:
    picture = np.stack([*np.mgrid[0:90, 0:120], np.zeros((90, 120))], 2).astype(np.uint8)
    parts = [0.1, 0.7, 0.3, 0.9, 0.5, 0.2, 0.8, 0.4]
    got = augmented(picture, ["perspective", 1.0, 1, 0.5, *parts, 1, 2, 3])
    # 23 and 31 positions along y and x
    ends = [[3, 16], [98, 20], [104, 71], [24, 76]]
    starts = [[0, 0], [119, 0], [119, 89], [0, 89]]
    image = Image.fromarray(picture)
    expected = v2.functional.perspective(image, starts, ends, BILINEAR, fill=[1, 2, 3])
    apart = np.abs(got.astype(int) - np.asarray(expected))
    assert (apart > 1).mean() < 1e-3


FLOATS = {
    "v1": v1.Compose([v1.Resize(70), v1.CenterCrop(64), v1.ToTensor(), v1.Normalize(MEAN, STD)]),
    "v2": v2.Compose([v2.Resize(70), v2.CenterCrop(64), IMAGE,
                      v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]),
    "nested": v2.Compose([v2.Compose([v2.Resize(70)]), torch.nn.Sequential(v2.CenterCrop(64)),
                          v1.ToTensor(), v2.Normalize(MEAN, STD)]),
    "tensors first": v2.Compose([v2.PILToTensor(), v2.ConvertImageDtype(torch.float32),
                                 v2.Resize(70), v2.CenterCrop(64), v2.Normalize(MEAN, STD)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_normalised(data: Any, name: str) -> None:
    assert differences(FLOATS[name], data, unit=1 / 255 / 0.224).max() <= 1.01


def test_without_scale(data: Any) -> None:
    steps = [v2.CenterCrop(32), IMAGE, v2.ToDtype(torch.float32), v2.Normalize([9.0], [2.0])]
    assert differences(v2.Compose(steps), data).max() < 1e-4


def test_transforms_of_weights(data: Any) -> None:
    from torchvision.models import ResNet50_Weights

    preset = ResNet50_Weights.IMAGENET1K_V2.transforms(resize_size=70, crop_size=64)
    assert differences(preset, data, unit=1 / 255 / 0.224).max() <= 1.01


def gradient(root: Path, size: tuple[int, int], copies: int) -> Path:
    """Pictures whose red is x and whose green is y, so that a window can be read off its pixels."""
    y, x = np.mgrid[0 : size[1], 0 : size[0]]
    picture = np.stack([x, y, 0 * x], axis=2).astype(np.uint8)
    (root / "a").mkdir(parents=True)
    for i in range(copies):
        Image.fromarray(picture).save(root / "a" / f"{i:03}.png")
    return root


def windows(transform: Any, root: Path, repeat: int) -> np.ndarray:
    """left, top, right, bottom of many draws, in fractions."""
    size = ImageFolder(str(root))[0][0].size
    found = []
    batches = loader(transform, root, batch_size=50, seed=4)
    for _ in range(repeat):
        for images, _ in batches:
            red, green = images[:, 0].flatten(1), images[:, 1].flatten(1)
            edges = [red.amin(1), green.amin(1), red.amax(1) + 1, green.amax(1) + 1]
            found.append(torch.stack(edges, 1).double().numpy())
    return np.concatenate(found) / [*size, *size]


@pytest.mark.parametrize("size", [(120, 90), (250, 40)])
def test_random_resized_crop(tmp_path: Path, size: tuple[int, int]) -> None:
    """The windows have torchvision's distribution, also where it falls back to the middle."""
    transform = v2.Compose([v2.RandomResizedCrop(250, interpolation=NEAREST), IMAGE])
    ours = windows(transform, gradient(tmp_path / "set", size, 50), 10)
    empty = torch.zeros(3, size[1], size[0], dtype=torch.uint8)
    torch.manual_seed(1)
    theirs = []
    for _ in range(3000):
        i, j, h, w = v1.RandomResizedCrop.get_params(empty, (0.08, 1.0), (3 / 4, 4 / 3))
        theirs.append([j, i, j + w, i + h])
    expected = np.array(theirs) / [*size, *size]
    for q in (0.1, 0.25, 0.5, 0.75, 0.9):
        apart = np.quantile(ours, q, axis=0) - np.quantile(expected, q, axis=0)
        assert np.abs(apart).max() < 0.1, q
    area = [((e[:, 2] - e[:, 0]) * (e[:, 3] - e[:, 1])).mean() for e in (ours, expected)]
    assert abs(area[0] - area[1]) < 0.04


def test_random_crop(tmp_path: Path) -> None:
    """All positions within the padding are drawn, equally often."""
    root = gradient(tmp_path / "set", (24, 20), 50)
    crop = v2.RandomCrop((18, 20), padding=(1, 0, 0, 2), fill=200)
    found = []
    batches = loader(v2.Compose([crop, IMAGE]), root, batch_size=50, seed=2)
    for _ in range(10):
        for images, _ in batches:
            assert images.shape[2:] == (18, 20)
            # Row 3 and column 4 are inside for every window that can be drawn.
            found += zip(images[:, 0, 3, 4].tolist(), images[:, 1, 3, 4].tolist())
    lefts, tops = np.array(found).T - [[4], [3]]
    assert set(lefts) == set(range(-1, 5)) and set(tops) == set(range(0, 5))
    counts = np.bincount(lefts + 1)
    assert counts.min() > 500 / 6 * 0.6


def test_random_crop_needs_room(data: Any) -> None:
    transform = v2.Compose([v2.RandomCrop(500, padding=2), IMAGE])
    with pytest.raises(RuntimeError, match="give `padding` or `pad_if_needed`"):
        compiled(transform, data)
    padded = v2.Compose([v2.RandomCrop(500, pad_if_needed=True), IMAGE])
    assert compiled(padded, data)[0].shape == (3, 500, 500)


def test_flips_and_seeds(data: Any) -> None:
    """Flips have their probability, a seed repeats them, and each epoch has others."""
    transform = v2.Compose([v2.Resize((8, 8)), v2.RandomHorizontalFlip(0.3), IMAGE])
    plain = compiled(v2.Compose([v2.Resize((8, 8)), IMAGE]), data)
    flipped = []
    batches = loader(transform, data, batch_size=1, seed=5)
    for _ in range(40):
        for (images, _), before in zip(batches, plain, strict=True):
            mirrored = bool((images[0] == before.flip(2)).all())
            assert mirrored or (images[0] == before).all()
            flipped.append(mirrored)
    assert 0.2 < np.mean(flipped) < 0.4
    again = loader(transform, data, batch_size=1, seed=5)
    first = [bool((i[0] == b.flip(2)).all()) for (i, _), b in zip(again, plain, strict=True)]
    assert first == flipped[: len(plain)]


RANDOM = {
    "jitter": v2.ColorJitter(0.4, (0.2, 1.9), 0.4, 0.1),
    "v1 jitter": v1.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "gray": v2.RandomGrayscale(0.3),
    "posterize": v2.RandomPosterize(2, 0.4),
    "solarize": v2.RandomSolarize(100, 0.4),
    "blur": v2.GaussianBlur(5, (0.1, 3.0)),
    "erase": v2.Compose([IMAGE, v2.RandomErasing(0.6, value=(200, 9, 3))]),
    "rotate": v2.RandomRotation((-30, 60)),
    "affine": v2.RandomAffine((-20, 5), (0.1, 0.3), (0.5, 1.5), (1, 20, -30, 5), BILINEAR, 99),
    "perspective": v2.RandomPerspective(0.6, 0.7),
    "apply": v2.RandomApply([v2.GaussianBlur(5, 3.0), v2.RandomInvert(0.5)], 0.7),
    "choose": v2.RandomChoice([v2.GaussianBlur(5, 9.0), v2.RandomVerticalFlip(1.0),
                               v2.RandomInvert(1.0)], [0.2, 0.5, 0.1]),
    "order": v2.RandomOrder([v2.RandomInvert(1.0), v2.RandomSolarize(150, 1.0)]),
    "rand": v2.RandAugment(),
    "v1 rand": v1.RandAugment(3, 15, fill=[1, 2, 3]),
    "trivial": v2.TrivialAugmentWide(),
    "v1 trivial": v1.TrivialAugmentWide(11),
    "auto": v2.AutoAugment(),
    "auto svhn": v2.AutoAugment(v2.AutoAugmentPolicy.SVHN, BILINEAR),
    "v1 auto": v1.AutoAugment(v1.AutoAugmentPolicy.CIFAR10),
}  # fmt: skip
DRAWS = 600


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small picture without symmetry, many times."""
    root = tmp_path_factory.mktemp("copies") / "set"
    (root / "a").mkdir(parents=True)
    y, x = np.mgrid[0:20, 0:26]
    picture = np.stack([9 * x, 12 * y, 120 + 60 * np.sin(x * y / 30)], 2) * 0.7 + 20
    for i in range(100):
        Image.fromarray(picture.astype(np.uint8)).save(root / "a" / f"{i:03}.png")
    return root


def features(images: Any) -> np.ndarray:
    """Of pictures NCHW: means of parts and channels, and how rough they are."""
    v = images.double().numpy()
    halves = [v[:, :, :8], v[:, :, 12:], v[..., :8], v[..., 18:], v[:, :1], v[:, 1:2], v[:, 2:]]
    found = [part.mean((1, 2, 3)) for part in halves]
    rough = [np.abs(np.diff(v, axis=2)).mean((1, 2, 3)), v.max((1, 2, 3)), v.std((1, 2, 3))]
    return np.stack(found + rough)


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two distribution functions. Values within 1 count as equal."""

    def below(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.sort(values), limits, side="right") / len(values)

    return max((below(v, v) - below(w, v + 1)).max() for v, w in ((a, b), (b, a)))


@pytest.mark.parametrize("name", RANDOM)
def test_distributions_are_torchvisions(copies: Path, name: str) -> None:
    """Of features of the results, by the test of Kolmogorov and Smirnov: 0.11 has p < 0.002."""
    transform = v2.Compose([RANDOM[name], IMAGE])
    batches = loader(transform, copies, batch_size=50, seed=3)
    ours = torch.cat([images for _ in range(DRAWS // 100) for images, _ in batches])
    picture = ImageFolder(str(copies))[0][0]
    torch.manual_seed(2)
    random.seed(2)
    theirs = torch.stack([transform(picture) for _ in range(DRAWS)])
    for a, b in zip(features(ours), features(theirs), strict=True):
        assert apart(a, b) < 0.11
    assert len(ours.flatten(1).unique(dim=0)) > 1


def test_seeds_and_threads(copies: Path) -> None:
    transform = v2.Compose([RANDOM["rand"], RANDOM["jitter"], RANDOM["choose"], IMAGE])

    def pictures(**kwargs: Any) -> Any:
        return torch.cat([images for images, _ in loader(transform, copies, **kwargs)])

    first = pictures(seed=1, num_threads=1, batch_size=7)
    assert (first == pictures(seed=1, num_threads=3, batch_size=20)).all()
    assert (first != pictures(seed=2, num_threads=1, batch_size=7)).any()


UNSUPPORTED = {
    "`value` is 'random'": [IMAGE, v2.RandomErasing(value="random")],
    "put ToImage before it": [v2.RandomErasing(), IMAGE],
    "lanczos interpolation": [v2.Resize(9, v2.InterpolationMode.LANCZOS), IMAGE],
    "without `antialias`": [IMAGE, v2.Resize(9, BICUBIC, antialias=False)],
    "no operator does the same": [v2.ElasticTransform(), IMAGE],
    "is not done by the operator": [v2.RandomOrder([v2.GaussianBlur(3), v2.RandomInvert()]), IMAGE],
    "return different types": [v2.RandomChoice([v2.Grayscale(1), v2.Resize(9)]), IMAGE],
    "floating-point numbers beyond 1": [IMAGE, v2.ToDtype(torch.float32), v2.RandomInvert()],
    "not made of bytes": [IMAGE, v2.ToDtype(torch.float32, scale=True),
                          v2.Normalize([0.5], [0.5]), v2.RandomInvert()],
}  # fmt: skip


@pytest.mark.parametrize("reason", UNSUPPORTED)
def test_reasons(reason: str) -> None:
    report = headrace.torch.explain(v2.Compose(UNSUPPORTED[reason]))
    assert [reason in step.reason for step in report.python] == [True]


def test_batches_are_those_of_a_data_loader(data: Any) -> None:
    transform = v2.Compose([v2.CenterCrop(20), IMAGE])
    labels = [label for _, label in data]
    batches = loader(transform, data, batch_size=3)
    assert len(batches) == 3
    for _ in range(2):
        got = [labels for _, labels in batches]
        assert [len(part) for part in got] == [3, 3, 2] and got[0].dtype == torch.int64
        assert torch.cat(got).tolist() == labels
    assert [len(y) for _, y in loader(transform, data, batch_size=3, drop_last=True)] == [3, 3]
    orders = []
    shuffled = loader(transform, data, batch_size=1, shuffle=True, seed=1)
    for _ in range(2):
        orders.append([images.sum().item() for images, _ in shuffled])
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def test_folders_and_subsets(tmp_path: Path) -> None:
    root = photos.fill(tmp_path / "set", 3, 2)
    (root / "class1" / "notes.txt").write_text("not a picture")
    whole = ImageFolder(str(root))
    transform = v2.Compose([v2.CenterCrop(20), IMAGE])
    labels = [y.item() for _, y in loader(transform, str(root), batch_size=1)]
    assert labels == [0, 0, 1, 1, 2, 2]
    part = torch.utils.data.Subset(whole, [5, 0, 3])
    both = torch.utils.data.ConcatDataset([part, whole])
    assert [y.item() for _, y in loader(transform, both, batch_size=1)] == [2, 0, 1, *labels]
    other = ImageFolder(str(root), target_transform=lambda label: 9 - label)
    assert [y.item() for _, y in loader(transform, other, batch_size=1)] == [9, 9, 8, 8, 7, 7]


def test_errors(data: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="add ToImage"):
        headrace.torch.compile(v2.Resize(5), data)
    with pytest.raises(TypeError, match=r"pairs \(path, target\), but its element 0 is 1"):
        headrace.torch.compile(IMAGE, [1, 2])
    with pytest.raises(TypeError, match="object is not an ImageFolder .* with indices"):
        headrace.torch.compile(IMAGE, object())
    for call in (lambda: headrace.torch.compile(None, data), lambda: headrace.torch.explain(None)):
        with pytest.raises(TypeError, match="`transform` is None; .* pass dataset.transform"):
            call()
    with pytest.raises(FileNotFoundError, match="one per class"):
        headrace.torch.compile(IMAGE, tmp_path)
    with pytest.raises(ValueError, match="must be 'cpu' or 'cuda'"):
        headrace.torch.compile(IMAGE, data, device="tpu")


def turn(picture: Any) -> Any:
    return picture.rotate(90, expand=True)


def test_python_runs_what_has_no_rule(data: Any) -> None:
    noise = v2.Lambda(lambda x: x + torch.rand(1))
    steps = [v2.Resize((30, 40)), turn, IMAGE, v2.ToDtype(torch.float32, scale=True), noise]
    report = headrace.torch.explain(v2.Compose(steps))
    assert [step.compiled for step in report.steps] == [True, False, True, True, False]
    assert "not a transform of torchvision" in str(report)
    with pytest.warns(UserWarning, match="Python runs turn, because it is not a transform"):
        first = headrace.torch.compile(v2.Compose(steps), data, batch_size=4, seed=3)
    assert str(first.report) == str(report)
    plain = v2.Compose(steps[:-1])
    pictures = torch.cat([images for images, _ in first])
    assert pictures.shape[1:] == (3, 40, 30)
    for got, (picture, _) in zip(pictures, data, strict=True):
        rest = got - plain(picture)
        assert rest.max() - rest.min() < 2.1 / 255 and -0.01 < rest.mean() < 1.01


def to_mode(mode: str) -> Any:
    return v1.Lambda(lambda picture: picture.convert(mode))


MODES = {
    "gray before": [v2.CenterCrop(20), v2.Grayscale(1), turn, v2.CenterCrop((9, 30)), IMAGE],
    "gray": [v2.CenterCrop(20), to_mode("L"), v2.RandomInvert(1.0), IMAGE],
    "alpha": [v2.CenterCrop(20), v1.Lambda(lambda picture: picture.putalpha(60) or picture), IMAGE],
    "other colours": [v2.CenterCrop(20), to_mode("HSV"), turn, v2.RandomVerticalFlip(1.0), IMAGE],
    "there and back": [v2.CenterCrop(20), to_mode("CMYK"), to_mode("RGB"), v2.Grayscale(), IMAGE],
}


@pytest.mark.parametrize("name", MODES)
def test_modes_of_pictures_from_python(data: Any, name: str) -> None:
    transform = v2.Compose(MODES[name])
    with pytest.warns(UserWarning, match="Python runs"):
        batches = headrace.torch.compile(transform, data, batch_size=1)
    for (images, _), (picture, _) in zip(batches, data, strict=True):
        expected = transform(picture)
        assert images[0].shape == expected.shape
        assert (images[0].int() - expected.int()).abs().max() <= 1


def grey_is_l(picture: Any) -> Any:
    """As scripts do: grey pictures become L."""
    values = np.asarray(picture)
    return picture.convert("L") if (values == values[..., :1]).all() else picture


def test_modes_that_depend_on_the_picture(data: Any) -> None:
    """The mode with more channels counts: no colours are lost."""
    transform = v2.Compose([v2.CenterCrop(20), v1.Lambda(grey_is_l), to_mode("RGB"), IMAGE])
    with pytest.warns(UserWarning, match="Python runs"):
        batches = headrace.torch.compile(transform, data, batch_size=1)
    coloured = 0
    for (images, _), (picture, _) in zip(batches, data, strict=True):
        expected = transform(picture)
        coloured += bool(expected.float().std(0).max() > 1)
        assert (images[0].int() - expected.int()).abs().max() <= 1
    assert coloured > 2


def test_a_mode_that_comes_later(data: Any) -> None:
    calls = []

    def sometimes(picture: Any) -> Any:
        calls.append(None)
        return picture.convert("HSV" if len(calls) > 4 else "RGB")

    with pytest.warns(UserWarning, match="Python runs"):
        batches = headrace.torch.compile(v2.Compose([v1.Lambda(sometimes), IMAGE]), data)
    with pytest.raises(RuntimeError, match="mode HSV, but of mode RGB when it was tried"):
        list(batches)


@pytest.mark.parametrize("mode", ["1", "F", "P"])
def test_modes_that_are_refused(data: Any, mode: str) -> None:
    with pytest.raises(TypeError, match=f"returns a PIL image of mode {mode}"):
        headrace.torch.compile(v2.Compose([to_mode(mode), IMAGE]), data)
    with pytest.raises(TypeError, match="returns a ndarray, neither a PIL image nor a tensor"):
        headrace.torch.compile(v2.Compose([v1.Lambda(np.asarray), IMAGE]), data)


def test_import_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('none')")
    code = "import sys, headrace; assert 'torch' not in sys.modules; import headrace.torch"
    source = str(Path(headrace.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), source])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "headrace.torch needs PyTorch, which is not installed" in done.stderr
