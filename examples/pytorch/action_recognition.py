# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Clips for action recognition: 16 frames, every fourth one, from a random place of each video, with crop and mirror.

    python action_recognition.py FOLDER [--frames 300]

FOLDER has one folder of MP4, MKV or WebM files per class. Every video has at least --frames frames; what a shorter
one lacks is filled with its last frame.
"""

import argparse

from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode
from headrace.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

LENGTH, STRIDE, SIZE = 16, 4, 112


@pipeline_def
def clips(root: str, frames: int) -> tuple[DataNode, DataNode]:
    files, labels = fn.readers.file(
        file_root=root, file_filters=["*.mp4", "*.mkv", "*.webm"], random_shuffle=True, name="Reader"
    )
    last = max(frames - LENGTH * STRIDE, 0)
    start = fn.random.uniform(range=[0, last + 0.999], dtype=types.FLOAT)
    video = fn.decoders.video(
        files,
        start_frame=fn.cast(start - 0.5, dtype=types.INT32),  # cast rounds
        stride=STRIDE,
        sequence_length=LENGTH,
        pad_mode="edge",
    )
    video = fn.random_resized_crop(video, size=[SIZE, SIZE], random_area=[0.5, 1.0])
    video = fn.crop_mirror_normalize(
        video,
        mirror=fn.random.coin_flip(),
        mean=[0.45 * 255] * 3,
        std=[0.225 * 255] * 3,
        dtype=types.FLOAT,
        output_layout="CFHW",
    )
    return video, labels


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=8)
    options = parser.parse_args()
    pipe = clips(
        options.root, options.frames, batch_size=options.batch_size, num_threads=4, device_id=None, seed=1
    )
    loader = DALIGenericIterator(
        pipe, ["clips", "labels"], reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL
    )
    for (batch,) in loader:
        shape = tuple(batch["clips"].shape)
        print(f"clips {shape}, labels {batch['labels'].flatten().tolist()}")


if __name__ == "__main__":
    main()
