# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Reads volumes with masks (NIfTI, DICOM or TIFF) and cuts random boxes from both, at the same place.

python volumes.py [--scans FOLDER --masks FOLDER]

The folders hold files with the same names. Without them, small ones are made.
"""

import argparse
import struct
import tempfile
from pathlib import Path

import numpy as np
from headrace import fn, pipeline_def, types
from headrace.data_node import DataNode


def write_nifti(path: Path, values: np.ndarray, code: int) -> None:
    """Writes a NIfTI-1 file of a volume (depth, height, width); `code` is its type in the format."""
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 3, *values.shape[::-1], 1, 1, 1, 1)
    struct.pack_into("<hh", head, 70, code, 8 * values.itemsize)
    struct.pack_into("<f", head, 108, 352)
    head[344:348] = b"n+1\0"
    path.write_bytes(bytes(head) + values.tobytes())


def make_data(folder: Path) -> None:
    """Eight volumes with a bright ball, and masks of the balls."""
    rng = np.random.default_rng(0)
    z, y, x = np.mgrid[:24, :40, :40]
    for name in ("scans", "masks"):
        (folder / name).mkdir()
    for i in range(8):
        centre = rng.integers(8, 16), rng.integers(10, 30), rng.integers(10, 30)
        ball = (z - centre[0]) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2 < 49
        scan = np.where(ball, 300, -200) + rng.integers(-20, 20, ball.shape)
        write_nifti(folder / "scans" / f"{i}.nii", scan.astype(np.int16), 4)
        write_nifti(folder / "masks" / f"{i}.nii", ball.astype(np.uint8), 2)


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=7)
def boxes(scans: str, masks: str, names: list[str]) -> tuple[DataNode, DataNode]:
    # The same seed and the same number of files: both readers shuffle alike.
    scan, _ = fn.readers.file(
        file_root=scans, files=names, random_shuffle=True, seed=3, name="Reader"
    )
    mask, _ = fn.readers.file(file_root=masks, files=names, random_shuffle=True, seed=3)
    start = fn.random.uniform(range=[0.0, 1.0], shape=3)
    mirror = fn.random.coin_flip()

    def cut(volume: DataNode) -> DataNode:
        volume = fn.crop(
            volume,
            crop_d=16,
            crop_h=32,
            crop_w=32,
            crop_pos_z=start[0],
            crop_pos_y=start[1],
            crop_pos_x=start[2],
        )
        return fn.flip(volume, horizontal=mirror)

    return (
        cut(fn.decoders.volume(scan)),
        cut(fn.decoders.volume(mask, dtype=types.UINT8)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Volumes and masks under the same draw.")
    parser.add_argument("unused", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--scans", help="folder of volumes")
    parser.add_argument("--masks", help="folder of masks with the same names")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not args.scans:
            make_data(Path(folder))
            args.scans, args.masks = f"{folder}/scans", f"{folder}/masks"
        names = sorted(p.name for p in Path(args.scans).iterdir())
        pipe = boxes(args.scans, args.masks, names)
        inside, outside = [], []
        shape = None
        for _ in range(pipe.epoch_size("Reader") // 4):
            for scan, mask in zip(*pipe.run()):
                values, labels = np.array(scan), np.array(mask)
                shape = values.shape
                inside += values[labels == 1].tolist()
                outside += values[labels == 0].tolist()
        print(f"{shape}: {np.mean(inside):.0f} inside, {np.mean(outside):.0f} outside")


if __name__ == "__main__":
    main()
