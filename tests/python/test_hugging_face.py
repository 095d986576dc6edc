# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Data sets of Hugging Face: files as `datasets` writes them, and `headrace.torch.from_hf`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace import Pipeline, fn

pytest.importorskip("torch")

from headrace.torch import Loader, from_hf  # noqa: E402

RECORDED = Path(__file__).parent / "recorded_hugging_face"


class Dataset:
    """The parts of a `datasets.Dataset` that `from_hf` uses."""

    def __init__(self, table: Any, indices: list[int] | None = None) -> None:
        self.features = dict.fromkeys(table.column_names, "a feature")
        self.data = type("Table", (), {"table": table})
        self._indices = None if indices is None else pa.table({"i": pa.array(indices, pa.uint64())})

    def __len__(self) -> int:
        return self.data.table.num_rows if self._indices is None else self._indices.num_rows


def a_table(folder: Path) -> Any:
    """Images with and without bytes, in several chunks, and a column that cannot be read."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    chunks = []
    for first, size in ((0, 3), (3, 1), (4, 6)):
        files = []
        for i in range(first, first + size):
            (folder / f"{i}.jpg").write_bytes(b"file %d" % i)
            data = None if i % 2 else b"file %d" % i
            files.append({"bytes": data, "path": str(folder / f"{i}.jpg")})
        numbers = pa.array(range(first, first + size), pa.int64())
        dates = numbers.cast(pa.timestamp("s"))
        chunks.append(pa.table({"image": pa.array(files, kind), "label": numbers, "when": dates}))
    return pa.concat_tables(chunks)


def read(rows: Any, count: int, **arguments: Any) -> list[tuple[bytes, int]]:
    with Pipeline(3, 2, None, seed=4) as pipe:
        pipe.set_outputs(*rows.read(**arguments).values())
    out: list[tuple[bytes, int]] = []
    while len(out) < count:
        files, labels = pipe.run()
        out += [(np.asarray(f).tobytes(), int(np.asarray(n))) for f, n in zip(files, labels)]
    return out[:count]


def test_rows(tmp_path: Path) -> None:
    expected = [(b"file %d" % i, i) for i in range(10)]
    rows = from_hf(Dataset(a_table(tmp_path)), ["image", "label"])
    assert (
        len(rows) == 10
        and rows.columns == ["image", "label"]
        and list(rows.features) == rows.columns
    )
    assert read(rows, 10) == expected
    shuffled = read(rows, 20, random_shuffle=True, initial_fill=1)
    assert shuffled[:10] != expected and sorted(shuffled[:10]) == expected  # one by one
    assert shuffled[10:] != shuffled[:10] and sorted(shuffled[10:]) == expected
    assert read(rows, 2, sampler={"order": [7, 2]}) == [expected[7], expected[2]]


def test_rows_that_were_selected(tmp_path: Path) -> None:
    order = [9, 0, 3, 3, 5]
    rows = from_hf(Dataset(a_table(tmp_path), order), ["image", "label"])
    assert len(rows) == 5
    assert [n for _, n in read(rows, 7)] == [9, 0, 3, 3, 5, 9, 0]
    assert sorted(n for _, n in read(rows, 5, random_shuffle=True)) == sorted(order)
    assert [n for _, n in read(rows, 2, sampler={"order": [4, 1]})] == [5, 0]
    with pytest.raises(ValueError, match="flatten_indices"):
        read(rows, 1, sampler={"weights": [1.0] * 5})


def test_epochs(tmp_path: Path) -> None:
    with Pipeline(4, 2, None, seed=4) as pipe:
        data = from_hf(Dataset(a_table(tmp_path)), ["label"]).read(
            random_shuffle=True, pad_last_batch=True, name="R"
        )
        pipe.set_outputs(data["label"])
    loader = Loader(pipe)
    for _ in range(2):
        assert sorted(n for (labels,) in loader for n in labels.tolist()) == list(range(10))


def test_what_is_refused(tmp_path: Path) -> None:
    dataset = Dataset(a_table(tmp_path))
    with pytest.raises(TypeError, match="the column 'when' has the type timestamp"):
        read(from_hf(dataset), 1)
    with pytest.raises(ValueError, match="no column 'imge'; the columns are image, label, when"):
        from_hf(dataset, ["imge"])
    with pytest.raises(ValueError, match="`columns` is empty"):
        from_hf(dataset, [])
    with pytest.raises(
        TypeError, match=r"one split of the DatasetDict, such as dataset\['train'\]"
    ):
        from_hf(type("DatasetDict", (), {})())
    with pytest.raises(TypeError, match="IterableDataset has no numbered rows"):
        from_hf(type("IterableDataset", (), {})())
    with pytest.raises(TypeError, match=r"expected a datasets\.Dataset, got <class 'list'>"):
        from_hf([1, 2])
    with pytest.raises(RuntimeError, match="where a pipeline is defined"):
        from_hf(dataset).read()
    with Pipeline(1, 1, None), pytest.raises(TypeError, match="sets `paths` by itself"):
        from_hf(dataset).read(paths="x")


@pytest.mark.parametrize("name", ["images.parquet", "images.arrow"])
def test_recorded_layout(name: str) -> None:
    """Files that `datasets` has written (recorded_hugging_face/write.py)."""
    expected = json.loads((RECORDED / "rows.json").read_text())
    with Pipeline(len(expected), 2, None) as pipe:
        columns = ["image", "image.path", "label", "text", "box"]
        files, *rest = fn.readers.parquet(paths=str(RECORDED / name), columns=columns)
        pipe.set_outputs(fn.decoders.image(files), *rest)
    images, paths, labels, texts, boxes = pipe.run()
    for i, row in enumerate(expected):
        assert np.asarray(images[i]).shape == (*row["size"], 3)
        assert np.asarray(images[i])[0, 0].tolist() == row["pixel"]
        assert np.asarray(paths[i]).tobytes().decode() == row["path"]
        assert int(np.asarray(labels[i])) == row["label"]
        assert np.asarray(texts[i]).tobytes().decode() == row["text"]
        assert np.asarray(boxes[i]).tolist() == row["box"]


def test_a_real_data_set(tmp_path: Path) -> None:
    """The same with the package, where it is installed."""
    datasets = pytest.importorskip("datasets")
    path = str(RECORDED / "images.parquet")
    with_images = datasets.Dataset.from_parquet(path, cache_dir=str(tmp_path))
    labels = with_images["label"]
    assert [n for _, n in read(from_hf(with_images, ["image", "label"]), len(labels))] == list(
        labels
    )
    for changed in (
        with_images.shuffle(seed=1),
        with_images.select([4, 2, 2]),
        with_images.filter(lambda row: row["label"] == 1),
        with_images.shard(2, 1),
        datasets.concatenate_datasets([with_images.select([3, 1]), with_images]),
    ):
        expected = [
            (row["image"]["bytes"], row["label"])
            for row in changed.cast_column("image", datasets.Image(decode=False))
        ]
        assert read(from_hf(changed, ["image", "label"]), len(expected)) == expected
