# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Automatic augmentation: settings as DALI's, pictures as Pillow's and DALI's, choices with the right frequencies."""

from __future__ import annotations

import importlib
import itertools
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import headrace
import numpy as np
import pytest
from headrace import fn, pipeline_def, types
from headrace.auto_aug import augmentations as a
from headrace.auto_aug import auto_augment, rand_augment, trivial_augment
from headrace.auto_aug.core import Policy, augmentation, select, signed_bin
from photos import photo
from PIL import Image, ImageEnhance, ImageOps
from twice import dali, same

BINS = 11
# Not all values occur, so that automatic contrast has something to do.
PICTURES = [
    (np.array(photo(seed, (97 + 11 * seed, 71 + 7 * seed))) * 0.8 + seed).astype(np.uint8)
    for seed in range(BINS)
]


def parts(package: ModuleType) -> tuple[Any, ...]:
    names = ("auto_augment", "rand_augment", "trivial_augment", "augmentations")
    return tuple(importlib.import_module(f"{package.__name__}.auto_aug.{name}") for name in names)


def described(aug: Any, bins: int) -> list[Any]:
    """The parameters of an augmentation at all magnitudes."""
    magnitudes = aug._get_magnitudes(bins)
    if magnitudes is None:
        return [aug.name]
    signed = [m for magnitude in magnitudes for m in (magnitude, -magnitude)]
    params = aug._map_mags_to_params(signed if aug.randomly_negate else magnitudes)
    return [aug.name, aug.randomly_negate, str(params.dtype), params.tolist()]


@same
def test_suites(package: ModuleType) -> Any:
    _, rand, trivial, _ = parts(package)
    suites = [
        rand.get_rand_augment_suite(),
        rand.get_rand_augment_suite(True),
        rand.get_rand_augment_suite(False, 50),
        rand.get_rand_augment_suite(True, None, (0.25, 0.5)),
        rand.get_rand_augment_non_monotonic_suite(),
        trivial.get_trivial_augment_wide_suite(),
        trivial.get_trivial_augment_wide_suite(True),
        trivial.get_trivial_augment_wide_suite(False, [10, 20]),
    ]
    return [[described(aug, 31) for aug in suite] for suite in suites]


@same
def test_policies(package: ModuleType) -> Any:
    auto = parts(package)[0]
    policies = [
        auto.get_image_net_policy(),
        auto.get_image_net_policy(True),
        auto.get_svhn_policy(False, 99),
        auto.get_reduced_cifar10_policy(True, None, 0.5),
        auto.get_reduced_image_net_policy(),
    ]
    return [
        (
            policy.name,
            [[(aug.name, p, bin_) for aug, p, bin_ in row] for row in policy.sub_policies],
            [described(aug, policy.num_magnitude_bins) for aug in policy.augmentations.values()],
        )
        for policy in policies
    ]


# ---- pictures ------------------------------------------------------------------------------------


def run_at_all_bins(package: ModuleType, aug: Any, pictures: list[Any], **kwargs: Any) -> list[Any]:
    """Picture i at magnitude i, with its own shape as `shape`."""
    op = package.fn
    pipe = package.Pipeline(len(pictures), 2, None, seed=1)
    with pipe:
        data = op.external_source(lambda: pictures, layout="HWC")
        bins = op.external_source(lambda: list(np.arange(len(pictures), dtype=np.int32)))
        if kwargs.pop("with_shape", False):
            kwargs["shape"] = op.shapes(data)
        out = aug(data, magnitude_bin=bins, num_magnitude_bins=len(pictures), **kwargs)
        pipe.set_outputs(out)
    pipe.build()
    (batch,) = pipe.run()
    return [np.array(batch[i]) for i in range(len(pictures))]


def affine(*matrix: Callable[[float, Any], float]) -> Callable[[Any, float], Any]:
    def transformed(image: Any, m: float) -> Any:
        values = [part(m, image) if callable(part) else part for part in matrix]
        return image.transform(
            image.size, Image.AFFINE, values, Image.BILINEAR, fillcolor=(128,) * 3
        )

    return transformed


