# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""TensorCPU and TensorListCPU: memory shared with NumPy and others, and its lifetime."""

import array
import ctypes
import gc
import weakref

import numpy as np
import pytest
from headrace import fn, pipeline_def, types
from headrace.tensors import TensorCPU, TensorListCPU

DTYPES = {
    "uint8": types.UINT8,
    "uint16": types.UINT16,
    "uint32": types.UINT32,
    "uint64": types.UINT64,
    "int8": types.INT8,
    "int16": types.INT16,
    "int32": types.INT32,
    "int64": types.INT64,
    "float16": types.FLOAT16,
    "float32": types.FLOAT,
    "float64": types.FLOAT64,
    "bool": types.BOOL,
}


def numbers(name, shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2 if name == "bool" else 100, shape).astype(name)


class OnlyInterface:
    """An object that has only __array_interface__."""

    def __init__(self, data):
        self._data = data

    @property
    def __array_interface__(self):
        return self._data.__array_interface__


class OnlyDlpack:
    """An object that has only DLPack."""

    def __init__(self, data):
        self._data = data

    def __dlpack__(self, **kwargs):
        return self._data.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._data.__dlpack_device__()


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("wrap", [lambda a: a, OnlyInterface, OnlyDlpack])
def test_types_and_protocols_in_and_out(name, wrap):
    data = numbers(name, (3, 4, 5))
    tensor = TensorCPU(wrap(data), "HWC")
    assert tensor.dtype == DTYPES[name]
    assert tensor.shape() == [3, 4, 5] and tensor.ndim() == 3 and tensor.layout() == "HWC"
    assert tensor.nbytes == data.nbytes
    for back in (np.asarray(tensor), np.from_dlpack(tensor), np.asarray(OnlyInterface(tensor))):
        assert back.dtype == data.dtype
        np.testing.assert_array_equal(back, data)


@pytest.mark.parametrize(
    "view", [np.asarray, np.from_dlpack, lambda t: np.asarray(OnlyInterface(t))]
)
def test_views_share_memory_and_may_be_written(view):
    tensors = TensorListCPU([np.zeros((2, 2), np.int32)])
    seen = view(tensors[0])
    if seen.flags.writeable:  # NumPy makes legacy DLPack read-only
        seen[1, 1] = 7
    else:
        np.asarray(tensors[0])[1, 1] = 7
    assert tensors.at(0)[1, 1] == 7 and seen[1, 1] == 7
    assert tensors[0].data_ptr() == seen.__array_interface__["data"][0]


def test_memory_stays_while_somebody_looks():
    def batch():
        @pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def pipe():
            return fn.copy(fn.external_source(source=lambda i: np.full((2, 1000), i, np.int64)))

        (out,) = pipe().run()
        return out

    out = batch()
    views = [np.asarray(out[0]), np.from_dlpack(out[1]), out.as_array(), memoryview(out[0])]
    del out
    gc.collect()
    others = [batch() for _ in range(5)]  # would reuse the memory if it had been released
    for view in views:
        assert not np.asarray(view).any()
    assert len(others) == 5


def test_references_are_held_and_given_back():
    class Data(np.ndarray):
        pass

    data = np.arange(6, dtype=np.float32).view(Data)
    watch = weakref.ref(data)
    tensor = TensorCPU(data)
    batch = TensorListCPU([tensor, tensor], contiguous=False)
    del data, tensor
    gc.collect()
    assert watch() is not None
    assert batch.at(1)[5] == 5
    del batch
    gc.collect()
    assert watch() is None


def test_dlpack_capsules_are_used_once():
    capsule = np.arange(4).__dlpack__()
    assert np.asarray(TensorCPU(capsule)).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="already consumed"):
        TensorCPU(capsule)
    unused = TensorCPU(np.arange(4)).__dlpack__(max_version=(1, 0))
    assert "versioned" in repr(unused)
    assert TensorCPU(np.arange(3)).__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        TensorCPU(np.arange(3)).__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize(
    "cut",
    [
        lambda a: a[::2, ::-1],
        lambda a: a.T,
        lambda a: a[:, 1:3],
        lambda a: np.broadcast_to(a[:1], a.shape),
        lambda a: np.asfortranarray(a),
    ],
)
def test_strided_memory_is_made_dense(cut):
    data = cut(np.arange(24, dtype=np.int16).reshape(4, 6))
    np.testing.assert_array_equal(np.asarray(TensorCPU(data)), data)
    np.testing.assert_array_equal(TensorListCPU(data).as_array(), data)


