# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of the operators on any tensors: types, copies, constants, arithmetic."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Case, Compare, Data, Engine, close, exact, nearly, pictures

TYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
TYPES += ["float16", "float32", "float64", "bool"]
DALI_TYPES = {"float32": "FLOAT", "float64": "FLOAT64"}


def enum(dtype: str) -> str:
    return "types." + DALI_TYPES.get(dtype, dtype.upper())


def edges(dtype: str) -> Data:
    """Ends of ranges, ties, infinities. No NaN: DALI converts it to 32 and 64 bit integers as the processor does."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = [0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.25, 254.5, 255.5, 300, -129, 32767.5, 7e4]
        with np.errstate(over="ignore"):
            return Data([np.array([*values, np.inf, -np.inf]).astype(dtype)])
    if kind.kind == "b":
        return Data([np.array([True, False, True])])
    info = np.iinfo(dtype)
    values = [v for v in (0, 1, 2, 127, 128, 129, 255, 256, -1, -128, -129, 65535) if v >= info.min]
    values = [v for v in values if v <= info.max] + [info.min, info.max]
    return Data([np.array(values, dtype)])


def cast_cases() -> list[Case]:
    cases = []
    for source in TYPES:
        for target in TYPES:
            if np.dtype(source).kind == "f" and target in ("uint32", "uint64", "int64", "int32"):
                continue  # infinities: see cast_values
            cases.append(Case("cast", [edges(source)], {"dtype": enum(target)}))
    finite = np.array([0.5, -0.5, 1.5, 2.5, 1e9, -3.7, 70000.0])
    for source in ("float32", "float64"):
        for target in ("uint32", "uint64", "int64", "int32"):
            data = Data([finite.astype(source)])
            cases.append(Case("cast", [data], {"dtype": enum(target)}))
    images = pictures([(9, 7, 3), (4, 5, 3)], np.float32)
    cases.append(Case("cast", [images], {"dtype": "types.UINT8"}))
    cases.append(Case("cast", [Data(images.samples)], {"dtype": "types.INT16"}))
    cases.append(Case("cast", [pictures([(2, 9, 7)], layout="FHW")], {"dtype": "types.FLOAT"}))
    cases.append(Case("cast", [Data([np.float32(2.5), np.float32(3.5)])], {"dtype": "types.INT8"}))
    return cases


def generic_cases() -> list[Case]:
    cases = [Case("copy", [edges(t)], {}) for t in TYPES]
    cases.append(Case("copy", [pictures([(2, 9, 7, 3), (1, 2, 3, 4)], layout="FHWC")], {}))
    for args in (
        {"fdata": [1.0, 2.0, 3.0, 4.0], "shape": [2, 2], "layout": "AB"},
        {"idata": [1, 2, 3, 4]},
        {"idata": [1], "shape": [2, 3]},
        {"idata": [300], "shape": [], "dtype": "types.UINT8"},
        {"fdata": [1.5, 2.5, -1.0], "dtype": "types.UINT8"},
        {"fdata": [1.5, 0.0], "dtype": "types.BOOL"},
        {"fdata": [1.5, 0.1], "dtype": "types.FLOAT16"},
        {"idata": [2**40, -5], "dtype": "types.INT64"},
    ):
        cases.append(Case("constant", [], args, size=2))
    return cases


GENERIC_ERRORS = [
    Case("cast", [edges("uint8")], {}),
    Case("constant", [], {}),
    Case("constant", [], {"idata": [1, 2], "shape": [2, 3]}),
    Case("constant", [], {"idata": [1], "fdata": [1.0]}),
    Case("constant", [], {"idata": [1, 2], "layout": "AB"}),
]


@dataclasses.dataclass
class Expression:
    """An expression of nodes and Python constants."""

    name: str
    apply: Callable[..., Any]
    inputs: list[Data]
    compare: Compare = exact

    def __str__(self) -> str:
        inputs = [f"{d.layout or 'none'}_{d.samples[0].dtype}" for d in self.inputs]
        return "-".join([self.name, *inputs])

    def define(self, engine: Engine) -> Any:
        return self.apply(engine, *[engine.feed(d) for d in self.inputs])

    def batch_size(self) -> int:
        return len(self.inputs[0].samples)


def on(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turns a function of values into a function of the engine and values."""
    return lambda engine, *values: function(*values)


BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
ORDER = ("lt", "le", "gt", "ge")
BITWISE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
NUMBERS = [t for t in TYPES if t != "float16"]


def numbers(dtype: str, seed: int) -> Data:
    """Small and extreme values without 0, so that they can be divisors."""
    if dtype == "bool":
        return Data([np.array([True] * 8)])
    if np.dtype(dtype).kind == "f":
        values = [1.5, -2.25, 7.0, -7.0, 100.25, 0.125, 3.0, -1.0]
    else:
        info = np.iinfo(dtype)
        values = [1, 7, 100, 3, info.max, info.max - 1, 5]
        values += [-7] if info.min < 0 else [9]
    return Data([np.roll(np.array(values, dtype), seed)])


def arithmetic_cases() -> list[Expression]:
    cases = []
    for name, function in BINARY.items():
        for left in NUMBERS:
            for right in NUMBERS:
                both = left == right == "bool"
                if both and name in ("add", "sub", "div", "floordiv", "mod"):
                    continue
                inputs = [numbers(left, 0), numbers(right, 3)]
                cases.append(Expression(name, on(function), inputs))
    integers = [t for t in NUMBERS if np.dtype(t).kind != "f"]
    for name, function in BITWISE.items():
        for left in integers:
            for right in integers:
                inputs = [numbers(left, 0), numbers(right, 3)]
                cases.append(Expression(name, on(function), inputs))
    for dtype in [t for t in integers if t != "bool"]:
        shifts = Data([np.array([0, 1, 2, 3, 1, 2, 3, 4]).astype(dtype)])
        for name, function in (("lshift", operator.lshift), ("rshift", operator.rshift)):
            cases.append(Expression(name, on(function), [numbers(dtype, 0), shifts]))
        exponents = Data([np.array([0, 1, 2, 3, 2, 3, 0, 1]).astype(dtype)])
        cases.append(Expression("pow", on(operator.pow), [numbers(dtype, 0), exponents]))
    for dtype in NUMBERS:
        data = numbers(dtype, 0)
        cases.append(Expression("pos", on(operator.pos), [data]))
        if dtype != "bool":
            cases.append(Expression("neg", on(operator.neg), [data]))
            cases.append(Expression("abs", on(operator.abs), [data]))
            for name in ("min", "max"):
                function = lambda engine, x, y, name=name: getattr(engine.math, name)(x, y)  # noqa: E731
                cases.append(Expression(name, function, [data, numbers("int32", 3)]))
        if dtype in integers:
            cases.append(Expression("invert", on(operator.invert), [data]))
    return cases + constant_cases() + shape_cases() + function_cases()


FUNCTIONS = {
    "sqrt log log2 log10": [0.0, 1e-30, 0.25, 1.0, 2.0, 8.0, 10.0, 1e20, np.inf, -1.0],
    "rsqrt": [1e-30, 0.25, 1.0, 2.0, 1e20, -1.0],  # DALI's approximation is undefined at 0
    "cbrt fabs floor ceil atan asinh tanh": [0.0, -0.0, 1e-9, 0.3, -0.7, 1.0, 27.0, -8.5, 1e9],
    "exp sinh cosh": [0.0, -0.0, 1e-9, 0.3, -0.7, 1.0, 5.5, -20.0, 87.0, 200.0],
    "sin cos tan": [0.0, 1e-9, 0.3, -0.7, 1.5707964, 3.0, -20.0, 1000.5],
    "asin acos atanh": [0.0, 1e-9, 0.3, -0.7, 0.999, -0.9999999, 1.0, -1.0, 1.5],
    "acosh": [1.0, 1.0000001, 1.5, 20.0, 1e10, 0.5],
}


