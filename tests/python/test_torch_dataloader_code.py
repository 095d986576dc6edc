# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace.torch.DataLoader` takes transforms out of code of any shape, and files out of Pillow."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageOps

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from headrace.torch import DataLoader  # noqa: E402
from headrace.torch._loading.captured import capturing  # noqa: E402
from headrace.torch._loading.opened import encoded, opening  # noqa: E402
from torch_sets import CROP, IMAGE, Own, classes, exactly, near  # noqa: E402
from torch.utils import data  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import ImageFolder, VOCSegmentation  # noqa: E402

ELSEWHERE = v1.Compose([v1.Resize((CROP, CROP)), v1.ToTensor()])
RANDOM = v1.Compose([v1.RandomResizedCrop(CROP), v1.ToTensor()])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return classes(tmp_path_factory.mktemp("classes"))


def loaded(path: str) -> Any:
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


# ---- where code has its transforms --------------------------------------------------------------


class InGlobals(Own):
    def __getitem__(self, index: int) -> Any:
        return ELSEWHERE(loaded(self.files[index])), index


class InDictionary(Own):
    def __init__(self, root: str) -> None:
        super().__init__(root, None)
        self.by_phase = {"train": RANDOM, "test": IMAGE}

    def __getitem__(self, index: int) -> Any:
        return self.by_phase["test"](loaded(self.files[index])), index


class Crops:
    """As in contrastive learning."""

    def __init__(self, count: int, *transforms: Any) -> None:
        self.count, self.several = count, transforms

    def __call__(self, image: Any) -> Any:
        return [transform(image) for transform in self.several for _ in range(self.count)]


class Rows(data.Dataset):
    """A table whose rows go through a function, as in Hugging Face's `datasets`."""

    def __init__(self, root: str, function: Callable[[Any], Any]) -> None:
        self.files, self.function = Own(root, None).files, function

    def __len__(self) -> int:
        return len(self.files)

    def __getitems__(self, keys: Any) -> Any:
        images = []
        for key in keys:
            image = Image.open(io.BytesIO(Path(self.files[key]).read_bytes()))
            image.load()
            if image.getexif().get(ExifTags.Base.Orientation) is not None:
                image = ImageOps.exif_transpose(image)
            images.append(image)
        batch = self.function({"image": images, "label": list(keys)})
        return [{name: column[i] for name, column in batch.items()} for i in range(len(keys))]

    def __getitem__(self, key: int) -> Any:
        return self.__getitems__([key])[0]


def of_rows(root: str) -> Any:
    inner = v1.Compose([v1.Resize((CROP, CROP)), v1.ToTensor()])

    def function(batch: Any) -> Any:
        batch["pixels"] = [inner(image.convert("RGB")) for image in batch.pop("image")]
        return batch

    return Rows(root, function)


def partly(image: Any, transform: Any, scale: int) -> Any:
    return transform(image.reduce(scale))


def pairs(root: str, **given: Any) -> Any:
    """VOCSegmentation: the masks have a palette."""
    made = VOCSegmentation.__new__(VOCSegmentation)
    VOCSegmentation.__mro__[2].__init__(made, root, **given)
    made.images = Own(root, None).files
    made.targets = []
    for i, file in enumerate(made.images):
        mask = Image.fromarray(np.full(Image.open(file).size[::-1], i, np.uint8), "L").convert("P")
        made.targets.append(str(Path(file).with_suffix(".mask")))
        mask.save(made.targets[-1], "PNG")
    return made


def masks(root: str) -> Any:
    size = (CROP, CROP)
    nearest = v1.Resize(size, v1.InterpolationMode.NEAREST)
    target = v1.Compose([nearest, v1.PILToTensor(), v1.Lambda(lambda x: x.long()[0])])
    return pairs(root, transform=ELSEWHERE, target_transform=target)


class Shared(Own):
    """The tensor that the transform makes is there twice."""

    def __getitem__(self, index: int) -> Any:
        image = self.transform(loaded(self.files[index]))
        return {"image": image, "again": image}


