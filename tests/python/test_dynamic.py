# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Dynamic mode: the results of pipelines and of NumPy, without a pipeline."""

from __future__ import annotations

import contextlib
import threading
import traceback
from pathlib import Path
from typing import Any

import headrace.experimental.dynamic as ndd
import numpy as np
import pytest
from headrace import fn, pipeline_def, types
from headrace._graph import schema
from headrace._graph.plan import Kept
from headrace.tensors import TensorListCPU

RNG = np.random.default_rng(3)
IMAGES = [RNG.integers(0, 256, (h, w, 3)).astype(np.uint8) for h, w in ((7, 9), (12, 5), (8, 8))]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("resize", {"size": [5, 6]}),
    ("flip", {"horizontal": 1}),
    ("rotate", {"angle": 30.0}),
    ("crop_mirror_normalize", {"crop": [4, 4], "mean": [10.0, 20.0, 30.0], "std": [2.0]}),
    ("color_twist", {"brightness": 1.5, "hue": 20.0}),
    ("gaussian_blur", {"sigma": 1.5}),
    ("reductions.mean", {"axes": [0, 1]}),
]


def by_pipeline(name: str, samples: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    @pipeline_def(batch_size=len(samples), num_threads=1, device_id=None)
    def pipe() -> Any:
        function: Any = fn
        for part in name.split("."):
            function = getattr(function, part)
        return function(fn.external_source(lambda: samples, layout="HWC"), **kwargs)

    (out,) = pipe().run()
    return [np.asarray(sample) for sample in out]


def function(name: str) -> Any:
    found: Any = ndd
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(("name", "kwargs"), CALLS, ids=[name for name, _ in CALLS])
def test_the_same_bytes_as_a_pipeline(name: str, kwargs: dict[str, Any]) -> None:
    wanted = by_pipeline(name, IMAGES, kwargs)
    batch = function(name)(ndd.batch(IMAGES, layout="HWC"), **kwargs)
    assert isinstance(batch, ndd.Batch) and batch.batch_size == len(IMAGES)
    for image, sample, expected in zip(IMAGES, batch, wanted, strict=True):
        alone = function(name)(ndd.as_tensor(image, layout="HWC"), **kwargs)
        assert isinstance(alone, ndd.Tensor)
        np.testing.assert_array_equal(np.asarray(sample), expected)
        np.testing.assert_array_equal(np.asarray(alone), expected)
        assert alone.shape == expected.shape and alone.dtype == ndd.dtype(expected.dtype)


def test_every_operator_has_a_function_or_a_reader() -> None:
    for name in schema.function_names():
        op = schema.operators()[name]
        if op.is_reader:
            module = name.rpartition(".")[0]
            assert function(f"{module}.{op.class_name}")._op is op
        elif not op.source and "python_function" not in name and name != "constant":
            assert function(name)._schema_name == schema.schema_name(name)
    assert {"resize", "readers", "Tensor", "random"} <= set(dir(ndd))
    with pytest.raises(AttributeError, match="resize"):
        ndd.resise  # noqa: B018


def test_tensors_are_made_from_anything() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    shared, copied = ndd.as_tensor(array), ndd.tensor(array)
    array[0, 0] = 9
    assert np.asarray(shared)[0, 0] == 9 and np.asarray(copied)[0, 0] == 0
    assert (shared.shape, shared.ndim, shared.size, shared.nbytes) == ((2, 3), 2, 6, 12)
    assert ndd.tensor(5).dtype == ndd.int32 and ndd.tensor([1.0]).dtype == ndd.float32
    assert ndd.tensor([1.6], dtype=ndd.uint8).item() == 2
    assert ndd.as_tensor(array[:, ::2]).shape == (2, 2)
    assert ndd.tensor(np.float64(2.5)).dtype == ndd.float64 and ndd.uint8(3).dtype == ndd.uint8
    with pytest.raises(ValueError, match="2 elements"):
        ndd.tensor([1, 2]).item()
    with pytest.raises(OverflowError):
        ndd.tensor(2**40)
    assert str(ndd.tensor([[1, 2]], layout="HW")) == (
        'Tensor(\n    [[1 2]],\n    dtype=i32,\n    layout="HW",\n    device="cpu",\n    shape=(1, 2))'
    )


def test_members_of_enumerations() -> None:
    for member, dtype in ((types.INTERP_CUBIC, ndd.InterpType), (types.INT32, ndd.DataType)):
        for tensor in (ndd.Tensor(member), ndd.Tensor(int(member), dtype=dtype)):
            assert tensor.dtype == dtype
            assert ndd.tensor(tensor, dtype=ndd.int32).item() == int(member)
        batch = ndd.Batch([member, member])
        assert batch.dtype == dtype
        as_numbers = ndd.batch(batch, dtype=ndd.int64)
        assert [t.item() for t in as_numbers] == [int(member)] * 2
    for empty in (ndd.batch([], dtype=ndd.int32), ndd.batch([1, 2]).select([])):
        assert (empty.dtype, empty.ndim, empty.shape, empty.batch_size) == (ndd.int32, 0, [], 0)


def test_arithmetic_and_subscripts_agree_with_numpy() -> None:
    array = RNG.integers(1, 100, (4, 5, 3)).astype(np.int32)
    tensor = ndd.tensor(array, layout="HWC")
    pairs = [
        (tensor + 3, array + 3),
        (7 - tensor, 7 - array),
        (tensor * tensor, array * array),
        (tensor / 2, (array / 2).astype(np.float32)),
        (tensor // 4, array // 4),
        (array + tensor, array * 2),
        (tensor > 50, array > 50),
        (-tensor, -array),
        (tensor[1], array[1]),
        (tensor[-1, 1:4:2], array[-1, 1:4:2]),
        (tensor[..., 0], array[..., 0]),
        (tensor[ndd.tensor(2)], array[2]),
        (ndd.math.max(tensor, 50), np.maximum(array, 50)),
        (ndd.math.clamp(tensor, 20, 50), np.clip(array, 20, 50)),
    ]
    for made, expected in pairs:
        np.testing.assert_array_equal(np.asarray(made), expected)
    assert tensor[-1].layout == "WC" and [t.item() for t in tensor[0, :, 0]] == list(array[0, :, 0])
    assert bool(tensor == array) and not bool(tensor == 1)
    with pytest.raises(ValueError, match="ranges"):
        tensor[0, 0, 0, 0]  # noqa: B018
    with pytest.raises(RuntimeError, match="out of range"):
        tensor[9]  # noqa: B018


def test_batches() -> None:
    batch = ndd.batch([np.full((2, i + 1), i, np.float32) for i in range(3)], layout="XY")
    assert batch.batch_size == 3 and batch.shape == [(2, 1), (2, 2), (2, 3)]
    assert batch.select(-1).shape == (2, 3) and batch.tensors[1].shape == (2, 2)
    chosen = batch.tensors[[2, 0]]
    assert len(chosen) == 2 and [one.shape for one in chosen.tolist()] == [(2, 3), (2, 1)]
    assert chosen[-1].shape == (2, 1) and chosen[1:].as_batch().shape == [(2, 1)]
    assert batch.tensors[1:].select([1]).as_batch(copy=True).shape == [(2, 3)]
    with pytest.raises(IndexError, match="Sample 2 is out of range: the batch has 2"):
        chosen[2]
    assert batch.select([2, 0]).shape == [(2, 3), (2, 1)] and batch.slice[0].layout == "Y"
    padded = ndd.as_tensor(batch, pad=True)
    assert padded.shape == (3, 2, 3) and padded.layout == "NXY"
    np.testing.assert_array_equal(np.asarray(padded)[:, 0, 0], [0, 1, 2])
    with pytest.raises(ValueError, match="shape"):
        ndd.as_tensor(batch)
    with pytest.raises(TypeError):
        batch[0]  # type: ignore[index]
    assert ndd.as_batch(batch) is batch
    sums = ndd.batch([1, 2, 3]) + ndd.batch([10, 20, 30])
    assert [t.item() for t in sums] == [11, 22, 33]
    assert ndd.Batch.broadcast([1, 2], 2).shape == [(2,), (2,)]
    with pytest.raises(ValueError, match="different numbers"):
        ndd.batch([1, 2]) + ndd.batch([1, 2, 3])


def lists_of_samples() -> dict[str, list[Any]]:
    """Lists of one kind of sample: a batch of them is made in one step, or from one sample after the other."""
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 255, (4, 3, 5), np.uint8)
    kinds = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f8"]
    lists: dict[str, list[Any]] = {kind: [row[0].astype(kind) for row in pixels] for kind in kinds}
    lists["strided"] = [row[::-1, ::2] for row in pixels]
    lists["read-only"] = [np.frombuffer(row.tobytes(), np.uint8) for row in pixels]
    lists["numbers"] = [np.array(7, np.int16)] * 3
    lists["nothing"] = [np.empty((0, 3), np.float32)] * 2
    lists["other shapes"] = [pixels[0, :n] for n in range(4)]
    lists["tensors"] = [ndd.as_tensor(row, layout="HW") for row in pixels]
    lists["subclass"] = [row.view(np.recarray) for row in pixels]
    lists["mixed"] = [pixels[0], ndd.as_tensor(pixels[1], layout="HW")]
    lists["bool"], lists["int"], lists["float"] = [True, False], [1, -2, 3], [0.1, 2.0]
    lists["lists"] = [[1, 2], [3, 4]]
    lists["two types"] = [pixels[0], pixels[0].astype(np.float32)]
    lists["objects"] = [np.array([None])] * 2
    lists["dates"] = [np.array(["2020-01-01"], "M8[D]")] * 2
    lists["dimensions"] = [pixels[0], pixels[0, 0]]
    lists["large"] = [2**31, 1]
    lists["layout"] = [np.zeros((2, 2, 2), np.uint8)] * 2
    return lists


@pytest.mark.parametrize("name", lists_of_samples())
def test_a_list_is_the_batch_of_its_tensors(name: str) -> None:
    """The same as the tensors one by one, or the same kind of refusal."""
    samples = lists_of_samples()[name]
    for layout in (None, "HW"):
        for make in (ndd.as_batch, ndd.batch):
            try:
                tensors = [ndd.as_tensor(sample) for sample in samples]
                expected = ndd.Batch._of(TensorListCPU([t._storage for t in tensors], layout))
            except Exception as error:
                with pytest.raises(type(error)):
                    make(samples, layout=layout)
                continue
            found = make(samples, layout=layout)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert found.layout == (layout or tensors[0].layout)
            for one, other, sample in zip(found, expected, samples, strict=True):
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
                np.testing.assert_allclose(np.asarray(one), np.asarray(sample), 1e-7)
                if isinstance(sample, np.ndarray) and sample.flags.writeable and sample.size > 1:
                    assert np.shares_memory(np.asarray(one), sample) <= (make is ndd.as_batch)
            assert [t.shape for t in found.tensors] == found.shape


def test_many_values_of_an_argument_need_few_plans() -> None:
    from headrace.experimental.dynamic import _operators

    image = IMAGES[0]
    before = len(_operators._plans)
    for i in range(40):
        angle = i * 4.5
        made = np.asarray(ndd.rotate(image, angle=angle, keep_size=True))
        if i in (0, 20, 39):
            (expected,) = by_pipeline("rotate", [image], {"angle": angle, "keep_size": True})
            np.testing.assert_array_equal(made, expected)
    assert len(_operators._plans) <= min(before + 10, 128)


def test_random_numbers() -> None:
    def draw(rng: Any, **kwargs: Any) -> list[float]:
        return [
            t.item() for t in ndd.random.uniform(range=[0, 1], batch_size=100, rng=rng, **kwargs)
        ]

    rng = ndd.random.RNG(5)
    first, state = draw(rng), rng.get_state()
    second = draw(rng)
    assert first == draw(ndd.random.RNG(5)) and second == draw(ndd.random.RNG(state=state))
    assert first != second and len(set(first)) > 90 and 0.35 < np.mean(first) < 0.65
    assert isinstance(ndd.random.coin_flip(), ndd.Tensor)
    ndd.random.set_seed(3)
    again = ndd.random.normal().item()
    ndd.random.set_seed(3)
    assert again == ndd.random.normal().item() != ndd.random.normal().item()
    # Philox 4x32-10 with key 5: what DALI's generator gives
    generator = ndd.random.RNG(5)
    assert generator() == 3289868317
    assert str(generator.get_state()).endswith("0000000000000000:0000000000000000_1")
    with pytest.raises(TypeError, match="seed"):
        ndd.random.uniform(seed=4)


def test_deferred_calls_run_when_needed() -> None:
    with ndd.EvalMode.deferred:
        image = ndd.flip(IMAGES[0], horizontal=1)
        wrong = ndd.flip(np.zeros(2, np.uint8))
        assert image._stored is None
    np.testing.assert_array_equal(np.asarray(image), IMAGES[0][:, ::-1])
    with pytest.raises(ValueError, match=r"flip.*test_dynamic.py:\d+"):
        wrong.evaluate()
    with ndd.EvalContext(num_threads=2) as context:
        assert ndd.EvalContext.current() is context
        with ndd.EvalMode.deferred:
            later = ndd.flip(IMAGES[0])
    assert later._call is not None and later._call._results is not None


def test_mistakes_name_the_operator_and_the_line() -> None:
    with pytest.raises(RuntimeError, match=r"decoders.image.*test_dynamic.py:\d+"):
        ndd.decoders.image(np.zeros(10, np.uint8))
    with pytest.raises(TypeError, match="unexpected keyword argument 'sise'.*size"):
        ndd.resize(IMAGES[0], sise=3)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        ndd.resize()
    with pytest.raises(TypeError, match="takes 1 positional argument but 2"):
        ndd.flip(IMAGES[0], IMAGES[0])
    assert ndd.flip(IMAGES[0]).shape == IMAGES[0].shape  # the plan goes on after an error


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for i in range(5):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i] * (i + 1)))
    return tmp_path


