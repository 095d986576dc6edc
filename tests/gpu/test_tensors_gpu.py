# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""TensorGPU and TensorListGPU: import, export, and errors."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

from headrace import _core, types
from headrace.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

pytestmark = pytest.mark.usefixtures("module")

ARRAY = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def on_gpu(array: Any = ARRAY, layout: str = "") -> TensorGPU:
    return TensorCPU(array, layout)._as_gpu()


class Interface:
    """An object of another library that has only __cuda_array_interface__."""

    def __init__(self, tensor: Any, **changes: Any) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


class Pack:
    """An object that has only DLPack; records the streams that it gets."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream: Any = None) -> Any:
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream)


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
_FROM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
_STREAM = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)
)


class Table(ctypes.Structure):
    """DLPack's table for C."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", _FROM),
        ("to_object", ctypes.c_void_p),
        ("view_object", ctypes.c_void_p),
        ("current_stream", _STREAM),
    ]


def exchanged(current: int = 0, major: int = 1) -> type[Pack]:
    """A subclass of Pack with such a table; `exported` counts its calls, `current` is its stream."""

    class Exchanged(Pack):
        exported = 0
        requires_grad = False

    def from_object(pack: Any, out: Any) -> int:
        capsule = pack.tensor.__dlpack__(max_version=(1, 0))
        out[0] = _pointer(capsule, b"dltensor_versioned")
        _rename(capsule, b"used_dltensor_versioned")
        Exchanged.exported += 1
        return 0

    def current_stream(kind: int, device: int, out: Any) -> int:
        assert (kind, device) == (2, 0)
        out[0] = current
        return 0

    table = Table(major, 3, None, None, _FROM(from_object), None, None, _STREAM(current_stream))
    Exchanged.table = table  # type: ignore[attr-defined]
    Exchanged.__dlpack_c_exchange_api__ = _capsule(  # type: ignore[attr-defined]
        ctypes.addressof(table), b"dlpack_exchange_api", None
    )
    return Exchanged


def test_facts() -> None:
    tensor = on_gpu(layout="HWC")
    assert (tensor.shape(), tensor.layout(), tensor.dtype) == ([2, 3, 4], "HWC", types.INT32)
    assert (tensor.device_id(), tensor.stream, tensor.nbytes) == (0, None, 96)
    assert tensor.__dlpack_device__() == (2, 0)
    interface = tensor.__cuda_array_interface__
    assert interface["data"] == (tensor.data_ptr(), False)
    assert (interface["shape"], interface["typestr"]) == ((2, 3, 4), "<i4")
    assert interface["strides"] is None and interface["stream"] is None
    text = repr(tensor)
    assert text.startswith("TensorGPU(") and 'device="gpu"' in text and "shape=(2, 3, 4)" in text
    assert "[20 21 22 23]" in str(tensor)


def test_to_the_host() -> None:
    tensor = on_gpu(layout="HWC")
    host = tensor.as_cpu()
    assert type(host) is TensorCPU and host.layout() == "HWC"
    np.testing.assert_array_equal(host, ARRAY)
    np.testing.assert_array_equal(np.from_dlpack(tensor, device="cpu"), ARRAY)
    out = np.zeros_like(ARRAY)
    tensor.copy_to_external(out.ctypes.data)
    np.testing.assert_array_equal(out, ARRAY)


def test_views() -> None:
    tensor = on_gpu(ARRAY.reshape(2, 1, 3, 4), "HWCX")
    address = tensor.data_ptr()
    assert tensor.squeeze(1) and tensor.shape() == [2, 3, 4] and tensor.layout() == "HCX"
    tensor.reinterpret(types.FLOAT)
    assert tensor.dtype == types.FLOAT and tensor.data_ptr() == address
    np.testing.assert_array_equal(tensor.as_cpu(), ARRAY.view(np.float32))


@pytest.mark.parametrize("wrap", [lambda t: t, Interface, Pack, lambda t: t.__dlpack__()])
def test_taken_without_a_copy(wrap: Any) -> None:
    tensor = on_gpu()
    taken = TensorGPU(wrap(tensor), "XYZ")
    assert taken.data_ptr() == tensor.data_ptr() and taken.layout() == "XYZ"
    del tensor
    gc.collect()
    np.testing.assert_array_equal(taken.as_cpu(), ARRAY)
    batch = TensorListGPU(wrap(taken), "YZ")
    assert len(batch) == 2 and batch.shape() == [(3, 4)] * 2 and batch.layout() == "YZ"
    assert batch.data_ptr() == taken.data_ptr() and type(batch[1]) is TensorGPU
    np.testing.assert_array_equal(batch[1].as_cpu(), ARRAY[1])


def test_streams() -> None:
    tensor, pack = on_gpu(), Pack(on_gpu())
    TensorGPU(pack)
    TensorGPU(pack, stream=2)
    assert pack.streams == [1, 1]  # the default stream, which waits for the threads' ones
    for stream in (None, -1, 1, 2):
        assert tensor.__dlpack__(stream=stream) is not None
    with pytest.raises(TypeError, match="not a CUDA stream"):
        tensor.__dlpack__(stream=-7)
    with pytest.raises(TypeError, match="CUDA stream must be an integer"):
        tensor.__dlpack__(stream="one")


def fed(samples: list[Any], **options: Any) -> Any:
    return _core.make_batch(TensorListGPU, samples, None, False, None, 0, **options)


