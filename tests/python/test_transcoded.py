# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace index --transcode`: baseline files in the place of progressive ones, with the same pixels."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("PIL")

import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402
from photos import encoded, photo, samples, training, take  # noqa: E402

from headrace import Pipeline, cli, fn, types  # noqa: E402

COUNT = 13  # progressive files that are transcoded; not the CMYK one


def oriented(seed: int, orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(seed, size=(210, 160), quality=90, progressive=True, exif=exif)


def good_files() -> dict[str, bytes]:
    """Progressive files of every sampling, grey, every orientation, with restart markers; two sequential ones."""
    made = {
        f"s{i}": encoded(i, size=(301 + i, 203), quality=95, subsampling=i, progressive=True)
        for i in range(3)
    }
    made["grey"] = encoded(5, size=(300, 200), mode="L", quality=95, progressive=True)
    made["restart"] = encoded(6, size=(300, 200), progressive=True, restart_marker_blocks=7)
    made |= {f"turned{i}": oriented(10 + i, i) for i in range(1, 9)}
    made["plain"] = encoded(7, size=(300, 200), quality=95)
    made["cmyk"] = encoded(8, size=(300, 200), mode="CMYK", progressive=True)
    return made


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("progressive")
    (root / "class0").mkdir()
    for name, data in good_files().items():
        (root / "class0" / f"{name}.jpg").write_bytes(data)
    return root


@pytest.fixture(scope="module")
def cache(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder filled by the command."""
    cache = tmp_path_factory.mktemp("transcoded") / "cache"
    command = ["index", str(root), "--cache", str(cache), "--transcode", "--no-progress"]
    assert cli.main(command) == 0
    return cache


def windows(root: Path, adjust: bool = True, **options: Any) -> Pipeline:
    """Every decoder that can decode a window."""
    pipe = Pipeline(batch_size=COUNT + 2, num_threads=2, device_id=None, seed=5, **options)
    with pipe:
        files, _ = fn.readers.file(file_root=str(root))
        shared = {"adjust_orientation": adjust}
        pipe.set_outputs(
            fn.decoders.image(files, **shared),
            fn.decoders.image(files, output_type=types.GRAY, **shared),
            fn.decoders.image(files, output_type=types.YCbCr, dtype=types.FLOAT, **shared),
            fn.decoders.image_random_crop(files, random_area=[0.05, 0.5], **shared),
            fn.decoders.image_slice(files, start=[50, 70], shape=[40, 60], axes=[0, 1], **shared),
            fn.decoders.image_crop(files, crop=(40, 30), crop_pos_x=0.9, crop_pos_y=0.8, **shared),
        )
    return pipe


def only_cmyk_missed(stats: dict[str, Any], decoders: int) -> bool:
    """Whether one file in COUNT + 1 misses; up to 8 iterations are prepared in advance, perhaps in part."""
    return stats["transcoded_misses"] <= stats["transcoded_hits"] / COUNT + 8 * decoders


@pytest.mark.parametrize("adjust", [True, False])
def test_same_bytes(adjust: bool, root: Path, cache: Path) -> None:
    plain = samples(windows(root, adjust, index_memory_limit=0).run())
    pipe = windows(root, adjust, index_cache=cache)
    assert samples(pipe.run()) == plain
    stats = pipe.stats()
    assert stats["transcoded_hits"] >= 6 * COUNT
    assert only_cmyk_missed(stats, 6)
    assert stats["index_hits"] >= 6 * (COUNT + 1) and stats["index_misses"] == 0


def test_same_pixels_as_pillow(root: Path, cache: Path) -> None:
    names = sorted(name for name in good_files() if not name.startswith(("turned", "cmyk")))
    pipe = Pipeline(batch_size=len(names), num_threads=2, device_id=None, index_cache=cache)
    with pipe:
        files, _ = fn.readers.file(files=[str(root / "class0" / f"{n}.jpg") for n in names])
        pipe.set_outputs(fn.decoders.image(files))
    for name, got in zip(names, pipe.run()[0], strict=True):
        want = Image.open(root / "class0" / f"{name}.jpg").convert("RGB")
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), name)
    assert pipe.stats()["transcoded_hits"] >= len(names) - 1


def test_training(root: Path, cache: Path) -> None:
    options: dict[str, Any] = {"batch_size": COUNT + 2, "random_shuffle": True}
    plain = take(training(root, index_memory_limit=0, **options), 4 * (COUNT + 2))
    for threads in (1, 4):
        pipe = training(root, index_cache=cache, num_threads=threads, **options)
        assert take(pipe, 4 * (COUNT + 2)) == plain
        stats = pipe.stats()
        assert stats["transcoded_hits"] >= 4 * COUNT and only_cmyk_missed(stats, 1)


def test_pipelines_do_not_transcode(root: Path, tmp_path: Path) -> None:
    for options in ({"index_cache": tmp_path / "cache"}, {}):
        pipe = windows(root, **options)
        pipe.run()
        stats = pipe.stats()
        assert stats["transcoded_made"] == stats["transcoded_hits"] == 0
        assert (stats["transcoded_misses"] > 0) == bool(options)


def test_once(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = tmp_path / "cache"
    command = ["index", str(root), "--cache", str(cache), "--no-progress"]
    total = COUNT + 2
    assert cli.main(command) == 0  # without the option, nothing but indices
    out = capsys.readouterr().out
    assert out.startswith(f"{total} files: 1 indices made, {total - 1} files had an index")
    command.append("--transcode")
    assert cli.main(command) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{total} files: {COUNT} indices made, {COUNT} files transcoded, 2 files")
    size = sum(path.stat().st_size for path in cache.iterdir())
    assert cli.main(command) == 0
    assert f"{total} files: 0 indices made, 0 files transcoded" in capsys.readouterr().out
    assert sum(path.stat().st_size for path in cache.iterdir()) == size


def test_damaged_files_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, cache = tmp_path / "data", tmp_path / "cache"
    (root / "class0").mkdir(parents=True)
    data = encoded(1, size=(300, 200), quality=95, progressive=True)
    changed = bytearray(data)
    changed[len(data) // 2 : len(data) // 2 + 30] = b"\xff\xd9" * 15
    (root / "class0" / "cut.jpg").write_bytes(data[: len(data) * 3 // 4])
    (root / "class0" / "changed.jpg").write_bytes(changed)
    command = ["index", str(root), "--cache", str(cache), "--no-progress", "--transcode"]
    assert cli.main(command) == 0
    assert "0 files transcoded" in capsys.readouterr().out

    def run(**options: Any) -> Any:
        pipe = Pipeline(batch_size=2, num_threads=1, device_id=None, on_error="replace", **options)
        with pipe:
            files, _ = fn.readers.file(file_root=str(root))
            pipe.set_outputs(fn.decoders.image(files))
        taken = samples(pipe.run())
        return taken, [(e["index"], e["message"]) for e in pipe.errors()][:2]

    assert run(index_cache=cache) == run(index_memory_limit=0)
    assert len(run(index_cache=cache)[1]) == 2


def test_a_folder_that_cannot_be_written(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["index", str(root), "--cache", "/proc/self", "--no-progress", "--transcode"]
    assert cli.main(command) == 2
    output, error = capsys.readouterr()
    assert "could not write all indices and transcoded files" in error
    assert "0 indices made, 0 files transcoded" in output


def test_a_container_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(bytes(10240))
    assert cli.main(["index", str(path), "--transcode"]) == 2
    assert "--transcode is for folders of JPEG files" in capsys.readouterr().err
    assert not path.with_suffix(".idx").exists()


def test_damage_in_the_folder(root: Path, cache: Path, tmp_path: Path) -> None:
    """Records that are damaged are not used, and the files are decoded themselves."""
    data_set = tmp_path / "data"  # without the file that is not transcoded
    shutil.copytree(root, data_set, ignore=shutil.ignore_patterns("cmyk.jpg"))
    plain = samples(windows(data_set, index_memory_limit=0).run())
    sound = windows(data_set, index_cache=cache)
    assert samples(sound.run()) == plain and sound.stats()["transcoded_misses"] == 0
    for step in (701, 5003):
        other = tmp_path / str(step)
        other.mkdir()
        for path in cache.iterdir():
            data = bytearray(path.read_bytes())
            if path.suffix == ".000":
                for at in range(100, len(data), step):
                    data[at] ^= 0x55
            (other / path.name).write_bytes(data)
        pipe = windows(data_set, index_cache=other)
        assert samples(pipe.run()) == plain
        assert pipe.stats()["transcoded_misses"] > 0


def test_bytes_that_are_no_file(cache: Path, root: Path) -> None:
    data = np.frombuffer((root / "class0" / "s2.jpg").read_bytes(), np.uint8)
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None, index_cache=cache)
    with pipe:
        files = fn.external_source(lambda: [data, data])
        pipe.set_outputs(fn.decoders.image(files))
    want = np.asarray(Image.open(io.BytesIO(data.tobytes())))
    for got in pipe.run()[0]:
        np.testing.assert_array_equal(np.asarray(got), want)
    assert (
        pipe.stats()["transcoded_hits"] >= 2 and want.shape[:2] == photo(2, (303, 203)).size[::-1]
    )
