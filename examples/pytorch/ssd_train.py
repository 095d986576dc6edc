# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Trains an SSD detector on images with boxes, in COCO's format, on the CPU or on a GPU.

    python ssd_train.py                                    # on images that are drawn for this run
    python ssd_train.py --images train2017 --annotations instances_train2017.json --epochs 65

Of every image only the window that is trained on is decoded: `random_bbox_crop` draws it first, from the boxes
alone. The boxes are mirrored with the image and arrive matched to the anchors, so the training loop gets tensors of
one shape. The backbone is a plain one and starts untrained; put your own in its place.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode
from headrace.plugin.pytorch import DALIGenericIterator
from torch import nn

SIZE = 300
# One row per feature map: cells along a side, size of the anchors and of the next larger ones, aspect ratios.
MAPS: list[tuple[int, int, int, list[float]]] = [
    (38, 21, 45, [2]),
    (19, 45, 99, [2, 3]),
    (10, 99, 153, [2, 3]),
    (5, 153, 207, [2, 3]),
    (3, 207, 261, [2]),
    (1, 261, 315, [2]),
]
STDS = [0.1, 0.1, 0.2, 0.2]
COLOURS = {"circle": (220, 60, 40), "square": (50, 90, 210)}


def make_anchors() -> torch.Tensor:
    """Centre, width and height of every anchor, relative to the image: (8732, 4)."""
    rows = []
    for cells, small, large, ratios in MAPS:
        sides = [(small, small), ((small * large) ** 0.5,) * 2]
        for ratio in ratios:
            wide, high = small * ratio**0.5, small / ratio**0.5
            sides += [(wide, high), (high, wide)]
        for y in range(cells):
            for x in range(cells):
                centre = ((x + 0.5) / cells, (y + 0.5) / cells)
                rows += [(*centre, width / SIZE, height / SIZE) for width, height in sides]
    return torch.tensor(rows)


def corners(boxes: torch.Tensor) -> torch.Tensor:
    """From centre, width and height to left, top, right and bottom."""
    half = boxes[..., 2:] / 2
    return torch.cat([boxes[..., :2] - half, boxes[..., :2] + half], -1)


