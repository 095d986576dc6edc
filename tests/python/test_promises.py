# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The same bytes on any machine load; complete epochs; every wrong argument is an error that names it."""

from __future__ import annotations

import functools
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("PIL")

import numpy as np  # noqa: E402
from photos import encoded, resized, samples, sources, take, training  # noqa: E402

from headrace import Pipeline, fn, ops, types  # noqa: E402
from headrace._graph import schema as _schema

# ---- the same bytes ----

VARIANTS: list[dict[str, Any]] = [
    {"num_threads": 1},
    {"num_threads": 8},
    {"batch_size": 1},
    {"batch_size": 6, "prefetch_queue_depth": 5},
    {"batch_size": 24, "exec_pipelined": False},
    {"fuse": False},
    {"fuse": False, "num_threads": 8, "batch_size": 3},
    {"read_ahead_limit": 1},
    {"level": "base"},
    {"level": "v3"},
    {"level": "v4"},
    {"level": "base", "fuse": False},
    {"stall": "1", "num_threads": 4},
]


def run_variant(root: Path, count: int, **options: Any) -> list[tuple[bytes, ...]]:
    """The first samples of the training pipeline, with a CPU level (`level`) and random delays (`stall`)."""
    changes = {"HEADRACE_CPU_LEVEL": "level", "HEADRACE_STALL": "stall"}
    given = {variable: options.pop(name, "") for variable, name in changes.items()}
    old = {variable: os.environ.get(variable) for variable in given}
    try:
        os.environ.update({variable: value for variable, value in given.items() if value})
        pipe = training(root, random_shuffle=True, **options)
        pipe.build()
    finally:
        for variable, value in old.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
    return take(pipe, count)


@pytest.fixture(scope="module")
def reference(photos_root: Path) -> list[tuple[bytes, ...]]:
    return run_variant(photos_root, 48)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_same_bytes(
    options: dict[str, Any], photos_root: Path, reference: list[tuple[bytes, ...]]
) -> None:
    assert run_variant(photos_root, 48, **options) == reference


def test_epochs_and_seeds_differ(photos_root: Path, reference: list[tuple[bytes, ...]]) -> None:
    assert len(set(reference)) == 48  # the second epoch is augmented differently
    assert not set(run_variant(photos_root, 24, seed=8)) & set(reference)


@pytest.mark.parametrize("options", [{"num_threads": 3, "fuse": False}, {"level": "base"}], ids=str)
def test_same_bytes_of_photographs(options: dict[str, Any], photographs: Path) -> None:
    assert run_variant(photographs, 64, **options) == run_variant(photographs, 64, num_threads=1)


@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_have_the_same_samples(shuffle: bool, photos_root: Path) -> None:
    """A sample's bytes do not depend on the shard: without shuffling, four shards give the samples of one."""

    def collect(**reader: Any) -> Counter[tuple[bytes, ...]]:
        count = 24 // reader.get("num_shards", 1)
        shuffled = {"random_shuffle": shuffle, "stick_to_shard": True}
        return Counter(take(training(photos_root, batch_size=3, **shuffled, **reader), count))

    shards = [collect(num_shards=4, shard_id=i) for i in range(4)]
    assert sum(shards, Counter()) == collect()
    assert all(not a & b for a in shards for b in shards if a is not b)


# ---- nothing is lost or delivered twice ----


@pytest.mark.parametrize(
    "reader",
    [
        {},
        {"random_shuffle": True},
        {"num_shards": 5, "shard_id": 3},
        {"random_shuffle": True, "num_shards": 5, "shard_id": 1},
        {"shuffle_after_epoch": True},
    ],
    ids=lambda r: " ".join(r) or "plain",
)
@pytest.mark.parametrize("threads", [1, 5])
def test_epochs_are_whole(reader: dict[str, Any], threads: int, photos_root: Path) -> None:
    """Over as many epochs as shards, a reader without padding delivers every file once."""
    pipe = resized(
        photos_root, 16, batch_size=1, num_threads=threads, prefetch_queue_depth=7, **reader
    )
    labels: dict[str, int] = {}
    for _ in range(3):
        seen: Counter[str] = Counter()
        for _ in range(24):
            images, label = pipe.run()
            (name,) = sources(images)
            seen[name] += 1
            labels[name] = int(np.asarray(label[0])[0])
        assert len(seen) == 24 and set(seen.values()) == {1}
    assert all(label == int(name[5]) for name, label in labels.items())  # "class2/..."


