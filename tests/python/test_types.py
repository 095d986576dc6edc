# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""types: enumerations, constants, conversions; against live DALI where it is installed."""

import numpy as np
import pytest
from headrace import fn, pipeline_def, types
from headrace.tensors import TensorCPU

ENUMERATIONS = ("DALIDataType", "DALIImageType", "DALIInterpType")


def test_values():
    assert types.UINT8 == 0 and types.FLOAT == 9 and types.BOOL == 11 and types.NO_TYPE == -1
    assert str(types.FLOAT) == "DALIDataType.FLOAT" and f"{types.RGB}" == "DALIImageType.RGB"
    assert repr(types.INTERP_LINEAR) == "<DALIInterpType.INTERP_LINEAR: 1>"
    assert types.DALIDataType(6) is types.INT32
    assert types.TensorLayout("HWC") == "HWC"


def test_numpy_types():
    for name in "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64".split():
        dali = types.to_dali_type(name)
        assert types.to_numpy_type(dali) is np.dtype(name).type
        assert types.to_dali_type(np.dtype(name)) == dali
        assert types.to_dali_type(np.dtype(name).type) == dali
    assert types.to_dali_type(np.bool_) == types.BOOL
    assert types.to_numpy_type(types.BOOL) is np.bool_
    with pytest.raises(TypeError):
        types.to_dali_type("complex64")


def test_torch_types():
    torch = pytest.importorskip("torch")
    assert types.to_dali_type(torch.float32) == types.FLOAT
    assert types.to_dali_type(torch.uint8) == types.UINT8
    assert types.to_dali_type(torch.bool) == types.BOOL


def test_scalar_constants():
    assert types.Constant(3).dtype == types.INT32
    assert types.Constant(3.5).dtype == types.FLOAT
    assert types.Constant(True).dtype == types.BOOL
    assert types.Constant(3, types.UINT8).dtype == types.UINT8
    assert types.Constant(3.7).uint8().value == 3
    assert types.Constant(1).float16().dtype == types.FLOAT16
    assert types.Constant(np.float64(2.5)).value == 2.5
    for bad in ("a", None, [1]):
        with pytest.raises(TypeError):
            types.ScalarConstant(bad)
    with pytest.raises(TypeError):
        types.ScalarConstant(1, types.STRING)
    with pytest.raises(TypeError):
        types.Constant(1) + 1


def test_infos():
    info = types.SampleInfo(1, 2, 3, 4)
    assert (info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx) == (1, 2, 3, 4)
    info = types.BatchInfo(5, 6)
    assert (info.iteration, info.epoch_idx) == (5, 6)


def test_against_dali(live_dali):
    dali = live_dali.types
    for name in ENUMERATIONS:
        theirs = getattr(dali, name).__members__
        for member, value in theirs.items():
            if member.startswith("_"):
                continue
            ours = getattr(getattr(types, name), member)
            assert int(ours) == int(value) and str(ours) == str(value)
            assert getattr(types, member) is ours
    public = [n for n in dir(dali) if n[0].isupper() and n != "Enum"]
    assert [n for n in public if not hasattr(types, n)] == []
    for name in "sbyte byte ubyte short ushort long ulong half float double boolean".split():
        assert int(types.to_dali_type(name)) == int(dali.to_dali_type(name))
    assert types.CUDAStream(7).ptr == dali.CUDAStream(7).ptr and types.CUDAStream().ptr == 0
    for value in (3, 2.5, False):
        assert int(types.Constant(value).dtype) == int(dali.Constant(value).dtype)


def test_dtype_was_a_method():
    tensor = TensorCPU(np.zeros(2, np.int16))
    with pytest.warns(
        UserWarning, match=r"Calling '\.dtype\(\)' is deprecated, please use '\.dtype'"
    ):
        assert tensor.dtype() is types.INT16
    assert types._DALIDataType.INT8 is types.INT8
    assert {types.to_numpy_type(t) for t in types._all_types} == {
        np.dtype(code).type for code in "?bhilBHILefd"
    }


def test_members_are_not_scalars():
    with pytest.raises(TypeError, match=r"'bool', 'int' or 'float', got .*\.DALIDataType\."):
        types.ScalarConstant(types.INT16)


def members():
    kinds = [types.INTERP_NN, types.INTERP_CUBIC]

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        return types.Constant(kinds), fn.random.choice([types.INT16, types.FLOAT], p=[0, 1])

    return pipeline().run()


def test_elements_that_are_members_of_enumerations():
    kinds, chosen = members()
    assert (kinds.dtype, chosen.dtype) == (types.INTERP_TYPE, types.DATA_TYPE)
    assert kinds.shape() == [(2,), (2,)] and kinds[0].nbytes == 8
    assert "[0 2]" in str(kinds) and "INTERP_TYPE" in str(kinds)
    for read in (kinds.as_array, lambda: kinds.at(0), lambda: np.asarray(kinds)):
        with pytest.raises(TypeError, match="enum types cannot be used with buffer protocol.*cast"):
            read()
    for read in (np.asarray, memoryview, lambda t: t.__dlpack__(), lambda t: t.__array_interface__):
        with pytest.raises(TypeError, match="members of an enumeration"):
            read(kinds[0])
    kinds.reinterpret(types.INT32)
    assert kinds.as_array().tolist() == [[0, 2], [0, 2]]
    chosen.reinterpret(types.INT32)
    assert chosen.as_array().tolist() == [9, 9]


def test_members_fed_again():
    _, chosen = members()

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline(dtype):
        return fn.cast(fn.external_source(lambda: chosen, dtype=dtype), dtype=types.INT64)

    assert pipeline(types.DATA_TYPE).run()[0].as_array().tolist() == [9, 9]
    with pytest.raises(RuntimeError, match="expected data of type int32 and got: DALIDataType"):
        pipeline(types.INT32).run()


def test_messages_that_scripts_match():
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline(define):
        return define()

    def warned(text, define):
        with pytest.warns(DeprecationWarning, match=text):
            pipeline(define).build()

    data = np.zeros((2, 2, 3), np.uint8)
    warned("should not be used with operators that don't use random", lambda: fn.copy(data, seed=1))
    alias = "`type` is a deprecated alias for `dtype`. Use `dtype` instead"
    warned(alias, lambda: fn.shapes(data, type=types.INT32))
    with pytest.raises(
        RuntimeError, match=r"array of shape \(2, 2\) cannot be converted to one number"
    ):
        pipeline(lambda: fn.random.beta(alpha=np.ones((2, 2), np.float32))).build()
    with pytest.raises(RuntimeError, match="Data type float16 is not supported"):
        pipeline(lambda: fn.random.beta(dtype=types.FLOAT16)).build()
    for declared, text in (
        ({"output_dtype": types.FLOAT}, "Data type in .*Expected: FLOAT. Received: UINT8"),
        ({"output_ndim": 1}, "Number of dimensions in the output_idx=0 .*Expected: 1. Received: 3"),
        ({"output_layout": "AB"}, "Layout in the output_idx=0 .*Expected: AB. Received: HWC"),
    ):
        with pytest.raises(RuntimeError, match=text):
            pipeline(lambda: types.Constant(data, layout="HWC", device="cpu"), **declared).run()
    with pytest.raises(ValueError, match="`output_ndim` must be non-negative"):
        pipeline(lambda: fn.copy(data), output_ndim=-1)