def decode(offsets: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    """The boxes (left, top, right, bottom) that offsets from the anchors stand for."""
    offsets = offsets * torch.tensor(STDS, device=offsets.device)
    centres = anchors[:, :2] + offsets[..., :2] * anchors[:, 2:]
    return corners(torch.cat([centres, anchors[:, 2:] * offsets[..., 2:].exp()], -1))


class Coco:
    """Source of encoded images with their boxes (left, top, right, bottom, relative to the image) and classes.

    Classes count from 1, because 0 is the background. The order changes with every epoch.
    """

    def __init__(self, images: Path, annotations: Path) -> None:
        known = json.loads(annotations.read_text())
        ids = sorted(category["id"] for category in known["categories"])
        self.classes = {number: i for i, number in enumerate(ids, 1)}
        found = defaultdict(list)
        for a in known["annotations"]:
            if not a.get("iscrowd", 0):
                left, top, width, height = a["bbox"]
                box = (left, top, left + width, top + height)
                found[a["image_id"]].append((box, self.classes[a["category_id"]]))
        self.samples = []
        for image in known["images"]:
            if objects := found.get(image["id"]):
                scale = np.array([image["width"], image["height"]] * 2, np.float32)
                boxes = np.array([box for box, _ in objects], np.float32) / scale
                labels = np.array([label for _, label in objects], np.int32)
                self.samples.append((str(images / image["file_name"]), boxes, labels))
        self.epoch, self.order = -1, np.arange(0)

    def __call__(self, info: types.SampleInfo) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if info.idx_in_epoch >= len(self.samples):
            raise StopIteration
        if info.epoch_idx != self.epoch:
            self.epoch = info.epoch_idx
            self.order = np.random.default_rng(self.epoch).permutation(len(self.samples))
        path, boxes, labels = self.samples[self.order[info.idx_in_epoch]]
        return np.fromfile(path, np.uint8), boxes, labels


@pipeline_def(exec_dynamic=True)
def training_pipeline(source: Coco, anchors: list[float], gpu: bool) -> tuple[DataNode, DataNode, DataNode]:
    encoded, boxes, labels = fn.external_source(
        source, num_outputs=3, batch=False, dtype=[types.UINT8, types.FLOAT, types.INT32]
    )
    start, size, boxes, labels = fn.random_bbox_crop(
        boxes,
        labels,
        bbox_layout="xyXY",
        thresholds=[0.0, 0.1, 0.3, 0.5, 0.7, 0.9],
        aspect_ratio=[0.5, 2.0],
        scaling=[0.3, 1.0],
        allow_no_crop=True,
        num_attempts=50,
    )
    images = fn.decoders.image_slice(encoded, start, size, device="mixed" if gpu else "cpu")
    images = fn.resize(images, size=[SIZE, SIZE], interp_type=types.INTERP_TRIANGULAR)
    images = fn.color_twist(
        images,
        hue=fn.random.uniform(range=[-18.0, 18.0]),
        saturation=fn.random.uniform(range=[0.5, 1.5]),
        brightness=fn.random.uniform(range=[0.87, 1.13]),
        contrast=fn.random.uniform(range=[0.5, 1.5]),
    )
    mirror = fn.random.coin_flip()
    images = fn.crop_mirror_normalize(
        images,
        mirror=mirror,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )
    boxes = fn.bb_flip(boxes, ltrb=True, horizontal=mirror)
    boxes, labels = fn.box_encoder(boxes, labels, anchors=anchors, offset=True, stds=STDS)
    return (images, boxes.gpu(), labels.gpu()) if gpu else (images, boxes, labels)


def layer(before: int, after: int, stride: int = 2, padding: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, stride, padding, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    )


class Detector(nn.Module):
    """Feature maps of six sizes. From each cell, offsets and class scores of its anchors."""

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.classes = classes
        stem = [layer(3, width // 2), layer(width // 2, width), layer(width, width)]
        halve = [nn.Sequential(layer(width, width), layer(width, width, 1)) for _ in range(4)]
        self.stages = nn.ModuleList([nn.Sequential(*stem), *halve, layer(width, width, 1, 0)])
        counts = [2 + 2 * len(ratios) for *_, ratios in MAPS]
        self.heads = nn.ModuleList(
            nn.Conv2d(width, n * (4 + classes), 3, padding=1) for n in counts
        )

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, rows = images, []
        for stage, head in zip(self.stages, self.heads):
            x = stage(x)
            rows.append(head(x).permute(0, 2, 3, 1).reshape(len(x), -1, 4 + self.classes))
        out = torch.cat(rows, 1).float()
        return out[..., :4], out[..., 4:]


def detection_loss(
    offsets: torch.Tensor, scores: torch.Tensor, wanted: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Classes of the matched anchors and of three times as many of the worst others; offsets of the matched ones."""
    matched = labels > 0
    each = F.cross_entropy(scores.transpose(1, 2), labels, reduction="none")
    others = each.detach().masked_fill(matched, 0)
    rank = others.argsort(1, descending=True).argsort(1)
    used = matched | (rank < 3 * matched.sum(1, keepdim=True))
    boxes = F.smooth_l1_loss(offsets[matched], wanted[matched], reduction="sum")
    return (each[used].sum() + boxes) / matched.sum().clamp(min=1)


def overlap(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Intersection over union of pairs of boxes (left, top, right, bottom)."""

    def area(x: torch.Tensor) -> torch.Tensor:
        return (x[..., 2:] - x[..., :2]).clamp(min=0).prod(-1)

    both = area(torch.cat([torch.maximum(a, b)[..., :2], torch.minimum(a, b)[..., 2:]], -1))
    return both / (area(a) + area(b) - both).clamp(min=1e-9)


def draw_pictures(folder: Path, count: int) -> Path:
    """Writes JPEG images of circles and squares, and their boxes in COCO's format. Returns the file of boxes."""
    from PIL import Image, ImageDraw

    rng = random.Random(3)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number in range(count):
        width, height = rng.randrange(240, 480), rng.randrange(240, 480)
        grey = np.random.default_rng(number).integers(90, 180, (12, 16), np.uint8)
        picture = Image.fromarray(grey).resize((width, height), Image.Resampling.BICUBIC)
        picture = picture.convert("RGB")
        pen = ImageDraw.Draw(picture)
        for _ in range(rng.randint(1, 3)):
            side, kind = rng.randrange(60, 160), rng.randrange(2)
            left, top = rng.randrange(width - side), rng.randrange(height - side)
            shape = pen.rectangle if kind else pen.ellipse
            shape((left, top, left + side - 1, top + side - 1), list(COLOURS.values())[kind])
            box = [left, top, side, side]
            annotations.append({"image_id": number, "category_id": 10 + kind, "bbox": box})
        name = f"{number:06}.jpg"
        picture.save(folder / name, quality=90)
        images.append({"id": number, "file_name": name, "width": width, "height": height})
    categories = [{"id": 10 + i, "name": name} for i, name in enumerate(COLOURS)]
    known = {"images": images, "annotations": annotations, "categories": categories}
    path = folder / "instances.json"
    path.write_text(json.dumps(known))
    return path


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains an SSD detector.")
    parser.add_argument("--images", type=Path, help="folder of images; none: images are drawn")
    parser.add_argument("--annotations", type=Path, help="COCO's instances_*.json of these images")
    parser.add_argument("--draw", type=int, default=256, help="number of images to draw")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--steps", type=int, help="steps per epoch, at most")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--threads", type=int, default=4, help="threads of the loader")
    parser.add_argument("--width", type=int, default=64, help="channels of the network")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--print-every", type=int, default=10)
    parser.add_argument("--save", type=Path, help="write the trained weights to this file")
    args = parser.parse_args()
    if (args.images is None) != (args.annotations is None):
        parser.error("--images and --annotations go together")
    return args


def train(args: argparse.Namespace, images: Path, annotations: Path) -> None:
    gpu = torch.cuda.is_available()
    device = torch.device("cuda" if gpu else "cpu")
    source = Coco(images, annotations)
    anchors = make_anchors()
    pipe = training_pipeline(
        source,
        corners(anchors).flatten().tolist(),
        gpu,
        batch_size=args.batch_size,
        num_threads=args.threads,
        device_id=0 if gpu else None,
        seed=5,
    )
    loader = DALIGenericIterator(pipe, ["images", "boxes", "labels"], auto_reset=True)
    torch.manual_seed(0)
    anchors = anchors.to(device)
    model = Detector(len(source.classes) + 1, args.width).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), args.lr)
    start, seen = time.perf_counter(), 0
    for epoch in range(args.epochs):
        for step, (batch,) in enumerate(loader, 1):
            labels = batch["labels"].long()
            with torch.autocast(device.type, torch.bfloat16, enabled=gpu):
                offsets, scores = model(batch["images"])
            loss = detection_loss(offsets, scores, batch["boxes"], labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            seen += len(labels)
            if step % args.print_every == 0:
                matched = labels > 0
                pairs = [decode(x.detach(), anchors)[matched] for x in (offsets, batch["boxes"])]
                rate = seen / (time.perf_counter() - start)
                print(
                    f"epoch {epoch} step {step}: loss {float(loss.detach()):.3f}, "
                    f"overlap of boxes {float(overlap(*pairs).mean()):.2f}, {rate:,.0f} img/s",
                    flush=True,
                )
                start, seen = time.perf_counter(), 0
            if step == args.steps:
                break
    if args.save:
        torch.save(model.state_dict(), args.save)


def main() -> None:
    args = parse()
    if args.images:
        train(args, args.images, args.annotations)
        return
    with tempfile.TemporaryDirectory() as folder:
        train(args, Path(folder), draw_pictures(Path(folder), args.draw))


if __name__ == "__main__":
    main()
