# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The usual training pipeline for ImageNet: random crop, resize, mirror, normalise.

python training_pipeline.py FOLDER_OF_CLASS_FOLDERS
"""

import argparse
import time

from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode


@pipeline_def(batch_size=64, num_threads=2, device_id=None, seed=12)
def train(root: str, shard_id: int = 0, num_shards: int = 1) -> tuple[DataNode, DataNode]:
    jpegs, labels = fn.readers.file(
        file_root=root,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image_random_crop(
        jpegs, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
    )
    images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_TRIANGULAR)
    images = fn.crop_mirror_normalize(
        images,
        mirror=fn.random.coin_flip(),
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )
    return images, labels


def main() -> None:
    parser = argparse.ArgumentParser(description="The training pipeline over a folder.")
    parser.add_argument("folder", help="folder with one folder of images per class")
    args = parser.parse_args()
    pipe = train(args.folder)
    samples, shape, start = 0, None, time.perf_counter()
    while samples < pipe.epoch_size("Reader"):
        images, _ = pipe.run()
        samples, shape = samples + len(images), images.as_cpu().at(0).shape
    seconds = time.perf_counter() - start
    print(f"{samples} samples of shape {shape}, {samples / seconds:.0f} img/s")
    print(pipe.explain())


if __name__ == "__main__":
    main()
