# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""headrace.torch.compile: torchvision itself is the reference."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import headrace.torch  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BICUBIC, NEAREST = v2.InterpolationMode.BICUBIC, v2.InterpolationMode.NEAREST


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Real photographs if there are any (the number in HEADRACE_TEST_PHOTOS), otherwise generated
    ones."""
    real = os.environ.get("HEADRACE_TEST_DATA", "")
    count = int(os.environ.get("HEADRACE_TEST_PHOTOS", "8"))
    if real and os.path.isdir(real):
        whole = ImageFolder(real)
        step = max(len(whole) // count, 1)
        return torch.utils.data.Subset(whole, range(0, len(whole), step)[:count])
    return ImageFolder(str(photos.fill(tmp_path_factory.mktemp("photos"), 2, 4)))


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
    "random without chance": [v2.RandomHorizontalFlip(0.0), v2.RandomVerticalFlip(1.0), IMAGE],
}


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_pixels_are_torchvisions(data: Any, name: str) -> None:
    assert differences(v2.Compose(DETERMINISTIC[name]), data).max() <= 1


@pytest.mark.parametrize("size", [64, (64, 90), (200, 230)])
def test_bicubic(data: Any, size: Any) -> None:
    """Two passes with rounding between them: very few elements differ by 2."""
    found = differences(v2.Compose([v2.Resize(size, interpolation=BICUBIC), IMAGE]), data)
    assert found.max() <= 2 and (found > 1).mean() < 1e-3


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
    from PIL import Image

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
    with pytest.raises(TypeError, match="no list `samples`"):
        headrace.torch.compile(IMAGE, [1, 2])
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


def test_import_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('none')")
    code = "import sys, headrace; assert 'torch' not in sys.modules; import headrace.torch"
    source = str(Path(headrace.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), source])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "headrace.torch needs PyTorch, which is not installed" in done.stderr