def reader(files: Path, **kwargs: Any) -> Any:
    names = [f"{i}.bin" for i in range(5)]
    return ndd.readers.File(file_root=str(files), files=names, labels=[*range(5)], **kwargs)


def test_readers(files: Path) -> None:
    single = reader(files)
    for _ in range(2):
        read = [(data.shape, label.item()) for data, label in single.next_epoch()]
        assert read == [((i + 1,), i) for i in range(5)]
    assert single.get_metadata()["epoch_size"] == 5
    with pytest.raises(RuntimeError, match="batches"):
        single.next_epoch(batch_size=2)
    batches = [[t.item() for t in labels] for _, labels in reader(files).next_epoch(batch_size=2)]
    assert batches == [[0, 1], [2, 3], [4, 0]]
    shard = reader(files, num_shards=2, shard_id=0)
    assert [label.item() for _, label in shard.next_epoch()] == [0, 1]
    assert [label.item() for _, label in shard.next_epoch()] == [2, 3, 4]
    with pytest.raises(TypeError, match="file_rot"):
        ndd.readers.File(file_rot="x")


def test_a_reader_continues_from_its_state(files: Path) -> None:
    first = reader(files, enable_checkpointing=True, random_shuffle=True, seed=4)
    epoch = first.next_epoch()
    seen = [next(epoch)[1].item() for _ in range(2)]
    state = first.get_state()
    rest = [label.item() for _, label in epoch]
    second = reader(files, enable_checkpointing=True, random_shuffle=True, seed=4)
    second.set_state(state)
    assert [label.item() for _, label in second.next_epoch()][: len(rest)] == rest
    assert sorted(seen + rest) == [0, 1, 2, 3, 4]


