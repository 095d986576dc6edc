# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Python functions on a GPU. Without one, NumPy views the memory of the fake device in place of CuPy, which shows
whether the engine waits for what it must, and whether memory lives long enough.
"""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import _core, fn, ops, pipeline_def, types
from headrace._graph import functions
from headrace._graph.arrays import Arrays
from headrace.tensors import TensorGPU

BATCH = 3


class Shown:
    """An array over the memory of the fake device, as CuPy would return it."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        shown = {k: v for k, v in self._array.__array_interface__.items() if k != "descr"}
        return {**shown, "stream": None, "version": 3}


def view(tensor: Any) -> np.ndarray:
    """The memory of a tensor on the fake device."""
    shown = tensor.__cuda_array_interface__
    dtype = np.dtype(shown["typestr"])
    size = int(np.prod(shown["shape"])) * dtype.itemsize
    buffer = (ctypes.c_char * size).from_address(shown["data"][0])
    return np.frombuffer(buffer, dtype).reshape(shown["shape"])


class FakeArrays(Arrays):
    def convert(self, tensor: Any) -> Any:
        return view(tensor)

    def result(self, value: Any) -> Any:
        return Shown(value) if isinstance(value, np.ndarray) else value


@pytest.fixture(autouse=True)
def xp(module: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """CuPy, or NumPy with the fake module."""
    if module.fake is None:
        return pytest.importorskip("cupy")
    monkeypatch.setattr(functions, "CupyArrays", FakeArrays)
    return np


def numbered(i: int) -> list[np.ndarray]:
    return [
        np.arange(10 * (2 + j), dtype=np.int32).reshape(2 + j, 10) + 100 * i for j in range(BATCH)
    ]


def build(definition: Any, **kwargs: Any) -> Any:
    options = {"batch_size": BATCH, "num_threads": 2, "device_id": 0, **kwargs}
    return pipeline_def(**options)(definition)()


def fed(i: Any = numbered) -> Any:
    return fn.external_source(i, layout="HW")


def host(batch: Any) -> list[np.ndarray]:
    return [np.array(sample) for sample in batch.as_cpu()]


FUNCTIONS: dict[str, tuple[Any, int]] = {
    "new": (lambda xp, a: a * 2 + 1, 1),
    "transposed": (lambda xp, a: a.T, 1),
    "backwards": (lambda xp, a: a[::-1, ::-1], 1),
    "a part": (lambda xp, a: a[:, 1:8:3], 1),
    "itself": (lambda xp, a: a, 1),
    "a number": (lambda xp, a: a.sum(), 1),
    "empty": (lambda xp, a: a[:0], 1),
    "half": (lambda xp, a: a.astype(xp.float16), 1),
    "bool": (lambda xp, a: a > 7, 1),
    "two": (lambda xp, a: (a[1:], a.astype(xp.float32) / 3), 2),
}


@pytest.mark.parametrize("batch", [False, True], ids=["samples", "batch"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_numpy(name: str, batch: bool, xp: Any) -> None:
    body, outputs = FUNCTIONS[name]

    def wrap(value: Any) -> Any:
        return xp.asarray(value)

    def each(a: Any) -> Any:
        made = body(xp, a)
        return tuple(map(wrap, made)) if outputs > 1 else wrap(made)

    def whole(arrays: Any) -> Any:
        made = [each(a) for a in arrays]
        return tuple(map(list, zip(*made))) if outputs > 1 else made

    def definition() -> Any:
        made = fn.python_function(
            fed().gpu(),
            function=whole if batch else each,
            num_outputs=outputs,
            batch_processing=batch,
        )
        return tuple(made) if outputs > 1 else made

    pipe = build(definition)
    for i in range(5):
        found = pipe.run()
        for j, array in enumerate(numbered(i)):
            wanted = body(np, array)
            for out, want in zip(found, wanted if outputs > 1 else (wanted,)):
                got = np.array(out[j].as_cpu())
                np.testing.assert_array_equal(got, want)
                assert got.dtype == np.asarray(want).dtype


def test_devices_mix(xp: Any) -> None:
    """Operators before and after the function on either device; inputs and outputs of several kinds."""

    def function(a: Any, b: Any) -> Any:
        return a + 3 * b, a[0]

    def definition() -> Any:
        data = fed()
        on_gpu = fn.cast(data.gpu(), dtype=types.INT64)
        both, row = fn.python_function(
            on_gpu,
            fn.cast(data, dtype=types.INT64).gpu(),
            function=function,
            num_outputs=2,
            output_layouts=["HW", "W"],
        )
        assert both.device == row.device == "gpu"
        back = fn.python_function(row.cpu(), function=lambda a: a + 1)
        assert back.device == "cpu"
        return (
            fn.cast(both, dtype=types.FLOAT),
            fn.cast(row.cpu() + back, dtype=types.INT32),
            both,
            row,
        )

    pipe = build(definition)
    for i in range(6):
        floats, sums, both, row = pipe.run()
        assert (both.layout(), row.layout()) == ("HW", "W")
        for j, array in enumerate(numbered(i)):
            np.testing.assert_array_equal(host(floats)[j], (array * 4).astype(np.float32))
            np.testing.assert_array_equal(host(sums)[j], 2 * array[0] + 1)


def test_calls_are_in_order_and_ahead() -> None:
    seen: list[int] = []

    def definition() -> Any:
        def function(a: Any) -> Any:
            seen.append(int(a.ravel()[0]))
            return a

        first = fn.python_function(fed().gpu(), function=function)
        return fn.python_function(first * 2, function=lambda a: a)

    pipe = build(definition, prefetch_queue_depth=3, num_threads=4)
    for i in range(20):
        (out,) = pipe.run()
        np.testing.assert_array_equal(host(out)[1], numbered(i)[1] * 2)
    assert len(seen) > 20 * BATCH
    assert seen == [100 * (k // BATCH) for k in range(len(seen))]


def test_functions_for_their_effects() -> None:
    seen: list[int] = []

    def definition() -> Any:
        data = fed()
        fn.python_function(data.gpu(), function=lambda a: seen.append(int(a[0, 0])), num_outputs=0)
        return data

    pipe = build(definition)
    for _ in range(3):
        pipe.run()
    assert seen[: 3 * BATCH] == [100 * (k // BATCH) for k in range(3 * BATCH)]


def test_no_inputs(xp: Any) -> None:
    count = iter(range(1000))
    pipe = build(
        lambda: fn.python_function(
            function=lambda: xp.full((2, 2), next(count)), device="gpu", num_outputs=1
        )
    )
    for i in range(4):
        found = host(pipe.run()[0])
        assert [a[0, 0] for a in found] == [BATCH * i + k for k in range(BATCH)]


def test_in_a_branch() -> None:
    """The function gets the samples that take its branch."""
    sizes: list[int] = []

    def function(arrays: Any) -> Any:
        sizes.append(len(arrays))
        return [a + 1000 for a in arrays]

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, enable_conditionals=True)
    def pipeline() -> Any:
        data = fed()
        small = fn.shapes(data)[0] < 4
        out = data.gpu()
        if small:
            out = fn.python_function(
                out, function=function, batch_processing=True, output_layouts="HW"
            )
        return out

    pipe = pipeline()
    for i in range(3):
        found = host(pipe.run()[0])
        for j, array in enumerate(numbered(i)):
            np.testing.assert_array_equal(found[j], array + 1000 * (array.shape[0] < 4))
    assert set(sizes) == {2}


# ---- memory ----


def test_arrays_may_be_kept(xp: Any) -> None:
    """What a function keeps of its inputs and results is not written by later batches."""
    kept: list[tuple[int, Any, Any]] = []

    def function(tensor: Any) -> Any:
        made = TensorGPU(tensor.__dlpack__())
        kept.append((len(kept), tensor, made))
        return made

    class Tensors(Arrays):
        def convert(self, tensor: Any) -> Any:
            return tensor

    def definition() -> Any:
        node = fed().gpu()
        return functions.make_function(
            "python_function", "test", function, lambda device: Tensors(), [node], {}
        )

    pipe = build(definition)
    for i in range(12):
        np.testing.assert_array_equal(host(pipe.run()[0])[2], numbered(i)[2])
    del pipe
    gc.collect()
    for number, tensor, made in kept:
        wanted = numbered(number // BATCH)[number % BATCH]
        np.testing.assert_array_equal(np.array(tensor.as_cpu()), wanted)
        np.testing.assert_array_equal(np.array(made.as_cpu()), wanted)


def test_results_live_until_they_are_copied(fake: Any) -> None:
    """The function's array is freed with the results; the copy may run later."""

    class Freed(Shown):
        def __del__(self) -> None:
            self._array[:] = -1

    pipe = build(lambda: fn.python_function(fed().gpu(), function=lambda a: Freed(a + 1)))
    for i in range(6):
        for j, found in enumerate(host(pipe.run()[0])):
            np.testing.assert_array_equal(found, numbered(i)[j] + 1)


def test_outputs_made_in_place(fake: Any) -> None:
    """A function that fills memory of the engine, as numba_function does: nothing is copied."""

    def function(call: Any) -> None:
        (batch,) = call.inputs()
        made = call.make(0, int(types.FLOAT), [(3, shape[1]) for shape in batch.shape()])
        for i in range(call.samples):
            view(made[i])[:] = view(batch[i])[0] / 2

    class Calling(functions.Function):
        def _run(self, call: Any) -> None:
            function(call)

    def definition() -> Any:
        node = fn.external_source(numbered, layout="HW").gpu()
        return functions.make_function(
            "python_function",
            "test",
            function,
            lambda device: Arrays(),
            [node],
            {"output_layouts": "XY"},
            make=Calling,
        )

    pipe = build(definition)
    for i in range(5):
        (out,) = pipe.run()
        assert out.layout() == "XY"
        for j, found in enumerate(host(out)):
            wanted = np.tile(numbered(i)[j][0] / np.float32(2), (3, 1))
            np.testing.assert_array_equal(found, wanted.astype(np.float32))


# ---- capsules and streams ----


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("synchronize", [False, True])
def test_capsules(batch: bool, synchronize: bool) -> None:
    seen: set[Any] = set()
    streams: set[int] = set()

    def function(given: Any) -> Any:
        seen.update(map(_core.dlpack_check, given if batch else [given]))
        streams.add(ops.PythonFunction.current_stream().ptr)
        return given

    def definition() -> Any:
        return fn.dl_tensor_python_function(
            fed().gpu(), function=function, batch_processing=batch, synchronize_stream=synchronize
        )

    pipe = build(definition)
    for i in range(4):
        for j, found in enumerate(host(pipe.run()[0])):
            np.testing.assert_array_equal(found, numbered(i)[j])
    assert seen == {(True, True)}  # a capsule, in the memory of a CUDA device
    assert 0 not in streams
    assert ops.PythonFunction.current_stream().ptr == 0


def test_capsules_of_the_default_stream(fake: Any) -> None:
    """A capsule does not name the stream that writes it: the pipeline waits for the default one."""
    keep: list[Any] = []

    def function(capsules: Any) -> Any:
        made = []
        for capsule in capsules:
            tensor = TensorGPU(capsule)
            # a copy that is queued on the default stream, which is late
            copy = _core.make_tensor(TensorGPU, tensor, device=0, stream=0)
            keep.append(copy)
            made.append(copy.__dlpack__())
        return made

    pipe = build(lambda: fn.dl_tensor_python_function(fed().gpu(), function=function))
    for i in range(4):
        for j, found in enumerate(host(pipe.run()[0])):
            np.testing.assert_array_equal(found, numbered(i)[j])
    keep.clear()


def test_data_fed_on_the_gpu_is_complete() -> None:
    """The function sees what was fed, though the copies to the device were queued on another stream."""

    def source(i: int) -> Any:
        return [_core.make_tensor(TensorGPU, a, device=0) for a in numbered(i)]

    def definition() -> Any:
        node = fn.external_source(source, device="gpu", layout="HW")
        return fn.dl_tensor_python_function(node, function=lambda a: a)

    pipe = build(definition)
    for i in range(5):
        for j, found in enumerate(host(pipe.run()[0])):
            np.testing.assert_array_equal(found, numbered(i)[j])


# ---- failures ----


def fails(a: Any) -> Any:
    raise ValueError("on purpose")


def test_an_exception_names_the_node_and_the_lines() -> None:
    pipe = build(lambda: fn.python_function(fed().gpu(), function=fails, name="mine"))
    with pytest.raises(RuntimeError) as caught:
        pipe.run()
    text = str(caught.value)
    assert "python_function" in text and "'mine'" in text and text.count(Path(__file__).name) == 2
    assert "ValueError: on purpose" in text and "): fails" in text
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda xp, a: memoryview(b"abc"), "host memory; a function on the GPU returns"),
        (lambda xp, a: None, "returned None"),
        (lambda xp, a: a.astype(xp.int64 if a.shape[0] == 2 else xp.float32), "different types"),
        (lambda xp, a: a if a.shape[0] == 2 else a[0], "numbers of dimensions"),
        (lambda xp, a: object(), "cannot be read as a tensor"),
    ],
)
def test_bad_results(function: Any, message: str, xp: Any) -> None:
    def one(a: Any) -> Any:
        return function(xp, a)

    pipe = build(lambda: fn.python_function(fed().gpu(), function=one))
    with pytest.raises((RuntimeError, TypeError), match=message):
        pipe.run()


def test_inputs_on_the_wrong_device() -> None:
    with pytest.raises(RuntimeError, match=r"use \.gpu\(\)"):
        build(lambda: fn.python_function(fed(), function=lambda a: a, device="gpu"))
    with pytest.raises(RuntimeError, match=r"use \.cpu\(\)"):
        build(lambda: fn.python_function(fed().gpu(), function=lambda a: a, device="cpu"))


def test_a_device_that_fails(fake: Any) -> None:
    """Errors of the device name the node; nothing is left behind (the fixture checks that)."""
    for kind in ("op_run", "alloc", "copy"):
        for number in (3, 6):
            pipe = build(lambda: fn.dl_tensor_python_function(fed().gpu(), function=lambda a: a))
            fake.fail(f"{kind}:{number}+")
            with pytest.raises((RuntimeError, MemoryError), match="injected"):
                for _ in range(8):
                    pipe.run()
            fake.fail(None)
            del pipe
            gc.collect()


def test_a_pipeline_is_dropped_in_mid_flight() -> None:
    for count in range(3):
        pipe = build(
            lambda: fn.python_function(fed().gpu(), function=lambda a: a), prefetch_queue_depth=3
        )
        for _ in range(count):
            pipe.run()
        del pipe
        gc.collect()


# ---- dump_image ----


def test_dump_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pictures = [np.arange(12 * (k + 1), dtype=np.uint8).reshape(k + 1, 4, 3) for k in range(BATCH)]

    def definition() -> Any:
        data = fn.external_source(lambda: pictures, layout="HWC", batch=True).gpu()
        out = fn.dump_image(data, suffix="gpu")
        assert out.device == "gpu"
        return fn.flip(out)

    pipe = build(definition)
    found = host(pipe.run()[0])
    del pipe  # waits until the files are written
    gc.collect()
    for k, picture in enumerate(pictures):
        np.testing.assert_array_equal(found[k], picture[:, ::-1])
        words = (tmp_path / f"{k}-gpu-0.ppm").read_text().split()
        assert words[:4] == ["P3", "4", str(k + 1), "255"]
        np.testing.assert_array_equal(np.array(words[4:], int), picture.ravel())


# ---- frameworks, with a GPU ----


@pytest.fixture
def torch(module: Any) -> Any:
    torch = pytest.importorskip("torch")
    if module.fake is not None or not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    return torch


@pytest.mark.parametrize("batch", [False, True])
def test_torch(torch: Any, batch: bool) -> None:
    """Nobody waits for what the function queues, and yet the outputs are complete."""
    from headrace.plugin.pytorch.fn import torch_python_function

    streams: set[int] = set()

    def each(a: Any, b: Any) -> Any:
        assert a.is_cuda and a.device.index == 0
        streams.add(torch.cuda.current_stream().cuda_stream)
        slow = torch.ones(1500, 1500, device="cuda")
        for _ in range(20):
            slow = slow @ slow * 0
        return (a + b + slow[0, 0].int()).T, a.flip(0)

    def whole(a: Any, b: Any) -> Any:
        return tuple(map(list, zip(*[each(x, y) for x, y in zip(a, b)])))

    def definition() -> Any:
        data = fed().gpu()
        made = torch_python_function(
            data,
            data * 2,
            function=whole if batch else each,
            num_outputs=2,
            batch_processing=batch,
            output_layouts=["WH", "HW"],
        )
        return made[0] + 1, made[1]

    pipe = build(definition)
    for i in range(20):
        turned, flipped = pipe.run()
        for j, array in enumerate(numbered(i)):
            np.testing.assert_array_equal(host(turned)[j], (array * 3).T + 1)
            np.testing.assert_array_equal(host(flipped)[j], array[::-1])
    assert len(streams) == 1 and 0 not in streams


def test_torch_may_keep_tensors(torch: Any) -> None:
    from headrace.plugin.pytorch.fn import torch_python_function

    kept: list[Any] = []

    def function(a: Any) -> Any:
        made = a + 1
        kept.append((a, made))
        return made

    pipe = build(lambda: torch_python_function(fed().gpu(), function=function, device="gpu"))
    for _ in range(30):
        pipe.run()
    torch.cuda.synchronize()
    for k, (given, made) in enumerate(kept):
        wanted = numbered(k // BATCH)[k % BATCH]
        np.testing.assert_array_equal(given.cpu().numpy(), wanted)
        np.testing.assert_array_equal(made.cpu().numpy(), wanted + 1)


def test_torch_capsules(torch: Any) -> None:
    """The function works on PyTorch's default stream, and does not wait for it."""
    from torch.utils.dlpack import from_dlpack, to_dlpack

    def function(capsules: Any) -> Any:
        tensors = [from_dlpack(c) for c in capsules]
        slow = torch.ones(1500, 1500, device="cuda")
        for _ in range(20):
            slow = slow @ slow * 0
        return [to_dlpack(t * 2 + slow[0, 0].int()) for t in tensors]

    pipe = build(lambda: fn.dl_tensor_python_function(fed().gpu(), function=function))
    for i in range(20):
        for j, found in enumerate(host(pipe.run()[0])):
            np.testing.assert_array_equal(found, numbered(i)[j] * 2)


def test_torch_tensors_on_the_host(torch: Any) -> None:
    from headrace.plugin.pytorch.fn import torch_python_function

    pipe = build(lambda: torch_python_function(fed().gpu(), function=lambda a: a.cpu()))
    with pytest.raises(TypeError, match="host memory"):
        pipe.run()


def test_jax(module: Any) -> None:
    jax = pytest.importorskip("jax")
    if module.fake is not None or jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    from headrace.plugin.jax.fn import jax_function

    platforms: set[str] = set()

    @jax_function(num_outputs=2, output_layouts=["HW", "H"])
    def function(a: Any) -> Any:
        platforms.update(d.platform for d in a.devices())
        return flip(a)

    @jax.jit
    def flip(a: Any) -> Any:
        zero = jax.lax.fori_loop(0, 200, lambda _, x: x @ x * 0.0, jax.numpy.ones((1000, 1000)))
        return a[:, :, ::-1] + zero[0, 0].astype(a.dtype), a.sum(axis=2)

    def source(i: int) -> list[np.ndarray]:
        return [np.arange(32, dtype=np.int32).reshape(4, 8) + 10 * i + j for j in range(BATCH)]

    def separate(i: int) -> Any:  # samples on the device that are not contiguous
        return [_core.make_tensor(TensorGPU, a, device=0) for a in source(i)]

    def definition(apart: bool) -> Any:
        node = (
            fn.external_source(separate, device="gpu")
            if apart
            else fn.external_source(source).gpu()
        )
        flipped, sums = function(node)
        return flipped + 0, sums

    for apart in (False, True):
        pipe = build(lambda apart=apart: definition(apart))
        for i in range(10):
            flipped, sums = pipe.run()
            assert sums.layout() == "H"
            for j, array in enumerate(source(i)):
                np.testing.assert_array_equal(host(flipped)[j], array[:, ::-1])
                np.testing.assert_array_equal(host(sums)[j], array.sum(axis=1))
    assert platforms == {"gpu"}

    ragged = build(lambda: jax_function(lambda a: a)(fed().gpu()))
    with pytest.raises(RuntimeError, match="differ in shape"):
        ragged.run()
    cpu = jax.devices("cpu")[0]
    moved = build(
        lambda: jax_function(lambda a: jax.device_put(a, cpu))(fn.external_source(source).gpu())
    )
    with pytest.raises(RuntimeError, match="kind `cpu`, expected `gpu`"):
        moved.run()


def test_numba(module: Any) -> None:
    if module.fake is not None:
        pytest.skip("there is no GPU")
    pytest.importorskip("numba")
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("numba.cuda has no GPU")
    try:
        cuda.jit("void(int32[::1])")(lambda a: None)
    except AttributeError as error:  # of a NumPy that it does not know
        pytest.skip(f"numba.cuda does not work here: {error}")
    from headrace.plugin.numba.fn import numba_function

    def setup(outs: Any, ins: Any) -> None:
        for i in range(len(outs[0])):
            outs[0][i][0] = ins[0][i][1]
            outs[0][i][1] = ins[0][i][0]
            outs[1][i][0] = ins[0][i][0]

    def run(turned: Any, sums: Any, image: Any) -> None:
        y = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y
        if y < image.shape[0]:
            total = 0
            for x in range(image.shape[1]):
                turned[x, y] = image[y, x]
                total += image[y, x]
            sums[y] = total

    kinds = {"in_types": [types.INT32], "ins_ndim": [2]}
    size = {"blocks": [1, 2, 1], "threads_per_block": [1, 32, 1], "device": "gpu"}

    def definition() -> Any:
        turned, sums = numba_function(
            fed().gpu(),
            run_fn=run,
            setup_fn=setup,
            out_types=[types.INT32, types.INT64],
            outs_ndim=[2, 1],
            **kinds,
            **size,
        )
        return turned + 1, sums

    pipe = build(definition)
    for i in range(10):
        turned, sums = pipe.run()
        for j, array in enumerate(numbered(i)):
            np.testing.assert_array_equal(host(turned)[j], array.T + 1)
            np.testing.assert_array_equal(host(sums)[j], array.sum(axis=1))

    one = {"out_types": [types.INT32], "outs_ndim": [2], "run_fn": run, **kinds}
    for wrong, message in (
        ({"blocks": [1, 1]}, "3 numbers"),
        ({"threads_per_block": [1, 0, 1]}, "positive"),
        ({"batch_processing": True}, "batch processing"),
    ):
        with pytest.raises(AssertionError, match=message):
            numba_function(**{**one, **size, **wrong})
