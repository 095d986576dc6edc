# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Cases of operators that read and write files."""

from __future__ import annotations

import pathlib

import numpy as np

from harness import Case, Data, pictures


def names(*paths: str | pathlib.Path, dtype: str = "uint8") -> Data:
    return Data([np.frombuffer(str(path).encode(), dtype) for path in paths])


HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
TWO = names(ROOT / "LICENSE", ROOT / "tests/fuzz/corpus/json/values")

CASES = [
    Case("io.file.read", [TWO], {}),
    Case("io.file.read", [names(ROOT / "LICENSE", dtype="int8")], {}),
    Case("io.file.read", [TWO], {"dont_use_mmap": True}),
    Case("io.file.read", [TWO], {"use_o_direct": True}),
]
ELSEWHERE = {
    "decoders.inflate": "tests/gpu/test_inflate.py",
    "dump_image": "test_dump_image.py",
    "experimental.readers.fits": "tests/python/test_fits.py",
    "experimental.readers.video": "tests/python/test_video_readers.py",
    "readers.caffe": "tests/python/test_caffe.py",
    "readers.caffe2": "tests/python/test_caffe.py",
    "readers.coco": "tests/python/test_coco.py",
    "readers.mxnet": "tests/python/test_mxnet.py",
    "readers.nemo_asr": "tests/python/test_nemo_asr.py",
    "readers.numpy": "tests/python/test_numpy.py",
    "readers.parquet": "tests/python/test_parquet.py",
    "readers.sequence": "tests/python/test_sequence.py",
    "readers.tfrecord": "tests/python/test_tfrecord.py",
    "readers.video": "tests/python/test_video_readers.py",
    "readers.video_resize": "tests/python/test_video_readers.py",
    "readers.webdataset": "tests/python/test_webdataset.py",
}
SHARED = {f"decoders.inflate({name})" for name in ("shape", "chunk_offsets", "chunk_sizes")}
SHARED |= {  # see tests/python/test_numpy.py
    f"readers.numpy({argument})"
    for argument in "roi_start rel_roi_start roi_end rel_roi_end roi_shape rel_roi_shape".split()
}
SHARED |= {  # those of resize, which does the work
    f"readers.video_resize({argument})"
    for argument in (
        "interp_type min_filter mag_filter size resize_x resize_y resize_z resize_shorter "
        "resize_longer roi_start roi_end"
    ).split()
}
ERRORS = [
    Case("io.file.read", [names(HERE.parent / "nothing")], {}),
    Case("io.file.read", [names(HERE.parent)], {}),
    Case("io.file.read", [Data([np.array([1, 2], np.int32)])], {}),
    *[
        Case("dump_image", [data], {})
        for data in (
            pictures([(4, 5, 2)]),
            pictures([(4, 5, 4)]),
            pictures([(4, 5, 3)], np.float32),
            pictures([(4, 5)], layout="HW"),
            pictures([(0, 5, 3)]),
        )
    ],
    Case("dump_image", [pictures([(3, 4, 5)], layout="CHW")], {"input_layout": "CHW"}),
]