def test_two_pipelines_at_once(photos_root: Path) -> None:
    alone = [take(resized(photos_root, seed=seed, random_shuffle=True), 24) for seed in (1, 2)]
    pipes = [resized(photos_root, seed=seed, random_shuffle=True) for seed in (1, 2)]
    both: list[list[Any]] = [[], []]
    for _ in range(6):
        for pipe, taken in zip(pipes, both, strict=True):
            taken += take(pipe, 4)
    assert both == alone and alone[0] != alone[1]


# ---- arguments of pipelines ----

WRONG = [
    ("batch_size", ["3", 2.5, [4], {1, 2}], TypeError),
    ("batch_size", [0, -1, 2**40], ValueError),
    ("num_threads", ["2", 1.5], TypeError),
    ("num_threads", [0, -3, 5000, 2**40], ValueError),
    ("device_id", ["gpu", 1.5], TypeError),
    ("seed", ["x", 1.5], TypeError),
    ("seed", [2**70], ValueError),
    ("prefetch_queue_depth", ["2", 1.5, None, {"cpu_size": "a", "gpu_size": 1}], TypeError),
    ("prefetch_queue_depth", [0, -1, 10**6, 10**10, {}, {"cpu_size": 2}], ValueError),
    ("on_error", ["ignore", None, 3], ValueError),
    ("py_start_method", ["thread"], ValueError),
    ("quarantine", [5, 1.5], TypeError),
    ("quarantine", ["a\0b"], ValueError),
    ("quarantine", ["/no/such/folder/file", "/"], RuntimeError),
    ("index_cache", [5, 1.5], TypeError),
    ("index_cache", ["a\0b", "/dev/null"], ValueError),
    ("index_cache", ["/no/such/folder"], RuntimeError),
    ("trace", [5], TypeError),
    ("trace", ["/no/such/folder/file", "/"], RuntimeError),
    ("output_ndim", ["x"], TypeError),
    ("output_dtype", ["unit8"], ValueError),
    ("output_layout", [5], TypeError),
    ("stream_policy", ["x"], TypeError),
    ("concurrency", [1], TypeError),
    ("no_such_argument", [1], TypeError),
]
for _name in ("host_memory_limit read_ahead_limit max_image_pixels index_memory_limit").split():
    WRONG += [(_name, ["x", 1e9], TypeError), (_name, [-1, 2**70], ValueError)]
for _name in ("bytes_per_sample", "max_streams", "py_num_workers"):
    WRONG += [(_name, ["x"], TypeError)]
for _name in ("fuse", "strict", "set_affinity", "enable_checkpointing", "exec_pipelined"):
    WRONG += [(_name, ["yes", 1.5, []], TypeError)]


@pytest.mark.parametrize("name, values, error", WRONG, ids=lambda value: str(value)[:40])
def test_wrong_arguments_of_pipelines(
    name: str, values: list[Any], error: type[Exception], photos_root: Path
) -> None:
    for value in values:
        with pytest.raises(error, match=name):
            resized(photos_root, **{name: value}).build()


def test_integers_of_numpy(photos_root: Path) -> None:
    pipe = resized(
        photos_root,
        batch_size=np.int64(3),
        num_threads=np.uint8(2),
        seed=np.int32(5),
        prefetch_queue_depth=np.int64(2),
        fuse=np.bool_(True),
    )
    assert len(pipe.run()[0]) == 3
    Pipeline.deserialize(pipe.serialize()).run()


# ---- arguments of operators ----


def pixels(_: int) -> Any:
    return np.arange(2 * 20 * 30 * 3, dtype=np.uint8).reshape(2, 20, 30, 3)


def images() -> Any:
    return fn.external_source(pixels, layout="HWC")


def files() -> Any:
    return fn.external_source(lambda _: [np.frombuffer(encoded(1), np.uint8)] * 2)


def draw(low: float, high: float, *shape: int) -> Any:
    return fn.random.uniform(range=[low, high], shape=list(shape))


OPERATORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: fn.resize(images(), size="x"), ValueError, r"resize \(.*size.*x"),
    (lambda: fn.resize(images(), size=[float("nan"), 5]), ValueError, r"resize \(.*size.*NaN"),
    (lambda: fn.resize(images(), size=[1e18, 5]), RuntimeError, r"resize \(.*1e\+18"),
    (lambda: fn.resize(images(), size=[1, 2, 3, 4]), RuntimeError, r"resize \(.*size.* 4 "),
    (lambda: fn.resize(images(), size=[1, [2]]), TypeError, "size.*resize"),
    (lambda: fn.resize(images(), size=[1, "a"]), TypeError, "size.*resize"),
    (lambda: fn.resize(images(), size=object()), TypeError, "size.*resize"),
    (lambda: fn.resize(images(), size=2**80), ValueError, "size.*resize"),
    (lambda: fn.resize(images(), size=5, resize_x=5), RuntimeError, r"resize \(.*resize_x"),
    (lambda: fn.resize(images()), RuntimeError, r"resize \(.*size"),
    (lambda: fn.resize(images(), sise=3), KeyError, "sise.*Resize"),
    (lambda: fn.resize(images(), size=5, interp_type="x"), ValueError, "interp_type.*INTERP_NN"),
    (lambda: fn.resize(images(), size=5, interp_type=99), ValueError, "interp_type.*99"),
    (lambda: fn.resize(images(), size=5, dtype="x"), ValueError, "dtype.*Resize.*x.*uint8"),
    (lambda: fn.resize(images(), size=5, dtype=np.complex64), TypeError, "dtype.*complex64"),
    (lambda: fn.resize(images(), size=5, mode="x"), RuntimeError, "mode.*stretch.*x"),
    (lambda: fn.resize(size=5), ValueError, "resize.*0"),
    (lambda: fn.resize(images(), images(), images(), size=5), ValueError, "resize.*3"),
    (lambda: fn.resize("x", size=5), TypeError, "(?i)resize.*str"),
    (
        lambda: fn.resize(images(), size=5, device="gpu"),
        RuntimeError,
        'resize.*valid device is "gpu"',
    ),
    (lambda: fn.resize(images(), size=5, device="tpu"), ValueError, "tpu"),
    (lambda: fn.resize(images(), size=5, name=5), TypeError, "name"),
    (lambda: fn.resize(images(), resize_x=draw(1, 2, 3)), RuntimeError, r"resize \(.*resize_x"),
    (lambda: fn.crop(images(), crop=[100, 100]), RuntimeError, r"crop \(.*height.*20"),
    (lambda: fn.crop(images(), crop=[5, 5], crop_pos_x=2), RuntimeError, "crop_pos_x.*2"),
    (lambda: fn.crop(images(), crop=images()), RuntimeError, r"crop \("),
    (lambda: fn.crop(images(), crop=[5, 5], rounding="x"), RuntimeError, "rounding.*truncate"),
    (lambda: fn.crop_mirror_normalize(images(), mean=[1, 2]), RuntimeError, "mean.*2"),
    (lambda: fn.crop_mirror_normalize(images(), output_layout="XY"), RuntimeError, "XY"),
    (lambda: fn.random_resized_crop(images()), RuntimeError, "size"),
    (lambda: fn.random_resized_crop(images(), size=[5, 5], num_attempts=0), RuntimeError, "num_a"),
    (lambda: fn.rotate(images()), RuntimeError, "angle"),
    (lambda: fn.rotate(images(), angle=float("inf")), ValueError, "angle.*inf"),
    (lambda: fn.cast(images()), RuntimeError, "dtype"),
    (lambda: fn.cast(images(), dtype=12345), ValueError, "dtype.*12345"),
    (lambda: fn.flip(images(), horizontal="x"), ValueError, "horizontal"),
    (lambda: fn.decoders.image(images()), RuntimeError, r"decoders\.image \(.*1-D"),
    (lambda: fn.decoders.image(files(), output_type=77), ValueError, "output_type.*RGB.*77"),
    (
        lambda: fn.decoders.image_crop(files(), crop=[999, 999]),
        RuntimeError,
        r"cropping window of rows -455\.\.544.* is not valid for image dimensions \[90x120\]",
    ),
    (
        lambda: fn.decoders.image_slice(files(), end=[999, 5], axes=[0, 1]),
        RuntimeError,
        r"cropping window 0\.\.999 .* is not valid for image dimensions \[90x120\]",
    ),
    (
        lambda: fn.squeeze(images(), axes=[0]),
        RuntimeError,
        r"Requested a shape with \d+ elements but the original shape has \d+ elements\.",
    ),
    (
        lambda: fn.squeeze(images(), axes=[0], axis_names="H"),
        RuntimeError,
        "both ``axes`` and ``axis_names`` arguments",
    ),
    (
        lambda: fn.reshape(images(), shape=[5]),
        RuntimeError,
        r"Requested a shape with 5 elements but the original shape has \d+ elements\.",
    ),
    (
        lambda: fn.reshape(images(), src_dims=[0, 1, 2], rel_shape=[1, 1]),
        RuntimeError,
        "`src_dims` and `rel_shape` have different lengths: 3 vs 2",
    ),
    (lambda: fn.reshape(images(), src_dims=[0, 9]), RuntimeError, "9 .* out of bounds"),
    (
        lambda: fn.reshape(images(), rel_shape=[1, 1, 1, 1]),
        RuntimeError,
        r"`rel_shape` has more elements \(4\) than .*dimensions in the input \(3\).*use `src_dims`",
    ),
    (lambda: fn.expand_dims(images(), axes=[7]), RuntimeError, "not enough dimensions to add"),
    (lambda: fn.per_frame(images()), RuntimeError, "The input layout should start with 'F'"),
    (lambda: fn.random.beta(alpha=0), RuntimeError, "The `alpha` must be a positive float32"),
    (
        lambda: fn.crop(fn.reshape(images(), layout="ABC"), crop=[5, 5]),
        ValueError,
        'The layout "ABC" does not match any of the allowed layouts',
    ),
    (lambda: fn.readers.file()[0], RuntimeError, r"readers\.file \(.*file_root"),
    (lambda: fn.readers.file(file_root=5)[0], TypeError, "file_root"),
    (lambda: fn.readers.file(file_root="/nowhere")[0], RuntimeError, "/nowhere"),
    (lambda: fn.readers.file(file_root=b"/no\xff")[0], RuntimeError, "file_root"),
    (lambda: fn.readers.file(files=[])[0], RuntimeError, "files"),
    (lambda: fn.readers.file(files=["a\0b"])[0], ValueError, "files"),
    (lambda: fn.readers.file(files=[1])[0], TypeError, "files"),
    (lambda: fn.readers.file(files=["a"], labels=[1, 2])[0], RuntimeError, "labels"),
    (lambda: fn.readers.file(files=["a"], labels=[2**40])[0], ValueError, "labels"),
    (lambda: fn.readers.file(files=["a"], num_shards=0)[0], RuntimeError, "num_shards"),
    (lambda: fn.readers.file(files=["a"], num_shards=2)[0], RuntimeError, "number of shards: 2"),
    (lambda: fn.readers.file(files=["a"], shard_id=-1)[0], RuntimeError, "shard_id"),
    (lambda: fn.readers.file(files=["a"], shard_id=1)[0], RuntimeError, "shard_id"),
    (lambda: fn.readers.file(files=["a"], file_list="b")[0], RuntimeError, "file_list"),
    (lambda: fn.random.uniform(range=[5, 1]), RuntimeError, r"random\.uniform \(.*range"),
    (lambda: fn.random.uniform(shape=[-1]), RuntimeError, "shape"),
    (lambda: fn.random.uniform(values=[]), RuntimeError, "values"),
    (lambda: fn.random.coin_flip(probability="x"), ValueError, "probability"),
    (lambda: fn.random.coin_flip(dtype=types.FLOAT), RuntimeError, "dtype"),
    (lambda: ops.Resize(size=5, foo=3)(images()), KeyError, "foo.*Resize"),
    (lambda: fn.optical_flow(images()), RuntimeError, r"optical_flow \(.*runs on a GPU only"),
    (lambda: fn.readers.tfrecord(path="x"), RuntimeError, r"readers\.tfrecord.*features"),
    (lambda: fn.no_such_operator(images()), AttributeError, "no_such_operator"),
    (lambda: images() + "x", TypeError, "str"),
]


