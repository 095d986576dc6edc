# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Files that are not pictures, missing, truncated, or changed while they are read."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")
pytest.importorskip("PIL")

import numpy as np  # noqa: E402
from headrace import Pipeline, fn, pipeline_def, types  # noqa: E402
from photos import encoded, fill, resized, sources  # noqa: E402

PIXELS = 100_000  # max_image_pixels in these tests

# file -> operator that refuses it, and a word of the message
BAD = {
    b"big.jpg": ("decoders.image", "max_image_pixels"),
    b"cut_header.jpg": ("decoders.image", "JPEG"),
    b"dangling.jpg": ("readers.file", "No such file"),
    b"empty.jpg": ("decoders.image", "empty"),
    b"fifo.jpg": ("readers.file", "FIFO"),
    b"ico.jpg": ("decoders.image", "format"),
    b"huge_header.jpg": ("decoders.image", "max_image_pixels"),
    b"huge_header.png": ("decoders.image", ""),
    b"loop.jpg": ("readers.file", "symbolic links"),
    b"new\nline\t.jpg": ("decoders.image", "format"),
    b"socket.jpg": ("readers.file", ""),
    b"text.jpg": ("decoders.image", "format"),
    b"\xff\xfebad.jpg": ("decoders.image", "format"),
}
GOOD = [b"cut_scan.jpg", b"png_named.jpg", b"\xff\xfegood.jpg", b"n" * 251 + b".jpg"]
GOOD += [b"good%d.jpg" % i for i in range(4)]


