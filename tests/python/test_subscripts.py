# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""x[...] of data nodes: indices, ranges, nodes as either, new axes; against live DALI and NumPy."""

import headrace
import numpy as np
import pytest
from headrace import fn, newaxis
from twice import attempts, check_same, evaluate, quietly

X = np.arange(2 * 3 * 4 * 5, dtype=np.int32).reshape(2, 3, 4, 5)
AT = np.array([1, 2], np.int32)  # one number per sample

CONSTANT = """0 -1 1: :2 ::2 ::-1 2:0:-1 0:0 5:9 -2: 0,1 0,1,2 :,1 :,:,1 0,:,1:3 1:,1:,1: : :,: :,:,: None None:
    0:None True (0,1) () slice(0,1) 0,None -2**40: 0:2**40 0:3:2,::-1,4:0:-2 np.int64(1) np.array(1)
    np.array([1]) np.int64(0):np.int32(2) newaxis newaxis,0 0,newaxis :,newaxis newaxis,newaxis
    :,newaxis,: :,:,:,newaxis newaxis("A") newaxis("A"),newaxis("B") 0,newaxis("A") :,newaxis("A")""".split()
RUNTIME = """i i,i i: :i :,i-1:i+1 i-1,:,i ::i i:i+1:1 0,i+1 fn.cast(i,dtype=types.UINT8)
    fn.cast(i,dtype=types.INT64) types.Constant(1) types.Constant(1): :,i:i 1.5: :1.0""".split()
ERRORS = """3 -4 0,1,2,3 :,:,:,: 0:2:0 1.5 "a" "a": [0,1] {} object() 0,"a" 2**31 x x: ...  0,...
    newaxis("A"),newaxis""".split()


def program(text, layout):
    """The result of ``x[text]``, where x and i are nodes."""

    def define(package, x, i):
        names = {"np": np, "fn": package.fn, "types": package.types, "newaxis": package.newaxis}
        return eval(f"x[{text}]", {**names, "x": x, "i": i})

    return lambda package: evaluate(package, define, X, AT, layout=layout or None)


@pytest.mark.dali
@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (text, layout)
        for text in CONSTANT + RUNTIME
        for layout in ("", "HWC")
        if layout or '"' not in text  # named axes need a layout
    ],
)
def test_same_as_dali(text, layout):
    check_same(f"test_subscripts.{text}.{layout}", program(text, layout))


@pytest.mark.dali
@pytest.mark.parametrize("text", ERRORS)
def test_same_errors(text):
    with pytest.raises(Exception, match="."):
        quietly(program(text, ""), headrace)
    failing = program(text, "")
    check_same(f"test_subscripts.{text}", lambda package: attempts(lambda: failing(package)))


# NumPy has no meaning, or another one, for None, True and names of axes.
NUMPY = [
    text
    for text in CONSTANT
    if "None" not in text.split(",") and '"' not in text and text not in ("np.array([1])", "True")
]


@pytest.mark.parametrize("text", NUMPY)
def test_same_as_numpy(text):
    names = {"np": np, "newaxis": np.newaxis}
    expected = [eval(f"s[{text}]", {**names, "s": sample}) for sample in X]
    ours = quietly(lambda p: np.array(evaluate(p, _plain(text), X)[0].as_array()), headrace)
    want = np.stack(expected)
    assert ours == quietly(lambda p: want, headrace)


def _plain(text):
    return lambda package, x: eval(f"x[{text}]", {"np": np, "newaxis": newaxis, "x": x})


def test_indices_of_samples():
    (out,) = evaluate(headrace, lambda p, x, i: x[i, i:, 0], X, AT)
    for got, sample, i in zip(out, X, AT, strict=True):
        np.testing.assert_array_equal(np.array(got), sample[i, i:, 0])
    (out,) = evaluate(headrace, lambda p, x: x.shape()[-1], X)
    assert out.as_array().tolist() == [5, 5]


def test_too_many_subscripts():
    x = fn.external_source(source=[X])
    with pytest.raises(ValueError, match="33"):
        x[(0,) * 33]
    with pytest.raises(ValueError, match="9 subscripts"):
        x[(0,) * 9]