@pytest.mark.parametrize("make, error, pattern", OPERATORS, ids=range(len(OPERATORS)))
def test_wrong_arguments_of_operators(make: Any, error: type[Exception], pattern: str) -> None:
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
    line = f"test_promises.py:{make.__code__.co_firstlineno}"
    with pytest.raises(error, match=pattern) as caught:
        with pipe:
            pipe.set_outputs(make())
        pipe.run()
    here = any(entry.path.name == "test_promises.py" for entry in caught.traceback[1:])
    assert line in str(caught.value) or here


def test_every_operator_refuses_unknown_arguments() -> None:
    for name, operator in _schema.operators().items():
        if "hidden" in operator.flags:
            continue
        inputs = [files()] * operator.in_min
        with pytest.raises((KeyError, ValueError), match="no_such_argument"):
            functools.reduce(getattr, name.split("."), fn)(*inputs, no_such_argument=1)


# ---- importing ----


def test_import_brings_no_framework(child: Any) -> None:
    child(
        """
        import sys
        from headrace import fn, pipeline_def, types
        heavy = {"numpy", "torch", "jax", "PIL", "rich", "asyncio", "nvidia"} & set(sys.modules)
        assert not heavy, heavy
        """
    )


@pytest.mark.timing
def test_import_is_fast(child: Any, tmp_path: Path) -> None:
    """CPU time, best of three; the first one compiles."""
    source = """
        import sys, time
        before = time.process_time()
        from headrace import fn, pipeline_def, types
        print(time.process_time() - before)
        """
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    assert min(float(child(source, **compiled)) for _ in range(3)) < 0.1


