# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Uses an installed headrace as the README does, without PyTorch. Run by wheel-test.sh.

wheel_use.py make FOLDER   makes images, with Pillow
wheel_use.py use FOLDER    loads them, with nothing but headrace and what it requires
wheel_use.py load FOLDER   the same without the time of the import, for an emulated CPU
"""

import subprocess
import sys
from pathlib import Path

CHECK_IMPORT = """
import sys, time
loaded = set(sys.modules)
before = time.perf_counter()
import headrace
took = time.perf_counter() - before
heavy = {"numpy", "torch", "PIL", "rich", "jax", "tensorflow", "cupy"}
heavy |= {"dataclasses", "html", "inspect", "pathlib", "traceback"}  # and what they load: half the time
heavy = sorted(heavy & (set(sys.modules) - loaded))
assert not heavy, f"import headrace loads {heavy}"
print(took)
"""


def check_import() -> None:
    """Checks that `import headrace` takes at most 60 ms (best of five processes) and loads nothing heavy."""
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", CHECK_IMPORT], check=True, capture_output=True, text=True
        )
        times.append(float(done.stdout))
    assert min(times) <= 0.06, f"import headrace takes {min(times) * 1e3:.0f} ms"
    print(f"import headrace: {min(times) * 1e3:.0f} ms")


def make_images(root: Path) -> None:
    """Makes three class folders of gradients in every bundled format."""
    from PIL import Image

    for label, name in enumerate(("ash", "birch", "cedar")):
        folder = root / name
        folder.mkdir(parents=True)
        for i, suffix in enumerate(("jpg", "png", "webp", "bmp", "ppm", "tif", "jp2")):
            image = Image.linear_gradient("L").resize((320 + 16 * i, 240 + 8 * label))
            Image.merge("RGB", (image, image.rotate(180), image)).save(folder / f"{i}.{suffix}")


def check_pipeline(root: Path, count: int) -> None:
    """Runs one epoch of the README's training pipeline and checks shapes, values and labels."""
    import numpy as np
    from headrace import fn, pipeline_def, types

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=12, exec_dynamic=True)
    def train(root, shard_id=0, num_shards=1):
        jpegs, labels = fn.readers.file(
            file_root=root, random_shuffle=True, shard_id=shard_id, num_shards=num_shards,
            pad_last_batch=True, name="Reader",
        )  # fmt: skip
        images = fn.decoders.image_random_crop(
            jpegs, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=100
        )
        images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_TRIANGULAR)
        images = fn.crop_mirror_normalize(
            images, mirror=fn.random.coin_flip(), dtype=types.FLOAT, output_layout="CHW",
            mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375],
        )  # fmt: skip
        return images, labels

    pipe = train(str(root))
    pipe.build()
    assert pipe.epoch_size("Reader") == count
    seen = []
    for _ in range((count + 3) // 4):
        images, labels = pipe.run()
        batch = np.asarray(images.as_tensor())
        assert batch.shape == (4, 3, 224, 224) and batch.dtype == np.float32
        assert -3 < batch.min() < batch.max() < 3 and batch.std() > 0.1
        seen += [int(np.asarray(labels.at(i))[0]) for i in range(4)]
    assert sorted(seen[:count]) == sorted([0, 1, 2] * (count // 3)), seen
    print(f"training pipeline: {count} images of 7 formats")


def main() -> None:
    """Runs what the command line says."""
    root = Path(sys.argv[2])
    if sys.argv[1] == "make":
        make_images(root)
        return
    if sys.argv[1] == "use":
        check_import()
    check_pipeline(root, sum(1 for path in root.glob("*/*")))


if __name__ == "__main__":
    main()