def write(folder: bytes) -> None:
    """Fills a class folder with files of every kind."""
    whole = encoded(1)
    frame = whole.index(b"\xff\xc0")
    png = encoded(2, "PNG")
    bodies = {
        b"big.jpg": encoded(3, size=(600, 500)),
        b"cut_header.jpg": whole[:50],
        b"cut_scan.jpg": whole[: len(whole) * 2 // 3],
        b"empty.jpg": b"",
        b"ico.jpg": encoded(4, "ICO"),
        b"huge_header.jpg": whole[: frame + 5] + b"\xff\xff\xff\xff" + whole[frame + 9 :],
        b"huge_header.png": png[:16] + b"\x7f\xff\xff\xff" * 2 + png[24:],
        b"new\nline\t.jpg": b"junk",
        b"png_named.jpg": png,
        b"text.jpg": b"hello world\n" * 100,
        b"\xff\xfebad.jpg": b"junk",
    }
    for i, name in enumerate(GOOD):
        bodies.setdefault(name, encoded(10 + i))
    for name, body in bodies.items():
        with open(folder + b"/" + name, "wb") as file:  # noqa: PTH123 - names of bytes
            file.write(body)
    os.mkfifo(folder + b"/fifo.jpg")
    os.mkdir(folder + b"/directory.jpg")  # noqa: PTH102
    os.symlink(b"nowhere", folder + b"/dangling.jpg")  # noqa: PTH211
    os.symlink(b"loop.jpg", folder + b"/loop.jpg")  # noqa: PTH211
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.jpg")
    os.fchdir(here)
    os.close(here)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One class folder with good and bad files."""
    root = tmp_path_factory.mktemp("mixed")
    (root / "one").mkdir()
    write(os.fsencode(root / "one"))
    return root


def names(paths: list[str]) -> list[bytes]:
    """File names relative to the class folder."""
    return [os.fsencode(path).partition(b"/")[2] for path in paths]


# ---- the three policies ----


def test_raise_names_everything_and_goes_on(mixed: Path) -> None:
    pipe = resized(mixed, batch_size=1, max_image_pixels=PIXELS)
    count = pipe.epoch_size("Reader")
    assert count == len(BAD) + len(GOOD)  # directories are not files
    good: list[bytes] = []
    messages: list[str] = []
    for _ in range(2 * count):
        try:
            good += names(sources(pipe.run()[0]))
        except RuntimeError as error:
            messages.append(str(error))
    assert Counter(good) == dict.fromkeys(GOOD, 2)
    assert len(messages) == 2 * len(BAD)
    for name, (operator, word) in BAD.items():
        escaped = name.replace(b"\n", b"\\n").replace(b"\t", b"\\t")
        file = escaped.decode("utf-8", "backslashreplace")
        mine = [text for text in messages if f"one/{file}: " in text]
        assert len(mine) == 2, file
        for text in mine:
            assert text.startswith(operator) and word in text and "photos.py:" in text, text
    errors = [error for error in pipe.errors() if error["epoch"] < 2]  # later ones may be in flight
    listed = [error for error in errors if error["action"] == "raised"]
    assert Counter(names([error["source"] for error in listed])) == dict.fromkeys(BAD, 2)
    assert {error["operator"] for error in listed} == {"readers.file", "decoders.image"}


def test_replace_keeps_batches_full(mixed: Path) -> None:
    def epoch(batch_size: int, threads: int) -> list[bytes]:
        pipe = resized(
            mixed,
            batch_size=batch_size,
            num_threads=threads,
            on_error="replace",
            max_image_pixels=PIXELS,
            random_shuffle=True,
        )
        taken: list[bytes] = []
        while len(taken) < 60:
            outputs = pipe.run()
            assert len(outputs[0]) == len(outputs[1]) == batch_size
            assert sources(outputs[0]) == sources(outputs[1])
            taken += names(sources(outputs[0]))
        assert {error["action"] for error in pipe.errors()} == {"replaced", "warning"}
        seen = set(names([error["source"] for error in pipe.errors()]))
        assert seen - set(GOOD) == set(BAD) and seen & set(GOOD) <= {b"cut_scan.jpg"}
        return taken

    first = epoch(4, 1)
    assert set(first) <= set(GOOD)
    assert first == epoch(1, 3) == epoch(10, 8)  # a substitute depends only on the position


def test_skip_loses_and_repeats_nothing(mixed: Path) -> None:
    pipe = resized(mixed, batch_size=3, on_error="skip", max_image_pixels=PIXELS)
    epochs = 6
    count = epochs * pipe.epoch_size("Reader")  # a multiple of the batch size
    seen: Counter[bytes] = Counter()
    positions = 0
    while positions < count:
        outputs = pipe.run()
        assert 1 <= len(outputs[0]) <= 3
        positions += outputs.positions
        seen.update(names(sources(outputs[0])))
    assert positions == count
    assert seen == dict.fromkeys(GOOD, epochs)
    skipped = [e["source"] for e in pipe.errors() if e["action"] == "skipped" and e["epoch"] == 0]
    assert sorted(names(skipped)) == sorted(BAD)


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_any_number_of_threads_lists_the_same(policy: str, mixed: Path) -> None:
    def listed(threads: int) -> list[tuple[int | str, ...]]:
        pipe = resized(
            mixed,
            batch_size=16,
            num_threads=threads,
            on_error=policy,
            max_image_pixels=PIXELS,
            random_shuffle=True,
        )
        for _ in range(6):
            pipe.run()
        errors = [e for e in pipe.errors() if e["iteration"] < 6]  # later ones may be in flight
        return [tuple(e.values()) for e in errors]

    first = listed(1)
    assert len(first) > 6
    iterations = [iteration for iteration, *_ in first]
    assert iterations == sorted(iterations)
    for threads in (2, 8, 8):
        assert listed(threads) == first


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_nothing_but_bad_files_is_an_error(policy: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    for i in range(5):
        (tmp_path / "one" / f"{i}.jpg").write_bytes(b"junk")
    pipe = resized(tmp_path, on_error=policy)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            pipe.run()


# ---- warnings ----


def test_damage_that_decoders_survive(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    data = encoded(1)
    (tmp_path / "one" / "a.jpg").write_bytes(data)
    (tmp_path / "one" / "b.jpg").write_bytes(data[: len(data) // 2])
    pipe = resized(tmp_path, batch_size=2)
    pixels = np.asarray(pipe.run()[0].as_array())
    assert (pixels[0][:8] == pixels[1][:8]).mean() > 0.9  # the part before the damage
    (entry,) = [error for error in pipe.errors() if error["epoch"] == 0]
    assert entry["action"] == "warning" and entry["source"] == "one/b.jpg"
    strict = resized(tmp_path, batch_size=2, strict=True)
    with pytest.raises(RuntimeError, match=r"decoders\.image .*one/b\.jpg: .*strict=True"):
        strict.run()
    skipping = resized(tmp_path, batch_size=2, strict=True, on_error="skip")
    assert sources(skipping.run()[0]) == ["one/a.jpg"]


# ---- the quarantine file ----


def test_quarantine_has_a_line_a_bad_sample(mixed: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_bytes(b"from before\n")
    pipe = resized(mixed, batch_size=1, on_error="skip", max_image_pixels=PIXELS, quarantine=file)
    for _ in range(len(GOOD)):
        pipe.run()
    pipe.close()
    first, *lines = file.read_bytes().splitlines()
    assert first == b"from before"  # appended to, not overwritten
    fields = [line.split(b"\t") for line in lines]
    assert all(len(field) == 2 for field in fields)
    found = {field[0].partition(b"/")[2] for field in fields}
    escaped = {name.replace(b"\n", b"\\n").replace(b"\t", b"\\t") for name in BAD}
    assert found - {b"cut_scan.jpg"} == escaped


def test_quarantine_that_cannot_be_written(mixed: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "no" / "file", tmp_path, tmp_path / "fifo"):
        with pytest.raises(RuntimeError, match="quarantine"):
            resized(mixed, quarantine=path).build()
    pipe = resized(
        mixed, batch_size=1, on_error="skip", max_image_pixels=PIXELS, quarantine="/dev/full"
    )
    for _ in range(len(GOOD)):
        pipe.run()
    told = [error for error in pipe.errors() if "quarantine" in error["message"]]
    assert len(told) == 1 and "No space" in told[0]["message"]


def test_a_trace_that_cannot_be_written(mixed: Path) -> None:
    pipe = resized(mixed, on_error="skip", trace="/dev/full")
    pipe.run()
    with pytest.warns(RuntimeWarning, match="trace: '/dev/full' is not complete: No space left"):
        pipe.close()
    dropped = resized(mixed, on_error="skip", trace="/dev/full")
    dropped.build()
    with pytest.warns(RuntimeWarning, match="/dev/full"):
        del dropped


def test_names_do_not_break_lines_of_messages(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "two\nlines\x1b.jpg").write_bytes(b"no picture")
    with pytest.raises(RuntimeError) as caught:
        resized(tmp_path, batch_size=1).run()
    assert "two\\nlines\\x1b.jpg" in str(caught.value) and "\n" not in str(caught.value)


# ---- lists of files ----


@pytest.mark.parametrize(
    "text, word",
    [
        (b"", "no files"),
        (b"\n\n", "no files"),
        (b"a.jpg\n", "line 1"),
        (b"a.jpg 0\nb.jpg one\n", "line 2"),
        (b"a.jpg 99999999999\n", "line 1"),
        (b"a.jpg 0\nb.jpg\0 1\n", "zero"),
    ],
)
def test_wrong_file_lists(text: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(text)
    with pytest.raises(RuntimeError, match=f"readers.file .*{word}"):
        resized(tmp_path, file_list=tmp_path / "list").build()


@pytest.mark.parametrize("where", ["absolute", "relative", "beside", "root"])
def test_relative_paths_in_a_file_list(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are relative to file_root, or without it to the folder of the list."""
    for folder in ("lists", "images", "cwd"):
        (tmp_path / folder / "class").mkdir(parents=True)
    (tmp_path / "lists" / "class" / "a.jpg").write_bytes(encoded(1, size=(60, 40)))
    (tmp_path / "images" / "class" / "a.jpg").write_bytes(encoded(1, size=(50, 30)))
    other = tmp_path / "images" / "b.jpg"
    other.write_bytes(encoded(2, size=(30, 20)))
    (tmp_path / "lists" / "list.txt").write_text(f"class/a.jpg 3\n{other} 4\n")
    monkeypatch.chdir(tmp_path / ("lists" if where == "beside" else "cwd"))
    listed = {"relative": Path("../lists/list.txt"), "beside": Path("list.txt")}.get(
        where, tmp_path / "lists" / "list.txt"
    )
    more = {"file_root": tmp_path / "images"} if where == "root" else {}
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipe:
        data, labels = fn.readers.file(file_list=listed, **more)
        pipe.set_outputs(fn.decoders.image(data), labels)
    pictures, labels = pipe.run()
    first = (30, 50, 3) if where == "root" else (40, 60, 3)
    assert [tuple(p.shape()) for p in pictures] == [first, (20, 30, 3)]
    assert labels.as_array().ravel().tolist() == [3, 4]


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "c d.jpg").write_bytes(encoded(1))
    odd = os.fsencode(tmp_path) + b"/\xc3\x28.jpg"
    with open(odd, "wb") as file:  # noqa: PTH123
        file.write(encoded(2))
    (tmp_path / "list").write_bytes(b"a b/c d.jpg 7\r\n" + odd + b" \t -3 \n")
    pipe = resized(tmp_path, file_list=os.fsencode(tmp_path / "list"), batch_size=2)
    outputs = pipe.run()
    assert outputs[1].as_array().ravel().tolist() == [7, -3]
    assert os.fsencode(sources(outputs[0])[1]) == odd
    for path in (odd, os.fsdecode(odd), Path(os.fsdecode(odd))):
        assert len(resized(tmp_path, files=[path], batch_size=1).run()[0]) == 1
    for path in ("x" * 300, "y/" * 3000 + "z", "/" + "x/" * 40000, ""):
        with pytest.raises(RuntimeError, match="readers.file"):
            resized(tmp_path, files=[path], batch_size=1).run()
    with pytest.raises(RuntimeError, match="file_root"):
        resized("/" + "x" * 9000).build()