def function_cases() -> list[Expression]:
    """The functions of the module `math`."""

    def named(name: str) -> Callable[..., Any]:
        return lambda engine, *nodes: getattr(engine.math, name)(*nodes)

    cases = []
    for names, values in FUNCTIONS.items():
        for name in names.split():
            for dtype in ("float32", "float64"):
                data = [Data([np.array(values, dtype)])]
                compare = close if dtype == "float32" else nearly
                cases.append(Expression(name, named(name), data, compare))
            cases.append(Expression(name, named(name), [numbers("int32", 0)], close))
            cases.append(Expression(name, named(name), [numbers("uint8", 0)], close))
    for name in ("atan2", "fpow"):
        for left, right in (("float32", "float32"), ("uint8", "int8"), ("float64", "int32")):
            data = [numbers(left, 0), numbers(right, 2)]
            if name == "fpow":
                data[1] = Data([(data[1].samples[0] % 5).astype(right)])
            compare = nearly if left == "float64" else close
            cases.append(Expression(name, named(name), data, compare))
        constant = lambda engine, x, name=name: getattr(engine.math, name)(2, x)  # noqa: E731
        cases.append(Expression(name + "_constant", constant, [numbers("uint8", 0)], close))
    wide = [Data([np.array([-5, 3, 300], np.int16)])]
    for low, high in ((0, 255), (0.5, 255), (5, 2)):
        clamp = lambda engine, x, a=low, b=high: engine.math.clamp(x, a, b)  # noqa: E731
        cases.append(Expression(f"clamp_{low}_{high}", clamp, wide))
    small = Data([np.array([1], np.uint8)])
    clamp = lambda engine, x, a: engine.math.clamp(x, a, 2)  # noqa: E731
    cases.append(Expression("clamp_node", clamp, [*wide, small]))
    return cases


