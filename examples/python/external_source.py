# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Feeds a pipeline from Python, by a callable that returns one sample at a time.

python external_source.py FOLDER_OF_CLASS_FOLDERS
"""

import argparse
from pathlib import Path

import numpy as np
from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode


class Files:
    """The files of a folder in a fixed order, one per call. A partial last batch is left out."""

    def __init__(self, root: str) -> None:
        self.paths = sorted(p for p in Path(root).glob("*/*") if p.is_file())

    def __call__(self, info: types.SampleInfo) -> tuple[np.ndarray, np.ndarray]:
        if info.idx_in_epoch >= len(self.paths):
            raise StopIteration
        path = self.paths[info.idx_in_epoch]
        return np.fromfile(path, np.uint8), np.array([info.idx_in_epoch], np.int32)


@pipeline_def(batch_size=16, num_threads=2, device_id=None)
def thumbnails(source: Files) -> tuple[DataNode, DataNode]:
    files, numbers = fn.external_source(source, num_outputs=2, batch=False)
    return fn.resize(fn.decoders.image(files), size=[64, 64]), numbers


def main() -> None:
    parser = argparse.ArgumentParser(description="A pipeline that is fed from Python.")
    parser.add_argument("folder", help="folder with one folder of images per class")
    args = parser.parse_args()
    pipe = thumbnails(Files(args.folder))
    batches, samples = 0, 0
    while True:
        try:
            images, _ = pipe.run()
        except StopIteration:
            break
        batches, samples = batches + 1, samples + len(images)
    print(f"{samples} thumbnails in {batches} batches")


if __name__ == "__main__":
    main()
