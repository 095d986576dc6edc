# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace.torch.DataLoader` with data sets for tasks other than classification, as users have them.

Those of classification, samplers and collate functions are in test_torch_dataloader.py.
"""

from __future__ import annotations

import dataclasses
import io
import json
import tarfile
import wave
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from headrace.torch import DataLoader  # noqa: E402
from torch_sets import ARRAY, CROP, GREY, IMAGE, Own, classes, in_memory, near, ragged  # noqa: E402
from torch.utils import data  # noqa: E402
from torchvision import io as vision_io  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import (  # noqa: E402
    CIFAR100,
    STL10,
    USPS,
    CocoCaptions,
    CocoDetection,
    FakeData,
    FashionMNIST,
    ImageFolder,
    VisionDataset,
    VOCDetection,
)
from torchvision.transforms import v2  # noqa: E402

Make = Callable[[Path], Any]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(classes(tmp_path_factory.mktemp("classes")))


class Of(data.Dataset):
    """Numbers 0 to 14 go through a function."""

    def __init__(self, root: Path, transform: Any, function: Callable[[Any, int], Any]) -> None:
        self.files = Own(str(root), None).files
        self.transform, self.function = transform, function

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self.files):
            raise IndexError
        return self.function(self, index)

    def image(self, index: int) -> Any:
        return Image.open(self.files[index % len(self.files)]).convert("RGB")


def of(transform: Any, function: Callable[[Any, int], Any]) -> Make:
    return lambda root: Of(root, transform, function)


# ---- torchvision ---------------------------------------------------------------------------------


class Annotations:
    """What pycocotools.coco.COCO has."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def loadImgs(self, number: int) -> Any:  # noqa: N802
        return [{"file_name": self.files[number]}]

    def getAnnIds(self, number: int) -> Any:  # noqa: N802
        return list(range(number % 3 + 1))

    def loadAnns(self, numbers: Any) -> Any:  # noqa: N802
        return [
            {"bbox": [n, 0.5, 3, 4], "category_id": n, "caption": f"it is {n}"} for n in numbers
        ]


def coco(kind: Any = CocoDetection, image: Any = IMAGE, target: Any = None, **more: Any) -> Make:
    def make(root: Path) -> Any:
        made = kind.__new__(kind)
        made.coco = Annotations([Path(f).relative_to(root) for f in Own(str(root), None).files])  # type: ignore[arg-type,misc]
        VisionDataset.__init__(made, str(root), more.get("both"), image, target)
        made.ids = list(range(15))
        return made

    return make