class Sum(Own):
    """Uses pixels before the transform, and changes the image after it."""

    def __getitem__(self, index: int) -> Any:
        image = loaded(self.files[index])
        total = int(np.asarray(image).sum())
        made = self.transform(image)
        image.paste((0, 0, 0), (0, 0, 20, 20))
        return made, total


class OfArrays(Own):
    """Images come from elsewhere, so the first transform makes them."""

    def __getitem__(self, index: int) -> Any:
        array = np.asarray(Image.open(self.files[index]))
        return self.transform(array), index


class Both(Own):
    """A seed in a function of its own."""

    def __getitem__(self, index: int) -> Any:
        image = loaded(self.files[index])
        return together(self.transform, image, index), index


def together(transform: Any, image: Any, index: int) -> Any:
    return torch.cat([repeated(transform, image, index), repeated(transform, image, index)])


def repeated(transform: Any, image: Any, index: int) -> Any:
    torch.manual_seed(index)
    return transform(image)


class Reseeding(Own):
    """A seed that reading the code does not find."""

    def __getitem__(self, index: int) -> Any:
        getattr(torch, "manual_" + "seed")(index)
        return self.transform(loaded(self.files[index])), index


class Retrying(Own):
    """Goes on with the next file if there is any error."""

    def __getitem__(self, index: int) -> Any:
        try:
            return self.transform(loaded(self.files[index])).mul(2), index
        except OSError:
            return self[index + 1]


def compiled_from_arrays(root: str) -> Any:
    return OfArrays(root, v1.Compose([v1.ToPILImage(), IMAGE]))


