# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""For the sweep (sweep.py): intended differences that the families' files do not list, and the base cases."""

from __future__ import annotations

import numpy as np

from harness import Case, Data, pictures, rotated

POINTS = Data([np.arange(n * 2, dtype=np.float32).reshape(n, 2) for n in (3, 5)])
CUBES = pictures([(2, 3, 4), (4, 3, 4)], layout="ABC")
# Operators whose first written case is unusual.
BASES = {
    "coord_transform": Case("coord_transform", [POINTS], {"M": [1.0, 2.0, 3.0, 4.0]}),
    "full": Case("full", [Data([np.int32(3), np.int32(4)])], {"shape": [2, 2]}),
    "reshape": Case("reshape", [CUBES], {"shape": [-1, 4]}),
    "rotate": Case("rotate", [pictures([(19, 31, 3), (23, 17, 3)])], {"angle": 20.0}, rotated),
}

DIFFERENT = {
    r"^transforms.rotation: angle=\[": "a list is refused only if its length is wrong",
    r"^cat: input 0 empty": "the other extents are compared for empty samples, too",
    r"^element_extract: element_map=None": "None means that the argument is not given",
    r"^normalize: axes=\[": "an axis named twice is refused",
    r"^normalize: (mean|stddev)=\[": "a list is refused only if its length is wrong",
    r"^normalize: input 0 (scalar|0 dim)": "DALI's result varies from run to run",
    r"^roi_random_crop: roi_(shape|start)=": "one element for two axes is refused",
    # In DALI, an axis that keeps its extent is left alone only if it keeps it in all samples. Next to a sample with
    # one output channel, another sample's three channels are filtered (2.5 of them requested); alone in its batch,
    # they are not.
    r"^tensor_resize: sizes=per sample .*2.5": "does not depend on other samples of the batch, as it may in DALI",
    r"^random_crop_generator: (random_area|random_aspect_ratio|num_attempts)=": "ranges and attempts must be positive, as for `random_resized_crop`",
    r"^reductions.(mean|rms): dtype='types.UINT8'": "sums do not overflow; DALI sums up in the output's type",
    r"^reductions.(std_dev|variance): (axes|axis_names)=": "a mean with fewer elements than the result is refused; DALI reads beyond it",
    r"^reinterpret: src_dims=per sample": "an input that is too small is refused; DALI reads beyond it",
    r"^slice: rel_(start|shape)=.*\[\]": "an empty list is accepted",
    r"^squeeze: axes=\[1, 2, 3, -1\]": "extents that do not fit are refused; DALI compares only the volumes",
    r"^squeeze: input 0 empty": "extents that do not fit are refused; DALI compares only the volumes",
    r"^transpose: perm=\[\]": "an empty list is refused if the input has axes",
}