def test_table_for_c() -> None:
    """It is used where no stream has to wait; otherwise, the object's `__dlpack__` is called."""
    kind: Any = exchanged()
    packs = [kind(on_gpu(ARRAY[i])) for i in range(2)]
    batch = fed(packs)
    np.testing.assert_array_equal(batch[1].as_cpu(), ARRAY[1])
    assert kind.exported == 2 and not packs[0].streams
    packs[0].requires_grad = True  # as in PyTorch, whose `__dlpack__` says what is wrong
    fed(packs)
    assert kind.exported == 3 and packs[0].streams == [1]
    fed(packs[::-1])
    assert kind.exported == 4 and packs[0].streams == [1, 1]
    one, two = (table() for table in (exchanged, exchanged))
    kinds: list[Any] = [one, one, two, Pack, one, one, Pack, Pack, two, two]
    mixed = fed([kind(on_gpu(ARRAY[i % 2])) for i, kind in enumerate(kinds)])
    assert (one.exported, two.exported) == (4, 3)
    for i in range(len(kinds)):
        np.testing.assert_array_equal(mixed[i].as_cpu(), ARRAY[i % 2])
    for other in (exchanged(current=4096), exchanged(major=2)):
        pack: Any = other(on_gpu())
        np.testing.assert_array_equal(fed([pack])[0].as_cpu(), ARRAY)
        assert pack.streams == [1]


def test_a_batch_of_foreign_tensors_needs_one_event(module: Any) -> None:
    kind: Any = exchanged()
    samples = [on_gpu(ARRAY[i % 2]) for i in range(8)]
    before = module.counts().events if module.fake else 0
    batch = fed([kind(sample) for sample in samples])
    if module.fake:
        assert module.counts().events == before + 1
    last = batch[7]
    del batch, samples
    gc.collect()
    np.testing.assert_array_equal(last.as_cpu(), ARRAY[1])
    mixed = [kind(on_gpu(ARRAY[0])), on_gpu(ARRAY[1]), Interface(on_gpu(ARRAY[0]), stream=1)]
    mixed += [Interface(on_gpu(ARRAY[i]), stream=i or None) for i in (1, 0, 1)]
    for sample, i in zip(fed(mixed), (0, 1, 0, 1, 0, 1), strict=True):
        np.testing.assert_array_equal(sample.as_cpu(), ARRAY[i])


def test_batches() -> None:
    samples = [on_gpu(ARRAY[0], "HW"), on_gpu(ARRAY[1], "HW")]
    batch = TensorListGPU(samples)
    assert batch.is_dense_tensor() and batch.device_id() == 0 and batch.dtype == types.INT32
    assert batch.as_tensor().layout() == "NHW"
    np.testing.assert_array_equal(batch.as_tensor().as_cpu(), ARRAY)
    np.testing.assert_array_equal(batch.as_reshaped_tensor([6, 4]).as_cpu(), ARRAY.reshape(6, 4))
    host = batch.as_cpu()
    assert type(host) is TensorListCPU and host.layout() == "HW"
    np.testing.assert_array_equal(host.as_array(), ARRAY)
    out = np.zeros_like(ARRAY)
    batch.copy_to_external(out.ctypes.data, cuda_stream=0)
    np.testing.assert_array_equal(out, ARRAY)
    apart = TensorListGPU(samples, contiguous=False)
    assert apart[0].data_ptr() == samples[0].data_ptr()
    same = TensorListGPU.broadcast(samples[1], 3)
    assert [sample.data_ptr() for sample in same] == [samples[1].data_ptr()] * 3
    packs = TensorListGPU.from_dlpack_list([Pack(sample) for sample in samples])
    np.testing.assert_array_equal(packs[1].as_cpu(), ARRAY[1])
    packs.reset()
    assert len(packs) == 0 and len(TensorListGPU()) == 0
    assert 'device="gpu"' in repr(batch) and "num_samples=2" in repr(batch)


def test_shapes_differ() -> None:
    batch = TensorListCPU([ARRAY[0], ARRAY[0, :2]])._as_gpu()
    assert type(batch) is TensorListGPU and batch.shape() == [(3, 4), (2, 4)]
    with pytest.raises(RuntimeError, match="differ in shape"):
        batch.as_tensor()
    out = np.zeros(20, np.int32)
    batch.copy_to_external(out.ctypes.data)
    np.testing.assert_array_equal(out[12:], ARRAY[0, :2].reshape(-1))


def test_refused() -> None:
    tensor = on_gpu()
    with pytest.raises(TypeError, match="as_cpu"):
        np.asarray(tensor)
    with pytest.raises(TypeError, match="as_cpu"):
        np.asarray(TensorListGPU(tensor))
    with pytest.raises(TypeError):
        memoryview(tensor)  # type: ignore[arg-type]
    assert not hasattr(tensor, "__array_interface__")
    with pytest.raises(TypeError, match="GPU memory, expected host"):
        TensorCPU(tensor)
    with pytest.raises(TypeError, match="host memory, expected GPU"):
        TensorGPU(ARRAY)
    with pytest.raises(ValueError, match="contiguous"):
        TensorGPU(Interface(tensor, strides=(4, 8, 24)))
    with pytest.raises(BufferError, match="dl_device"):
        tensor.__dlpack__(dl_device=(2, 1))
    with pytest.raises(BufferError, match="can only be shared"):
        tensor.__dlpack__(copy=True)
    with pytest.raises(ValueError, match="does not fit"):
        TensorGPU(tensor, "HW")


def test_failing_device(fake: Any) -> None:
    tensor = on_gpu()
    for spec in ("copy:1", "event_wait:1", "stream_create:1", "event_record:1"):
        fake.fail(spec)
        with pytest.raises(RuntimeError, match="injected"):
            tensor.as_cpu()
    fake.fail("alloc:1")
    with pytest.raises(MemoryError, match="injected"):
        on_gpu()
    fake.fail(None)
    np.testing.assert_array_equal(tensor.as_cpu(), ARRAY)
