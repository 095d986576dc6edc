# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What a container says about its packets is checked: frames are those of PyAV, also alone, whatever it says."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
av = pytest.importorskip("av")

import lying_videos  # noqa: E402
import videos  # noqa: E402
from headrace import Pipeline, fn  # noqa: E402
from test_video_frames import has_decoders, rgb  # noqa: E402

pytestmark = pytest.mark.skipif(not has_decoders(), reason="the video module was not built")


def decode(files: list[Path], numbers: list[list[int]] | None = None) -> list[Any]:
    """All frames of each file, or those with these numbers."""
    data = [np.fromfile(file, np.uint8) for file in files]
    pipe = Pipeline(len(files), 2, None)
    with pipe:
        arguments = {}
        if numbers is not None:
            given = [np.array(n, np.int32) for n in numbers]
            arguments["frames"] = fn.external_source(lambda: given)
        pipe.set_outputs(fn.decoders.video(fn.external_source(lambda: data), **arguments))
    (out,) = pipe.run()
    return [np.array(x) for x in out]


def alone(file: Path, count: int) -> Any:
    """Each frame, read by itself."""
    return np.concatenate(decode([file] * count, [[i] for i in range(count)]))


def same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool((a == b).all())


def check(file: Path, whole: list[Any]) -> None:
    """The frames are the last ones of the video `whole`: as many as libavcodec decodes of the file without a fault."""
    given = [rgb(f) for f in lying_videos.pictures(file)]
    right = [f for f in given if any(same(f, w) for w in whole)]
    (found,) = decode([file])
    count = len(found)
    assert max(1, len(right)) <= count <= len(whole), file.name
    np.testing.assert_array_equal(found, whole[-count:], err_msg=file.name)
    np.testing.assert_array_equal(alone(file, count), found, err_msg=file.name)


CASES = [
    (name, container)
    for name in lying_videos.SOURCES
    for container in itertools.chain(
        lying_videos.NAMED[name.split("-")[0]], lying_videos.UNNAMED[name.split("-")[0]]
    )
]


def test_there_are_enough_files() -> None:
    named = [c for name, c in CASES if c in lying_videos.NAMED[name.split("-")[0]]]
    assert 8 * len(named) + 3 * (len(CASES) - len(named)) >= 200


@pytest.mark.parametrize("name, container", CASES)
def test_flags_and_cuts(name: str, container: str, tmp_path: Path) -> None:
    source, files = lying_videos.variants(name, container, tmp_path, 3)
    whole = [rgb(f) for f in lying_videos.pictures(source)]
    assert len(whole) == lying_videos.FRAMES
    assert len(files) == (8 if container in lying_videos.NAMED[name.split("-")[0]] else 3)
    for file in files:
        check(file, whole)
        if not file.stem.split(".")[0].isdigit():
            assert len(lying_videos.pictures(file)) == len(whole)
            assert len(decode([file])[0]) == len(whole), f"{file.name}: a frame is missing"
