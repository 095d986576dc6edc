# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Debug mode with operators on a GPU."""

import numpy as np
from headrace import fn, types
from headrace.pipeline import experimental
from headrace.tensors import TensorListCPU, TensorListGPU
from photos import fill


def test_same_as_without(module, tmp_path):
    root = fill(tmp_path / "root")
    kinds = []

    def function():
        files, labels = fn.readers.file(file_root=root)
        images = fn.decoders.image(files, device="mixed")
        small = fn.resize(images, size=[8, 8])
        out = fn.crop_mirror_normalize(small, dtype=types.FLOAT)
        back = out.cpu()
        if hasattr(back, "get"):
            kinds.append([type(node.get()) for node in (files, small, back)])
            assert "gpu" in str(small) and small.device == "gpu" and back.device == "cpu"
        return out, back, labels, labels.gpu()

    arguments = {"batch_size": 4, "num_threads": 1, "device_id": 0, "seed": 5}
    made = experimental.pipeline_def(function, **arguments)
    plain, debug = made(), made(debug=True)
    for _ in range(2):
        for a, b in zip(plain.run(), debug.run(), strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a.as_cpu().as_array(), b.as_cpu().as_array())
    assert kinds == [[TensorListCPU, TensorListGPU, TensorListCPU]] * 2
    debug.close()
    plain.close()