class Darker(CocoDetection):
    def _load_image(self, id: int) -> Any:
        return super()._load_image(id).point(lambda level: level // 2)


class Areas(CocoDetection):
    """Only what it says of an image is its own."""

    def _load_target(self, id: int) -> Any:
        return [one["bbox"][2] * one["bbox"][3] for one in super()._load_target(id)]


def both(image: Any, target: Any) -> Any:
    return IMAGE(image), len(target)


def voc(root: Path) -> Any:
    made = VOCDetection.__new__(VOCDetection)
    VisionDataset.__init__(made, str(root), None, IMAGE, None)
    made.images, made.targets = Own(str(root), None).files, []
    for i, file in enumerate(made.images):
        xml = f"<annotation><object><name>n{i}</name><bndbox><xmin>{i}</xmin></bndbox></object></annotation>"
        made.targets.append(str(Path(file).with_suffix(".xml")))
        Path(made.targets[-1]).write_text(xml)
    return made


def pixels(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).integers(0, 256, shape, np.uint8)


def stl10(root: Path) -> Any:
    return in_memory(STL10, IMAGE, data=pixels(9, 3, 96, 96), labels=np.arange(9))


def usps(root: Path) -> Any:
    return in_memory(USPS, ARRAY, data=pixels(9, 16, 16), targets=list(range(9)))


# ---- tasks ---------------------------------------------------------------------------------------


def resolution(dataset: Of, i: int) -> Any:
    """A small and a large version."""
    image = dataset.image(i)
    return dataset.transform(image), v1.functional.to_tensor(image.resize((48, 48)))


def triplet(dataset: Of, i: int) -> Any:
    return tuple(dataset.transform(dataset.image(k)) for k in (i, i + 1, i * 7))


def frames(dataset: Of, i: int) -> Any:
    """A clip: the frames are transformed one by one."""
    return torch.stack([dataset.transform(dataset.image(i + k)) for k in range(3)]), i


def clip(dataset: Of, i: int) -> Any:
    """A clip as one tensor TCHW."""
    content = torch.from_numpy(pixels(4, 3, 40, 50 + i % 2))
    return dataset.transform(content), i


def clip_list(dataset: Of, i: int) -> Any:
    return {"frames": [dataset.transform(dataset.image(i + k)) for k in range(3)], "fps": 25.0}


def sound(dataset: Of, i: int) -> Any:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(np.arange(i, i + 100, dtype=np.int16).tobytes())
    with wave.open(io.BytesIO(stream.getvalue())) as file:
        samples = np.frombuffer(file.readframes(100), np.int16)
    return torch.from_numpy(samples / 32768.0).float(), 8000, i


def spectrum(dataset: Of, i: int) -> Any:
    """A sound as an image, with a transform of images."""
    levels = np.abs(np.fft.rfft(np.sin(np.arange(4096) * (i + 1) / 99).reshape(64, 64)))
    image = Image.fromarray((levels / levels.max() * 255).astype(np.uint8))
    return dataset.transform(image), i


def captions(dataset: Of, i: int) -> Any:
    return dataset.transform(dataset.image(i)), f"image {i}", torch.arange(i % 4)


def by_torchvision(dataset: Of, i: int) -> Any:
    return dataset.transform(vision_io.decode_image(dataset.files[i], "RGB")), i


def depth(dataset: Of, i: int) -> Any:
    """An image, and a map of floats."""
    return {"x": dataset.transform(dataset.image(i)), "depth": torch.full((1, 5, 5), i / 3)}


def volume(dataset: Of, i: int) -> Any:
    return torch.from_numpy(pixels(6, 7, 8).astype(np.float32)) + i, i


def keypoints(dataset: Of, i: int) -> Any:
    image = dataset.image(i)
    scale = torch.tensor([CROP / image.width, CROP / image.height])
    return dataset.transform(image), torch.arange(10.0).reshape(5, 2) * scale, torch.ones(5)


def labels(dataset: Of, i: int) -> Any:
    """Several classes at once, and a weight."""
    return dataset.transform(dataset.image(i)), torch.eye(15)[[i, 14 - i]].amax(0), 0.5 * i


@dataclasses.dataclass
class Sample:
    image: Any
    number: int


def stacked(samples: list[Sample]) -> Any:
    return torch.stack([one.image for one in samples]), [one.number for one in samples]


def padded(samples: Any) -> Any:
    images, texts, tokens = zip(*samples)
    filled = torch.nn.utils.rnn.pad_sequence(list(tokens), batch_first=True, padding_value=-1)
    return torch.stack(images), list(texts), filled


class Zipped(data.Dataset):
    """Files in an archive, opened in each worker."""

    def __init__(self, root: Path) -> None:
        self.path, self.archive, self.transform = root / "files.zip", None, IMAGE
        with zipfile.ZipFile(self.path, "w") as archive:
            for file in Own(str(root), None).files:
                archive.write(file, Path(file).relative_to(root))

    def __len__(self) -> int:
        return 15

    def __getitem__(self, index: int) -> Any:
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.path)  # type: ignore[assignment]
        name = self.archive.namelist()[index]  # type: ignore[attr-defined]
        with self.archive.open(name) as file:  # type: ignore[attr-defined]
            return self.transform(Image.open(file).convert("RGB")), name


class Tarred(data.IterableDataset):
    def __init__(self, root: Path) -> None:
        self.path, self.transform = root / "files.tar", IMAGE
        with tarfile.open(self.path, "w") as archive:
            for file in Own(str(root), None).files:
                archive.add(file, Path(file).name)

    def __iter__(self) -> Any:
        with tarfile.open(self.path) as archive:
            for member in archive:
                content = archive.extractfile(member)
                yield self.transform(Image.open(content).convert("RGB")), member.name  # type: ignore[arg-type]


class Mapped(data.Dataset):
    """Arrays in a file that is mapped."""

    def __init__(self, root: Path) -> None:
        np.save(root / "all.npy", pixels(10, 30, 36, 3))
        self.images, self.transform = np.load(root / "all.npy", mmap_mode="r"), IMAGE

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.images[index])), index


class Listed(data.Dataset):
    """Lines of JSON with paths and targets."""

    def __init__(self, root: Path) -> None:
        files = Own(str(root), None).files
        (root / "list").write_text(
            "\n".join(json.dumps({"f": f, "y": i / 9}) for i, f in enumerate(files))
        )
        self.lines = (root / "list").read_text().splitlines()
        self.transforms = {"train": IMAGE}

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> Any:
        row = json.loads(self.lines[index])
        return self.transforms["train"](Image.open(row["f"])), np.float32(row["y"])