# ---- files that change ----


def test_files_that_change_while_they_are_read(child, tmp_path: Path) -> None:
    fill(tmp_path, classes=2, each=10)
    child(
        """
        import os, random, sys, threading
        from pathlib import Path
        from photos import resized, sources
        root = Path(sys.argv[1])
        files = {path: path.read_bytes() for path in root.glob("*/*.jpg")}
        stop, changes = False, 0
        def vandal():
            global changes
            rng = random.Random(1)
            while not stop:
                changes += 1
                path = rng.choice(list(files))
                what = rng.randrange(4)
                if what == 0:
                    path.unlink(missing_ok=True)
                elif what == 1:
                    os.truncate(path, rng.randrange(200)) if path.exists() else None
                else:
                    path.write_bytes(files[path])
        pipe = resized(root, on_error="skip", num_threads=2, read_ahead_limit=4096)
        total = pipe.epoch_size("Reader")
        thread = threading.Thread(target=vandal)
        thread.start()
        positions = delivered = runs = 0
        while changes < 3000 or runs < 1000 or not delivered or not pipe.errors():
            runs += 1
            try:
                outputs = pipe.run()
            except RuntimeError as error:
                assert "was bad" in str(error), error
                continue
            positions += outputs.positions
            delivered += len(outputs[0])
        stop = True
        thread.join()
        skipped = [e for e in pipe.errors() if e["action"] == "skipped"]
        assert delivered > 0 and skipped and pipe.stats()["bad_samples"] >= len(skipped)
        for path, data in files.items():
            path.write_bytes(data)
        for _ in range(40):  # files that were read ahead come first
            pipe.run()
        names = [name for _ in range(5) for name in sources(pipe.run()[0])]
        assert len(set(names)) == len(names) == total, names
        """,
        tmp_path,
    )


