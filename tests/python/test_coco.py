# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""readers.coco, compared with a plain implementation in Python, and with DALI."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import headrace  # noqa: E402


def run(pipe_module: Any, count: int, **arguments: Any) -> tuple[int, list[list[Any]]]:
    """The epoch's size, and the first `count` samples: a list of arrays each."""

    @pipe_module.pipeline_def(batch_size=count, num_threads=2, device_id=None)
    def define() -> Any:
        return tuple(pipe_module.fn.readers.coco(name="reader", **arguments))

    pipe = define()
    pipe.build()
    outputs = pipe.run()
    samples = [[np.array(out.at(i)) for out in outputs] for i in range(count)]
    return pipe.epoch_size("reader"), samples


# ---- run lengths and polygons, as COCO describes them ----


def coded_counts(counts: list[int]) -> str:
    text = ""
    for i, count in enumerate(counts):
        value = count - counts[i - 2] if i > 2 else count
        more = True
        while more:
            five = value & 31
            value >>= 5
            more = value != (-1 if five & 16 else 0)
            text += chr(five + (32 if more else 0) + 48)
    return text


def pixels_of_counts(counts: list[int], height: int, width: int) -> Any:
    flat = np.repeat(np.arange(len(counts)) % 2, counts)
    return flat.reshape(width, height).T.astype(bool)


def pixels_of_polygon(flat: list[float], height: int, width: int) -> Any:
    """The outline on a grid that is five times finer; where it crosses the centre of a column, the pixels change."""
    xs = [int(5 * float(np.float32(x)) + 0.5) for x in flat[0::2]]
    ys = [int(5 * float(np.float32(y)) + 0.5) for y in flat[1::2]]
    changes = np.zeros(height * width + 1, int)
    for (xa, ya), (xb, yb) in zip(zip(xs, ys), zip(xs[1:] + xs[:1], ys[1:] + ys[:1])):  # noqa: B905
        dx, dy = abs(xb - xa), abs(yb - ya)
        steps = max(dx, dy)
        if dx == 0:
            continue
        if (dx >= dy and xa > xb) or (dx < dy and ya > yb):
            xa, ya, xb, yb = xb, yb, xa, ya
        slope = (yb - ya) / dx if dx >= dy else (xb - xa) / dy
        points = [
            (xa + t, int(ya + slope * t + 0.5)) if dx >= dy else (int(xa + slope * t + 0.5), ya + t)
            for t in range(steps + 1)
        ]
        for (x0, y0), (x1, y1) in zip(points, points[1:]):  # noqa: B905
            column = (min(x0, x1) + 0.5) / 5 - 0.5
            if x0 == x1 or column != int(column) or not 0 <= column < width:
                continue
            row = min(max((min(y0, y1) + 0.5) / 5 - 0.5, 0), height)
            changes[int(column) * height + int(np.ceil(row))] += 1
    return (np.cumsum(changes)[:-1] % 2).reshape(width, height).T.astype(bool)


# ---- data sets ----


def random_polygon(random: Any, height: int, width: int) -> list[float]:
    points = random.random((int(random.integers(3, 8)), 2)) * [width + 2, height + 2] - 1
    return points.round(2).flatten().tolist()


