# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tensors, batches, constants, types and backend: the same programs in Headrace and in live DALI."""

import ctypes
import operator
import pickle

import headrace
import numpy as np
import pytest
from twice import attempts, check_same, evaluate, same

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TYPES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64 bool".split()


def batch(d, *shapes, layout=""):
    """A batch of samples with increasing numbers."""
    counted = [np.arange(np.prod(s, dtype=int), dtype=np.float32).reshape(s) for s in shapes]
    return d.tensors.TensorListCPU([d.tensors.TensorCPU(sample, layout) for sample in counted])


# ---- tensors -------------------------------------------------------------------------------------


@same
def test_tensor(d):
    t = d.tensors.TensorCPU(A, "HWC")
    interface = t.__array_interface__
    return attempts(
        lambda: t,
        t.shape,
        t.ndim,
        t.source_info,
        *[lambda key=key: t.get_property(key) for key in ("layout", "source_info", "other")],
        lambda: t.as_cpu() is t,
        lambda: t.data_ptr() == A.ctypes.data,
        lambda: interface["shape"],
        lambda: sorted(interface),
        lambda: np.from_dlpack(t),
        *[lambda f=f: f(t) for f in (len, float, iter, operator.itemgetter(0))],
        *[lambda name=name: t.set_layout(name) for name in ("ABC", "AB", 3, "", None)],
        t.layout,
    )


@same
def test_tensors_that_are_made(d):
    make = d.tensors.TensorCPU
    given = [
        [1, 2],
        3,
        None,
        "a",
        bytearray(b"abc"),
        np.zeros((0, 2)),
        np.array(3),
        np.array([True]),
    ]
    results = [lambda value=value: make(value) for value in given]
    return attempts(
        *results,
        lambda: make(A, "AB"),
        lambda: make(A, layout="ABC", is_pinned=False),
        lambda: make(make(A)),
        lambda: make(A.__dlpack__(), "HWC"),
    )


@same
def test_squeeze(d):
    results = []
    shapes = ((1, 2, 1), ()), ((1, 2, 1), (0,)), ((1, 2, 1), (1,)), ((1, 2, 1), (-1,)), ((1, 1), ())
    for shape, axes in shapes:
        t = d.tensors.TensorCPU(np.zeros(shape, np.float32), "ABC"[: len(shape)])
        results.append((t.squeeze(*axes), t.shape(), t.layout()))
    return results


@same
def test_reinterpret(d):
    results = []
    for source, to in (("float32", "INT32"), ("uint8", "INT8"), ("float32", "UINT8")):
        t = d.tensors.TensorCPU(np.ones((2, 4), source))
        results += attempts(lambda t=t, to=to: t.reinterpret(getattr(d.types, to)), lambda t=t: t)
    return results


@same
def test_copy_to_external(d):
    copies = []
    for made in (
        d.tensors.TensorCPU(A),
        batch(d, (2, 3), (2, 3)),
        batch(d, (1, 2), (2, 2)),
        d.tensors.TensorListCPU(A),
    ):
        copy = np.zeros(24, np.float32)
        made.copy_to_external(ctypes.c_void_p(copy.ctypes.data))
        copies.append(copy)
    return copies


@same
def test_text_of_tensors(d):
    made = [d.tensors.TensorCPU(A, "HWC"), d.tensors.TensorCPU(np.array(3))]
    made += [d.tensors.TensorCPU(np.zeros(shape)) for shape in ((0, 2), (100, 100), (2, 2, 3))]
    return [(str(t), repr(t), d.tensors.format_tensor(t, show_data=False)) for t in made]


@same
def test_text_of_batches(d):
    made = [
        batch(d, (2, 3), (2, 3), layout="AB"),
        batch(d, (1,), (2,), (3,), layout="X"),
        batch(d, *[(2,)] * 20),
        batch(d, *[()] * 3),
        batch(d, (2, 2, 1), (1, 1, 1)),
        d.tensors.TensorListCPU(np.zeros((3, 2))),
    ]
    return [(str(t), repr(t), d.tensors.format_batch(t, show_data=False)) for t in made]


@same
def test_batch(d):
    dense, loose = d.tensors.TensorListCPU(A, "AB"), batch(d, (1, 2), (2, 2))
    both = (dense, loose)
    return attempts(
        *[lambda b=b: (len(b), b.shape(), b.layout(), str(b.dtype), b.ndim()) for b in both],
        *[lambda b=b: b.is_dense_tensor() for b in both],
        *[lambda i=i: dense[i] for i in (0, -1, 2, -3)],
        lambda: dense.at(0),
        lambda: dense.at(-1),
        lambda: dense.at(5),
        lambda: list(loose),
        *[lambda b=b: b.as_array() for b in both],
        *[lambda b=b: b.as_tensor() for b in both],
        lambda: dense.as_reshaped_tensor([6, 4]),
        lambda: dense.as_reshaped_tensor([5]),
        lambda: dense.as_cpu() is dense,
        lambda: np.array(dense),
        lambda: dense.data_ptr() == dense[0].data_ptr(),
        lambda: dense.set_layout("XY"),
        dense.layout,
        lambda: dense.set_layout("XYZ"),
        lambda: dense.reinterpret(d.types.INT32),
        lambda: dense,
    )