def test_files_without_permission(child) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "one").mkdir(mode=0o755)
        (Path(folder) / "one" / "a.jpg").write_bytes(encoded(1))
        (Path(folder) / "one" / "b.jpg").write_bytes(encoded(2))
        (Path(folder) / "one" / "b.jpg").chmod(0)
        (Path(folder) / "two").mkdir(mode=0o755)
        (Path(folder) / "two" / "c.jpg").write_bytes(encoded(3))
        source = """
            import os, sys
            from photos import resized, sources
            if os.getuid() == 0:
                os.setuid(65534)  # root may read everything
            pipe = resized(sys.argv[1], batch_size=3, on_error="skip")
            assert sources(pipe.run()[0]) == ["one/a.jpg", "two/c.jpg"]
            error, = [e for e in pipe.errors() if e["epoch"] == 0]
            assert "Permission denied" in error["message"], error
            """
        child(source, folder)
        (Path(folder) / "two").chmod(0)
        child(
            """
            import os, sys
            from photos import resized
            if os.getuid() == 0:
                os.setuid(65534)
            try:
                resized(sys.argv[1]).build()
            except RuntimeError as error:
                assert "two' cannot be listed: Permission denied" in str(error), error
            else:
                raise AssertionError("no error")
            """,
            folder,
        )
        (Path(folder) / "two").chmod(0o755)