def test_other_buffers():
    assert np.asarray(TensorCPU(b"abc")).tolist() == [97, 98, 99]
    assert np.asarray(TensorCPU(array.array("d", [1.5, 2.5]))).tolist() == [1.5, 2.5]
    assert np.asarray(TensorCPU((ctypes.c_int32 * 3)(1, 2, 3))).tolist() == [1, 2, 3]
    assert np.asarray(TensorCPU(np.float32(3.5))) == 3.5
    assert TensorCPU(np.int8(1)).shape() == []


def test_what_cannot_be_a_tensor():
    for bad in ([1, 2], 3, "text", None, object()):
        with pytest.raises(TypeError):
            TensorCPU(bad)
    with pytest.raises(TypeError):
        TensorCPU(np.zeros(2, ">i4"))
    with pytest.raises(TypeError):
        TensorCPU(np.zeros(2, complex))
    with pytest.raises(ValueError, match="8 dimensions"):
        TensorCPU(np.zeros((1,) * 9))
    with pytest.raises(TypeError, match="Tensor at position 1 has type"):
        TensorListCPU([np.zeros(2, np.uint8), np.zeros(2, np.int8)])
    with pytest.raises(RuntimeError, match="dimensions"):
        TensorListCPU([np.zeros(2), np.zeros((2, 2))])
    with pytest.raises(ValueError):
        TensorListCPU(np.zeros((2, 3, 3)), "HWC")


def test_lists():
    samples = [numbers("uint8", (2 + i, 3), i) for i in range(3)]
    batch = TensorListCPU(samples, layout="HW")
    assert len(batch) == 3 and batch.ndim() == 2 and batch.layout() == "HW"
    assert batch.shape() == [(2, 3), (3, 3), (4, 3)]
    assert batch.dtype == types.UINT8
    for i, (tensor, sample) in enumerate(zip(batch, samples, strict=True)):
        np.testing.assert_array_equal(np.asarray(tensor), sample)
        np.testing.assert_array_equal(batch.at(i), sample)
    np.testing.assert_array_equal(np.asarray(batch[-1]), samples[-1])
    assert not batch.is_dense_tensor()
    for call in (batch.as_array, batch.as_tensor, batch.data_ptr):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(IndexError):
        batch[3]
    with pytest.raises(IndexError):
        batch[-4]
    with pytest.raises(RuntimeError, match="out-of-range"):
        batch.at(3)
    assert batch.as_cpu() is batch and batch.asCPU() is batch
    batch.set_layout("XY")
    assert batch.layout() == "XY" and batch[0].layout() == "XY"
    with pytest.raises(ValueError):
        batch.set_layout("HWC")
    batch.reset()
    assert len(batch) == 0


def test_dense_batches():
    data = numbers("float32", (4, 2, 3))
    batch = TensorListCPU(data, layout="HW")
    assert batch.is_dense_tensor()
    dense = batch.as_tensor()
    assert dense.shape() == [4, 2, 3] and dense.layout() == "NHW"
    np.testing.assert_array_equal(np.asarray(dense), data)
    np.testing.assert_array_equal(np.asarray(batch), data)
    reshaped = batch.as_reshaped_tensor((8, 3))
    assert reshaped.shape() == [8, 3] and reshaped.layout() == ""
    np.testing.assert_array_equal(np.asarray(reshaped), data.reshape(8, 3))
    with pytest.raises(RuntimeError, match="volume"):
        batch.as_reshaped_tensor([5])
    out = np.empty_like(data)
    batch.copy_to_external(out.ctypes.data)
    np.testing.assert_array_equal(out, data)
    out[:] = 0
    batch[1].copy_to_external(ctypes.c_void_p(out.ctypes.data))
    np.testing.assert_array_equal(out[0], data[1])


