# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""types: enumerations, constants, conversions; against live DALI where it is installed."""

import numpy as np
import pytest
from headrace import types

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