@same
def test_batches_that_are_made(d):
    make, sample = d.tensors.TensorListCPU, d.tensors.TensorCPU
    return attempts(
        lambda: make(A),
        lambda: make(A, "AB"),
        lambda: make(A, "ABC"),
        lambda: make(A, layout="AB", is_pinned=False),
        lambda: make([sample(A), sample(A)]),
        lambda: make([sample(A, "HWC"), sample(A, "HWC")]),
        lambda: make([sample(A, "ABC")], "XYZ"),
        lambda: make([sample(A), sample(A.astype(np.int32))]),
        lambda: make([]),
        lambda: make([], "HWC"),
        lambda: make(make([], "HWC")),
        lambda: make(make([], "HWC"), "CHW"),
        lambda: make(A[:0], "AB").layout(),
        lambda: make(A[:0], "ABC").layout(),
        lambda: make(3),
        lambda: make(make(A, "AB"), "XY"),
        lambda: make.broadcast(sample(A, "HWC"), 3),
        lambda: make.broadcast(sample(A), -1),
        lambda: make.from_dlpack_list([A, A], "ABC"),
        lambda: make.from_dlpack_list([1]),
    )


# ---- arithmetic ----------------------------------------------------------------------------------


@pytest.mark.dali
@pytest.mark.parametrize("name", "add sub mul truediv mod eq lt ge".split())
def test_types_of_two_operands(name):
    function = getattr(operator, name)

    def program(d):
        def define(d, *nodes):
            pairs = [(a, b) for a in nodes for b in nodes]
            # BOOL values cannot be added
            return tuple(function(a, b) for a, b in pairs if a is not nodes[-1] or b is not a)

        return tuple(evaluate(d, define, *[np.array([[1, 1, 1]], t) for t in TYPES]))

    check_same(f"test_values_api.test_types_of_two_operands.{name}", program)


@same
def test_types_of_constant_operands(d):
    def define(d, *nodes):
        c = d.types.Constant
        given = [
            1,
            True,
            2.5,
            c(1).uint8(),
            c(2).int64(),
            c(2).float64(),
            np.int8(3),
            np.float32(1),
        ]
        given += [np.array(3), np.array([1, 2, 3]), [1, 2, 3], (1, 2, 3)]
        return tuple(node * value for node in nodes for value in given)

    return tuple(evaluate(d, define, *[np.array([[1, 0, 1]], t) for t in TYPES]))


@same
def test_operands_that_are_errors(d):
    given = ["a", None, [1, 2], np.array(["a"]), b"a", {}, 1j, 2**31, -(2**31) - 1]
    right = [lambda v=v: evaluate(d, lambda d, x: x + v, A) for v in given]
    left = [lambda v=v: evaluate(d, lambda d, x: v * x, A) for v in (None, {}, 2**40)]
    constant = d.types.Constant(3)
    return attempts(*right, *left, lambda: constant + constant)


@same
def test_math_without_nodes(d):
    return attempts(lambda: d.math.sqrt(2), lambda: d.math.max(1, 2), lambda: d.math.clamp(1, 2, 3))


@same
def test_facts_of_nodes(d):
    fs = [lambda x: x.shape(), lambda x: x.shape(dtype=d.types.INT32)]
    fs += [lambda x, p=p: x.shape(device=p) for p in ("other", "mixed")]
    fs += [bool, iter, len, lambda x: 3 in x]
    return attempts(*[lambda f=f: evaluate(d, lambda d, x: f(x), A, layout="HW") for f in fs])


@same
def test_properties_of_nodes(d):
    fs = [lambda x, k=k: x.property(k) for k in ("layout", "source_info", "other")]
    fs += [lambda x: x.source_info(), lambda x: x.property(key="layout", device="cpu")]
    return attempts(*[lambda f=f: evaluate(d, lambda d, x: f(x), A, layout="HW") for f in fs])


# ---- constants and types -------------------------------------------------------------------------


