# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""optical_flow: sums that the fake module's engine computes, and on a GPU textures whose motion is known."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import cv2
import headrace.experimental.dynamic as ndd
import numpy as np
import pytest
from headrace import Pipeline, fn, types
from headrace.experimental.dynamic import _operators

RNG = np.random.default_rng(3)
SPEEDS = {0.0: 5, 0.37: 5, 0.5: 10, 0.75: 20, 1.0: 20}


def run(
    samples: list[np.ndarray],
    hints: list[np.ndarray] | None = None,
    iterations: int = 1,
    options: dict[str, Any] | None = None,
    **args: Any,
) -> list[np.ndarray]:
    """The outputs of the last iteration; all iterations must give the same."""
    pipe = Pipeline(len(samples), device_id=0, **{"num_threads": 2, **(options or {})})
    with pipe:
        inputs = [fn.external_source(lambda: samples, layout="FHWC").gpu()]
        if hints is not None:
            inputs.append(fn.external_source(lambda: hints).gpu())
        pipe.set_outputs(fn.optical_flow(*inputs, device="gpu", **args))
    found: list[np.ndarray] = []
    for _ in range(iterations):
        out = pipe.run()[0].as_cpu()
        assert out.layout() == "FHWC" and out.dtype == types.FLOAT
        now = [np.array(x) for x in out]
        assert not found or all(np.array_equal(a, b) for a, b in zip(found, now, strict=True))
        found = now
    return found


# ---- the fake engine ----


class Counts:
    """Engines created, engines alive, searches, and wrong calls of the fake library."""

    def __init__(self, library: Any) -> None:
        numbers = (ctypes.c_int64 * 4)()
        library.hr_fake_flow(numbers)
        self.created, self.alive, self.searches, self.wrong = numbers


def noise(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, np.uint8)


def channels(frame: np.ndarray, order: str) -> list[np.ndarray]:
    """Red, green, blue, alpha as the library gets them."""
    planes = [frame[..., k].astype(np.int64) for k in range(frame.shape[-1])]
    if order == "GRAY":
        return [planes[0], *[np.zeros_like(planes[0])] * 3]
    picked = planes[2::-1] if order == "BGR" else planes[:3]
    return [*picked, np.full_like(planes[0], 255)]


def sums(frames: np.ndarray, hints: np.ndarray | None = None, **args: Any) -> np.ndarray:
    """What fake_flow.cpp computes."""
    grid, hint_grid = args.get("output_grid", 4), args.get("hint_grid", 4)
    order = args.get("image_type", types.RGB).name
    out = []
    for k in range(1, len(frames)):
        a, b = (channels(f[::grid, ::grid], order) for f in (frames[k], frames[k - 1]))
        temporal = k - 1 if args.get("enable_temporal_hints") else 0
        x = 4 * a[0] - 3 * b[0] + 2 * a[1] - b[1] + 32 * temporal
        y = 5 * a[2] - 4 * b[2] + a[3] - b[3] + SPEEDS[args.get("preset", 0.0)]
        vectors = np.stack([x, y], -1)
        if hints is not None:
            at = [np.arange(0, size, grid) // hint_grid for size in frames.shape[1:3]]
            vectors = vectors + np.rint(hints[k - 1][np.ix_(*at)] * 32).astype(np.int64)
        out.append(vectors / 32)
    return np.array(out, np.float32)


SAMPLES = [noise(3, 20, 33, 3), noise(2, 8, 16, 3), noise(5, 41, 18, 3), noise(2, 20, 33, 3)]
FAKE_CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "grid 1": {"output_grid": 1, "preset": 0.37},
    "grid 2": {"output_grid": 2, "preset": 0.5},
    "BGR": {"image_type": types.BGR, "preset": 0.75},
    "temporal hints": {"enable_temporal_hints": True, "preset": 1.0},
}


@pytest.mark.parametrize("name", FAKE_CASES)
def test_sums(fake: Any, name: str) -> None:
    args = FAKE_CASES[name]
    for threads in (1, 3):
        found = run(SAMPLES, iterations=4, options={"num_threads": threads}, **args)
        for frames, vectors in zip(SAMPLES, found, strict=True):
            np.testing.assert_array_equal(vectors, sums(frames, **args))
    assert Counts(fake.fake).wrong == 0