def test_lists_from_others():
    one = TensorCPU(np.arange(3))
    assert TensorListCPU.broadcast(one, 4).as_array().tolist() == [[0, 1, 2]] * 4
    made = TensorListCPU.from_dlpack_list([np.arange(3), np.arange(2)], layout="X")
    assert made.shape() == [(3,), (2,)] and made.layout() == "X"
    again = TensorListCPU(made, layout="Y")
    assert again.layout() == "Y" and made.layout() == "X"
    assert again[0].data_ptr() == made[0].data_ptr()


def test_squeeze_and_reinterpret_work_in_place():
    tensor = TensorCPU(np.arange(6, dtype=np.uint16).reshape(1, 6, 1), "HWC")
    assert tensor.squeeze(-1) and tensor.shape() == [1, 6] and tensor.layout() == "HW"
    assert not tensor.squeeze(1)
    assert tensor.squeeze() and tensor.shape() == [6] and tensor.layout() == "W"
    tensor.reinterpret(types.INT16)
    assert tensor.dtype == types.INT16
    with pytest.raises(RuntimeError):
        tensor.reinterpret(types.INT32)
    with pytest.raises(RuntimeError):
        tensor.squeeze(4)
    view = memoryview(tensor)
    with pytest.raises(BufferError):
        tensor.reinterpret(types.UINT16)
    view.release()
    batch = TensorListCPU(np.array([[255], [1]], np.uint8))
    batch.reinterpret(types.INT8)
    assert batch.as_array().tolist() == [[-1], [1]]


def test_facts_and_text():
    tensor = TensorCPU(np.zeros((2, 3), np.uint8), "HW")
    assert tensor.get_property("layout") == "HW"
    assert tensor.get_property("source_info") is None and tensor.source_info() == ""
    assert "dtype=DALIDataType.UINT8" in str(tensor) and 'layout="HW"' in str(tensor)
    assert "shape=(2, 3)" in repr(tensor) and "[[" not in repr(tensor)
    batch = TensorListCPU([np.zeros(1), np.zeros(2)])
    assert "num_samples=2" in repr(batch) and "shape=[(1,), (2,)]" in repr(batch)


def test_dlpack_with_a_copy():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    tensor = TensorCPU(array)
    shared, copied = (
        TensorCPU(tensor.__dlpack__(copy=False)),
        TensorCPU(tensor.__dlpack__(copy=True)),
    )
    array[0] = 7
    np.testing.assert_array_equal(np.asarray(shared), array)
    np.testing.assert_array_equal(np.asarray(copied), [[0, 1, 2], [3, 4, 5]])


def test_samples_of_a_list_are_copied_together_unless_told_otherwise():
    arrays = [np.full((2, 3), i, np.int16) for i in range(3)]
    together, apart = TensorListCPU(arrays), TensorListCPU(arrays, contiguous=False)
    np.testing.assert_array_equal(np.asarray(together.as_tensor()), np.stack(arrays))
    assert together.data_ptr() == together[0].data_ptr() != arrays[0].ctypes.data
    assert [sample.data_ptr() for sample in apart] == [array.ctypes.data for array in arrays]


def test_torch_reads_without_a_copy():
    torch = pytest.importorskip("torch")
    batch = TensorListCPU(np.zeros((2, 3), np.float16))
    seen = torch.from_dlpack(batch.as_tensor())
    seen[1, 2] = 5
    assert batch.at(1)[2] == 5
    back = TensorCPU(torch.arange(6).reshape(2, 3).t())
    assert np.asarray(back).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_as_dali_prints(live_dali):
    tensors = live_dali.tensors
    data = numbers("int16", (2, 3, 4))
    assert str(TensorCPU(data, "HWC")) == str(tensors.TensorCPU(data, "HWC"))
    assert repr(TensorCPU(data, "HWC")) == repr(tensors.TensorCPU(data, "HWC"))
    assert repr(TensorListCPU(data, "HW")) == repr(tensors.TensorListCPU(data, "HW"))