# ---- damaged files ----


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    """Changes, removes or adds some bytes of a JPEG, or inserts markers, usually after its headers."""
    out = bytearray(data)
    start = data.index(b"\xff\xda") if rng.random() < 0.7 else 0
    for _ in range(rng.integers(1, 8)):
        at = int(rng.integers(start, len(out)))
        kind = rng.integers(5)
        if kind == 0:
            out[at] = rng.integers(256)
        elif kind == 1:
            del out[at : min(at + int(rng.integers(1, 50)), len(out) - 20)]
        elif kind == 2:
            out[at:at] = rng.bytes(int(rng.integers(20)))
        elif kind == 3:
            out[at:at] = bytes([255, rng.choice([0x00, 0xC4, 0xD0, 0xD5, 0xD9, 0xDA, 0xDB, 0xDD])])
        else:
            del out[max(at, 100) :]
            break
        start = min(start, len(out) - 1)
    return bytes(out)


def test_same_bytes_of_damaged_files() -> None:
    """The pixels of a damaged file depend only on its bytes, not on what memory contained before."""
    rng = np.random.default_rng(5)
    whole = [
        encoded(i, size=(60 + 9 * i, 50 + 5 * i), subsampling=i % 3, progressive=i % 4 == 3)
        for i in range(6)
    ]
    files = [damaged(rng, whole[i % 6]) for i in range(160)]

    def decode(order: list[int], **options: Any) -> dict[int, tuple[bytes, ...]]:
        batches = [order[i : i + 8] for i in range(0, len(order), 8)]

        def source(number: int) -> Any:
            if number == len(batches):
                raise StopIteration
            data = [np.frombuffer(files[i], np.uint8) for i in batches[number]]
            return data, [np.array(i) for i in batches[number]]

        pipe = Pipeline(batch_size=8, device_id=None, on_error="skip", **options)
        with pipe:
            coded, index = fn.external_source(source, num_outputs=2)
            window = fn.decoders.image_crop(coded, crop=[20, 30], crop_pos_x=0.3, crop_pos_y=0.9)
            small = fn.resize(fn.decoders.image(coded), size=[20, 30])
            pipe.set_outputs(index, fn.decoders.image(coded), window, small)
        decoded: dict[int, tuple[bytes, ...]] = {}
        with pytest.raises(StopIteration):
            while True:
                outputs = pipe.run()
                for sample in samples(outputs):
                    decoded[int.from_bytes(sample[0], "little")] = sample
        return decoded

    first = decode(list(range(160)), num_threads=2)
    assert 80 < len(first) < 160
    assert decode(list(range(159, -1, -1)), num_threads=1) == first
    assert decode(rng.permutation(160).tolist(), num_threads=3, fuse=False) == first


# ---- the environment ----


@pytest.mark.parametrize(
    "name, value",
    [
        ("HEADRACE_CPU_LEVEL", "v9"),
        ("HEADRACE_STALL", "later"),
        ("HEADRACE_STALL", "read:x"),
        ("HEADRACE_AFFINITY_MASK", "one"),
        ("HEADRACE_AFFINITY_MASK", "0,-1"),
        ("DALI_AFFINITY_MASK", "0;1"),
        ("DALI_AFFINITY_MASK", "0,99999"),
        ("HEADRACE_TRACE", "/no/such/folder/trace.json"),
    ],
)
def test_wrong_environment(
    name: str, value: str, photos_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises((ValueError, RuntimeError), match=value.replace(",", "[,]")):
        resized(photos_root, set_affinity=True).build()
    monkeypatch.setenv(name, "")
    resized(photos_root, set_affinity=True).run()