def constant_cases() -> list[Expression]:
    """A node and a Python number, on either side."""
    cases = []
    for dtype in NUMBERS:
        data = [numbers(dtype, 0)]
        for constant in (5, -3, 2.5):
            for name, function in BINARY.items():
                right = on(lambda x, f=function, c=constant: f(x, c))
                left = on(lambda x, f=function, c=constant: f(c, x))
                if name in ("eq", "ne"):
                    left = right
                if name in ORDER and constant == -3 and np.dtype(dtype).kind == "f":
                    continue  # DALI treats no float as less than a negative integer
                cases.append(Expression(f"{name}_{constant}_right", right, data))
                cases.append(Expression(f"{name}_{constant}_left", left, data))
        cases.append(Expression("mul_true", on(lambda x: x * True), data))
    floats = Data([np.array([0.5, 2.0, 3.25, 10.0], np.float32)])
    doubles = Data([np.array([0.5, 2.0, 3.25, 10.0])])
    for data in (floats, doubles):
        for exponent in (2, -1, 0.5, 2.7):
            power = on(lambda x, e=exponent: x**e)
            cases.append(Expression(f"pow_{exponent}", power, [data], close))
            base = on(lambda x, e=exponent: abs(e) ** x)
            cases.append(Expression(f"pow_of_{exponent}", base, [data], close))
    ints = Data([np.array([-7, 7, 0, 3], np.int32)])
    u8 = Data([np.array([3, 200], np.uint8)])
    for name, function in (
        ("floordiv_int", lambda x: x // 2),
        ("floordiv_negative", lambda x: x // -2),
        ("mod_negative", lambda x: x % -3),
        ("div_zero", lambda x: x / 0),
        ("power_negative", lambda x: x**-1),
        ("shift_minus_one", lambda x: x << -1),
        ("and_one", lambda x: x & 1),
        ("and_true", lambda x: x & True),
        ("greater", lambda x: x > 0.5),
        ("numpy_u8", lambda x: x + np.uint8(3)),
        ("numpy_array", lambda x: x + np.array([1, 2, 3, 4])),
    ):
        cases.append(Expression(name, on(function), [ints]))
    special = {"types.UINT8": 5, "types.FLOAT64": 5.5, "types.BOOL": True, "types.INT64": 2}
    for dtype, value in special.items():

        def typed(engine: Engine, x: Any, dtype: str = dtype, value: Any = value) -> Any:
            return x + engine.types.Constant(value, dtype=getattr(engine.types, dtype[6:]))

        cases.append(Expression("constant_" + dtype[6:], typed, [u8]))
    zeros = Data([np.array([1.0, -1.0, 0.0, 5.5], np.float32)])
    for name, function in (
        ("float_mod", lambda x: x % 2),
        ("float_mod_zero", lambda x: x % 0),
        ("float_div_zero", lambda x: x / 0),
        ("float_floordiv_zero", lambda x: x // 0),
    ):
        cases.append(Expression(name, on(function), [zeros]))
    return cases


def shape_cases() -> list[Expression]:
    """Broadcasting and layouts."""
    cases = []
    image = pictures([(4, 5, 3), (2, 7, 3)])
    for shape, layout in (
        ((3,), ""), ((3,), "C"), ((1,), ""), ((), ""), ((5, 1), ""), ((1, 5, 1), "HWC"),
        ((4, 1, 3), ""),
    ):  # fmt: skip
        one = Data(image.samples[:1], "HWC")
        other = pictures([shape], layout=layout, seed=2)
        cases.append(Expression(f"add_{shape}_right", on(operator.add), [one, other]))
        cases.append(Expression(f"add_{shape}_left", on(operator.sub), [other, one]))
    for left, right in (("HWC", ""), ("", "HWC"), ("HWC", "HWC"), ("", "")):
        inputs = [Data(image.samples, left), Data(image.samples, right)]
        cases.append(Expression(f"mul_layouts_{left}_{right}", on(operator.mul), inputs))
    outer = [pictures([(2, 1)], layout=""), pictures([(1, 3)], layout="")]
    cases.append(Expression("outer", on(operator.add), outer))
    empty = [Data([np.zeros((0, 3), np.uint8)]), Data([np.ones(1, np.uint8)])]
    cases.append(Expression("empty", on(operator.add), empty))
    large = pictures([(61, 53, 3)], layout="HWC")
    cases.append(Expression("large", on(lambda x: x * 1.7 + 3), [large]))
    cases.append(Expression("shape", on(lambda x: x.shape()), [image]))
    shape32 = lambda engine, x: x.shape(dtype=engine.types.INT32)  # noqa: E731
    cases.append(Expression("shape_int32", shape32, [image]))
    return cases


def arithmetic_errors() -> list[Expression]:
    one = [Data([np.ones(3, np.float32)])]
    bools = [Data([np.array([True, False])])]
    half = [Data([np.ones(2, np.float16)])]
    ints = [Data([np.ones(3, np.int32)])]
    return [
        Expression("and_float", on(lambda x: x & 1), one),
        Expression("invert_float", on(lambda x: ~x), one),
        Expression("neg_bool", on(lambda x: -x), bools),
        Expression("abs_bool", on(lambda x: abs(x)), bools),
        Expression("sqrt_bool", lambda engine, x: engine.math.sqrt(x), bools),
        Expression("add_bools", on(lambda x: x + x), bools),
        Expression("half", on(lambda x: x + 1), half),
        Expression("int_division", on(lambda x: x // 0), ints),
        Expression("shapes", on(operator.add), [*one, Data([np.ones(2, np.float32)])]),
        Expression(
            "layouts",
            on(operator.add),
            [pictures([(3, 3, 3)], layout="HWC"), pictures([(3, 3, 3)], layout="CHW")],
        ),
    ]


CASES: list[Any] = [*cast_cases(), *generic_cases(), *arithmetic_cases()]
ERRORS: list[Any] = [*GENERIC_ERRORS, *arithmetic_errors()]
