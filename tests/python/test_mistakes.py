# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Mistakes of newcomers: the message says what happened and what to do, and files stay whole."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import Pipeline, fn
from headrace._base.messages import user_line


def made(define: Callable[[], Any], **options: Any) -> Pipeline:
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 1, "device_id": None, **options})
    with pipe:
        pipe.set_outputs(define())
    return pipe


def numbers(**options: Any) -> Pipeline:
    return made(lambda: fn.random.uniform(range=[0.0, 1.0]), **options)


@contextmanager
def full_disk() -> Iterator[None]:
    """Any write to a file fails, as on a full disk (with another errno)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("what", ["checkpoint", "serialize"])
def test_an_old_file_survives_a_full_disk(what: str, tmp_path: Path) -> None:
    pipe = numbers(enable_checkpointing=True)
    pipe.run()
    file = tmp_path / "state"
    save = getattr(pipe, what)
    before = save(filename=str(file))
    assert file.read_bytes() == before
    pipe.run()
    with full_disk(), pytest.raises(OSError, match="state"):
        save(filename=file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
    assert save(filename=file) == file.read_bytes()


def test_a_file_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "no" / "state"
    with pytest.raises(FileNotFoundError, match="no/state'"):
        numbers(enable_checkpointing=True).checkpoint(filename=file)


def test_dump_image_leaves_no_incomplete_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    picture = np.zeros((4, 4, 3), np.uint8)
    # depth 1: otherwise the next iteration may write its picture when the disk has room again
    pipe = made(lambda: fn.dump_image(picture), batch_size=1, prefetch_queue_depth=1)
    with full_disk(), pytest.raises(RuntimeError, match="0--0.ppm.* cannot be written"):
        pipe.run()
    assert list(tmp_path.iterdir()) == []


def test_huge_batch_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"batch_size must be from 1 to 1048576, got 1000000000"):
        numbers(batch_size=10**9).build()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"files": []}, "no files: the list `files` is empty$"),
        ({"file_list": "/no/list.txt"}, "file_list: '/no/list.txt': cannot be opened"),
        ({"files": ["gopher://a/b.jpg"]}, "gopher://a/b.jpg: .* no storage serves gopher://"),
    ],
)
def test_reader_messages(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        made(lambda: fn.readers.file(**arguments)[0]).run()


def test_a_folder_without_classes(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=f"no files found in file_root '{tmp_path}'$"):
        made(lambda: fn.readers.file(file_root=str(tmp_path))[0]).run()
    (tmp_path / "a.jpg").write_bytes(b"1")
    with pytest.raises(RuntimeError, match="lie directly in it.* its parent as file_root, or .*`files`"):
        made(lambda: fn.readers.file(file_root=str(tmp_path))[0]).run()


def test_replacing_gives_up_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    for i in range(30):
        (tmp_path / "c" / f"{i}.jpg").write_bytes(b"not a picture")
    pipe = made(
        lambda: fn.decoders.image(fn.readers.file(file_root=str(tmp_path))[0]), on_error="replace"
    )
    with pytest.raises(RuntimeError, match="the sample and its 16 replacements are bad; .* not an image"):
        pipe.run()


def test_fed_values_that_are_no_tensors() -> None:
    pipe = made(lambda: fn.external_source(name="x"))
    for value, message in [
        ("text", "cannot be of type str"),
        ([object()], 'an object of type "object" cannot be read'),
        (np.array([None]), 'elements of type "O" .* not supported'),
    ]:
        with pytest.raises(RuntimeError, match=message):
            pipe.feed_input("x", value)


def test_pipelines_of_the_command_line_have_no_line() -> None:
    space = {"__name__": "headrace.cli.test", "user_line": user_line}
    assert eval("user_line()", space) == ""
    assert __name__ != "headrace" and user_line().split(":")[0].endswith("test_mistakes.py")


@pytest.mark.parametrize("value", [np.float32, {"type": 3}, [1, None], object()])
def test_constants_of_other_types(value: Any) -> None:
    with pytest.raises(TypeError, match='"size" of operator "resize": must be a number, .* or a list'):
        made(lambda: fn.resize(np.zeros((3, 3, 1)), size=value))


def test_iterator_arguments() -> None:
    pytest.importorskip("torch")
    from headrace.plugin.pytorch import DALIGenericIterator

    with pytest.raises(TypeError, match="A pipeline or a list of them is expected, not NoneType"):
        DALIGenericIterator([numbers(), None], ["x"])
    with pytest.raises(KeyError, match=r"output_map has 2 names \('x', 'y'\).* 1 output"):
        next(DALIGenericIterator(numbers(), ["x", "y"], size=4))