def test_external_sources() -> None:
    source = ndd.ExternalSource([np.zeros(3), np.ones(2)], cycle="raise", dtype=ndd.int8)
    assert [source().shape, source().shape] == [(3,), (2,)]
    with pytest.raises(StopIteration):
        source()
    assert source().dtype == ndd.int8
    images, labels = ndd.ExternalSource(lambda: (IMAGES, [1, 2, 3]), 2)(batch_size=3)
    assert images.shape == [image.shape for image in IMAGES] and labels.select(2).item() == 3


def test_threads_share_plans() -> None:
    wrong: list[int] = []

    def work(i: int) -> None:
        for k in range(50):
            value = i * 100 + k
            if (ndd.tensor([value]) + 1).item() != value + 1:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_plan_in_use_is_not_taken_again() -> None:
    kept: Kept[str] = Kept(2)
    for key, value in (("a", "1"), ("a", "2"), ("b", "3")):
        kept.put(key, value)
    assert [kept.take(key) for key in ("a", "a", "a", "b", "c")] == ["2", "1", None, "3", None]
    for key in "bca":  # the key used least recently goes, with all that it has
        kept.put(key, key)
    assert len(kept) == 2 and [kept.take(key) for key in "abc"] == ["a", None, "c"]


def test_a_forked_child_makes_plans_of_its_own(child: Any) -> None:
    output = child(
        """
        import os
        import numpy
        import headrace.experimental.dynamic as ndd
        image = numpy.arange(12, dtype=numpy.uint8).reshape(2, 2, 3)
        before = len(os.listdir("/proc/self/task"))
        ndd.flip(image)
        assert len(os.listdir("/proc/self/task")) == before  # a call on one tensor starts no thread
        process = os.fork()
        if process == 0:
            print(ndd.flip(image)[0, 0].shape, flush=True)
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0
        """
    )
    assert output.strip() == "(3,)"


