# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""For the sweep (sweep.py): intended differences that the families' files do not list, and where cases start from."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, pictures, rotated

POINTS = Data([np.arange(n * 2, dtype=np.float32).reshape(n, 2) for n in (3, 5)])
CUBES = pictures([(2, 3, 4), (4, 3, 4)], layout="ABC")
# Operators whose first written case is an unusual one.
BASES = {
    "coord_transform": Case("coord_transform", [POINTS], {"M": [1.0, 2.0, 3.0, 4.0]}),
    "full": Case("full", [Data([np.int32(3), np.int32(4)])], {"shape": [2, 2]}),
    "reshape": Case("reshape", [CUBES], {"shape": [-1, 4]}),
    "rotate": Case("rotate", [pictures([(19, 31, 3), (23, 17, 3)])], {"angle": 20.0}, rotated),
}

DIFFERENT = {
    r"^transforms.rotation: angle=\[": "a list is refused when it does not fit, not because it is one",
    r"^cat: input 0 empty": "extents beside the axis are compared, of empty samples too",
    r"^element_extract: element_map=None": "None is an argument that is not given",
    r"^normalize: axes=\[": "no axis is named twice",
    r"^normalize: (mean|stddev)=\[": "a list is refused when it does not fit, not because it is one",
    r"^normalize: input 0 (scalar|0 dim)": "DALI's result is another one each time",
    r"^roi_random_crop: roi_(shape|start)=": "one element for two axes is refused",
    # An axis that keeps its extent is left alone in DALI if it keeps it in all samples: next to a sample whose
    # channels become 1 another's three channels are filtered (2.5 of them asked for), alone in its batch they are not.
    r"^tensor_resize: sizes=per sample .*2.5": "DALI's result depends on the batch's other samples",
    r"^random_crop_generator: (random_area|random_aspect_ratio|num_attempts)=": "as random_resized_crop's",
    r"^reductions.(mean|rms): dtype='types.UINT8'": "DALI sums up in the output's type",
    r"^reductions.(std_dev|variance): (axes|axis_names)=": "DALI reads beyond a mean that has fewer elements than the result",
    r"^reinterpret: src_dims=per sample": "DALI reads beyond an input that is smaller than that",
    r"^slice: rel_(start|shape)=.*\[\]": "no bounds for no axes",
    r"^squeeze: (axes=\[1, 2, 3, -1\]|input 0 empty)": "DALI compares the volumes alone",
    r"^transpose: perm=\[\]": "no axes for some dimensions",
}