def random_set(folder: Path, seed: int, images: int = 12, only: str = "") -> dict[str, Any]:
    """Writes images and random annotations; returns the annotations.

    `only`: "polygons" or "runs", so that DALI's masks can be compared. It paints other masks wrongly: only
    the last run lengths of a label, labels of unknown categories, runs of length 0.
    """
    kinds = {"polygons": (0, 2), "runs": (2, 4)}.get(only, (0, 4))
    least = 1 if only else 0
    random = np.random.default_rng(seed)
    ids = random.permutation(100)[:images].tolist()
    sizes = [(int(h), int(w)) for h, w in random.integers(4, 40, (images, 2))]
    categories = [17, 3, 90, 44]
    annotations = []
    for number in range(images * 3):
        k = int(random.integers(0, images))
        if k % 5 == 4:
            continue  # these images have none
        h, w = sizes[k]
        box = (random.random(4) * [w, h, w / 2, h / 2]).round(2).tolist()
        if random.random() < 0.1:
            box[2] = 0.05
        kind = random.integers(*kinds)
        counts = []
        while sum(counts) < h * w:
            counts.append(int(min(random.integers(least, h * w // 2), h * w - sum(counts))))
        annotations.append({
            "id": number, "image_id": ids[k], "bbox": box, "area": 3.5,
            "category_id": int(random.choice([*categories, categories[0] if only else 5])),
            "iscrowd": int(random.random() < 0.3),
            "segmentation": [random_polygon(random, h, w) for _ in range(int(random.integers(1, 4)))] if kind < 2
            else {"size": [h, w], "counts": counts if kind == 2 else coded_counts(counts)},
        })  # fmt: skip
    data = {
        "info": {"text": 'a "quoted\\ {text] \u00e9', "list": [1, [2, {"a": None}], True]},
        "images": [
            {"id": i, "height": h, "width": w, "file_name": f"{i:03}.jpg"}
            for i, (h, w) in zip(ids, sizes, strict=True)
        ],
        "annotations": annotations,
        "categories": [{"id": c, "name": f"c{c}"} for c in categories],
    }
    for image in data["images"]:
        (folder / image["file_name"]).write_bytes(image["file_name"].encode() * 3)
    (folder / "annotations.json").write_text(json.dumps(data))
    return data


def expected(data: dict[str, Any], **options: Any) -> list[list[Any]]:
    """What the reader gives out: all samples in order."""
    order = {c["id"]: i + 1 for i, c in enumerate(data["categories"])}
    by_name = {image["file_name"]: image for image in data["images"]}
    images = sorted(data["images"], key=lambda image: image["id"])
    if options.get("images"):
        images = [by_name[name] for name in options["images"] if name in by_name]
    samples = []
    for image in images:
        h, w = image["height"], image["width"]
        sides = np.float32([w, h])
        boxes, labels, polygons, vertices, masks = [], [], [], [], []
        for a in data["annotations"]:
            box = np.float32(a["bbox"])
            if (
                a["image_id"] != image["id"]
                or (box[2:] < np.float32(options.get("size_threshold", 0.1))).any()
            ):
                continue
            if a["iscrowd"] and not options.get("include_iscrowd", True):
                continue
            if options.get("ltrb"):
                box[2:] += box[:2]
            if options.get("ratio"):
                box = box / np.tile(sides, 2)
            label = (
                a["category_id"]
                if options.get("avoid_class_remapping")
                else order.get(a["category_id"], 0)
            )
            shapes = a["segmentation"] if isinstance(a["segmentation"], list) else []
            for flat in shapes:
                points = np.float32(flat).reshape(-1, 2)
                points = points / sides if options.get("ratio") else points
                polygons.append([len(boxes), len(vertices), len(vertices) + len(points)])
                vertices += points.tolist()
                masks.append((label, pixels_of_polygon(flat, h, w)))
            if not isinstance(a["segmentation"], list):
                masks.append((label, pixels_of_counts(a["counts"], h, w)))
            boxes.append(box)
            labels.append(label)
        if options.get("skip_empty") and not boxes:
            continue
        sample = [
            np.frombuffer(image["file_name"].encode() * 3, np.uint8),
            np.array(boxes, np.float32).reshape(-1, 4),
            np.array(labels, np.int32),
        ]
        if options.get("polygon_masks"):
            sample.append(np.array(polygons, np.int32).reshape(-1, 3))
            sample.append(np.array(vertices, np.float32).reshape(-1, 2))
        if options.get("pixelwise_masks"):
            pixels = np.zeros((h, w, 1), np.int32)
            for label, mask in sorted(masks, key=lambda m: m[0]):
                pixels[mask] = label
            sample.append(pixels)
        if options.get("image_ids"):
            sample.append(np.array([image["id"]], np.int32))
        samples.append(sample)
    return samples


def plain(data: dict[str, Any]) -> dict[str, Any]:
    """The data with decoded run lengths in `counts` of each annotation."""
    for a in data["annotations"]:
        if isinstance(a["segmentation"], dict):
            counts = a["segmentation"]["counts"]
            a["counts"] = decoded(counts) if isinstance(counts, str) else counts
    return data


def decoded(text: str) -> list[int]:
    numbers: list[int] = []
    value = shift = 0
    for c in text:
        five = ord(c) - 48
        value |= (five & 31) << shift
        shift += 5
        if five & 32:
            continue
        value -= (1 << shift) if five & 16 else 0
        numbers.append(value + (numbers[-2] if len(numbers) > 2 else 0))
        value = shift = 0
    return numbers


def same(ours: list[list[Any]], theirs: list[list[Any]]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(a, b, strict=True):
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            np.testing.assert_array_equal(x, y)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"ltrb": True},
    {"ratio": True, "polygon_masks": True},
    {"ltrb": True, "ratio": True, "image_ids": True},
    {"avoid_class_remapping": True, "skip_empty": True},
    {"polygon_masks": True, "image_ids": True},
    {"pixelwise_masks": True},
    {"pixelwise_masks": True, "ratio": True},
    {"pixelwise_masks": True, "avoid_class_remapping": True, "include_iscrowd": False},
    {"include_iscrowd": False, "skip_empty": True},
    {"size_threshold": 6.5, "polygon_masks": True},
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_samples(tmp_path: Path, options: dict[str, Any], seed: int) -> None:
    data = plain(random_set(tmp_path, seed))
    wanted = expected(data, **options)
    files = {"file_root": str(tmp_path), "annotations_file": str(tmp_path / "annotations.json")}
    size, samples = run(headrace, len(wanted), **files, **options)
    assert size == len(wanted)
    same(samples, wanted)


def comparable(ours: list[list[Any]], theirs: list[list[Any]], ratio: bool = False) -> None:
    """The same samples, except for masks that include the last pixel: DALI paints a lower label over a higher one
    there. With `ratio`, DALI multiplies rounded fractions to draw masks: a pixel at an edge may differ."""
    for a, b in zip(ours, theirs, strict=True):
        kept = [k for k, x in enumerate(a) if x.ndim < 3 or x.flat[-1] == 0]
        drawn = [k for k in kept if ratio and a[k].ndim == 3]
        kept = [k for k in kept if k not in drawn]
        same([[a[k] for k in kept]], [[b[k] for k in kept]])
        for k in drawn:
            assert a[k].shape == b[k].shape and np.count_nonzero(a[k] != b[k]) <= 2


@pytest.mark.live_dali
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_against_dali(tmp_path: Path, options: dict[str, Any], live_dali: Any) -> None:
    for seed in range(4):
        random_set(
            tmp_path, seed, only="polygons" if seed % 2 or "pixelwise_masks" in options else "runs"
        )
        files = {"file_root": str(tmp_path), "annotations_file": str(tmp_path / "annotations.json")}
        size, theirs = run(live_dali, 12, **files, **options)
        mine_size, mine = run(headrace, 12, **files, **options)
        assert size == mine_size
        comparable(mine, theirs, options.get("ratio", False))


def test_images(tmp_path: Path) -> None:
    data = plain(random_set(tmp_path, 5))
    names = [image["file_name"] for image in data["images"]]
    chosen = [names[3], names[1], names[1], "none.jpg", names[7]]
    files = {"file_root": str(tmp_path), "annotations_file": str(tmp_path / "annotations.json")}
    size, samples = run(headrace, 4, images=chosen, **files)
    assert size == 4
    same(samples, expected(data, images=chosen))


@pytest.mark.parametrize("masks", ["", "polygon_masks", "pixelwise_masks"])
def test_saved(tmp_path: Path, masks: str) -> None:
    data = plain(random_set(tmp_path, 6))
    options: dict[str, Any] = {"image_ids": True, **({masks: True} if masks else {})}
    wanted = expected(data, **options)
    saved = tmp_path / "saved"
    saved.mkdir()
    save = {"save_preprocessed_annotations": True, "save_preprocessed_annotations_dir": str(saved)}
    files = {"file_root": str(tmp_path), "annotations_file": str(tmp_path / "annotations.json")}
    same(run(headrace, 12, **files, **save, **options)[1], wanted)
    again = {"file_root": str(tmp_path), "preprocessed_annotations": str(saved)}
    same(run(headrace, 12, **again, **options)[1], wanted)
    for path in sorted(saved.iterdir()):  # each damaged in turn
        content = path.read_bytes()
        for damaged in (content[:-1], struct.pack("<I", 2**31) + content[4:]):
            if path.name == "filenames.dat":
                damaged = b"more\n" * 20
            path.write_bytes(damaged)
            with pytest.raises(RuntimeError, match=r"\.dat|tables|boxes"):
                run(headrace, 12, **again, **options)
        path.write_bytes(content)


def test_saved_without_sizes(tmp_path: Path) -> None:
    random_set(tmp_path, 6)
    save = {"save_preprocessed_annotations": True, "save_preprocessed_annotations_dir": str(tmp_path)}  # fmt: skip
    files = {"file_root": str(tmp_path), "annotations_file": str(tmp_path / "annotations.json")}
    run(headrace, 12, **files, **save, pixelwise_masks=True)
    widths = (tmp_path / "widths.dat").read_bytes()
    (tmp_path / "widths.dat").write_bytes(widths[:4] + bytes(len(widths) - 4))
    again = {"file_root": str(tmp_path), "preprocessed_annotations": str(tmp_path)}
    with pytest.raises(RuntimeError, match=r"\.jpg.* do not have its width and height"):
        run(headrace, 12, **again, pixelwise_masks=True)


@pytest.mark.live_dali
@pytest.mark.parametrize("masks", ["polygon_masks", "pixelwise_masks"])
def test_saved_for_dali(tmp_path: Path, masks: str, live_dali: Any) -> None:
    """Each engine reads what the other one saved."""
    random_set(tmp_path, 7, only="polygons")
    options = {"image_ids": True, masks: True}
    files = {"file_root": str(tmp_path), "annotations_file": str(tmp_path / "annotations.json")}
    for writer, reader in ((headrace, live_dali), (live_dali, headrace)):
        saved = tmp_path / writer.__name__
        saved.mkdir()
        save = {
            "save_preprocessed_annotations": True,
            "save_preprocessed_annotations_dir": str(saved),
        }
        wanted = run(writer, 12, **files, **save, **options)
        got = run(
            reader, 12, file_root=str(tmp_path), preprocessed_annotations=str(saved), **options
        )
        assert got[0] == wanted[0]
        comparable(
            got[1] if reader is headrace else wanted[1], wanted[1] if reader is headrace else got[1]
        )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_names(tmp_path: Path) -> None:
    random_set(tmp_path, 8)
    files = {"file_root": str(tmp_path), "annotations_file": str(tmp_path / "annotations.json")}
    wanted = run(headrace, 12, polygon_masks=True, image_ids=True, **files)[1]
    for sample in wanted:
        sample[3][:, 1:] *= 2
    same(run(headrace, 12, masks=True, save_img_ids=True, **files)[1], wanted)


IMAGE = '{"id": 1, "width": 4, "height": 4, "file_name": "a.jpg"}'
BOX = '"image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2]'


def document(annotation: str = "{" + BOX + "}", image: str = IMAGE) -> str:
    return (
        '{"images": ['
        + image
        + '], "categories": [{"id": 1}], "annotations": ['
        + annotation
        + "]}"
    )


def segmentation(text: str) -> str:
    return document("{" + BOX + ', "segmentation": ' + text + "}")


def test_truncated_anywhere(tmp_path: Path) -> None:
    text = segmentation('{"size": [4, 4], "counts": "0\\u0031"}')
    (tmp_path / "a.jpg").write_bytes(b"a")
    path = tmp_path / "x.json"
    for size in range(len(text)):
        path.write_text(text[:size])
        with pytest.raises(RuntimeError, match=rf"x\.json.*byte {size}: the JSON ends here"):
            run(
                headrace, 1, file_root=str(tmp_path), annotations_file=str(path), polygon_masks=True
            )


BAD = {
    "nothing": ("", "byte 0"),
    "a list": ("[1, 2]", "byte 0: '{' is missing"),
    "text behind": (document() + "x", "something follows"),
    "no comma": (document("{" + BOX.replace('1, "b', '1 "b') + "}"), "',' or '}' is missing"),
    "a bracket": (document().replace("]}", "}]"), "is missing"),
    "deep": (document() [:-1] + ', "x": ' + "[" * 99 + "]" * 99 + "}", "too deeply"),
    "no id": (document(image='{"file_name": "a.jpg"}'), "no id"),
    "no image": (document('{"bbox": [1, 2, 3, 4]}'), "no image_id"),
    "box of three": (document("{" + BOX.replace("0, 0", "0") + "}"), "four numbers"),
    "box of text": (document("{" + BOX.replace("[0", '["0"') + "}"), "number is missing"),
    "id of text": (document(image=IMAGE.replace("1,", '"1",', 1)), "number is missing"),
    "id of half": (document(image=IMAGE.replace("1,", "1.5,", 1)), "not an integer"),
    "huge width": (document(image=IMAGE.replace('"width": 4', '"width": 1e12')), "out of range"),
    "long number": (document(image=IMAGE.replace("1,", "1" * 99 + ",", 1)), "too long"),
    "huge number": (document("{" + BOX.replace("[0", "[1e999") + "}"), "too large"),
    "not a number": (document("{" + BOX.replace("[0", "[1.e5") + "}"), "not a number"),
    "odd polygon": (segmentation("[[1, 2, 3]]"), "odd number"),
    "counts": (segmentation('{"size": [4, 4], "counts": "~"}'), "run lengths are damaged"),
    "endless count": (segmentation('{"size": [4, 4], "counts": "oooooooooo"}'), "run lengths are damaged"),
    "negative": (segmentation('{"size": [4, 4], "counts": [-1]}'), "out of range"),
    "mask size": (segmentation('{"size": [3, 4], "counts": [12]}'), "4x4 pixels.*3x4"),
    "long runs": (segmentation('{"size": [4, 4], "counts": [9, 9]}'), "exceed"),
    "huge box": (document("{" + BOX.replace("[0", "[1e39") + "}"), "bbox is too large"),
    "huge vertex": (segmentation("[[1, 2, 1e39, 3, 5, 5]]"), "polygon is too large"),
    "one id twice": (document(image=IMAGE + "," + IMAGE.replace("a.jpg", "b.jpg")), "'a.jpg' and 'b.jpg' have the same id, 1"),
    "no size": (document(image='{"id": 1, "file_name": "a.jpg"}'), r"a\.jpg.*pixelwise_masks"),
    "far vertex": (segmentation("[[1, 2, 1e30, 3, 5, 5]]"), "vertex"),
    "control": (document(image=IMAGE.replace("a.jpg", "a\n.jpg")), "control"),
    "escape": (document(image=IMAGE.replace("a.jpg", "\\x")), "escape"),
    "zero": (document(image=IMAGE.replace("a.jpg", "\\u0000")), "zero byte"),
    "surrogate": (document(image=IMAGE.replace("a.jpg", "\\ud800x0")), "surrogate"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad(tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    (tmp_path / "a.jpg").write_bytes(b"a")
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(RuntimeError, match=message):
        run(headrace, 1, file_root=str(tmp_path), annotations_file=str(path), pixelwise_masks=True)


@pytest.mark.parametrize("size", ["", '"width": 0, "height": 0,', '"width": 60,', '"height": 6,'])
@pytest.mark.parametrize("more", [{}, {"ltrb": True}, {"polygon_masks": True}])
def test_fractions_of_an_unknown_size(tmp_path: Path, size: str, more: dict[str, Any]) -> None:
    """Not boxes of inf: an error that names the image. Without annotations, no size is needed."""
    (tmp_path / "a.jpg").write_bytes(b"a")
    (tmp_path / "b.jpg").write_bytes(b"b")
    path = tmp_path / "x.json"
    image = '{"id": %d, ' + size + '"file_name": "%s.jpg"}'
    files = {"file_root": str(tmp_path), "annotations_file": str(path)}
    path.write_text(document(image=IMAGE + "," + image % (2, "b")))
    assert len(run(headrace, 2, **files, ratio=True, **more)[1][1][1]) == 0
    path.write_text(document(image=image % (1, "a")))
    with pytest.raises(RuntimeError, match=r"'a\.jpg' \(id 1\) has a width of .* ratio needs"):
        run(headrace, 1, **files, ratio=True, **more)
    assert len(run(headrace, 1, **files, **more)[1][0][1]) == 1  # nothing is divided


@pytest.mark.parametrize("empty", [False, True])
def test_an_image_that_is_listed_twice(tmp_path: Path, empty: bool) -> None:
    (tmp_path / "a.jpg").write_bytes(b"a")
    path = tmp_path / "x.json"
    path.write_text(document("" if empty else "{" + BOX + "}", image=", ".join([IMAGE] * 3)))
    files = {"file_root": str(tmp_path), "annotations_file": str(path)}
    size, samples = run(headrace, 3, **files)
    assert size == 3
    for sample in samples:
        assert sample[0].tobytes() == b"a"
        assert sample[1].tolist() == ([] if empty else [[0, 0, 2, 2]])
    if empty:
        with pytest.raises(RuntimeError, match="no image of"):
            run(headrace, 3, skip_empty=True, **files)
    else:
        assert run(headrace, 3, skip_empty=True, **files)[0] == 3


def test_many_annotations_of_one_image(tmp_path: Path) -> None:
    """As many polygons, run lengths, labels and categories as there are annotations, all over the
    image: time that grows with the product of two of them would be hours."""
    count, h, w = 200_000, 300, 400
    shapes = (
        [[0, 0, w - 1, 0, w - 1, h - 1, 0, h - 1]],
        {"size": [h, w], "counts": [h, h * w - h]},
    )
    data = {
        "images": [{"id": 1, "width": w, "height": h, "file_name": "a.jpg"}],
        "categories": [{"id": i} for i in range(count)],
        "annotations": [
            {
                "image_id": 1,
                "category_id": i * 7919 % count,
                "bbox": [0, 0, 9, 9],
                "segmentation": shapes[i % 2],
            }
            for i in range(count)
        ],
    }
    (tmp_path / "a.jpg").write_bytes(b"a")
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data))
    files = {"file_root": str(tmp_path), "annotations_file": str(path)}
    _, ((_, boxes, labels, pixels),) = run(headrace, 1, pixelwise_masks=True, **files)
    assert boxes.shape == (count, 4)
    np.testing.assert_array_equal(labels, np.arange(count) * 7919 % count + 1)
    highest = [int(labels[k::2].max()) for k in (0, 1)]  # of the polygons, of the run lengths
    assert (pixels[1:-1, 1:-1, 0] == count).all()
    assert pixels[h // 2, 0, 0] == highest[0]  # the first column has no run of ones


def test_names_with_escapes(tmp_path: Path) -> None:
    (tmp_path / "a/").mkdir()
    (tmp_path / "a" / "\u00e9\U0001f600.jpg").write_bytes(b"xyz")
    path = tmp_path / "x.json"
    path.write_text(document(image=IMAGE.replace("a.jpg", "a\\/\\u00e9\\ud83d\\ude00.jpg")))
    _, samples = run(headrace, 1, file_root=str(tmp_path), annotations_file=str(path))
    assert samples[0][0].tobytes() == b"xyz"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"annotations_file": "x"}, "file_root"),
        ({"file_root": "x"}, "annotations_file or preprocessed"),
        ({"file_root": "x", "annotations_file": "none.json"}, "none.json"),
        ({"file_root": "x", "preprocessed_annotations": "none"}, "none.*filenames.dat"),
        ({"file_root": "x", "preprocessed_annotations": "y", "ratio": True}, "ratio"),
        ({"file_root": "x", "annotations_file": "y", "polygon_masks": True, "pixelwise_masks": True}, "exclude"),
        ({"file_root": "x", "annotations_file": "y", "save_preprocessed_annotations": True}, "together"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        run(headrace, 1, **arguments)


def test_missing_image(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(document())
    with pytest.raises(RuntimeError, match=r"a\.jpg"):
        run(headrace, 1, file_root=str(tmp_path), annotations_file=str(path))