# ---- bytes from Python ----


def fed(batches: list[list[bytes]], **options: object) -> Pipeline:
    """A decoder after an external_source."""
    pipe = Pipeline(batch_size=3, num_threads=2, device_id=None, **options)
    arrays = [[np.frombuffer(data, np.uint8) for data in batch] for batch in batches]
    with pipe:
        images = fn.decoders.image(fn.external_source(arrays))
        pipe.set_outputs(fn.resize(images, size=[16, 16]))
    return pipe


def test_bytes_from_python() -> None:
    good, junk = [encoded(i) for i in range(3)], b"junk" * 100
    batches = [good, [good[0], junk, good[2]], good, [good[0], good[1], good[2][:60]], good]
    pipe = fed(batches)
    results = []
    for _ in range(5):
        try:
            results.append(len(pipe.run()[0]))
        except RuntimeError as error:
            assert str(error).startswith("decoders.image (") and "test_bad_input.py:" in str(error)
            results.append(0)
    assert results == [3, 0, 3, 0, 3]
    with pytest.raises(StopIteration):
        pipe.run()
    skipping = fed(batches, on_error="skip")
    assert [len(skipping.run()[0]) for _ in range(5)] == [3, 2, 3, 2, 3]
    expected = [[np.asarray(s) for s in fed([[good[i]] * 3]).run()[0]][0] for i in range(3)]
    replacing = fed(batches, on_error="replace")
    for chosen in ([0, 1, 2], [0, 2, 2], [0, 1, 2], [0, 1, 0], [0, 1, 2]):
        for sample, number in zip(replacing.run()[0], chosen, strict=True):
            np.testing.assert_array_equal(np.asarray(sample), expected[number])
    assert [bad["action"] for bad in replacing.errors()] == ["replaced", "replaced"]


def test_a_fed_sample_is_replaced_in_all_sources() -> None:
    good, junk = [encoded(i) for i in range(4)], b"junk" * 100
    files = [np.frombuffer(data, np.uint8) for data in (junk, good[1], good[2], junk)]
    pipe = Pipeline(batch_size=4, num_threads=2, device_id=None, on_error="replace")
    with pipe:
        images = fn.decoders.image(fn.external_source(lambda: files))
        labels = fn.external_source(lambda: [np.array([i]) for i in range(4)])
        pipe.set_outputs(images, labels)
    images, labels = pipe.run()
    assert [int(np.asarray(label)[0]) for label in labels] == [1, 1, 2, 1]
    for i in (0, 3):
        np.testing.assert_array_equal(np.asarray(images[i]), np.asarray(images[1]))


