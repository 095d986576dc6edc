# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The class style of the first articles on DALI: a subclass of `Pipeline` with `define_graph`.

python class_api.py FOLDER_OF_CLASS_FOLDERS
"""

import argparse

from headrace import ops, types
from headrace.data_node import DataNode
from headrace.pipeline import Pipeline


class RotatingPipeline(Pipeline):
    """Decodes images and rotates each of them by its own random angle."""

    def __init__(self, root: str, batch_size: int, num_threads: int) -> None:
        super().__init__(batch_size, num_threads, device_id=None, seed=12)
        self.input = ops.FileReader(file_root=root, random_shuffle=True)
        self.decode = ops.HostDecoder(output_type=types.RGB)
        self.rotate = ops.Rotate(interp_type=types.INTERP_LINEAR, fill_value=128)
        self.angle = ops.Uniform(range=(-10.0, 10.0))

    def define_graph(self) -> tuple[DataNode, DataNode]:
        jpegs, labels = self.input()
        images = self.decode(jpegs)
        return self.rotate(images, angle=self.angle()), labels


def main() -> None:
    parser = argparse.ArgumentParser(description="A pipeline in the class style.")
    parser.add_argument("folder", help="folder with one folder of images per class")
    args = parser.parse_args()
    pipe = RotatingPipeline(args.folder, batch_size=8, num_threads=2)
    pipe.build()
    images, labels = pipe.run()
    for i in range(len(images)):
        print(f"label {labels.as_cpu().at(i)[0]}: {images.as_cpu().at(i).shape}")


if __name__ == "__main__":
    main()
