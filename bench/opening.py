# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures how long large data sets take to open, and the memory that they need when open.

    python bench/opening.py webdataset [--samples 1281167 --shards 147]
    python bench/opening.py coco [--samples 118287]

*webdataset*: tar shards with a picture and a label per sample. The pictures are tiny: neither contender reads them.
Headrace scans the shards once (*first*) and then finds their members in its cache folder (*again*); it can also take
the index files that DALI needs (*index*). *coco*: a JSON file in the shape of instances_train2017.json, with polygons
(436 MB). Each case has its own process. Time is that of building the pipeline; memory is what the process has
more afterwards, and at the most (`peak`). The files are written to --scratch (a temporary folder by default).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from augmentations import Api

BLOCK = 512
PICTURE = 200  # bytes


# ---- data ----


def tar_header(name: str, size: int) -> bytes:
    head = bytearray(BLOCK)
    for at, text in ((0, name), (100, "0000644"), (108, "0000000"), (116, "0000000"), (124, f"{size:011o}"),
                     (136, "00000000000"), (156, "0"), (257, "ustar\x0000")):  # fmt: skip
        head[at : at + len(text)] = text.encode()
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return bytes(head)


def write_shards(folder: pathlib.Path, samples: int, shards: int) -> None:
    chance = random.Random(1)
    for shard in range(shards):
        lines = []
        with open(folder / f"shard-{shard:03}.tar", "wb", buffering=1 << 20) as out:
            for _ in range(shard, samples, shards):
                name = f"n{chance.randrange(10**8):08}_{chance.randrange(30000)}"
                at = out.tell() + BLOCK
                out.write(tar_header(f"{name}.jpg", PICTURE) + bytes(BLOCK))
                out.write(tar_header(f"{name}.cls", 3) + b"123".ljust(BLOCK, b"\0"))
                lines.append(f"jpg {at} {PICTURE} {name}.jpg cls {at + 2 * BLOCK} 3 {name}.cls\n")
            out.write(bytes(2 * BLOCK))
        (folder / f"shard-{shard:03}.idx").write_text(f"v1.2 {len(lines)}\n" + "".join(lines))


def _annotations(samples: int, chance: random.Random) -> Iterator[str]:
    """7.3 per image, polygons with 12 to 60 corners."""
    for i in range(samples * 73 // 10):
        x, y, w, h = (round(chance.uniform(1, 250), 2) for _ in range(4))
        corners = [round(chance.uniform(0, 500), 2) for _ in range(2 * chance.randint(10, 32))]
        yield json.dumps({"segmentation": [corners], "area": round(w * h, 4), "iscrowd": 0,
                          "image_id": 1 + i % samples * 4, "bbox": [x, y, w, h],
                          "category_id": chance.randint(1, 90), "id": i + 1})  # fmt: skip


def write_coco(folder: pathlib.Path, samples: int) -> None:
    chance = random.Random(1)
    url = "http://images.example.org/train/"
    with open(folder / "instances.json", "w", buffering=1 << 20) as out:
        out.write('{"info": {"description": "shaped like train2017"}, "licenses": [], "images": [')
        out.write(", ".join(json.dumps({"license": 1, "file_name": f"{1 + 4 * i:012}.jpg", "coco_url": f"{url}{i}.jpg",
                                        "height": 480, "width": 640, "date_captured": "2013-11-14 11:18:45",
                                        "flickr_url": f"{url}f/{i}.jpg", "id": 1 + 4 * i})  # fmt: skip
                            for i in range(samples)))  # fmt: skip
        out.write('], "annotations": [')
        for i, text in enumerate(_annotations(samples, chance)):
            out.write(", " * (i > 0) + text)
        out.write('], "categories": ')
        json.dump([{"supercategory": "s", "id": k, "name": f"c{k}"} for k in range(1, 91)], out)
        out.write("}")
    (folder / f"{1:012}.jpg").write_bytes(b"")


# ---- measuring ----


def memory(key: str) -> int:
    """Bytes of the process, from /proc/self/status."""
    text = pathlib.Path("/proc/self/status").read_text()
    return int(text.split(key + ":")[1].split()[0]) * 1024


def opened(m: Api, case: str, folder: str) -> Any:
    order = {"random_shuffle": True, "name": "Reader"}
    shards = sorted(str(p) for p in pathlib.Path(folder).glob("*.tar"))
    indices = [p[:-3] + "idx" for p in shards]
    extra: dict[str, Any] = {"index_paths": indices} if case.startswith("index") else {}
    fn = m.fn

    @m.package.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def define() -> Any:
        if case.startswith("coco"):
            return tuple(fn.readers.coco(file_root=folder, annotations_file=folder + "/instances.json", ltrb=True,
                                         polygon_masks=case == "coco-polygons", **order))  # fmt: skip
        return tuple(fn.readers.webdataset(paths=shards, ext=["jpg", "cls"], **extra, **order))

    return define()


def child(module: str, case: str, folder: str) -> None:
    pipe = opened(Api(module), case, folder)
    before, cpu, start = memory("VmRSS"), time.process_time(), time.perf_counter()
    pipe.build()
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    count = pipe.epoch_size("Reader")
    after, peak = memory("VmRSS"), memory("VmHWM")
    print(f"{case:14} {module:12} {took:7.2f} s ({cpu:.2f} s of CPU)  {(after - before) / 1e6:7.1f} MB, "
          f"{(after - before) / count:6.1f} bytes per sample; peak {(peak - before) / 1e6:7.1f} MB")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="How long large data sets take to open.")
    parser.add_argument("kind", choices=["webdataset", "coco"])
    parser.add_argument("--samples", type=int)
    parser.add_argument("--shards", type=int, default=147)
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--child", nargs=2, metavar=("MODULE", "CASE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child, str(args.scratch))
        return
    with tempfile.TemporaryDirectory(prefix="headrace-opening-") as temporary:
        folder = args.scratch or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if args.kind == "webdataset" and not any(folder.glob("*.tar")):
            write_shards(folder, args.samples or 1_281_167, args.shards)
        if args.kind == "coco" and not (folder / "instances.json").exists():
            write_coco(folder, args.samples or 118_287)
        cases = {"webdataset": [("headrace", "first"), ("headrace", "again"), ("headrace", "index"),
                                ("nvidia.dali", "index")],
                 "coco": [(m, case) for case in ("coco-boxes", "coco-polygons") for m in ("headrace", "nvidia.dali")],
                 }[args.kind]  # fmt: skip
        environment = os.environ | {"HEADRACE_SCAN_CACHE": str(pathlib.Path(temporary) / "cache")}
        for module, case in cases:
            command = [sys.executable, __file__, args.kind, "--scratch", str(folder), "--child", module, case]
            subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