def test_a_fed_batch_without_a_good_sample_cannot_be_replaced() -> None:
    pipe = fed([[b"junk" * 100] * 3, [encoded(0)] * 3], on_error="replace")
    with pytest.raises(RuntimeError, match="the sample and its 2 replacements are bad"):
        pipe.run()
    assert len(pipe.run()[0]) == 3


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("bad", [(0,), (2,), (4,), (1, 2), (1, 3), (0, 1, 2, 3, 4)])
def test_all_samples_of_a_fed_batch_are_bad(bad: tuple[int, ...], depth: int) -> None:
    """Of five batches, those in `bad` have no good sample: their numbers do not come."""

    def batches() -> Iterator[tuple[list[Any], list[Any]]]:
        for number in range(5):
            data = [b"junk" if number in bad else encoded(i) for i in range(2)]
            yield [np.frombuffer(d, np.uint8) for d in data], [np.array(number)] * 2

    pipe = Pipeline(2, 2, None, prefetch_queue_depth=depth, on_error="skip")
    with pipe:
        files, numbers = fn.external_source(batches, num_outputs=2, cycle="raise")
        pipe.set_outputs(fn.decoders.image(files), numbers)
    for _ in range(2):
        found, positions = [], 0
        with pytest.raises(StopIteration):
            while True:
                outputs = pipe.run()
                found.append(np.asarray(outputs[1].as_array()).tolist())
                positions += outputs.positions
        good = [number for number in range(5) if number not in bad]
        assert found == [[number] * 2 for number in good]
        assert positions == 2 * (good[-1] + 1 if good else 0)
        pipe.reset()


def test_one_result_for_each_batch_that_is_fed() -> None:
    pipe = Pipeline(2, 2, None, on_error="skip", output_dtype=types.UINT8)
    with pipe:
        pipe.set_outputs(fn.decoders.image(fn.external_source(name="files")))
    batches = [[encoded(0)], [b"junk"] * 2, [b"junk", encoded(1)], [b"junk"]]
    for batch in batches:
        pipe.feed_input("files", [np.frombuffer(data, np.uint8) for data in batch])
        assert len(pipe.run()[0]) == sum(data != b"junk" for data in batch)
    assert len(pipe.errors()) == 4


def test_resuming_after_a_fed_batch_that_is_bad() -> None:
    """The source is asked for the batch that comes after those that were taken or left out."""

    def numbered(state: bytes | None = None) -> Pipeline:
        def sample(info: Any) -> tuple[Any, Any]:
            data = b"junk" if info.iteration == 1 else encoded(0)
            return np.frombuffer(data, np.uint8), np.array(info.idx_in_epoch)

        options: dict[str, Any] = {"enable_checkpointing": True, "checkpoint": state}
        pipe = Pipeline(2, 2, None, on_error="skip", **options)
        with pipe:
            files, numbers = fn.external_source(sample, num_outputs=2, batch=False)
            pipe.set_outputs(fn.decoders.image(files), numbers)
        return pipe

    pipe = numbered()
    assert [pipe.run()[1].as_array().tolist() for _ in range(2)] == [[0, 1], [4, 5]]
    assert numbered(pipe.checkpoint()).run()[1].as_array().tolist() == [6, 7]