@same
def test_constants(d):
    t = d.types
    given = [
        *[(v, {}) for v in ("a", None, [1, "a"], 1j, {}, [], [[1, 2], [3]], np.array(["a"]))],
        *[(v, {}) for v in ([1, 2.5], [True, False], [True, 1], (1, 2), np.zeros((0, 2)))],
        *[(np.arange(3, dtype=name), {}) for name in TYPES if name != "bool"],
        (3, {"dtype": t.STRING}),
        (3, {"dtype": "integer"}),
        (3, {"shape": [2]}),
        ([5], {"shape": 3}),
        ([1, 2], {"shape": [3]}),
        ([1, 2, 3, 4], {"shape": [2, 2], "layout": "AB"}),
        (3, {"device": "cpu"}),
        (3, {"dtype": t.UINT8, "device": "cpu"}),
        (300, {"dtype": t.UINT8, "device": "cpu"}),
        *[(v, {"dtype": t.INT32, "device": "cpu"}) for v in (2.5, -2.5, 0.49, 1e20)],
        (np.array([2.5, -0.5]), {"dtype": t.INT8}),
        (np.array([2**40]), {"dtype": t.INT64}),
        (np.array([2**40]), {}),
    ]
    return attempts(*[lambda v=v, k=k: evaluate(d, lambda d: t.Constant(v, **k)) for v, k in given])


@same
def test_scalar_constants(d):
    results = []
    for value in (3, 2.7, True, -1, np.int64(3), np.float64(2), np.uint8(4), np.array(3)):
        made = d.types.Constant(value)
        casts = [made.bool(), made.uint8(), made.int16(), made.uint64(), made.float16()]
        for c in (made, *casts, d.types.Constant(made.int32().value, d.types.FLOAT)):
            results.append((str(c), repr(c), c.value, str(c.dtype), c.shape, type(c).__name__))
    return results


@same
def test_conversions_of_types(d):
    t = d.types
    names = "UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FLOAT16 FLOAT FLOAT64 BOOL STRING NO_TYPE"
    to_numpy = [lambda n=n: t.to_numpy_type(getattr(t, n)).__name__ for n in names.split()]
    given = [np.uint8, np.float32, np.float64, np.bool_, np.dtype("int64"), float, bool, "float32"]
    given += ["half", "double", "foo", None, 5, np.complex64, str]
    return attempts(*to_numpy, *[lambda g=g: t.to_dali_type(g) for g in given])


@same
def test_enumerations(d):
    t, results = d.types, []
    for kind in (t.DALIDataType, t.DALIImageType, t.DALIInterpType):
        for name, value in kind.__members__.items():
            if not name.startswith("_"):
                results.append((name, int(value), str(value), repr(value), value.name, value.value))
                results.append((getattr(t, name) == value, kind(int(value)) == value))
    again = pickle.loads(pickle.dumps(t.UINT8))
    return results, again == t.UINT8, t.UINT8 == 0, str(t.PipelineAPIType.SCHEDULED)


@same
def test_other_names_of_types(d):
    t = d.types
    sample, one = t.SampleInfo(1, 2, 3, 4), t.BatchInfo(5, 6)
    facts = sample.idx_in_epoch, sample.idx_in_batch, sample.iteration, sample.epoch_idx
    layout = t.TensorLayout("HWC")
    layouts = t.NCHW, t.NHWC, t.NFCHW, t.NFHWC, t.SAME
    return facts, one.iteration, one.epoch_idx, layouts, layout == "HWC", t.CPU_ONLY_DEVICE_ID


@same
def test_new_axes(d):
    def name(*given):
        return lambda: d.newaxis(*given).name

    return [d.newaxis.name, *attempts(name("C"), name(3), name("CC"), name(""), name(None))]


# ---- backend -------------------------------------------------------------------------------------


@same
def test_backend(d):
    b = d.backend
    return attempts(
        b.ReleaseUnusedMemory,
        lambda: b.SetBufferGrowthFactor(1.3),
        b.GetHostBufferGrowthFactor,
        b.GetDeviceBufferGrowthFactor,
        lambda: b.SetHostBufferGrowthFactor(0.5),
        lambda: b.SetHostBufferShrinkThreshold(0.3),
        b.GetHostBufferShrinkThreshold,
        lambda: b.SetHostBufferShrinkThreshold(3),
        b.RestrictPinnedMemUsage,
        lambda: b.GetSchema("None"),
        lambda: b.TryGetSchema("None"),
    )


@same
def test_schemas(d):
    results = []
    for name in ("Copy", "Resize", "readers__File", "random__CoinFlip", "CropMirrorNormalize"):
        s = d.backend.GetSchema(name)
        results.append(
            (s.Name(), s.OperatorName(), s.ModulePath(), s.MinNumInput(), s.MaxNumInput())
        )
        results.append((s.HasArgument("size"), s.HasArgument("nothing"), s.IsDeprecated()))
    resize = d.backend.GetSchema("Resize")
    return results, resize.IsArgumentOptional("size"), resize.IsTensorArgument("size")


def test_names_are_registered():
    names = headrace.backend.RegisteredCPUOps()
    assert "readers__File" in names and "CropMirrorNormalize" in names
    assert all(headrace.backend.GetSchema(name).Name() == name for name in names)