WORKERS: dict[str, Callable[[str], Any]] = {
    "globals": lambda root: InGlobals(root, None),
    "a dictionary": InDictionary,
    "a closure": of_rows,
    "partial": lambda root: Own(root, functools.partial(partly, transform=IMAGE, scale=1)),
    "a method": lambda root: Own(root, Crops(1, IMAGE).__call__),
    "crops": lambda root: ImageFolder(root, Crops(2, IMAGE)),
    "crops of several sizes": lambda root: Own(root, Crops(2, IMAGE, ELSEWHERE)),
    "an image and its mask": masks,
    "pixels are used, too": lambda root: Sum(root, IMAGE),
    "arrays": compiled_from_arrays,
}
PYTHON: dict[str, Callable[[str], Any]] = {
    "the same tensor twice": lambda root: Shared(root, IMAGE),
    "a seed in a function": lambda root: Both(root, RANDOM),
    "a seed that is hidden": lambda root: Reseeding(root, RANDOM),
    "work after it, and errors": lambda root: Retrying(root, IMAGE),
    "a transform of pairs": lambda root: pairs(
        root, transforms=lambda image, mask: (IMAGE(image), IMAGE(mask.convert("RGB")) * 2)
    ),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", [*WORKERS, *PYTHON])
def test_batches_are_those_of_pytorch(name: str, workers: int, root: str) -> None:
    make = {**WORKERS, **PYTHON}[name]
    batches = {}
    for kind in (data.DataLoader, DataLoader):
        torch.manual_seed(5)
        loader = kind(make(root), 4, shuffle=True, num_workers=workers)
        batches[kind] = list(loader)
        if kind is DataLoader:
            assert loader.explain().way == ("workers" if name in WORKERS else "python")
    assert len(batches[DataLoader]) == 4
    assert near(batches[DataLoader], batches[data.DataLoader])


def test_views_of_an_image_differ_and_repeat(root: str) -> None:
    """Between views, transforms and epochs; and with the same seed, or from a state."""
    other = v1.Compose([*RANDOM.transforms])

    def loader() -> DataLoader:
        torch.manual_seed(3)
        return DataLoader(ImageFolder(root, Crops(2, RANDOM, other)), 5)

    first = loader()
    assert first.explain().way == "workers"
    running = iter(first)
    views, _ = next(running)
    assert len(views) == 4 and views[0].shape == (5, 3, CROP, CROP)
    assert len({view.numpy().tobytes() for view in views}) == 4
    state, rest = first.state_dict(), list(running)
    assert len(rest) == 2
    again = loader()
    again.load_state_dict(state)
    assert exactly(list(again), rest)
    assert exactly([views, *(images for images, _ in rest)], [images for images, _ in loader()])
    assert not torch.equal(next(iter(first))[0][0], views[0])


class Half(Own):
    """From one sample on, there is no transform."""

    def __getitem__(self, index: int) -> Any:
        image = loaded(self.files[index % 15])
        return (self.transform(image) if index < 5 else torch.ones(3, CROP, CROP)), index

    def __len__(self) -> int:
        return 200


def test_a_worker_stops_to_try_what_fails(root: str) -> None:
    calls = []

    class Counted(Half):
        def __getitem__(self, index: int) -> Any:
            calls.append(index)
            return super().__getitem__(index)

    loader = DataLoader(Counted(root, IMAGE), 4)
    assert loader.explain().way == "workers"
    assert near(list(loader), list(data.DataLoader(Half(root, IMAGE), 4)))
    assert calls.count(7) > 1 and calls.count(199) == 1


# ---- calls that are captured --------------------------------------------------------------------


def test_other_threads_call_the_transform_itself() -> None:
    transform, image = v1.Compose([v1.CenterCrop(3)]), Image.new("RGB", (9, 9))
    kind, found = type(transform), []
    with capturing([(transform, lambda image: "captured")], decodes=True):
        assert transform(image) == "captured" and isinstance(transform, v1.Compose)
        thread = threading.Thread(target=lambda: found.append(transform(image).size))
        thread.start()
        thread.join()
    assert found == [(3, 3)] and type(transform) is kind and transform(image).size == (3, 3)


# ---- images that are decoded when they are needed ------------------------------------------------


def files() -> dict[str, bytes]:
    pixels = np.random.default_rng(2).integers(0, 256, (7, 9, 3), np.uint8)
    image = Image.fromarray(pixels).resize((40, 30), Image.Resampling.BICUBIC)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6

    def saved(image: Any, kind: str, **given: Any) -> bytes:
        stream = io.BytesIO()
        image.save(stream, kind, **given)
        return stream.getvalue()

    return {
        "jpeg": saved(image, "JPEG"),
        "jpeg, progressive": saved(image, "JPEG", progressive=True),
        "jpeg, grey": saved(image.convert("L"), "JPEG"),
        "jpeg, turned": saved(image, "JPEG", exif=exif),
        "jpeg, cmyk": saved(image.convert("CMYK"), "JPEG"),
        "png": saved(image, "PNG"),
        "png, grey": saved(image.convert("L"), "PNG"),
        "png, alpha": saved(image.convert("RGBA"), "PNG"),
        "png, palette": saved(image.convert("P"), "PNG"),
        "png, transparent": saved(image, "PNG", transparency=(1, 2, 3)),
        "png, turned": saved(image, "PNG", exif=exif),
        "png, 16 bits": saved(
            Image.fromarray(np.arange(12, dtype=np.uint16).reshape(3, 4) * 5000), "PNG"
        ),
        "gif": saved(image, "GIF"),
        "webp": saved(image, "WEBP", lossless=True),
    }


LATER = {"jpeg", "jpeg, progressive", "jpeg, grey", "jpeg, turned", "png", "png, grey"}
USES: dict[str, Callable[[Any], Any]] = {
    "array": np.asarray,
    "pixels": lambda image: image.load()[3, 2],
    "getpixel": lambda image: image.getpixel((1, 2)),
    "resize": lambda image: np.asarray(image.resize((8, 8))),
    "thumbnail": lambda image: (image.thumbnail((10, 10)), np.asarray(image))[1],
    "draft": lambda image: (image.draft("L", (20, 15)), np.asarray(image))[1],
    "crop": lambda image: np.asarray(image.crop((1, 1, 5, 6))),
    "copy": lambda image: np.asarray(image.copy()),
    "rgb twice": lambda image: np.asarray(image.convert("RGB").convert("RGB")),
    "grey": lambda image: np.asarray(image.convert("RGB").convert("L")),
    "loaded first": lambda image: (image.load(), np.asarray(image.convert("RGB")))[1],
    "put": lambda image: (image.putpixel((0, 0), 0), np.asarray(image))[1],
    "converted, put": lambda image: put(image.convert("RGB")),
    "turned": lambda image: np.asarray(ImageOps.exif_transpose(image)),
    "converted, turned": lambda image: np.asarray(ImageOps.exif_transpose(image.convert("RGB"))),
    "bytes": lambda image: np.frombuffer(image.tobytes(), np.uint8),
    "bands": lambda image: np.asarray(image.split()[0]),
    "what it is": lambda image: (image.size, image.mode, image.format, sorted(image.info)),
    "exif": lambda image: dict(image.getexif()),
    "verify": lambda image: image.verify(),
    "repr of type": lambda image: (type(image).__name__, image.convert("RGB").format),
    "equal": lambda image: image == image.copy(),
    "context": lambda image: in_context(image),
    "saved": lambda image: saved_again(image),
    "deep copy": lambda image: np.asarray(copy.deepcopy(image)),
    "shallow copy": lambda image: np.asarray(copy.copy(image.convert("RGB"))),
    "sent": lambda image: np.asarray(pickle.loads(pickle.dumps(image.convert("RGB")))),
}


def put(image: Any) -> Any:
    image.load()[2, 1] = (9, 8, 7)
    return np.asarray(image)


def in_context(image: Any) -> Any:
    with image as same:
        made = same.convert("RGB")
    return np.asarray(made)


def saved_again(image: Any) -> Any:
    stream = io.BytesIO()
    image.save(stream, "BMP" if image.mode in ("RGB", "L") else "PNG")
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", files())
def test_an_image_is_that_of_pillow(name: str, use: str, tmp_path: Path) -> None:
    content = files()[name]
    (tmp_path / "file").write_bytes(content)

    def outcome(image: Any) -> Any:
        try:
            return USES[use](image)
        except Exception as error:
            return type(error), str(error)

    for opened in (tmp_path / "file", io.BytesIO(content)):
        expected = outcome(Image.open(opened))
        with opening():
            image = Image.open(opened)
            later = "_headrace_bytes" in vars(image)
            found = outcome(image)
        assert later == (name in LATER)
        np.testing.assert_equal(found, expected)


def test_what_is_decoded_later_is_the_file(tmp_path: Path) -> None:
    content = files()["jpeg"]
    (tmp_path / "file").write_bytes(content)
    with opening():
        with open(tmp_path / "file", "rb") as file:
            one = Image.open(file).convert("RGB")
        two = Image.open(tmp_path / "file")
        assert encoded(one) == encoded(two) == encoded(two.copy()) == content
        assert encoded(Image.open(io.BytesIO(files()["jpeg, grey"]))) is None  # it is not RGB
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(Image.open(tmp_path / "file")))
        thread.start()
        thread.join()
        assert encoded(found[0]) is None
    assert encoded(Image.open(tmp_path / "file")) is None


@pytest.mark.parametrize("name", ["jpeg", "png"])
def test_a_file_that_is_cut_off_is_for_pillow(name: str) -> None:
    """So code that catches its error goes on."""
    content = files()[name]
    with opening():
        image = Image.open(io.BytesIO(content[: len(content) * 2 // 3]))
        with pytest.raises(OSError, match="truncated"):
            image.convert("RGB")


class Skipping(Own):
    """Takes another file in place of one that cannot be read."""

    def __getitem__(self, index: int) -> Any:
        try:
            image = loaded(self.files[index])
        except OSError:
            return self[random.randrange(5)]
        return self.transform(image), index


def test_code_that_skips_files_skips_them(root: str, tmp_path: Path) -> None:
    half = tmp_path / "half.png"
    half.write_bytes(Path(Own(root, None).files[0]).read_bytes()[:300])
    batches = []
    for kind in (data.DataLoader, DataLoader):
        dataset = Skipping(root, IMAGE)
        dataset.files[7] = str(half)
        random.seed(4)
        loader = kind(dataset, 3)
        batches.append(list(loader))
        if kind is DataLoader:
            assert loader.explain().way == "workers"
    assert near(*batches)
    assert 7 not in torch.cat([labels for _, labels in batches[1]])