def test_channels(fake: Any) -> None:
    """Grey frames, and four channels, of which the last one has no effect."""
    gray = [noise(3, 20, 33, 1), noise(2, 9, 17, 1)]
    for frames, vectors in zip(gray, run(gray, image_type=types.GRAY), strict=True):
        np.testing.assert_array_equal(vectors, sums(frames, image_type=types.GRAY))
    four = [noise(3, 20, 33, 4)]
    for kind in (types.RGB, types.BGR):
        (vectors,) = run(four, image_type=kind)
        np.testing.assert_array_equal(vectors, sums(four[0], image_type=kind))


@pytest.mark.parametrize("hint_grid", [1, 2, 4, 8])
@pytest.mark.parametrize("grid", [1, 4])
def test_external_hints(fake: Any, grid: int, hint_grid: int) -> None:
    hints = []
    for frames in SAMPLES:
        f, h, w = frames.shape[:3]
        shape = (f - 1, -(-h // hint_grid), -(-w // hint_grid), 2)
        hints.append(RNG.uniform(-40, 40, shape).astype(np.float32))
    args = {"output_grid": grid, "hint_grid": hint_grid, "enable_external_hints": True}
    for frames, given, vectors in zip(SAMPLES, hints, run(SAMPLES, hints, 2, **args), strict=True):
        np.testing.assert_array_equal(vectors, sums(frames, given, **args))
    unused = [np.zeros((2, 3), np.uint8)] * len(SAMPLES)  # DALI ignores it, too
    for frames, vectors in zip(SAMPLES, run(SAMPLES, unused), strict=True):
        np.testing.assert_array_equal(vectors, sums(frames))


def test_largest_hints(fake: Any) -> None:
    """Hints are limited to what 16 bits hold."""
    frames = np.zeros((2, 8, 16, 1), np.uint8)
    hints = np.zeros((1, 2, 4, 2), np.float32)
    hints[0, 0, :, 0] = [2000, -2000, np.inf, -np.inf]
    args = {"enable_external_hints": True, "image_type": types.GRAY}
    (vectors,) = run([frames], [hints], **args)
    np.testing.assert_array_equal(vectors[0, 0, :, 0] * 32, [32767, -32768, 32767, -32768])


def test_sessions_are_kept(fake: Any) -> None:
    """One per size, until the last stream of the device goes."""
    run(SAMPLES)  # asks for the limits, once per process
    before = Counts(fake.fake)
    run(SAMPLES, iterations=6, options={"num_threads": 1, "prefetch_queue_depth": 1})
    after = Counts(fake.fake)
    assert after.searches - before.searches >= 6 * (2 + 1 + 4 + 1)
    assert after.created - before.created == 3
    assert after.alive == 0 and after.wrong == 0


def test_more_sizes_than_sessions_are_kept(fake: Any) -> None:
    samples = [noise(2, 8 + k % 5, 16 + k, 3) for k in range(24)]
    found = run(samples, iterations=3)
    for frames, vectors in zip(samples, found, strict=True):
        np.testing.assert_array_equal(vectors, sums(frames))
    counts = Counts(fake.fake)
    assert counts.alive == 0 and counts.wrong == 0


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        ("flow_execute:3", "execute returned 11: a fake failed"),
        ("flow_buffer:3+", "not enough memory|buffer_create returned 8"),
        ("event_await:4+", "injected failure"),
    ],
)
def test_failures(fake: Any, failure: str, message: str) -> None:
    """The run fails, the session is not used again, and the next run works."""
    run(SAMPLES)
    fake.fail(failure)
    with pytest.raises((RuntimeError, MemoryError), match=message):
        run(SAMPLES, iterations=3)
    fake.fail(None)
    np.testing.assert_array_equal(run(SAMPLES)[0], sums(SAMPLES[0]))
    counts = Counts(fake.fake)
    assert counts.alive == 0 and counts.wrong == 0


def test_memory_of_kept_sessions_is_given_up(fake: Any) -> None:
    """A session that cannot be made is tried again without those that nobody uses."""
    run(SAMPLES)
    fake.fail("flow_init:2,flow_buffer:9")
    np.testing.assert_array_equal(run(SAMPLES)[2], sums(SAMPLES[2]))
    fake.fail(None)
    assert Counts(fake.fake).wrong == 0


def flow_of(samples: list[np.ndarray], device: int) -> Pipeline:
    """A pipeline that gets the same samples in each iteration."""
    pipe = Pipeline(len(samples), 1, device, prefetch_queue_depth=1)
    with pipe:
        frames = fn.external_source(lambda: samples, layout="FHWC").gpu()
        pipe.set_outputs(fn.optical_flow(frames, device="gpu"))
    return pipe


