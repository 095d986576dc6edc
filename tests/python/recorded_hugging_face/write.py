# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Writes the files of this folder with the package `datasets`, which the tests do not need: `pip install datasets`."""

import json
import shutil
import tempfile
from pathlib import Path

import datasets
from PIL import Image

HERE = Path(__file__).parent
FEATURES = datasets.Features(
    {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=["cat", "dog"]),
        "text": datasets.Value("string"),
        "box": datasets.Sequence(datasets.Value("float32"), length=4),
    }
)

rows = []
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    examples = []
    for i in range(6):
        colour = (40 * i, 255 - 40 * i, 7 * i)
        Image.new("RGB", (3 + i, 4), colour).save(folder / f"{i}.png")
        row = {"label": i % 2, "text": f"picture {i} ä", "box": [0.5 * i, 1.0, 2.0, 3.0]}
        image = {"bytes": (folder / f"{i}.png").read_bytes(), "path": f"{i}.png"}
        examples.append({"image": image, **row})
        rows.append({"size": [4, 3 + i], "pixel": list(colour), "path": f"{i}.png", **row})
    data = datasets.Dataset.from_list(examples, features=FEATURES)
    data.to_parquet(HERE / "images.parquet")
    again = datasets.Dataset.from_parquet(
        str(HERE / "images.parquet"), cache_dir=str(folder / "cache")
    )
    shutil.copy(again.cache_files[0]["filename"], HERE / "images.arrow")
(HERE / "rows.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
print("datasets", datasets.__version__)