def test_devices_and_types() -> None:
    assert ndd.device("cuda:1") == ndd.Device("gpu", 1) and ndd.tensor(1).device == ndd.Device(
        "cpu"
    )
    with pytest.raises(ValueError, match="foo"):
        ndd.Device("foo")
    with ndd.Device("gpu", 1):
        assert str(ndd.Device.current()) == "gpu:1"
    assert ndd.Device.current() == ndd.Device.CPU
    assert ndd.dtype("u8") == ndd.dtype(np.uint8) == ndd.uint8 != ndd.int8
    assert (
        repr(ndd.float16) == "DType(kind=Kind.float, bits=16, exponent_bits=5, significand_bits=10)"
    )
    with pytest.raises(ValueError, match="bfloat16"):
        ndd.tensor(1, dtype=ndd.bfloat16)


def test_functions_of_numpy() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for ours in (ndd.tensor(array), ndd.batch([array, array])):
        for made in (array + ours, np.add(array, ours), np.subtract(ours, -array)):
            assert isinstance(made, type(ours))
            sample = made if isinstance(made, ndd.Tensor) else made.select(1)
            np.testing.assert_array_equal(np.asarray(sample), 2 * array)
        assert bool((ours + array) == (array + ours))
    np.testing.assert_array_equal(np.sqrt(ndd.tensor(array)), np.sqrt(array))
    with pytest.raises(TypeError):
        np.sqrt(ndd.batch([array]))
    np.testing.assert_array_equal(np.add.reduce(ndd.tensor(array)), array.sum(0))


