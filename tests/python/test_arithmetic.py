# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Arithmetic over whole columns of samples: all patterns of broadcasting, division of all numbers."""

import numpy as np
import pytest
from headrace import fn, math, pipeline_def

# the dimensions of an operand; those left out are 1 or absent
SHAPES = [
    ((4, 5, 3), (3,)), ((4, 5, 3), (1, 1, 3)), ((4, 5, 3), (4, 1, 1)), ((4, 5, 3), (5, 1)), ((4, 5, 3), ()),
    ((4, 5, 3), (1, 5, 1)), ((4, 1, 3), (1, 5, 1)), ((1, 5, 1), (4, 1, 3)), ((3,), (4, 5, 3)), ((), (2, 2)),
    ((), ()), ((1,), ()), ((1, 1), (1,)), ((2, 700), (700,)), ((2, 700), (2, 1)), ((700, 2), (2,)), ((700, 2), (700, 1)),
    ((1500,), (1,)), ((300, 3), (3,)), ((2, 300), (300,)), ((2, 3, 2, 3, 2), (3, 1, 3, 1)), ((0, 3), (3,)), ((3, 0), (1,)),
]  # fmt: skip


def run(define, *data):
    """The samples of `define(*nodes)` as arrays; an item of `data` is a list of samples."""

    @pipeline_def(batch_size=len(data[0]), num_threads=1, device_id=None)
    def pipe():
        return define(*[fn.external_source(source=[item]) for item in data])

    (out,) = pipe().run()
    return [np.asarray(out[i]) for i in range(len(out))]


def samples(shape, dtype, count, seed):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.integers(1, 100, shape), dtype) for _ in range(count)]


@pytest.mark.parametrize("left, right", SHAPES)
@pytest.mark.parametrize(
    "types", [(np.int32, np.int32), (np.uint8, np.int16), (np.float32, np.uint8)]
)
def test_broadcasting(left, right, types):
    a, b = samples(left, types[0], 5, 1), samples(right, types[1], 5, 2)
    out = run(lambda x, y: x * 3 - y, a, b)
    for i in range(5):
        common = np.float32 if np.float32 in types else np.int32
        expected = a[i].astype(common) * common(3) - b[i].astype(common)
        assert out[i].shape == expected.shape
        np.testing.assert_array_equal(out[i], expected)


def test_shapes_that_differ_in_a_batch():
    a = [samples((n, 3), np.int32, 1, n)[0] for n in (1, 4, 4, 2, 0, 4)]
    b = [samples((3,), np.int32, 1, n)[0] for n in range(6)]
    for out, x, y in zip(run(lambda x, y: x + y, a, b), a, b, strict=True):
        np.testing.assert_array_equal(out, x + y)


def truncated(a, b):
    """Quotients rounded towards zero, and remainders, as Python integers."""
    quotient = [
        abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b, strict=True)
    ]
    return quotient, [x - q * y for x, y, q in zip(a, b, quotient, strict=True)]