def test_second_device(fake: Any) -> None:
    """Sessions that are kept for one device leave another its own."""
    many = flow_of([noise(2, 8, 16 + k, 3) for k in range(20)], 0)
    many.run()
    other = flow_of([SAMPLES[0]], 1)
    other.run()
    before = Counts(fake.fake)
    assert before.alive > 10
    for _ in range(4):
        np.testing.assert_array_equal(np.asarray(other.run()[0].as_cpu()[0]), sums(SAMPLES[0]))
    assert Counts(fake.fake).created <= before.created + 1  # one more may have been in flight
    del many, other
    after = Counts(fake.fake)
    assert after.alive == 0 and after.wrong == 0


WITHOUT = """
import numpy as np
from headrace import Pipeline, fn
pipe = Pipeline(1, 1, 0)
with pipe:
    frames = fn.external_source(lambda: [np.zeros((2, 20, 30, 3), np.uint8)]).gpu()
    pipe.set_outputs(fn.optical_flow(frames, device="gpu"))
pipe.run()
"""


@pytest.mark.parametrize(
    ("setting", "message"),
    [("none", "libnvidia-opticalflow.so.1 cannot be opened"), ("old", "the driver is too old")],
)
def test_without_the_library(fake: Any, setting: str, message: str) -> None:
    environment = {**os.environ, "HEADRACE_FAKE_FLOW": setting}
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True
    )
    assert made.returncode != 0
    assert "optical_flow" in made.stderr and message in made.stderr


# ---- any engine ----


@pytest.fixture
def engine(module: Any) -> Any:
    if not module.fake:
        try:
            ctypes.CDLL("libnvidia-opticalflow.so.1")
        except OSError:
            pytest.skip("libnvidia-opticalflow.so.1 is not installed")
    return module


TWO = np.zeros((2, 64, 96, 3), np.uint8)


@pytest.mark.parametrize(
    ("frames", "args", "message"),
    [
        (TWO[:1], {}, "at least 2 frames, but this one has 1"),
        (TWO[:0], {}, "at least 2 frames, but this one has 0"),
        (TWO.astype(np.float32), {}, "must be UINT8, not FLOAT"),
        (TWO[..., :1], {}, "1 channels, but with image_type=RGB they need 3 or 4"),
        (TWO, {"image_type": types.GRAY}, "3 channels, but with image_type=GRAY they need 1"),
        (TWO, {"image_type": types.YCbCr}, "must be RGB, BGR or GRAY"),
        (TWO, {"output_grid": 3}, "Output grid size: 3 is not supported, supported are:"),
        (TWO, {"hint_grid": 3}, "Hint grid size: 3 is not supported, supported are:"),
        (TWO, {"preset": 1.5}, "preset"),
        (TWO, {"enable_external_hints": True}, "the second input must be the hints"),
        (TWO[:, :4, :8], {}, "frames of 8 x 4 pixels .* are not supported"),
        (np.zeros((2, 64, 9000, 3), np.uint8), {}, "frames of 9000 x 64 pixels .* not supported"),
    ],
    ids=str,
)
def test_refused(engine: Any, frames: np.ndarray, args: dict[str, Any], message: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=f"(?s)optical_flow.*{message}"):
        run([frames], **args)


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        (np.zeros((1, 16, 24, 2), np.uint8), "the hints must be FLOAT, not UINT8"),
        (np.zeros((1, 16, 23, 2), np.float32), "the hints must have the shape 1 x 16 x 24 x 2"),
        (np.zeros((2, 16, 24, 2), np.float32), "the hints must have the shape 1 x 16 x 24 x 2"),
    ],
)
def test_refused_hints(engine: Any, hints: np.ndarray, message: str) -> None:
    with pytest.raises(RuntimeError, match=f"(?s)optical_flow.*{message}"):
        run([TWO], [hints], enable_external_hints=True)


@pytest.mark.usefixtures("module")
def test_only_on_a_gpu() -> None:
    pipe = Pipeline(1, 1, None)
    with pipe, pytest.raises(RuntimeError, match="runs on a GPU only"):
        fn.optical_flow(fn.external_source(lambda: [TWO], layout="FHWC"))


def test_dynamic(engine: Any) -> None:
    try:
        frames = texture(3, 5, -2)
        made = ndd.optical_flow(ndd.as_tensor(frames, layout="FHWC", device="gpu"), output_grid=2)
        np.testing.assert_array_equal(np.asarray(made.cpu()), run([frames], output_grid=2)[0])
    finally:
        _operators._plans._forget()


