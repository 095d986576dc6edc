# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of coordinate transforms."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from harness import Case, Data, Engine, pictures, scalars, vectors


def near(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Integers must be equal; floats may differ by the rounding of single precision."""
    if ours.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
    else:
        finite = theirs[np.isfinite(theirs)]
        scale = max(1.0, float(np.abs(finite).max(initial=0)))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6 * scale)


@dataclasses.dataclass
class Frames:
    """One value per frame, as marked by `per_frame`."""

    samples: list[np.ndarray]


@dataclasses.dataclass
class Framed(Case):
    """A case whose inputs and arguments may be per frame."""

    def define(self, engine: Engine) -> Any:
        def node(value: Any) -> Any:
            if isinstance(value, Frames):
                return engine.fn.per_frame(engine.feed(Data(value.samples)))
            return engine.value(value)

        args = {key: node(value) for key, value in self.args.items()}
        return engine.operator(self.op)(*[node(data) for data in self.inputs], **args)

    def __str__(self) -> str:
        shapes = [d.samples[0].shape for d in self.inputs]
        args = [
            f"{key}={v.samples[0].shape if isinstance(v, (Frames, Data)) else v}"
            for key, v in self.args.items()
        ]
        return "-".join([self.op, "frames", *map(str, shapes), *args])


def floats(values: Any) -> np.ndarray:
    return np.array(values, np.float32)


PLANE = [floats([[0.5, 1, 2], [3, -4, 5]]), floats([[1, 0, 7], [0, 1, 9]])]
SPACE = [np.arange(12, dtype=np.float32).reshape(3, 4)] * 2
PLANES = floats([PLANE[0], PLANE[1], PLANE[0] * 3])

# Arguments of each transform, and the number of dimensions of a suitable input (0: no input).
TRANSFORMS: dict[str, list[tuple[dict[str, Any], int]]] = {
    "translation": [
        ({"offset": [1.5, 2]}, 2),
        ({"offset": [1, 2, 3]}, 3),
        ({"offset": 3.0}, 0),
        ({"offset": [1.0, 2, 3, 4, 5]}, 0),
        ({"offset": vectors([1, 2], [3, 4])}, 2),
    ],
    "scale": [
        ({"scale": [2, 3]}, 2),
        ({"scale": 2.0}, 2),
        ({"scale": 2.0, "ndim": 3}, 3),
        ({"scale": 2.0, "ndim": 2}, 3),
        ({"scale": [2.0, 3.0], "ndim": 3}, 2),
        ({"scale": [2, 3], "center": [1, -1]}, 2),
        ({"scale": [2, 3], "center": [4]}, 2),
        ({"scale": [0, 0]}, 0),
        ({"scale": vectors([1, 2], [3, 4]), "center": vectors([1, 2], [3, 4])}, 2),
    ],
    "rotation": [
        ({"angle": 30.0}, 2),
        ({"angle": -400.0, "center": [1, 2]}, 2),
        ({"angle": 90.0, "center": [3]}, 2),
        ({"angle": 30.0, "axis": [0, 0, 1]}, 3),
        ({"angle": 75.0, "axis": [1, 2, 3], "center": [3, 2, 1]}, 3),
        ({"angle": 75.0, "axis": [-1, 0.2, 0]}, 3),
        ({"angle": 30.0, "axis": [0, 0, 0]}, 0),
        ({"angle": scalars(30, 60), "center": vectors([1, 2], [3, 4])}, 2),
        ({"angle": 10.0, "axis": vectors([1, 2, 3], [0, 1, 0])}, 3),
    ],
    "shear": [
        ({"shear": [1, 2]}, 2),
        ({"shear": [1, 2, 3, 4, 5, 6]}, 3),
        ({"angles": [10, 20]}, 2),
        ({"angles": [10, 20, 30, -40, 50, -60], "center": [1, 2, 3]}, 3),
        ({"shear": [1, 2], "center": [3, 4]}, 2),
        ({"shear": [1, 2], "center": 3}, 2),
        ({"shear": vectors([1, 2], [3, 4]), "center": vectors([1, 2], [3, 4])}, 2),
        ({"angles": vectors([1, 2], [30, 40])}, 0),
        ({"shear": Data([floats([[0, 1], [2, 0], [3, 4]])] * 2)}, 3),
    ],
    "crop": [
        ({}, 0),
        ({"from_start": [0, 1], "from_end": [1, 3], "to_start": [0.5, 0], "to_end": [2, 2]}, 2),
        ({"from_start": [0, 1], "from_end": [2]}, 0),
        ({"from_start": [0, 1]}, 0),
        ({"from_start": [0, 1], "from_end": [1, -3]}, 2),
        ({"from_start": [0, 1], "from_end": [1, -3], "absolute": True}, 2),
        ({"from_start": [3, 2, 0], "to_end": [-1, 1, 5], "absolute": True}, 3),
        (
            {
                "from_start": vectors([0, 1], [1, 2]),
                "from_end": vectors([2, 3], [4, 5]),
                "to_start": vectors([2, 3], [4, 5]),
                "to_end": vectors([2, 4], [4, 6]),
            },
            2,
        ),
    ],
}


def transform_cases() -> list[Case]:
    cases = []
    for name, calls in TRANSFORMS.items():
        for args, ndim in calls:
            cases.append(Case("transforms." + name, [], args, near, 2))
            if ndim:
                matrix = Data(PLANE if ndim == 2 else SPACE)
                for order in ({}, {"reverse_order": True}):
                    cases.append(Case("transforms." + name, [matrix], {**args, **order}, near))
    a, b = Data(PLANE), Data(PLANE[::-1])
    for inputs in ([a, b], [a, b, a], [Data(SPACE), Data(SPACE)], [a] * 20):
        for order in ({}, {"reverse_order": True}):
            cases.append(Case("transforms.combine", inputs, order, near))
    cases.append(Case("transform_translation", [], {"offset": [1, 2]}, near))
    return cases


def frame_cases() -> list[Framed]:
    pairs = Frames([floats([[1, 2], [3, 4], [5, 6]])])
    angles = Frames([floats([30, 60, 5])])
    planes, plane = Frames([PLANES]), Data(PLANE[:1])
    cases = [
        Framed("transforms.translation", [], {"offset": pairs}, near),
        Framed("transforms.translation", [planes], {"offset": [1, 2]}, near),
        Framed("transforms.translation", [planes], {"offset": pairs}, near),
        Framed("transforms.translation", [plane], {"offset": pairs}, near),
        Framed("transforms.rotation", [], {"angle": angles, "center": pairs}, near),
        Framed("transforms.rotation", [planes], {"angle": angles, "reverse_order": True}, near),
        Framed("transforms.scale", [], {"scale": pairs, "center": pairs}, near),
        Framed("transforms.scale", [], {"scale": angles, "ndim": 2}, near),
        Framed("transforms.shear", [], {"shear": pairs}, near),
        Framed("transforms.shear", [planes], {"angles": pairs}, near),
        Framed("transforms.crop", [], {"from_start": pairs, "from_end": [9, 9]}, near),
        Framed("transforms.combine", [planes, plane, planes], {}, near),
        Framed("transforms.combine", [plane, planes], {"reverse_order": True}, near),
    ]
    points = Frames([np.arange(24, dtype=np.float32).reshape(3, 4, 2)])
    one = Data([np.arange(8, dtype=np.float32).reshape(4, 2)], "AB")
    bytes_ = Frames([np.arange(24, dtype=np.uint8).reshape(3, 4, 2)])
    for data in (points, one, bytes_):
        for args in ({"MT": planes}, {"T": pairs}, {"M": angles, "T": [1, 2]}, {"T": angles}):
            cases.append(Framed("coord_transform", [data], args, near))
    cases.append(Framed("coord_transform", [bytes_], {"M": 0.5, "dtype": "types.UINT8"}, near))
    return cases


def point_cases() -> list[Case]:
    cases = []
    plane = pictures([(50, 2), (3, 2)], np.float32, "")
    for args in (
        {},
        {"M": [1, 2, 3, 4]},
        {"M": 2.0},
        {"M": [2.0], "T": 5.0},
        {"T": [1, 2]},
        {"MT": [1, 0.5, 5, 0, 1, 6]},
        {"MT": [1, 2, 3]},
        {"M": [1, 2, 3, 4, 5, 6], "T": [1, 2, 3]},
        {"M": [1, 2], "T": [1]},
        {"MT": Data(PLANE)},
        {"M": Data([floats([[1, 2], [3, 4]])] * 2), "T": vectors([1, 2], [3, 4])},
        {"M": scalars(2, 3), "T": scalars(4, 5)},
    ):
        cases.append(Case("coord_transform", [plane], args, near))
    for shape in ((4, 1), (4, 3), (4, 6), (2, 3, 2), (2, 2, 2, 3), (2, 0)):
        data = pictures([shape], np.float32, "ABCD"[: len(shape)])
        cases.append(Case("coord_transform", [data], {"M": 0.5, "T": 0.25}, near))
    # DALI takes batches without elements of any type. (Where all samples are empty, its points have no
    # coordinates. Here, the shape of a sample does not depend on other samples.)
    none = Data([np.zeros((3, 0)), np.zeros((0, 0))])
    cases.append(Case("coord_transform", [none], {"M": 2.0}))
    for dtype in ("uint8", "uint16", "int16", "int32"):
        for target in ("types.FLOAT", "types." + dtype.upper()):
            data = pictures([(200, 2)], dtype, "")
            args = {"M": [0.25, 0.3, -0.7, 1.5], "T": [0.5, 0.25], "dtype": target}
            cases.append(Case("coord_transform", [data], args, near))
    space = pictures([(5, 3), (3, 3)], np.float32, "")
    for data in (plane, space):
        for args in (
            {},
            {"flip_x": 0, "flip_y": 1},
            {"flip_x": 2, "center_x": 2.0, "center_y": 3.0, "flip_y": 1},
            {"layout": "zyx", "flip_z": 1, "center_z": 4.0},
            {"layout": "xyz"},
            {"flip_x": scalars(0, 1, dtype=np.int32), "center_x": scalars(3, 4)},
            {
                "flip_y": scalars(0, 1, dtype=np.int32),
                "flip_z": scalars(1, 0, dtype=np.int32),
                "center_y": scalars(3, 4),
                "center_z": scalars(-3, 4),
            },
        ):
            if data is space or args.get("layout") != "zyx":
                cases.append(Case("coord_flip", [data], args, near))
    cases.append(Case("coord_flip", [plane], {"layout": "yx"}, near))
    cases.append(Case("coord_flip", [pictures([(4, 1), (0, 1)], np.float32, "")], {}, near))
    return cases


CASES = [*transform_cases(), *frame_cases(), *point_cases()]

MATRIX = Data(PLANE[:1])
POINTS = Data([floats([[1, 2], [3, 4]])])
ERRORS: list[Case] = [
    *[
        Case("transforms." + name, inputs, args)
        for name, inputs, args in (
            ("translation", [], {}),
            ("translation", [], {"offset": []}),
            ("translation", [MATRIX], {"offset": [1, 2, 3]}),
            ("translation", [MATRIX], {"offset": 1.0}),
            ("translation", [Data([np.ones((2, 3), np.int32)])], {"offset": [1, 2]}),
            ("translation", [Data([np.ones((2, 3))])], {"offset": [1, 2]}),
            ("translation", [Data([floats([1, 2, 3, 4, 5, 6])])], {"offset": [1, 2]}),
            ("translation", [Data([np.ones((3, 2), np.float32)])], {"offset": [1, 2]}),
            ("translation", [Data([np.ones((2, 2, 3), np.float32)])], {"offset": [1, 2]}),
            ("scale", [], {"scale": [2], "center": [1, 5]}),
            ("scale", [], {"scale": [2, 3], "center": [1, 5, 6]}),
            ("scale", [MATRIX], {"scale": [2, 3, 4]}),
            ("rotation", [], {}),
            ("rotation", [], {"angle": 30.0, "axis": [1, 0]}),
            ("rotation", [], {"angle": 30.0, "center": [1, 2, 3]}),
            ("rotation", [Data(SPACE[:1])], {"angle": 30.0}),
            ("rotation", [], {"angle": vectors([1, 2])}),
            ("shear", [], {}),
            ("shear", [], {"shear": [1, 2], "angles": [1, 2]}),
            ("shear", [], {"shear": [1, 2, 3]}),
            ("shear", [], {"shear": 1.0}),
            ("shear", [], {"angles": [-91, 20]}),
            ("shear", [Data(SPACE[:1])], {"shear": [1, 2]}),
            ("crop", [], {"from_start": [0, 1], "from_end": [1, 3, 4]}),
            ("crop", [MATRIX], {"from_end": [2.0]}),
            ("crop", [], {"from_start": []}),
            ("combine", [MATRIX], {}),
            ("combine", [MATRIX, Data(SPACE[:1])], {}),
            ("combine", [MATRIX, Data([np.ones((2, 3))])], {}),
        )
    ],
    *[
        Case("coord_transform", [POINTS], args)
        for args in (
            {"MT": [1, 2, 3, 4, 5, 6], "T": [1, 2]},
            {"M": [1, 2, 3]},
            {"M": [1, 2], "T": [1, 2, 3]},
            {"T": [1, 2, 3]},
            {"MT": [1, 2]},
            {"M": list(range(18))},
            {"dtype": "types.UINT8"},
            {"dtype": "types.FLOAT64"},
        )
    ],
    *[
        Case("coord_transform", [Data([np.ones((2, 2), dtype)])], {})
        for dtype in ("int8", "uint32", "uint64", "int64", "float16", "float64", "bool")
    ],
    Case("coord_transform", [Data([np.ones((2, 2), np.uint8)])], {"dtype": "types.INT16"}),
    Case("coord_transform", [Data([np.ones(2, np.float32)])], {}),
    Case("coord_transform", [Data([np.float32(1)])], {}),
    Case("coord_transform", [Data([np.ones((2, 7), np.float32)])], {}),
    *[Case("coord_flip", [POINTS], {"layout": layout}) for layout in ("x", "ab", "zx")],
    Case("coord_flip", [Data([np.ones((2, 2))])], {}),
    Case("coord_flip", [Data([np.ones(2, np.float32)])], {}),
    Case("coord_flip", [Data([np.ones((2, 4), np.float32)])], {}),
    Case("coord_flip", [Data([np.ones((2, 2, 2), np.float32)])], {}),
    Framed(
        "transforms.rotation",
        [],
        {"angle": Frames([floats([1, 2])]), "center": Frames([floats([[1, 2]] * 3)])},
    ),
    Framed(
        "transforms.translation",
        [Frames([PLANES])],
        {"offset": Frames([floats([[1, 2], [3, 4]])])},
    ),
    Framed("transforms.combine", [Frames([PLANES]), Frames([PLANES[:2]])], {}),
]