def turned(image: Any, angle: float) -> Any:
    rotated = image.convert("RGBA").rotate(angle, resample=Image.BILINEAR)
    grey = Image.new("RGBA", image.size, (128,) * 3)
    return Image.composite(rotated, grey, rotated).convert("RGB")


def equalized(image: Any, _: None) -> Any:
    """OpenCV's formula, which is another than Pillow's."""
    out = np.array(image)
    for channel in np.moveaxis(out, 2, 0):
        counts = np.bincount(channel.ravel(), minlength=256)
        lowest = counts[counts > 0][0]
        shares = (counts.cumsum() - lowest).clip(0) / max(channel.size - lowest, 1)
        channel[:] = np.rint(shares * 255).astype(np.uint8)[channel]
    return out


def raised(image: Any, shift: float) -> Any:
    return image.point([i + int(shift) if i < 128 else i for i in range(256)] * 3)


def neutral(settings: Any) -> dict[str, Any]:
    """The settings of an augmentation whose parameter is the magnitude itself."""
    return {"mag_range": settings, "randomly_negate": False, "mag_to_param": None}


# name, settings, Pillow's function of picture and magnitude, largest and mean difference
AFFINE = {"randomly_negate": False}
REFERENCES = {
    "shear_x": ({"mag_range": (-0.3, 0.3), **AFFINE}, affine(1, lambda m, _: -m, 0, 0, 1, 0), None, 1),
    "shear_y": ({"mag_range": (-0.3, 0.3), **AFFINE}, affine(1, 0, 0, lambda m, _: -m, 1, 0), None, 1),
    "translate_x_no_shape": (
        {"mag_range": (-50, 50), **AFFINE},
        affine(1, 0, lambda m, _: -m, 0, 1, 0),
        None,
        1,
    ),
    "translate_y_no_shape": (
        {"mag_range": (-50, 50), **AFFINE},
        affine(1, 0, 0, 0, 1, lambda m, _: -m),
        None,
        1,
    ),
    "translate_x": (
        {"mag_range": (-1, 1), **AFFINE},
        affine(1, 0, lambda m, i: -m * i.width, 0, 1, 0),
        None,
        1,
    ),
    "translate_y": (
        {"mag_range": (-1, 1), **AFFINE},
        affine(1, 0, 0, 0, 1, lambda m, i: -m * i.height),
        None,
        1,
    ),
    "rotate": ({"mag_range": (-30, 30), **AFFINE}, turned, None, 2),
    "brightness": (neutral((0.1, 1.9)), lambda i, m: ImageEnhance.Brightness(i).enhance(m), 1, 1),
    "contrast": (neutral((0.1, 1.9)), lambda i, m: ImageEnhance.Contrast(i).enhance(m), 2, 1),
    "color": (neutral((0.1, 1.9)), lambda i, m: ImageEnhance.Color(i).enhance(m), 2, 1),
    "sharpness": (
        {**neutral((0.1, 1.9)), "mag_to_param": a.sharpness_kernel_shifted},
        lambda i, m: ImageEnhance.Sharpness(i).enhance(m),
        2,
        1,
    ),
    "posterize": (
        {"mag_range": (1, 8)},
        lambda i, m: ImageOps.posterize(i, int(np.round(m))),
        0,
        0,
    ),
    "solarize": ({}, lambda i, m: ImageOps.solarize(i, m), 0, 0),
    "solarize_add": ({}, raised, 0, 0),
    "invert": ({}, lambda i, _: ImageOps.invert(i), 0, 0),
    "equalize": ({}, equalized, 1, 0.05),
    "auto_contrast": ({}, lambda i, _: ImageOps.autocontrast(i), 1, 1),
    "identity": ({}, lambda i, _: i, 0, 0),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_pictures_of_pillow(name: str) -> None:
    settings, reference, most, mean = REFERENCES[name]
    aug = getattr(a, name).augmentation(**settings)
    magnitudes = aug._get_magnitudes(BINS)
    outputs = run_at_all_bins(
        headrace, aug, PICTURES, with_shape=name in ("translate_x", "translate_y")
    )
    changed = 0
    for i, (picture, output) in enumerate(zip(PICTURES, outputs, strict=True)):
        magnitude = None if magnitudes is None else magnitudes[i]
        expected = np.array(reference(Image.fromarray(picture), magnitude))
        difference = np.abs(output.astype(int) - expected)
        if name == "sharpness":  # Pillow copies the border
            difference = difference[1:-1, 1:-1]
        assert difference.mean() <= mean
        assert most is None or difference.max() <= most
        changed += not np.array_equal(picture, output)
    assert changed >= (0 if name == "identity" else 5)


@pytest.mark.live_dali
@pytest.mark.parametrize("name", REFERENCES)
def test_pictures_of_dali(name: str) -> None:
    settings = REFERENCES[name][0]
    shape = name in ("translate_x", "translate_y")
    results = []
    for package in (headrace, dali()):
        aug = getattr(parts(package)[3], name).augmentation(**settings)
        results.append(run_at_all_bins(package, aug, PICTURES, with_shape=shape))
    for ours, theirs in zip(*results, strict=True):
        difference = np.abs(ours.astype(int) - theirs)
        assert difference.max() <= 1 and difference.mean() <= 0.05


# ---- choices -------------------------------------------------------------------------------------


def numbered(number: int, signed: bool, low: int) -> Any:
    """An augmentation that appends its number and its magnitude to the sample."""

    @augmentation(
        mag_range=(low, low + 8),
        randomly_negate=signed,
        mag_to_param=lambda m: np.array([number, m], np.int32),
    )
    def append(data: Any, param: Any) -> Any:
        return fn.cat(data, param)

    return append


def counts(definition: Callable[[], Any], batch: int = 3000, **settings: Any) -> Counter[Any]:
    """How often each output occurs."""
    settings = {"batch_size": batch, "num_threads": 2, "device_id": None, "seed": 7, **settings}
    pipe = pipeline_def(definition, enable_conditionals=True, **settings)()
    (out,) = pipe.run()
    return Counter(tuple(np.array(out[i]).tolist()) for i in range(batch))


def assert_frequencies(actual: Counter[Any], expected: dict[Any, float]) -> None:
    """Pearson's test with a bound that a correct program exceeds in one of 100,000 cases."""
    total = sum(actual.values())
    assert set(actual) <= set(expected)
    assert abs(sum(expected.values()) - 1) < 1e-6
    statistic = sum(
        (actual[k] - total * p) ** 2 / (total * p) for k, p in expected.items() if p > 0
    )
    freedom = len(expected) - 1
    assert statistic < freedom + 4.3 * (2 * freedom) ** 0.5 + 12


EMPTY = np.array([], np.int32)


@pytest.mark.parametrize("signed", [False, True])
def test_trivial_augment_draws_uniformly(signed: bool) -> None:
    augs = [numbered(i, signed and i != 1, 10 * i + 1) for i in range(5)]

    def definition() -> Any:
        return trivial_augment.apply_trivial_augment(
            augs, types.Constant(EMPTY), num_magnitude_bins=3
        )

    expected = {}
    for i, magnitude in itertools.product(range(5), (0, 4, 8)):
        m = 10 * i + 1 + magnitude
        signs = (1, -1) if signed and i != 1 else (1,)
        expected.update({(i, sign * m): 1 / 15 / len(signs) for sign in signs})
    assert_frequencies(counts(definition), expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_rand_augment_draws_uniformly(n: int) -> None:
    augs = [numbered(i, i == 0, 10 * i + 1) for i in range(3)]

    def definition() -> Any:
        return rand_augment.apply_rand_augment(
            augs, types.Constant(EMPTY), n, 2, num_magnitude_bins=9
        )

    single = {(0, 3): 1 / 6, (0, -3): 1 / 6, (1, 13): 1 / 3, (2, 23): 1 / 3}
    expected = {}
    for steps in itertools.product(single, repeat=n):
        expected[sum(steps, ())] = float(np.prod([single[step] for step in steps]))
    assert_frequencies(counts(definition, 6000), expected)


def test_auto_augment_draws_by_probability() -> None:
    first, second, third = (numbered(i, i == 2, 10 * i + 1) for i in range(3))
    rows: list[Any] = [
        [(first, 0.5, 1), (second, 0.25, 2)],
        [(third, 0.8, 3), (first, 1, 4), (third, 0.5, 5)],
        [(second, 0.9, 6)],
    ]
    policy = Policy("test", 9, rows)

    def definition() -> Any:
        return auto_augment.apply_auto_augment(policy, types.Constant(EMPTY))

    expected: Counter[Any] = Counter()
    for row in rows:
        outcomes: Counter[Any] = Counter({(): 1 / len(rows)})
        for aug, p, bin_ in row:
            number = (first, second, third).index(aug)
            magnitude = 10 * number + 1 + bin_
            signs = (1, -1) if aug.randomly_negate else (1,)
            after: Counter[Any] = Counter()
            for done, q in outcomes.items():
                after[done] += q * (1 - p)
                for sign in signs:
                    after[(*done, number, sign * magnitude)] += q * p / len(signs)
            outcomes = after
        expected += outcomes
    assert_frequencies(counts(definition, 6000), dict(expected))


def test_a_function_per_sample() -> None:
    @pipeline_def(batch_size=12, num_threads=2, device_id=None, enable_conditionals=True)
    def chosen() -> Any:
        index = fn.external_source(lambda: [np.int32(i % 5) for i in range(12)])
        data = fn.external_source(lambda: [np.float32(2)] * 12)
        ops = [lambda x, k=k: x * float(k) for k in range(5)]
        return select(ops, index, data)

    (out,) = chosen().run()
    assert [float(np.array(out[i])) for i in range(12)] == [2.0 * (i % 5) for i in range(12)]


# ---- whole schemes -------------------------------------------------------------------------------

SCHEMES = {
    "image_net": lambda x, **k: auto_augment.auto_augment(x, "image_net", **k),
    "reduced_image_net": lambda x, **k: auto_augment.auto_augment(x, "reduced_image_net"),
    "svhn": lambda x, **k: auto_augment.auto_augment(x, "svhn", **k),
    "reduced_cifar10": lambda x, **k: auto_augment.auto_augment(x, "reduced_cifar10", **k),
    "rand": lambda x, **k: rand_augment.rand_augment(x, 2, 9, **k),
    "rand non-monotonic": lambda x, **k: rand_augment.rand_augment(
        x, 3, 17, monotonic_mag=False, excluded=["rotate"], **k
    ),
    "trivial": lambda x, **k: trivial_augment.trivial_augment_wide(x, **k),
}


def outputs(name: str, shape: bool, **settings: Any) -> list[Any]:
    settings = {"batch_size": 11, "num_threads": 3, "device_id": None, "seed": 3, **settings}

    @pipeline_def(enable_conditionals=True, **settings)
    def definition() -> Any:
        data = fn.external_source(lambda info: PICTURES[info.idx_in_epoch % 11], batch=False, layout="HWC")
        return SCHEMES[name](data, **({"shape": fn.shapes(data)} if shape else {}))

    pipe = definition()
    taken = []
    while len(taken) < 33:
        (out,) = pipe.run()
        taken += [np.array(out[i]) for i in range(len(out))]
    return taken[:33]


@pytest.mark.parametrize("shape", [False, True])
@pytest.mark.parametrize("name", SCHEMES)
def test_same_bytes(name: str, shape: bool) -> None:
    reference = outputs(name, shape)
    changed = 0
    for i, picture in enumerate(reference):
        assert picture.shape == PICTURES[i % 11].shape and picture.dtype == np.uint8
        changed += not np.array_equal(picture, PICTURES[i % 11])
    assert changed >= 20
    for settings in ({"num_threads": 1, "prefetch_queue_depth": 1}, {"batch_size": 3}, {"fuse": False}):
        again = outputs(name, shape, **settings)
        assert all(np.array_equal(x, y) for x, y in zip(reference, again, strict=True))


# ---- mistakes ------------------------------------------------------------------------------------


def test_decorator() -> None:
    @augmentation(mag_range=(0, 10), randomly_negate=True, param_device="auto", name="named")
    def shift(data: Any, param: Any) -> Any:
        return data + param

    assert (shift.name, shift.mag_range, shift.randomly_negate) == ("named", (0, 10), True)
    reset = shift.augmentation(name=None, mag_range=(1, 2))
    assert (reset.name, reset.mag_range, reset.param_device) == ("shift", (1, 2), "auto")
    with pytest.raises(Exception, match="already decorated"):
        augmentation(shift)
    with pytest.raises(Exception, match=r"accepts 1 positional argument\(s\)"):
        augmentation(lambda data: data)
    with pytest.raises(Exception, match="decorates functions"):
        augmentation(7)


def refused(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(Exception, match=text):
        pipeline_def(
            lambda: call(types.Constant(PICTURES[0])),
            batch_size=2,
            num_threads=1,
            device_id=None,
            enable_conditionals=True,
        )()


def test_wrong_arguments() -> None:
    rand, trivial, auto = rand_augment, trivial_augment, auto_augment
    refused(lambda x: rand.rand_augment(x, -1, 3), "`n` must be a non-negative integer")
    refused(lambda x: rand.rand_augment(x, 1, 31), r"`\[0, 30\]` range. Got 31")
    refused(lambda x: rand.rand_augment(x, 1, 3, num_magnitude_bins=0), "must be a positive integer")
    refused(lambda x: rand.rand_augment(x, 1, 3, excluded=["rotated"]), "does not contain")
    refused(lambda x: rand.apply_rand_augment([], x, 1, 3), "cannot be empty")
    refused(lambda x: trivial.apply_trivial_augment([], x), "cannot be empty")
    refused(
        lambda x: trivial.trivial_augment_wide(x, max_translate_rel=0.5),
        "`max_translate_rel` cannot be used without image shapes. You may use `max_translate_abs`",
    )
    refused(
        lambda x: trivial.trivial_augment_wide(x, shape=(9, 9), max_translate_abs=5),
        "`max_translate_abs` cannot be used with image shapes. You may use `max_translate_rel`",
    )
    refused(lambda x: auto.auto_augment(x, "imagenet"), "takes one of the values")
    refused(lambda x: auto.auto_augment(x, "reduced_image_net", shape=(9, 9)), "`shape` argument")
    refused(lambda x: auto.apply_auto_augment(Policy("none", 9, []), x), "Cannot run empty policy")
    refused(
        lambda x: auto.apply_auto_augment(auto.get_image_net_policy(), x, missspelled=1),
        "The kwarg `missspelled` is not used by any",
    )
    refused(
        lambda x: auto.apply_auto_augment(auto.get_image_net_policy(True), x),
        "`translate_y` requires `shape` argument.*`apply_auto_augment` call",
    )
    refused(lambda x: a.shear_x(x, num_magnitude_bins=3), "needs `magnitude_bin`")
    refused(lambda x: a.shear_x(x, magnitude_bin=1), "`num_magnitude_bins` argument is missing")
    refused(lambda x: signed_bin(0.5), "must be an int or a DataNode")
    with pytest.warns(UserWarning, match="unsigned `magnitude_bin` was passed"):
        refused(lambda x: [][a.shear_x(x, magnitude_bin=1, num_magnitude_bins=3) is x], "index")


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (a.rotate, "must be a list or tuple of sub policies"),
        ([a.rotate], "Each sub policy must be a list or tuple"),
        ([(a.rotate, a.shear_x)], "as a triple"),
        ([[(0.5, a.rotate, 3)]], "must be an instance of Augmentation. Got `0.5`"),
        ([[(a.rotate, 2, 2)]], "Probability .* Got `2`"),
        ([[(a.rotate, 1, 9)]], r"`\[0, 8\]` range. Got `9`"),
        ([[(a.rotate, 1, None)]], "magnitude bin is required"),
    ],
)
def test_wrong_policies(rows: Any, text: str) -> None:
    with pytest.raises(Exception, match=text):
        Policy("wrong", 9, rows)
    Policy("right", 9, [[(a.rotate, 1, 8)]])


def test_names_in_policies() -> None:
    one, two = a.rotate.augmentation((0, 1)), a.rotate.augmentation((0, 2))
    policy = Policy("twice", 9, [[(one, 1, 0), (a.equalize, 1, None)], [(two, 1, 1), (one, 1, 2)]])
    names = [[step[0].name for step in row] for row in policy.sub_policies]
    assert names == [["0__rotate", "1__equalize"], ["2__rotate", "0__rotate"]]
    assert "'2__rotate': Augmentation(" in repr(policy)