# ---- a real engine ----


@pytest.fixture
def real(engine: Any) -> Any:
    if engine.fake:
        pytest.skip("the motion of pictures needs a GPU")
    return engine


def blurred(height: int, width: int) -> np.ndarray:
    """Smooth noise in three channels, with values from 0 to 255."""
    rng = np.random.default_rng(height)
    out = cv2.GaussianBlur(rng.standard_normal((height, width, 3)), (0, 0), 2.5)
    out = (out - out.min()) / (out.max() - out.min())
    return (out * 255).astype(np.uint8)


def texture(frames: int, dx: int, dy: int, height: int = 96, width: int = 128) -> np.ndarray:
    """A texture that moves by (dx, dy) pixels from frame to frame, behind a window."""
    base = blurred(height + 200, width + 200)
    moved = [np.roll(base, (k * dy, k * dx), (0, 1)) for k in range(frames)]
    return np.stack([m[100 : 100 + height, 100 : 100 + width] for m in moved])


def check_motion(vectors: np.ndarray, dx: float, dy: float, share: float = 0.9) -> None:
    """What is at a position was at the position minus the motion."""
    error = np.linalg.norm(vectors - np.float32([-dx, -dy]), axis=-1)
    assert np.median(error) < 0.5, np.median(vectors.reshape(-1, 2), 0)
    assert np.mean(error < 1) > share


@pytest.mark.parametrize("preset", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("grid", [1, 2, 4])
def test_motion(real: Any, grid: int, preset: float) -> None:
    motions = [(3, -2), (-5, 4), (0, 0), (8, 1)]
    samples = [texture(3, *motion, 96 + 32 * k, 160 - 16 * k) for k, motion in enumerate(motions)]
    found = run(samples, iterations=3, output_grid=grid, preset=preset)
    for frames, motion, vectors in zip(samples, motions, found, strict=True):
        assert vectors.shape == (2, -(-frames.shape[1] // grid), -(-frames.shape[2] // grid), 2)
        check_motion(vectors, *motion, share=0.8)


def test_kinds_of_pictures(real: Any) -> None:
    frames = texture(3, 3, -2)
    (rgb,) = run([frames])
    (bgr,) = run([np.ascontiguousarray(frames[..., ::-1])], image_type=types.BGR)
    (four,) = run([np.concatenate([frames, noise(*frames.shape[:3], 1)], -1)])
    np.testing.assert_array_equal(bgr, rgb)
    np.testing.assert_array_equal(four, rgb)
    gray = np.stack([cv2.cvtColor(f, cv2.COLOR_RGB2GRAY)[..., None] for f in frames])
    check_motion(run([gray], image_type=types.GRAY)[0], 3, -2)


def test_as_another_method(real: Any) -> None:
    """A rotating and growing texture, against OpenCV's dense inverse search."""
    base = blurred(600, 800)
    frames = []
    for k in range(4):
        turn = cv2.getRotationMatrix2D((400, 300), 1.5 * k, 1 + 0.01 * k)
        frames.append(cv2.warpAffine(base, turn, (800, 600))[60:540, 80:720])
    (vectors,) = run([np.stack(frames)], output_grid=1)
    search = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    gray = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in frames]
    for k in range(3):
        theirs = search.calc(gray[k + 1], gray[k], None)
        error = np.linalg.norm(vectors[k] - theirs, axis=-1)[16:-16, 16:-16]
        assert np.median(error) < 0.5 and np.mean(error < 1.5) > 0.9
        assert np.abs(theirs).max() > 4


def test_hints_of_the_real_engine(real: Any) -> None:
    """They help where the motion is large; each sequence begins without temporal ones."""
    dx, dy = 70, -45
    frames = texture(3, dx, dy, 256, 384)
    hints = np.broadcast_to(np.float32([-dx, -dy]), (2, 64, 96, 2)).copy()
    (helped,) = run([frames], [hints], enable_external_hints=True)
    check_motion(helped[:, 16:48, 24:72], dx, dy, share=0.7)
    slow = texture(4, 3, -2, 256, 384)
    (without,) = run([slow])
    several = run([slow, frames, slow], iterations=2, enable_temporal_hints=True)
    np.testing.assert_array_equal(several[0][0], without[0])
    np.testing.assert_array_equal(several[0], several[2])
    check_motion(several[0], 3, -2)
