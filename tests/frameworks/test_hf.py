# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace.torch.DataLoader` with data sets of Hugging Face's `datasets`, with indices and streamed."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

datasets = pytest.importorskip("datasets")
pytest.importorskip("datasets.distributed")
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from headrace.torch import DataLoader  # noqa: E402
from PIL import Image  # noqa: E402
from torch.utils import data  # noqa: E402
from torchvision import transforms as v1  # noqa: E402

ROWS, SHARDS, CROP = 20, 4, 24
PLAIN = v1.Compose([v1.Resize(32), v1.CenterCrop(CROP), v1.ToTensor()])
RANDOM = v1.Compose([v1.RandomResizedCrop(CROP), v1.RandomHorizontalFlip(), v1.ToTensor()])


def encoded(number: int) -> bytes:
    noise = np.random.default_rng(number).integers(0, 256, (6, 7, 3), np.uint8)
    stream = io.BytesIO()
    image = Image.fromarray(noise).resize((60 + number, 50), Image.Resampling.BICUBIC)
    image.save(stream, ("JPEG", "PNG")[number % 2])
    return stream.getvalue()


@pytest.fixture(scope="module")
def rows() -> Any:
    content = {"image": [{"bytes": encoded(i), "path": None} for i in range(ROWS)]}
    content["label"] = list(range(ROWS))
    features = {"image": datasets.Image(), "label": datasets.Value("int64")}
    return datasets.Dataset.from_dict(content, features=datasets.Features(features))


def each(transform: Any) -> Callable[[Any], Any]:
    def function(row: Any) -> Any:
        row["image"] = transform(row["image"].convert("RGB"))
        return row

    return function


def several(transform: Any) -> Callable[[Any], Any]:
    def function(batch: Any) -> Any:
        batch["image"] = [transform(image.convert("RGB")) for image in batch["image"]]
        return batch

    return function


STREAMS: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda stream, t: stream.map(each(t)),
    "in batches": lambda stream, t: stream.map(several(t), batched=True, batch_size=3),
    "shuffled": lambda stream, t: stream.shuffle(seed=3, buffer_size=5).map(each(t)),
    "skip and take": lambda stream, t: stream.skip(3).take(13).map(each(t)),
    "filtered": lambda stream, t: stream.map(each(t)).filter(lambda row: row["label"] % 3),
}


def near(got: list[Any], expected: list[Any]) -> bool:
    return len(got) == len(expected) and all(
        torch.equal(one["label"], other["label"])
        and (one["image"] - other["image"]).abs().max() <= 1.01 / 255
        for one, other in zip(got, expected)
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_with_a_transform(workers: int, rows: Any) -> None:
    given = rows.with_transform(several(PLAIN))
    loader = DataLoader(given, 4, num_workers=workers)
    assert near(list(loader), list(data.DataLoader(given, 4, num_workers=workers)))
    assert loader.explain().way == "workers" and "decoded by the engine" in str(loader.explain())


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str, workers: int, rows: Any) -> None:
    """Two epochs each."""
    found = []
    for kind in (data.DataLoader, DataLoader):
        stream = STREAMS[name](rows.to_iterable_dataset(num_shards=SHARDS), PLAIN)
        loader = kind(stream, 4, num_workers=workers)
        batches = list(loader)
        stream.set_epoch(1)
        found.append([*batches, *loader])
    assert loader.explain().way == "workers"
    assert near(found[1], found[0]) and len(found[0]) > 6


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", STREAMS)
def test_streams_continue_where_they_were(name: str, workers: int, rows: Any) -> None:
    """With the random transforms; and the next epoch is whole."""

    def loader() -> DataLoader:
        stream = STREAMS[name](rows.to_iterable_dataset(num_shards=SHARDS), RANDOM)
        return DataLoader(stream, 3, num_workers=workers, generator=torch.Generator())

    for taken in (1, 3):
        first = loader()
        running = iter(first)
        for _ in range(taken):
            next(running)
        state = pickle.loads(pickle.dumps(first.state_dict()))
        rest = list(running)
        again = loader()
        again.load_state_dict(state)
        continued = list(again)
        assert len(continued) == len(rest) > 1
        for one, other in zip(continued, rest):
            assert torch.equal(one["label"], other["label"])
            assert torch.equal(one["image"], other["image"])
        assert len(list(again)) == taken + len(rest)


def test_processes_divide_a_stream_with_datasets(rows: Any, tmp_path: Any) -> None:
    """There is a warning until they do."""
    dist = torch.distributed
    store = f"file://{tmp_path / 'store'}"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dist, "get_world_size", lambda group=None: 2)
            stream = STREAMS["map"](rows.to_iterable_dataset(num_shards=SHARDS), PLAIN)
            with pytest.warns(UserWarning, match="each of 2 processes reads all of the stream"):
                DataLoader(stream, 4)
            labels = []
            for rank in range(2):
                part = datasets.distributed.split_dataset_by_node(stream, rank, 2)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    loader = DataLoader(part, 4)
                labels += [label for batch in loader for label in batch["label"].tolist()]
            assert sorted(labels) == list(range(ROWS)) and loader.explain().way == "workers"
    finally:
        dist.destroy_process_group()
