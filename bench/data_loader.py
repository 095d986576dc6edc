# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Images per CPU-second of `headrace.torch.DataLoader`, and of PyTorch's in the same script.

    python bench/data_loader.py [FOLDER] [--rounds 5] [--images 1500] [--cases own,folder]

The CPU time is that of all processes, from the second epoch on. A case runs in a process of its own, in
turns with PyTorch's loader; the table has medians, and the smallest and largest ratio of a round.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import photographs

WORKERS = 2


def cpu() -> float:
    """Seconds of this process and its workers."""
    ticks = 0
    for child in multiprocessing.active_children():
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def training() -> Any:
    from torchvision import transforms

    return transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )


def evaluation() -> Any:
    from torchvision import transforms

    steps = [transforms.Resize(256), transforms.CenterCrop(224), *training().transforms[2:]]
    return transforms.Compose(steps)


def own(root: str, images: int, views: int = 1, load: Any = None) -> Any:
    """A data set as users write it."""
    from PIL import Image
    from torch.utils.data import Dataset

    files = sorted(p for p in Path(root).glob("*/*") if p.suffix.lower() in (".jpg", ".jpeg"))

    class Own(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.files = (files * (images // len(files) + 1))[:images]
            self.transform = training()

        def __len__(self) -> int:
            return len(self.files)

        def __getitem__(self, index: int) -> Any:
            image = Image.open(self.files[index]).convert("RGB")
            made = [self.transform(image) for _ in range(views)]
            return {"views": made, "label": index}

    return Own()


def folder(root: str, images: int) -> Any:
    from torchvision.datasets import ImageFolder

    found = ImageFolder(root, training())
    found.samples = (found.samples * (images // len(found.samples) + 1))[:images]
    return found


def hugging_face(root: str, images: int) -> Any:
    from datasets import Dataset, Features, Image, Value

    files = own(root, images).files
    rows = {"image": [{"bytes": f.read_bytes(), "path": None} for f in files]}
    rows["label"] = list(range(len(files)))
    made = Dataset.from_dict(rows, features=Features({"image": Image(), "label": Value("int64")}))
    transform = training()

    def transforms(batch: Any) -> Any:
        batch["pixel_values"] = [transform(image.convert("RGB")) for image in batch.pop("image")]
        return batch

    made.set_transform(transforms)
    return made


def cifar(root: str, images: int) -> Any:
    from torchvision import transforms
    from torchvision.datasets import CIFAR10

    made = CIFAR10.__new__(CIFAR10)
    steps = [transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    made.transform = transforms.Compose([*steps, transforms.Normalize([0.5] * 3, [0.25] * 3)])
    made.target_transform = None  # type: ignore[assignment]
    made.data = np.random.default_rng(1).integers(0, 256, (images * 20, 32, 32, 3), np.uint8)
    made.targets = list(range(images * 20))
    return made


def coco(root: str, images: int) -> Any:
    from torchvision.datasets import CocoDetection

    files = own(root, images).files
    made = CocoDetection.__new__(CocoDetection)
    CocoDetection.__bases__[0].__init__(made, "", None, evaluation(), None)  # type: ignore[misc]
    made.ids = list(range(len(files)))

    class Annotations:
        def loadImgs(self, number: int) -> Any:  # noqa: N802
            return [{"file_name": str(files[number])}]

        def getAnnIds(self, number: int) -> Any:  # noqa: N802
            return [number]

        def loadAnns(self, numbers: Any) -> Any:  # noqa: N802
            return [{"bbox": [1.0, 2.0, 3.0, 4.0], "id": number} for number in numbers]

    made.coco = Annotations()
    return made


def pairs(root: str, images: int, target: Any, transforms: Any) -> Any:
    """Images and what belongs to them: `target` makes it of a number and an image."""
    from PIL import Image
    from torch.utils.data import Dataset

    files = own(root, images).files

    class Pairs(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.files, self.transforms = files, transforms

        def __len__(self) -> int:
            return len(self.files)

        def __getitem__(self, index: int) -> Any:
            image = Image.open(self.files[index]).convert("RGB")
            return self.transforms(image, target(self.files[index], image))

    return Pairs()


def segmentation(root: str, images: int) -> Any:
    """Masks are PNG files with a palette, as in VOC: 21 classes, some large regions."""
    import tempfile

    import torch
    from PIL import Image
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    folder = Path(tempfile.mkdtemp(prefix="headrace-masks-"))
    masks = {}
    for number, file in enumerate(sorted(set(own(root, images).files))):
        with Image.open(file) as opened:
            size = opened.size
        coarse = np.random.default_rng(number).integers(0, 21, (5, 6), np.uint8)
        mask = Image.fromarray(coarse).resize(size, Image.Resampling.NEAREST).rotate(20)
        mask.putpalette(np.random.default_rng(1).integers(0, 256, 768, np.uint8).tolist())
        masks[file] = folder / f"{number}.png"
        mask.save(masks[file])
    dtypes = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    steps = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToImage()]
    steps += [v2.ToDtype(dtypes, scale=True), v2.Normalize([0.485, 0.456, 0.406], [0.25] * 3)]
    return pairs(
        root, images, lambda file, _: tv_tensors.Mask(Image.open(masks[file])), v2.Compose(steps)
    )


def detection(root: str, images: int) -> Any:
    """Seven boxes an image, which get the size that detectors are trained with."""
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    def target(file: Any, image: Any) -> Any:
        places = np.random.default_rng(len(file.name)).random((7, 2, 2), np.float32)
        boxes = np.sort(places, 1).reshape(7, 4) * np.float32([image.width, image.height] * 2)
        size = {"canvas_size": (image.height, image.width)}
        found = tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", **size)
        return {"boxes": found, "labels": torch.arange(7)}

    dtypes = {tv_tensors.Image: torch.float32, "others": None}
    steps = [v2.RandomHorizontalFlip(), v2.RandomResizedCrop((320, 320), (0.3, 1.0)), v2.ToImage()]
    steps += [v2.ToDtype(dtypes, scale=True), v2.SanitizeBoundingBoxes()]
    return pairs(root, images, target, v2.Compose(steps))


def timm(root: str, images: int) -> Any:
    """timm's recipe for training with RandAugment, as `create_transform` makes it."""
    from timm.data import create_transform

    made = own(root, images)
    more = {"auto_augment": "rand-m7-mstd0.5-inc1", "interpolation": "random", "re_prob": 0.25}
    made.transform = create_transform(224, is_training=True, **more)
    made.transform.transforms[-1].device = "cpu"
    return made


def grown(root: str, images: int) -> Any:
    """Ends with a function of the user, so Python transforms the images."""
    made = own(root, images)
    made.transform.transforms.append(lambda image: image * 1)
    return made


CASES = {
    "folder": (folder, {}),
    "arrays": (cifar, {}),
    "own": (own, {}),
    "views": (lambda root, images: own(root, images, 2), {}),
    "hugging_face": (hugging_face, {}),
    "coco": (coco, {"collate_fn": lambda samples: tuple(zip(*samples))}),
    "segmentation": (segmentation, {}),
    "detection": (detection, {"collate_fn": lambda samples: tuple(zip(*samples))}),
    "timm": (timm, {}),
    "python": (grown, {}),
}


def run(kind: str, case: str, root: str, images: int) -> None:
    """Prints the images per CPU-second, and the way."""
    import torch

    torch.set_num_threads(1)
    if kind == "headrace":
        from headrace.torch import DataLoader
    else:
        from torch.utils.data import DataLoader  # type: ignore[assignment]
    make, more = CASES[case]
    dataset = make(root, images)
    given = {"num_workers": WORKERS, "persistent_workers": True, "shuffle": True}
    loader = DataLoader(dataset, 64, **given, **more)  # type: ignore[arg-type]
    for _ in loader:
        pass
    begin = cpu()
    for _ in loader:
        pass
    speed = len(dataset) / (cpu() - begin)
    print(speed, loader.explain().way if kind == "headrace" else "")


def measured(kind: str, case: str, root: str, images: int) -> tuple[float, str]:
    command = [sys.executable, __file__, root, "--run", kind, "--cases", case]
    done = subprocess.run(
        [*command, "--images", str(images)], check=True, capture_output=True, text=True
    )
    speed, _, way = done.stdout.splitlines()[-1].partition(" ")
    return float(speed), way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=None, help=photographs.HELP)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=1500)
    parser.add_argument("--cases", default=",".join(CASES), help="`timm` needs this package")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    given = parser.parse_args()
    root = given.folder or photographs.folder()
    if given.run:
        run(given.run, given.cases, root, given.images)
        return
    print(f"{'case':14}{'way':10}{'PyTorch':>10}{'Headrace':>10}{'ratio':>8}")
    for case in given.cases.split(","):
        pairs = []
        for _ in range(given.rounds):
            theirs, _ = measured("torch", case, root, given.images)
            pairs.append((theirs, *measured("headrace", case, root, given.images)))
        ratios = [ours / theirs for theirs, ours, _ in pairs]
        speeds = [statistics.median(column) for column in list(zip(*pairs))[:2]]
        middle, least, most = statistics.median(ratios), min(ratios), max(ratios)
        print(
            f"{case:14}{pairs[0][2]:10}{speeds[0]:10.0f}{speeds[1]:10.0f}{middle:8.2f}"
            f"  ({least:.2f} to {most:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