def test_an_empty_list_has_the_type_of_the_others() -> None:
    batch = ndd.as_batch([[1, 2], [], [3]])
    assert (batch.dtype, batch.shape) == (ndd.int32, [(2,), (0,), (1,)])
    with pytest.raises(TypeError):
        ndd.as_batch([[1, 2], [1.5]])


def test_names_of_types() -> None:
    names = ("bfloat16", "ImageType", "DataType", "InterpType", "f16", "float32")
    assert [ndd.dtype(name).bits for name in names] == [16, 32, 32, 32, 16, 32]
    assert ndd.dtype("bfloat16") is ndd.bfloat16


def test_a_context_is_for_one_thread() -> None:
    context, found = ndd.EvalContext(), []

    def enter() -> None:
        try:
            with context:
                found.append(ndd.EvalContext.current() is context)
        except RuntimeError as error:
            found.append(str(error))

    for inside in (True, False):
        with context if inside else contextlib.nullcontext():
            with context if inside else contextlib.nullcontext():
                pass
            thread = threading.Thread(target=enter)
            thread.start()
            thread.join()
    assert found[0].startswith("Another thread is inside this EvalContext") and found[1] is True


def test_the_cause_of_a_deferred_failure_is_at_the_call() -> None:
    """As in DALI: `__cause__` says what failed, and its traceback ends where the operator was called."""
    image = ndd.as_tensor(IMAGES[0], layout="HWC")

    def crop() -> Any:
        return ndd.crop(image, crop=(2000, 2000))  # LINE: called

    with pytest.raises(RuntimeError) as at_once:
        crop()
    with ndd.EvalMode.deferred:
        later = crop()
    with pytest.raises(RuntimeError) as error:
        later.evaluate()  # LINE: needed
    cause = error.value.__cause__
    assert type(cause) is RuntimeError and str(cause) == str(at_once.value)
    frames = traceback.extract_tb(cause.__traceback__)
    assert [frame.name for frame in frames[-2:]] == [
        "test_the_cause_of_a_deferred_failure_is_at_the_call",
        "crop",
    ]
    assert frames[-1].line.endswith("# LINE: called") and frames[-1].filename == __file__
    assert traceback.extract_tb(error.value.__traceback__)[0].line.endswith("# LINE: needed")


def test_the_threads_of_a_context_follow_the_common_number() -> None:
    context, own = ndd.EvalContext(), ndd.EvalContext(num_threads=3)
    common = ndd.get_num_threads()
    try:
        assert context.thread_pool is context.thread_pool
        ndd.set_num_threads(common + 5)
        assert context.thread_pool.num_threads == context.num_threads == common + 5
        assert own.thread_pool.num_threads == 3
    finally:
        ndd.set_num_threads(None)
    assert context.thread_pool.num_threads == common


def test_the_text_of_a_large_batch_is_abbreviated() -> None:
    """Of more than 1,000 elements in more than five samples, the first two and the last two are shown."""
    samples = [np.full((10, 21), i, np.int32) for i in range(10, 16)]
    for batch in (ndd.batch(samples), TensorListCPU(samples)):
        text = str(batch)
        assert [str(i) in text.split("dtype")[0] for i in range(10, 16)] == [1, 1, 0, 0, 1, 1]
        assert "\n    ...,\n" in text
    for few in (samples[:5], [sample[:9] for sample in samples[:5]] + [samples[5][:1]]):
        for batch in (ndd.batch(few), TensorListCPU(few)):
            text = str(batch)
            assert "..." not in text and "12" in text.split("dtype")[0]
