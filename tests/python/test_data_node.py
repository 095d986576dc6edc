# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""DataNode: arithmetic, constants, multiple input sets, and operations that it does not support."""

import collections.abc
import operator

import headrace
import numpy as np
import pytest
from headrace import Pipeline, fn, math, newaxis, pipeline_def, types
from headrace.data_node import DataNode


def run(define, *data, package=None, **kwargs):
    """Outputs of `define(*nodes)` as arrays. There is one node per array of `data`, whose dimension 0 is the batch."""
    batch = len(data[0]) if data else 2

    @pipeline_def(batch_size=batch, num_threads=1, device_id=None, **kwargs)
    def pipe():
        nodes = [fn.external_source(source=[item]) for item in data]
        out = define(*nodes)
        return tuple(out) if isinstance(out, (list, tuple)) else out

    return [out.as_array() for out in pipe().run()]


U8 = np.array([[1, 2, 250], [7, 100, 255]], np.uint8)
I32 = np.array([[-5, 3, 2], [10, -1, 4]], np.int32)
F32 = np.array([[0.5, -2.0, 3.0], [1.5, 8.0, -0.25]], np.float32)


@pytest.mark.parametrize("name", "add sub mul and_ or_ xor eq ne lt le gt ge".split())
def test_integers(name):
    function = getattr(operator, name)
    (out,) = run(function, U8, I32)
    np.testing.assert_array_equal(out, function(U8.astype(np.int32), I32))
    if name in ("and_", "or_", "xor"):
        return
    (right,) = run(lambda x: function(x, 3), I32)
    (left,) = run(lambda x: function(3, x), I32)
    np.testing.assert_array_equal(right, function(I32, np.int32(3)))
    np.testing.assert_array_equal(left, function(np.int32(3), I32))


@pytest.mark.parametrize("name", "add sub mul truediv".split())
def test_floats(name):
    function = getattr(operator, name)
    for define, expected in (
        (lambda x, y: function(x, y), function(F32, I32.astype(np.float32))),
        (lambda x, y: function(2.5, x), function(np.float32(2.5), F32)),
        (lambda x, y: function(x, 2.5), function(F32, np.float32(2.5))),
    ):
        (out,) = run(define, F32, I32)
        assert out.dtype == np.float32
        np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_types_of_results():
    def define(x):
        return x + 1, x + True, x + 1.5, x / 2, -x, +x, x == 1, x + types.Constant(1).uint8()

    got = [out.dtype.name for out in run(define, U8)]
    assert got == ["int32", "uint8", "float32", "float32", "uint8", "uint8", "bool", "uint8"]


def test_unary():
    neg, inv, absolute = run(lambda x: (-x, ~x, abs(x)), I32)
    np.testing.assert_array_equal(neg, -I32)
    np.testing.assert_array_equal(inv, ~I32)
    np.testing.assert_array_equal(absolute, np.abs(I32))


def test_shifts_and_powers():
    left, right, power = run(lambda x: (x << 2, x >> 1, x**2), I32)
    np.testing.assert_array_equal(left, I32 << 2)
    np.testing.assert_array_equal(right, I32 >> 1)
    np.testing.assert_array_equal(power, I32**2)