def numbers(dtype):
    info = np.iinfo(dtype)
    edges = [
        info.min,
        info.min + 1,
        info.max,
        info.max - 1,
        1,
        2,
        3,
        7,
        info.max // 2,
        info.max // 2 + 1,
    ]
    edges += [-1, -2, -3, -7, info.min // 2] if info.min else []
    random = np.random.default_rng(3).integers(info.min, info.max, 3000, dtype, endpoint=True)
    powers = [2**k + d for k in range(info.bits - 1) for d in (-1, 0, 1)]
    return np.unique(np.array([*edges, *powers, *(int(x) for x in random[random != 0])], dtype))


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64]
)
def test_division_is_exact(dtype):
    values = numbers(dtype)
    divisors = values[values != 0]
    a = np.concatenate([values, np.repeat(values, 8)])
    b = np.concatenate(
        [np.resize(divisors, len(values)), np.resize(divisors[::-1], 8 * len(values))]
    )
    quotient, remainder = truncated([int(x) for x in a], [int(x) for x in b])
    (out,) = run(lambda x, y: x // y, [a], [b])
    np.testing.assert_array_equal(out, np.array([q & (2 ** np.iinfo(dtype).bits - 1) for q in quotient],
                                                np.uint64).astype(dtype))  # fmt: skip
    (out,) = run(lambda x, y: x % y, [a], [b])
    np.testing.assert_array_equal(out, np.array(remainder, dtype))


def test_a_zero_divides_no_other_sample():
    a, b = samples((3,), np.int32, 6, 1), samples((3,), np.int32, 6, 2)
    b[4][1] = 0
    with pytest.raises(ValueError, match=r"sample 4 of the batch: integer division by zero"):
        run(lambda x, y: x // y, a, b)


@pytest.mark.parametrize(
    "define, dtype, text",
    [
        (lambda x, y: x + y, np.bool_, r"Inputs to arithmetic operator `\+` cannot be booleans\. Consider using bitwise"),
        (lambda x, y: -x, np.bool_, r"Input to arithmetic operator `-` cannot be a boolean\. Consider using bitwise"),
        (lambda x, y: x & y, np.float32, r"Inputs to bitwise operator `&` must be of integral type\."),
        (lambda x, y: x + y[0:1, 0:3], np.int32,
         r"Can't broadcast shapes:[^\n]*\n2 x 4 \(d=1, belonging to sample_idx=0\)\n1 x 3 \(d=1, belonging to sample_idx=0\)"),
    ],
)  # fmt: skip
def test_messages_are_those_that_scripts_look_for(define, dtype, text):
    a = samples((2, 4), np.int32, 2, 1)
    a = [x.astype(dtype) for x in a]
    with pytest.raises(RuntimeError, match=text):
        run(define, a, a)


@pytest.mark.parametrize(
    ("define", "symbol", "side", "kind"),
    [
        (lambda node: node + [node], "+", 1, "list"),
        (lambda node: [node, 1] - node, "-", 0, "list"),
        (lambda node: node // (node, 2), "//", 1, "tuple"),
        (lambda node: node / [[1, node]], "/", 1, "list"),
        (lambda node: node <= [node], "<=", 1, "list"),
        (lambda node: math.max(node, [node]), "max", 1, "list"),
        (lambda node: math.clamp(3, [node], node), "clamp", 1, "list"),
    ],
)
def test_lists_of_nodes_are_no_operands(define, symbol, side, kind):
    """An operator with several outputs returns a list of nodes; the message names the operand."""
    with pytest.raises(TypeError) as caught:
        run(define, samples((2,), np.int32, 2, 1))
    assert f"input {side} of operator `{symbol}` must be a `DataNode`" in str(caught.value)
    assert f"Got a `{kind}` with nested `DataNode`(s)" in str(caught.value)


@pytest.mark.parametrize(
    ("define", "expected"),
    [
        (lambda: math.max([1, 2, 3], [3, 2, 1]), np.array([3, 2, 3], np.int32)),
        (lambda: math.min((1.5, 2), [3, 2]), np.array([1.5, 2], np.float32)),
        (lambda: math.max([1, 9], 2), np.array([2, 9], np.int32)),
        (lambda: math.min(2, np.array([1, 9], np.uint8)), np.array([1, 2], np.int32)),
        (lambda: math.max(np.array([[1, 2]], np.uint8), np.array([2, 1], np.uint8)), np.array([[2, 2]], np.uint8)),
        (lambda: math.sqrt([1, 4]), np.array([1, 2], np.float32)),
        (lambda: math.clamp([1, 2, 9], 2, 4), np.array([2, 2, 4], np.int32)),
        (lambda: math.clamp(3, [1, 4], 5), np.array([3, 4], np.int32)),
        (lambda: math.clamp(3, 1, [2, 5]), np.array([2, 3], np.int32)),
    ],
)  # fmt: skip
def test_functions_of_lists_and_arrays_without_a_node(define, expected):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe():
        return define()

    (out,) = pipe().run()
    for i in range(2):
        assert np.asarray(out[i]).dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(out[i]), expected)


@pytest.mark.parametrize(
    "define",
    [lambda: math.max(1, 2), lambda: math.sqrt(4), lambda: math.clamp(5, 2, 4), lambda: math.pow(2, np.float32(3))],
)  # fmt: skip
def test_functions_of_numbers_alone_are_refused(define):
    with pytest.raises(ValueError, match="needs a DataNode, a list or an array"):
        pipeline_def(batch_size=1, num_threads=1, device_id=None)(define)()


@pytest.mark.parametrize(
    ("define", "expected"),
    [
        (lambda x, y: x << y, [False, False, True, True]),
        (lambda x, y: x >> y, [False, False, True, False]),
        (lambda x, y: x << True, [False, False, True, True]),
        (lambda x, y: True >> y, [True, False, True, False]),
    ],
)
def test_shifts_of_booleans(define, expected):
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    (out,) = run(define, [x], [y])
    assert out.dtype == np.bool_
    np.testing.assert_array_equal(out.view(np.uint8), np.array(expected, np.uint8))