class Several(data.Dataset):
    """Makes the samples of a batch together."""

    def __init__(self, root: Path) -> None:
        self.of = Of(root, IMAGE, keypoints)

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, index: int) -> Any:
        return self.of[index]

    def __getitems__(self, indices: list[int]) -> Any:
        return [self.of[index] for index in indices]


CLIP = v2.Compose([v2.Resize((CROP, CROP)), v2.ToDtype(torch.float32, scale=True)])
FLOATS = v2.Compose([v2.Resize((CROP, CROP)), v2.ToDtype(torch.float32, scale=True)])
BY_FUNCTION = v1.Compose(
    [v1.Lambda(lambda image: image.transpose(Image.Transpose.ROTATE_90)), IMAGE]
)

# The way, the data set, and arguments of the loader.
KINDS: dict[str, tuple[str, Make, dict[str, Any]]] = {
    "CocoDetection": ("files", coco(), {"collate_fn": ragged}),
    "CocoDetection, target": ("files", coco(target=len), {}),
    "CocoCaptions": ("files", coco(CocoCaptions), {"collate_fn": ragged}),
    "CocoDetection, own targets": ("files", coco(Areas), {"collate_fn": ragged}),
    "CocoDetection, own images": ("workers", coco(Darker), {"collate_fn": ragged}),
    "CocoDetection, both": ("workers", coco(image=None, both=both), {}),
    "a part of CocoDetection": (
        "files",
        lambda root: data.Subset(coco()(root), [4, 2, 9]),
        {"collate_fn": ragged},
    ),
    "VOCDetection": ("workers", voc, {"collate_fn": ragged}),
    "CIFAR100": (
        "arrays",
        lambda root: in_memory(CIFAR100, ARRAY, data=pixels(9, 32, 32, 3), targets=list(range(9))),
        {},
    ),
    "FashionMNIST": (
        "arrays",
        lambda root: in_memory(
            FashionMNIST, ARRAY, data=torch.from_numpy(pixels(9, 28, 28)), targets=torch.arange(9)
        ),
        {},
    ),
    "STL10": ("workers", stl10, {}),
    "USPS": ("workers", usps, {}),
    "FakeData": ("python", lambda root: FakeData(9, (3, 40, 44), 5, IMAGE), {}),
    "ImageFolder of grey images": ("files", lambda root: ImageFolder(str(root), GREY), {}),
    "super-resolution": ("workers", of(IMAGE, resolution), {}),
    "triplets": ("workers", of(IMAGE, triplet), {}),
    "frames": ("python", of(IMAGE, frames), {}),
    "a list of frames": ("workers", of(IMAGE, clip_list), {}),
    "a clip": ("python", of(CLIP, clip), {}),
    "sound": ("python", of(None, sound), {}),
    "spectrum": ("workers", of(ARRAY, spectrum), {}),
    "captions": ("workers", of(IMAGE, captions), {"collate_fn": padded}),
    "decoded by torchvision": ("workers", of(FLOATS, by_torchvision), {}),
    "depth": ("workers", of(IMAGE, depth), {}),
    "volumes": ("python", of(None, volume), {}),
    "key points": ("workers", of(IMAGE, keypoints), {}),
    "several labels": ("workers", of(IMAGE, labels), {}),
    "a dataclass": (
        "python",
        of(IMAGE, lambda dataset, i: Sample(dataset.transform(dataset.image(i)), i)),
        {"collate_fn": stacked},
    ),
    "a function first": ("workers", of(BY_FUNCTION, keypoints), {}),
    "a zip file": ("workers", Zipped, {}),
    "a tar file": ("workers", Tarred, {}),
    "a mapped file": ("workers", Mapped, {}),
    "lines of JSON": ("workers", Listed, {}),
    "__getitems__": ("workers", Several, {}),
    "ChainDataset": (
        "workers",
        lambda root: data.ChainDataset([Tarred(root), Tarred(root)]),
        {},
    ),
    "StackDataset": (
        "workers",
        lambda root: data.StackDataset(x=ImageFolder(str(root), IMAGE), y=list(range(15))),
        {},
    ),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", KINDS)
def test_batches_are_those_of_pytorch(name: str, workers: int, root: Path) -> None:
    way, make, more = KINDS[name]
    batches = {}
    for kind in (data.DataLoader, DataLoader):
        torch.manual_seed(8)
        dataset = make(root)
        given = {"shuffle": not isinstance(dataset, data.IterableDataset) or None, **more}
        loader = kind(dataset, 4, num_workers=workers, **given)
        batches[kind] = list(loader)
        if kind is DataLoader:
            assert loader.explain().way == way, str(loader.explain())
            assert way != "python" or loader.explain().reasons
    assert len(batches[DataLoader]) > 0
    assert near(batches[DataLoader], batches[data.DataLoader])