@pytest.mark.parametrize("cut", range(0, 700, 41))
def test_every_prefix_of_a_file(cut: int) -> None:
    """A truncated file gives a picture and a warning, or an error; it never crashes or hangs."""
    for kind in ("JPEG", "PNG", "BMP", "PPM", "WEBP"):
        data = encoded(1, kind, size=(40, 30))
        part = data[: cut * len(data) // 700]
        pipe = fed([[part]]) if part else fed([[b"x"]])
        with contextlib.suppress(RuntimeError):
            assert pipe.run()[0][0].shape() == [16, 16, 3]
            assert pipe.errors() or kind in ("BMP", "PPM", "WEBP") or cut > 650


# ---- arrays from Python ----

RECORD = np.zeros(2, dtype=[("a", "i4")])
TWO = np.arange(12.0).reshape(2, 6)


class Interface:
    """An object that describes its memory incorrectly."""

    def __init__(self, **fields: object) -> None:
        base = {"shape": (2, 4), "typestr": "<f4", "data": (0, False), "version": 3}
        self.__array_interface__ = {**base, **fields}


class Capsule:
    def __dlpack__(self, **_: object) -> object:
        return 5

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


NO_BATCH = {
    "objects": np.array([1, "a"], dtype=object),
    "strings": np.array(["a", "b"]),
    "complex": TWO.astype("c8"),
    "dates": TWO.astype("M8[s]"),
    "records": RECORD,
    "big endian": TWO.astype(">f4"),
    "long double": TWO.astype(np.longdouble),
    "scalar": np.array(5),
    "too many samples": [np.zeros(3)] * 4,
    "too many dimensions": np.zeros((2,) + (1,) * 9),
    "two types": [np.zeros(3), np.zeros(3, np.int32)],
    "two dimensions": [np.zeros(3), np.zeros((3, 1))],
    "nothing": None,
    "a list of nothing": [None, None],
    "a list of lists": [[1, 2], [3, 4]],
    "text": "abc",
    "a number": 1.5,
    "a generator": (sample for sample in TWO),
    "no memory": Interface(),
    "a huge shape": Interface(shape=(2, 2**62)),
    "a negative shape": Interface(shape=(-1,)),
    "no shape": Interface(shape="abc", typestr=5),
    "bytes and strides": Interface(data=b"ab", strides=(1, 2, 3)),
    "no capsule": Capsule(),
}


def passed_on(data: object, **options: object) -> Pipeline:
    pipe = Pipeline(batch_size=3, num_threads=1, device_id=None)
    with pipe:
        pipe.set_outputs(fn.external_source(lambda: data, **options))
    return pipe


@pytest.mark.parametrize("what", NO_BATCH)
def test_what_is_no_batch(what: str) -> None:
    with pytest.raises(RuntimeError, match=r"external_source .*test_bad_input\.py:\d+"):
        passed_on(NO_BATCH[what]).run()


def test_odd_arrays() -> None:
    for array in (TWO[::-1, ::2], np.broadcast_to(TWO[0], (3, 6)), np.zeros((2, 0)), TWO > 3):
        (batch,) = passed_on(array).run()
        assert np.array_equal(np.asarray(batch.as_array()), array)
    torch = pytest.importorskip("torch")
    assert passed_on(torch.zeros(2, 3)).run()[0][0].shape() == [3]
    for tensor in (torch.zeros(2, 3, requires_grad=True), torch.zeros(2, 3).to_sparse()):
        with pytest.raises(RuntimeError, match="external_source"):
            passed_on(tensor).run()


@pytest.mark.parametrize(
    "options, error",
    [
        ({"layout": "HWC"}, RuntimeError),
        ({"layout": "ABCDEFGHIJ"}, ValueError),
        ({"layout": "\u00e9"}, ValueError),
        ({"layout": "H\0"}, ValueError),
        ({"layout": 5}, TypeError),
        ({"dtype": "x"}, ValueError),
        ({"ndim": -1}, RuntimeError),
        ({"ndim": "x"}, ValueError),
        ({"num_outputs": 0}, RuntimeError),
        ({"num_outputs": 10**9}, RuntimeError),
        ({"num_outputs": "x"}, TypeError),
        ({"name": 5}, TypeError),
        ({"name": "a\0b"}, ValueError),
        ({"name": "\udcff"}, ValueError),
        ({"cycle": "x"}, ValueError),
    ],
    ids=str,
)
def test_wrong_declarations(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        passed_on(TWO, **options).run()


def test_dlpack_arguments() -> None:
    sample = passed_on(TWO).run()[0][0]
    for wrong in ({"max_version": "x"}, {"max_version": (1,)}, {"dl_device": 5}):
        with pytest.raises(TypeError):
            sample.__dlpack__(**wrong)


def test_damaged_serialized_pipelines(photos_root: Path) -> None:
    """Any bytes give a pipeline or an error."""
    good = resized(photos_root).serialize()
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(data)))
            what = rng.integers(4)
            if what == 0:
                data[at] = rng.integers(256)
            elif what == 1:
                del data[at : at + int(rng.integers(1, 30))]
            elif what == 2:
                data[at:at] = bytes(data[max(0, at - 20) : at])
            else:
                data[at : at + 1] = rng.choice([b"-1", b"99", b"9999999999", b"1e308"])
        try:
            Pipeline.deserialize(bytes(data), num_threads=1, host_memory_limit=1 << 28).run()
        except (ValueError, TypeError, RuntimeError, KeyError, MemoryError, IndexError):
            refused += 1
    assert refused > 200


