# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Element types as scripts write them: types.FLOAT, "float32", numpy.float32, torch.float32."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import Pipeline, fn, ops, types

PAIRS = [
    ("float32", types.FLOAT),
    ("FLOAT", types.FLOAT),
    ("uint8", types.UINT8),
    (np.float16, types.FLOAT16),
    (np.dtype("int64"), types.INT64),
    (np.dtype(">u2"), types.UINT16),
    (bool, types.BOOL),
    (float, types.FLOAT),
    (int(types.INT16), types.INT16),
]


def run(define: Callable[[], Any], **options: Any) -> Any:
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None, **options)
    with pipe:
        pipe.set_outputs(define())
    return pipe.run()[0]


def data() -> Any:
    return types.Constant([1, 2], device="cpu")


@pytest.mark.parametrize("given, expected", PAIRS, ids=str)
def test_operators(given: Any, expected: Any) -> None:
    assert run(lambda: fn.cast(data(), dtype=given)).dtype == expected
    assert run(lambda: ops.Cast(dtype=given)(data())).dtype == expected
    assert run(lambda: fn.zeros(shape=[2], dtype=given)).dtype == expected
    assert run(lambda: data().shape(dtype="int32")).dtype == types.INT32
    if expected not in (types.UINT16, types.FLOAT16, types.BOOL, types.INT64):
        assert run(lambda: fn.random.uniform(range=[0, 9], dtype=given)).dtype == expected


@pytest.mark.parametrize("given, expected", PAIRS, ids=str)
def test_constants_and_declared_types(given: Any, expected: Any) -> None:
    constant = types.Constant(1, dtype=given)
    assert isinstance(constant, types.ScalarConstant) and constant.dtype == expected
    assert run(lambda: types.Constant([1, 0], dtype=given, device="cpu")).dtype == expected
    array = [np.ones(3, types.to_numpy_type(expected))] * 2

    def source() -> Any:
        return array

    assert run(lambda: fn.external_source(source, dtype=given)).dtype == expected
    assert run(lambda: ops.ExternalSource(source, dtype=given)()).dtype == expected
    several = run(lambda: fn.external_source(lambda: (array, array), 2, dtype=[None, given])[1])
    assert several.dtype == expected
    with pytest.raises(RuntimeError, match="expected data of type float and got: uint8"):
        run(lambda: fn.external_source(lambda: [np.zeros(1, np.uint8)] * 2, dtype="float32"))
    if type(given) is int or any(given is kind for kind in (bool, int, float)):
        with pytest.raises(TypeError, match="`output_dtype` must be either"):  # as in DALI
            Pipeline(output_dtype=[None, given])
        return
    assert run(lambda: fn.cast(data(), dtype=expected), output_dtype=given).dtype == expected
    with pytest.raises(RuntimeError, match="Data type in the output_idx=0"):
        run(lambda: fn.cast(data(), dtype=types.INT8), output_dtype=[given])


def test_types_of_torch() -> None:
    torch = pytest.importorskip("torch")
    assert run(lambda: fn.cast(data(), dtype=torch.float32)).dtype == types.FLOAT
    assert run(lambda: fn.cast(data(), dtype=torch.bool)).dtype == types.BOOL
    with pytest.raises(TypeError, match="torch.bfloat16 is not an element type"):
        run(lambda: fn.cast(data(), dtype=torch.bfloat16))


def test_lists_of_types(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name in ("1.a", "1.b"):
            info = tarfile.TarInfo(name)
            info.size = 8
            tar.addfile(info, io.BytesIO(bytes(8)))
    for given in (["float32", np.int16], [types.FLOAT, types.INT16]):
        pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
        with pipe:
            path = str(tmp_path / "a.tar")
            pipe.set_outputs(*fn.readers.webdataset(paths=path, ext=["a", "b"], dtypes=given))
        assert [batch.dtype for batch in pipe.run()] == [types.FLOAT, types.INT16]
    with pytest.raises(ValueError, match='"dtypes" of operator "Webdataset": "flaot32" is not'):
        run(lambda: fn.readers.webdataset(paths="a.tar", ext=["a"], dtypes=["flaot32"]))


def test_reinterpret() -> None:
    batch = run(lambda: fn.cast(data(), dtype="float32"))
    batch.reinterpret("int32")
    assert batch.dtype == types.INT32
    batch[0].reinterpret(np.float32)
    again = run(lambda: fn.reinterpret(fn.cast(data(), dtype="int32"), dtype="float32"))
    assert again.dtype == types.FLOAT


@pytest.mark.parametrize(
    "given, kind, text",
    [
        ("flot32", ValueError, '"flot32" is not an element type. Did you mean "float32"?'),
        ("xyz", ValueError, '"xyz" is not an element type. There are uint8, uint16, uint32'),
        (np.complex64, TypeError, "is not an element type: pass a member of `types`"),
        (np.dtype(object), TypeError, "is not an element type"),
        (object(), TypeError, "is not an element type"),
        (2.5, TypeError, "2.5 is not an element type"),
    ],
    ids=["near", "far", "complex", "object", "instance", "number"],
)
def test_others_are_refused(given: Any, kind: type[Exception], text: str) -> None:
    calls: dict[str, Callable[[], Any]] = {
        'Argument "dtype" of operator "Cast": ': lambda: run(lambda: fn.cast(data(), dtype=given)),
        'Argument "dtype" of operator "ExternalSource": ': lambda: run(
            lambda: fn.external_source(lambda: [], dtype=given)
        ),
        "`output_dtype`: ": lambda: Pipeline(output_dtype=given),
        "": lambda: types.data_type(given),
    }
    for start, call in calls.items():
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value).startswith(start) and text in str(caught.value)
    with pytest.raises(TypeError, match="A constant cannot be of type"):
        types.Constant(1, dtype=given)
