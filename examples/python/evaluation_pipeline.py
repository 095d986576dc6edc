# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The usual evaluation pipeline: resize the shorter edge to 256, crop 224 x 224, normalise.

python evaluation_pipeline.py FOLDER_OF_CLASS_FOLDERS
"""

import argparse

import numpy as np
from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode


@pipeline_def(batch_size=32, num_threads=2, device_id=None)
def evaluate(root: str) -> tuple[DataNode, DataNode]:
    jpegs, labels = fn.readers.file(file_root=root, name="Reader")
    images = fn.decoders.image(jpegs)
    images = fn.resize(images, resize_shorter=256, interp_type=types.INTERP_TRIANGULAR)
    images = fn.crop_mirror_normalize(
        images,
        crop=(224, 224),
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )
    return images, labels


def main() -> None:
    parser = argparse.ArgumentParser(description="The evaluation pipeline over a folder.")
    parser.add_argument("folder", help="folder with one folder of images per class")
    args = parser.parse_args()
    pipe = evaluate(args.folder, on_error="replace")
    count = pipe.epoch_size("Reader")
    means: list[float] = []
    while len(means) < count:
        images, _ = pipe.run()
        means += list(images.as_cpu().as_array().mean(axis=(1, 2, 3)))
    print(f"{count} images, mean after normalising {np.mean(means[:count]):+.3f}")
    for bad in pipe.errors():
        print(f"bad file {bad['source']}: {bad['message']}")


if __name__ == "__main__":
    main()