def test_integer_division_truncates():
    floor, mod = run(lambda x: (x // 2, x % 3), np.array([[-7, 7]], np.int32))
    assert floor.tolist() == [[-3, 3]]
    assert mod.tolist() == [[-1, 1]]


def test_min_max_clamp():
    low, high, both = run(
        lambda x, y: (math.min(x, y), math.max(x, 2), math.clamp(x, 0, 5)), I32, I32[::-1].copy()
    )
    np.testing.assert_array_equal(low, np.minimum(I32, I32[::-1]))
    np.testing.assert_array_equal(high, np.maximum(I32, 2))
    np.testing.assert_array_equal(both, np.clip(I32, 0, 5))
    with pytest.raises(ValueError):
        math.min(1, 2)


def test_arrays_are_operands():
    (out,) = run(lambda x: x + np.array([10, 20, 30], np.int32), I32)
    np.testing.assert_array_equal(out, I32 + np.array([10, 20, 30]))
    listed, wide, real = run(lambda x: (x + [10, 20, 30], x + np.int64(3), x * np.float64(2)), I32)
    np.testing.assert_array_equal(listed, I32 + np.array([10, 20, 30]))
    assert wide.dtype == np.int64 and real.dtype == np.float32


def test_against_dali(live_dali):
    dali = live_dali

    def define(x, y, z):
        return (
            [f(x, y) for f in (operator.add, operator.mul, operator.floordiv, operator.lt)]
            + [f(x, z) for f in (operator.sub, operator.truediv, operator.mul)]
            + [x + 1, x - 2.5, 7 // y, x & 3, -x, x % 7, y**2]
        )

    y = np.where(I32 == 0, 1, I32)
    ours = run(define, U8, y, F32)

    @dali.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe():
        sources = [dali.fn.external_source(source=[list(d)]) for d in (U8, y, F32)]
        return tuple(define(*sources))

    theirs = [out.as_array() for out in pipe().run()]
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_what_a_node_is_not():
    node = types.Constant([1, 2, 3], device="cpu")
    assert isinstance(node, DataNode) and node.cpu() is node
    with pytest.raises(TypeError, match="enable_conditionals"):
        bool(node)
    assert not isinstance(node, (collections.abc.Iterable, collections.abc.Sized))
    for use in (iter, list, len, reversed, lambda n: fn.copy(*n), lambda n: 3 in n):
        with pytest.raises(TypeError):
            use(node)
    with pytest.raises(TypeError, match="not iterable"):
        first, second = node
    with pytest.raises(TypeError):
        node + "a"
    with pytest.raises(TypeError):
        node + None
    with pytest.raises(NotImplementedError):
        node[...]
    with pytest.raises(TypeError):
        node[1.5]
    assert newaxis("C").name == "C"
    with pytest.raises(ValueError):
        newaxis("CC")
    assert len({node, node}) == 1


def test_constants():
    def define():
        return (
            3,
            True,
            2.5,
            [1, 2, 3],
            np.arange(3),
            np.zeros((2, 2)),
            np.float16(1.5),
            types.Constant([1.0, 2.0], dtype=types.FLOAT16, layout="X", device="cpu"),
            types.Constant(7, shape=(2, 2)),
        )

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def pipe():
        return define()

    outs = pipe().run()
    assert [out.dtype for out in outs[:5]] == [
        types.INT32,
        types.BOOL,
        types.FLOAT,
        types.INT32,
        types.INT32,
    ]
    assert outs[5].dtype == types.FLOAT and outs[5].shape() == [(2, 2)] * 3
    assert outs[6].dtype == types.FLOAT16 and outs[6].at(0) == 1.5
    assert outs[7].layout() == "X" and outs[7].dtype == types.FLOAT16
    assert outs[8].at(2).tolist() == [[7, 7], [7, 7]]
    assert outs[3].at(1).tolist() == [1, 2, 3]


def test_inputs_are_promoted():
    (out,) = run(lambda x: fn.copy(np.array([4, 5], np.uint8)), U8)
    assert out.tolist() == [[4, 5], [4, 5]]
    for bad in ("a", None, {}):
        with pytest.raises(TypeError, match="Received input `0`"):
            fn.copy(bad)


def test_several_input_sets():
    a, b = run(lambda x, y: fn.cast([x, y], dtype=types.FLOAT), U8, I32)
    np.testing.assert_array_equal(a, U8.astype(np.float32))
    np.testing.assert_array_equal(b, I32.astype(np.float32))


def test_nodes_made_outside_of_a_pipeline():
    node = fn.cast(types.Constant([1, 2], device="cpu"), dtype=types.FLOAT)
    pipe = Pipeline(2, 1, None)
    pipe.set_outputs(node + 1)
    (out,) = pipe.run()
    assert out.as_array().tolist() == [[2.0, 3.0]] * 2


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: fn.copy(x, x), ValueError, r"copy .* takes 1 input \(.*\), got 2"),
        (lambda x: fn.copy(), ValueError, "got 0"),
        (lambda x: fn.cast(x, foo=1, dtype=types.INT8), KeyError, '"foo" is not defined'),
        (lambda x: fn.cast(x), RuntimeError, "dtype"),
        (lambda x: fn.copy(x, device="tpu"), ValueError, "tpu"),
        (lambda x: fn.copy(x, device="gpu"), RuntimeError, r'input 0.*device is "gpu".*\.gpu\(\)'),
        (lambda x: fn.copy(x, device="mixed"), RuntimeError, "not support device=.mixed.*cpu.gpu"),
        (lambda x: fn.copy(x, name=3), TypeError, "name"),
        (lambda x: fn.rotate(x, angle="abc"), (ValueError, TypeError), "angle"),
        (lambda x: fn.resize(x, size=[x, x]), TypeError, "size"),
        (lambda x: fn.resize(x, size=10**30), ValueError, "size.*got 1000"),
        (lambda x: fn.resize(x, size=[[2, 2]]), TypeError, r"size.*got \[\[2, 2\]\]"),
        (lambda x: fn.resize(x, size=["a", 2]), TypeError, "mixes strings and numbers"),
        (lambda x: fn.resize(x, mode="\ud800"), ValueError, "mode"),
        (lambda x: fn.resize(x, mode="a\0b"), ValueError, "mode.*null"),
    ],
)
def test_errors_at_the_users_line(call, error, text):
    with Pipeline(2, 1, None):
        node = fn.external_source(name="in")
        with pytest.raises(error, match=text):
            call(node)


def test_old_names_warn():
    with pytest.warns(DeprecationWarning, match="random.coin_flip"):
        fn.coin_flip()
    with pytest.warns(DeprecationWarning, match="seed"):
        fn.copy(types.Constant([1], device="cpu"), seed=3)


def test_unknown_operators_are_attribute_errors():
    with pytest.raises(AttributeError):
        _ = fn.no_such_operator
    with pytest.raises(AttributeError):
        _ = fn.readers.no_such_operator
    assert headrace.fn is fn