def test_an_empty_file_is_refused_by_io_file_read(tmp_path):
    """As in DALI, which cannot map an empty file."""
    (tmp_path / "empty").touch()
    path = np.frombuffer(str(tmp_path / "empty").encode(), np.uint8)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe():
        return fn.io.file.read(fn.external_source(source=[[path]]))

    with pytest.raises(RuntimeError, match="is empty"):
        pipe().run()


# ---- samples that do not fit into their batch ----


def odd_arrays(tmp_path: Path, threads: int = 2, **options: object) -> Pipeline:
    """Batches of three arrays; the second one of the first batch has another type, the third one of the second batch
    another number of dimensions."""
    arrays = [np.full((2,), i, np.int16) for i in range(9)]
    arrays[1] = arrays[1].astype(np.float32)
    arrays[5] = arrays[5].reshape(2, 1)
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
    pipe = Pipeline(batch_size=3, num_threads=threads, device_id=None, **options)
    with pipe:
        files = [str(tmp_path / f"{i}.npy") for i in range(9)]
        pipe.set_outputs(fn.readers.numpy(files=files))
    return pipe


def test_a_sample_of_another_type_is_named(tmp_path: Path) -> None:
    pipe = odd_arrays(tmp_path)
    for name, what in (("1.npy", "float with 1 dim.*int16 with 1"), ("5.npy", "with 2 dim.*with 1")):
        with pytest.raises(RuntimeError, match=f"^readers.numpy .*test_bad_input.py:.*{name}.*{what}"):
            pipe.run()
    assert [int(np.asarray(t)[0]) for t in pipe.run()[0]] == [6, 7, 8]


@pytest.mark.parametrize("threads", [1, 4])
def test_on_error_applies_to_samples_of_another_type(tmp_path: Path, threads: int) -> None:
    def first(outputs: Any) -> list[int]:
        return [int(np.asarray(t)[0]) for t in outputs[0]]

    skipping = odd_arrays(tmp_path, on_error="skip", threads=threads)
    assert [first(skipping.run()) for _ in range(3)] == [[0, 2], [3, 4], [6, 7, 8]]
    assert [(Path(e["source"]).name, e["action"]) for e in skipping.errors()[:2]] == [
        ("1.npy", "skipped"),
        ("5.npy", "skipped"),
    ]
    replacing = odd_arrays(tmp_path, on_error="replace", threads=threads)
    rows = [first(replacing.run()) for _ in range(3)]
    assert [len(row) for row in rows] == [3, 3, 3]
    assert (rows[0][0], rows[0][2], rows[1][:2], rows[2]) == (0, 2, [3, 4], [6, 7, 8])
    assert not {rows[0][1], rows[1][2]} & {1, 5}
