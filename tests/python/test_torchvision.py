# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""headrace.experimental.torchvision: torchvision is the reference, and DALI with --dali."""

from __future__ import annotations

import concurrent.futures
import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

import headrace.torch  # noqa: E402
from headrace.experimental import torchvision as tv  # noqa: E402
from headrace.experimental.torchvision.v2 import functional as F  # noqa: E402
from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

RANDOM = np.random.default_rng(1)
PIXELS = RANDOM.integers(0, 256, (37, 53, 4), np.uint8)
CHW = torch.from_numpy(PIXELS[..., :3].transpose(2, 0, 1).copy())
PICTURES = {
    "rgb": Image.fromarray(PIXELS[..., :3].copy()),
    "grey": Image.fromarray(PIXELS[..., 0].copy()),
    "rgba": Image.fromarray(PIXELS),
    "chw": CHW,
    "nchw": torch.stack([CHW, 255 - CHW]),
    "float": CHW.float() / 255,
    "int64": CHW.long(),
}
EVERY = tuple(PICTURES)
BYTES = ("rgb", "grey", "rgba", "chw", "nchw")
FILTERED = (*BYTES, "float")
COLOURS = ("rgb", "chw", "nchw", "float")
MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]


def compose(*transforms: Any, **kwargs: Any) -> Any:
    return tv.Compose(list(transforms), num_threads=1, **kwargs)


def array(picture: Any) -> np.ndarray:
    return np.asarray(picture, dtype=np.float64)


def difference(a: Any, b: Any) -> float:
    """The largest, in levels of 255."""
    assert type(a) is type(b)
    a, b = array(a), array(b)
    assert a.shape == b.shape
    unit = 1 if max(a.max(), b.max()) > 30 else 255
    return float(np.abs(a - b).max() * unit)


# ---- against torchvision ----

# Name -> classes with their arguments, inputs, tolerance in levels.
Case = tuple[Callable[[Any], Any], tuple[str, ...], float]
CASES: dict[str, Case] = {
    "center crop": (lambda m: m.CenterCrop((20, 31)), EVERY, 0),
    "center crop, one size": (lambda m: m.CenterCrop([24]), EVERY, 0),
    "center crop beyond": (lambda m: m.CenterCrop((50, 60)), EVERY, 0),
    "pad": (lambda m: m.Pad((1, 2, 3, 4), fill=7), EVERY, 0),
    "pad colours": (lambda m: m.Pad([1, 2], fill=(7, 8, 9)), ("rgb", "chw"), 0),
    "pad edge": (lambda m: m.Pad(5, padding_mode="edge"), EVERY, 0),
    "pad reflect": (lambda m: m.Pad((5, 6), padding_mode="reflect"), EVERY, 0),
    "pad symmetric": (lambda m: m.Pad(9, padding_mode="symmetric"), ("rgb", "chw"), 0),
    "flips": (
        lambda m: m.Compose([m.RandomHorizontalFlip(1.0), m.RandomVerticalFlip(1.0)]),
        EVERY,
        0,
    ),
    "no flips": (
        lambda m: m.Compose([m.RandomHorizontalFlip(0.0), m.RandomVerticalFlip(0.0)]),
        EVERY,
        0,
    ),
    "resize nearest": (
        lambda m: m.Resize((20, 61), m.InterpolationMode.NEAREST),
        ("rgb", "grey"),
        0,
    ),
    "grey": (lambda m: m.Grayscale(), ("rgb", "grey", "chw", "nchw", "float"), 1),
    "grey, three channels": (lambda m: m.Grayscale(3), ("rgb", "grey", "chw", "float"), 2),
    "random grey": (lambda m: m.RandomGrayscale(1.0), ("rgb", "grey", "chw", "nchw"), 2),
    "brightness": (lambda m: m.ColorJitter((1.4, 1.4)), ("rgb", "grey", "chw"), 1),
    "blur": (lambda m: m.GaussianBlur(5, (1.5, 1.5)), FILTERED, 1),
    "blur, two sizes": (lambda m: m.GaussianBlur((3, 9), (2.5, 2.5)), FILTERED, 1),
    "normalize": (lambda m: m.Normalize(MEAN, STD), ("float",), 1e-3),
    "apply": (lambda m: m.RandomApply([m.CenterCrop(20), m.Pad(2)], 1.0), EVERY, 0),
    "do not apply": (lambda m: m.RandomApply([m.CenterCrop(20)], 0.0), EVERY, 0),
    "crop of padded": (lambda m: m.RandomCrop((43, 59), padding=3), EVERY, 0),
    "crop of repeated": (
        lambda m: m.RandomCrop((43, 57), padding=(2, 3), padding_mode="reflect"),
        EVERY,
        0,
    ),
    "tensor": (lambda m: m.PILToTensor(), ("rgb", "grey", "rgba"), 0),
    "image": (lambda m: m.ToPILImage(), ("chw", "float"), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_pixels_are_torchvisions(name: str) -> None:
    make, inputs, tolerance = CASES[name]
    made = make(tv)
    ours = made if isinstance(made, tv.Compose) else compose(made)
    for kind in inputs:
        ours = tv.Compose(ours.op_list)  # images and tensors need pipelines of their own
        assert difference(ours(PICTURES[kind]), make(v2)(PICTURES[kind])) <= tolerance, kind


@pytest.mark.parametrize(
    "size, max_size", [(20, None), ((20, 61), None), ([90], None), (30, 35), (None, 30)]
)
@pytest.mark.parametrize("mode", ["BILINEAR", "BICUBIC"])
def test_resize_has_torchvisions_sizes(size: Any, max_size: Any, mode: str) -> None:
    """The pixels differ at edges, which are repeated as in DALI; the middle is the same."""
    theirs = v2.Resize(size, getattr(v2.InterpolationMode, mode), max_size=max_size)
    ours = tv.Resize(size, getattr(tv.InterpolationMode, mode), max_size=max_size)
    for kind in ("rgb", "float"):
        a, b = compose(ours)(PICTURES[kind]), theirs(PICTURES[kind])
        middle = (slice(6, -6), slice(6, -6)) if kind == "rgb" else (0, slice(6, -6), slice(6, -6))
        assert array(a).shape == array(b).shape
        a, b = array(a)[middle], array(b)[middle]
        assert mode == "BICUBIC" or difference(a, b) <= 2  # Pillow clips between the passes
        assert np.abs(a - b).mean() < 0.6
    again = F.resize(PICTURES["rgb"], size, v2.InterpolationMode[mode], max_size)
    assert difference(again, compose(ours)(PICTURES["rgb"])) == 0


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "center_crop": lambda m, x: m.center_crop(x, [20, 71]),
    "crop": lambda m, x: m.crop(x, -3, 4, 30, 60),
    "horizontal_flip": lambda m, x: m.horizontal_flip(x),
    "vertical_flip": lambda m, x: m.vertical_flip(x),
    "pad": lambda m, x: m.pad(x, [1, 2, 3, 4], fill=9, padding_mode="constant"),
    "pad edge": lambda m, x: m.pad(x, [1, 2], padding_mode="edge"),
    "resized_crop": lambda m, x: m.resized_crop(x, 3, 4, 20, 30, [20, 30]),
    "get_size": lambda m, x: m.get_size(x),
    "get_image_size": lambda m, x: m.get_image_size(x),
    "get_dimensions": lambda m, x: m.get_dimensions(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function = FUNCTIONS[name]
    for kind in BYTES:
        assert difference(function(F, PICTURES[kind]), function(v2.functional, PICTURES[kind])) == 0


def test_functions_of_values() -> None:
    for kind in ("rgb", "chw", "nchw"):
        x = PICTURES[kind]
        assert difference(F.to_grayscale(x), v2.functional.to_grayscale(x)) <= 1
        assert difference(F.rgb_to_grayscale(x, 3), v2.functional.rgb_to_grayscale(x, 3)) <= 2
        assert (
            difference(F.gaussian_blur(x, [3, 5], 2.0), v2.functional.gaussian_blur(x, [3, 5], 2.0))
            <= 1
        )
    x = PICTURES["float"]
    assert difference(F.normalize(x, MEAN, STD), v2.functional.normalize(x, MEAN, STD)) < 1e-3


def test_functions_keep_pipelines() -> None:
    """The same arguments use the same pipeline, unless another thread uses it."""
    from headrace.experimental.torchvision.v2 import _calls

    kept = _calls._pipelines
    kept._forget()
    first = F.pad(CHW, 3)
    assert len(kept) == 1
    (pipes,) = kept._idle.values()
    pipe = pipes[0]
    assert F.pad(255 - CHW, 3)[:, 3:-3, 3:-3].equal(255 - CHW) and pipes == [pipe]
    assert first[:, 3:-3, 3:-3].equal(CHW)
    F.pad(CHW.float(), 3), F.pad(CHW, 4), F.pad(PICTURES["nchw"], 3)
    assert len(kept) == 4
    with pytest.raises(RuntimeError, match="fill"):
        F.pad(CHW, 3, (1, 2, 3, 4))
    for size in range(4, 20):
        assert F.resize(CHW, size).shape[1] == size
    assert len(kept) == kept.most
    F.horizontal_flip(CHW)
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        turned = list(threads.map(lambda i: F.horizontal_flip(CHW + i), range(100)))
    assert all(x.equal((CHW + i).flip(-1)) for i, x in enumerate(turned))


def test_functions_in_a_forked_child(child: Callable[..., str]) -> None:
    output = child(
        """
        import os, sys, torch
        from headrace.experimental.torchvision.v2 import functional as F
        x = torch.arange(12).reshape(1, 3, 4)
        assert F.horizontal_flip(x).equal(x.flip(-1))
        if os.fork() == 0:
            os._exit(0 if F.horizontal_flip(x + 1).equal((x + 1).flip(-1)) else 1)
        print(os.wait()[1], F.horizontal_flip(x + 2).equal((x + 2).flip(-1)))
        """
    )
    assert output.split() == ["0", "True"]


def test_conversions() -> None:
    for mode in ("L", "RGB", "RGBA", "1", "I", "F"):
        picture = PICTURES["rgba"].convert(mode)
        if mode != "1":  # torchvision has bools here, DALI 0 and 255
            assert difference(F.pil_to_tensor(picture), v2.functional.pil_to_tensor(picture)) == 0
        assert difference(F.to_tensor(picture), v2.functional.to_tensor(picture)) == 0
    for kind in ("chw", "float"):
        x = PICTURES[kind]
        assert difference(F.to_pil_image(x), v2.functional.to_pil_image(x)) == 0
    hwc = PICTURES["chw"].permute(1, 2, 0)
    assert difference(F.to_pil_image(hwc, input_layout="HWC"), PICTURES["rgb"]) == 0
    assert F.to_tensor(PIXELS[..., 0]).shape == (1, 37, 53)


# ---- random transforms ----


def test_random_positions_and_flips() -> None:
    """Every position is drawn, each in half of the cases."""
    x = torch.arange(12.0).reshape(1, 3, 4).repeat(400, 1, 1, 1)
    crops = compose(tv.RandomCrop((2, 3)), batch_size=400, seed=3)(x)
    corners, counts = np.unique(crops[:, 0, 0, 0].numpy(), return_counts=True)
    assert corners.tolist() == [0, 1, 4, 5] and counts.min() > 60
    for flip, moved in ((tv.RandomHorizontalFlip(), 3), (tv.RandomVerticalFlip(), 8)):
        corners, counts = np.unique(
            compose(flip, batch_size=400, seed=3)(x)[:, 0, 0, 0].numpy(), return_counts=True
        )
        assert corners.tolist() == [0, moved] and counts.min() > 150


def test_random_crop_pads_small_pictures() -> None:
    x = torch.ones(100, 1, 3, 4)
    for mode, total in (("constant", 12), ("edge", 48)):
        op = tv.RandomCrop((6, 8), pad_if_needed=True, padding_mode=mode)
        made = compose(op, batch_size=100, seed=1)(x)
        assert made.shape == (100, 1, 6, 8)
        assert (made.sum((1, 2, 3)) == total).all()
        assert mode == "edge" or len(np.unique(made[:, 0].argmax(1).numpy(), axis=0)) > 5


def test_random_apply_and_grey_take_some_samples() -> None:
    x = CHW.repeat(200, 1, 1, 1)
    for op in (tv.RandomApply([tv.Pad(1), tv.CenterCrop((37, 53)), tv.RandomVerticalFlip(1.0)], 0.3),
               tv.RandomGrayscale(0.3)):  # fmt: skip
        made = compose(op, batch_size=200, seed=5)(x)
        changed = (made != x).flatten(1).any(1).float().mean()
        assert 0.15 < changed < 0.45


def test_color_jitter_and_blur_draw_within_the_range() -> None:
    grey = torch.full((64, 3, 5, 5), 100, dtype=torch.uint8)
    made = compose(tv.ColorJitter(brightness=0.5, hue=0.1), batch_size=64, seed=1)(grey)
    values = made[:, 1, 0, 0].numpy()
    assert values.min() >= 50 and values.max() <= 150 and len(np.unique(values)) > 20
    blurred = compose(tv.GaussianBlur(3, (0.1, 5.0)), batch_size=64, seed=1)(
        CHW[:, :9, :9].repeat(64, 1, 1, 1)
    )
    assert len(np.unique(blurred[:, 0, 4, 4].numpy())) > 5


def test_random_resized_crop() -> None:
    op = tv.RandomResizedCrop((7, 9), scale=(0.2, 0.4), interpolation=tv.InterpolationMode.NEAREST)
    made = compose(op, batch_size=50, seed=2)(
        torch.arange(37.0 * 53).reshape(1, 37, 53).repeat(50, 1, 1, 1)
    )
    assert made.shape == (50, 1, 7, 9)
    assert len(np.unique(made[:, 0, 0, 0].numpy())) > 30
    area = (made[:, 0, -1, -1] - made[:, 0, 0, 0]) / 53 * 7 / 6
    assert (area > 5).all() and (area < 36).all()


def test_seed() -> None:
    def run(seed: int) -> Any:
        return compose(tv.RandomCrop(8), tv.ColorJitter(0.5), seed=seed)(CHW)

    assert (run(4) == run(4)).all() and (run(4) != run(5)).any()


# ---- Compose ----


def test_what_compose_takes_and_returns() -> None:
    pictures = compose(tv.Resize(20))
    first = pictures(PICTURES["rgb"])
    kept = array(first).copy()
    assert pictures(PICTURES["grey"]).mode == "L" and pictures(PICTURES["rgba"]).mode == "RGBA"
    assert (array(first) == kept).all()
    with pytest.raises(TypeError, match="got PIL images"):
        pictures(CHW)
    tensors = compose(tv.RandomHorizontalFlip(1.0), batch_size=2)
    kept = tensors(CHW)
    assert (tensors(255 - CHW) == 255 - kept).all()
    assert (tensors(CHW.permute(0, 2, 1)) == CHW.permute(0, 2, 1).flip(-1)).all()
    assert tensors(CHW.reshape(1, 1, 3, 37, 53)).shape == (1, 1, 3, 37, 53)
    with pytest.raises(RuntimeError, match="expected at most 2"):
        tensors(CHW.repeat(3, 1, 1, 1))
    images = compose(tv.ToPureTensor(), tv.ToPILImage())(PICTURES["nchw"])
    assert [image.size for image in images] == [(53, 37)] * 2
    assert (
        compose()(CHW).equal(CHW) and difference(compose()(PICTURES["rgb"]), PICTURES["rgb"]) == 0
    )
    assert (
        compose(tv.PILToTensor(), tv.Normalize(MEAN, STD))(PICTURES["rgb"]).dtype == torch.float32
    )


def test_torch_compile_takes_these_transforms() -> None:
    chain = tv.Compose(
        [tv.Resize(40), tv.CenterCrop(32), tv.RandomHorizontalFlip(), tv.PILToTensor()]
    )
    assert chain.transforms == chain.op_list
    assert (
        repr(chain)
        == "Compose([Resize(size=40), CenterCrop(size=(32, 32)), RandomHorizontalFlip(), PILToTensor()])"
    )
    assert all(step.compiled for step in headrace.torch.explain(chain).steps)


def test_under_the_name_of_dali(child: Callable[..., str]) -> None:
    output = child(
        """
        import headrace.as_dali
        headrace.as_dali.install()
        import torch
        import nvidia.dali.experimental.torchvision.v2.functional as F
        from nvidia.dali.experimental.torchvision import Compose, Resize
        from nvidia.dali.experimental.torchvision.v2.resize import Resize as same
        from nvidia.dali.experimental import dynamic
        assert Resize is same
        print(Compose([Resize(4)])(torch.zeros(3, 8, 9)).shape, F.get_size(torch.zeros(3, 8, 9)))
        """
    )
    assert output.strip() == "torch.Size([3, 4, 4]) [8, 9]"


# ---- mistakes ----

MISTAKES: list[tuple[type[Exception], str, Callable[[Any, Any], Any]]] = [
    (ValueError, "max_size", lambda m, f: m.Resize(None)),
    (ValueError, "max_size", lambda m, f: m.Resize(20, max_size=10)),
    (ValueError, "max_size", lambda m, f: m.Resize((20, 20), max_size=30)),
    (ValueError, "size", lambda m, f: m.Resize(0)),
    (ValueError, "size", lambda m, f: m.Resize((1, 2, 3))),
    (ValueError, "size", lambda m, f: m.Resize(2.5)),
    (ValueError, "size", lambda m, f: m.Resize((2.5, 3))),
    (NotImplementedError, "BOX", lambda m, f: m.Resize(20, m.InterpolationMode.BOX)),
    (NotImplementedError, "HAMMING", lambda m, f: m.RandomResizedCrop(20, interpolation=5)),
    (ValueError, "interpolation", lambda m, f: m.Resize(20, 6)),
    (ValueError, "interpolation", lambda m, f: m.Resize(20, "bilinear")),
    (TypeError, "size|Size", lambda m, f: m.CenterCrop("4")),
    (ValueError, "size", lambda m, f: m.CenterCrop(-4)),
    (ValueError, "size", lambda m, f: m.RandomCrop((1, 2, 3))),
    (ValueError, "ntegers", lambda m, f: m.RandomCrop((1.5, 2))),
    (TypeError, "pad_if_needed", lambda m, f: m.RandomCrop(3, pad_if_needed=1)),
    (TypeError, "adding", lambda m, f: m.RandomCrop(3, padding="1")),
    (ValueError, "adding", lambda m, f: m.RandomCrop(3, padding=(1, 2, 3))),
    (ValueError, "padding", lambda m, f: m.RandomCrop(3, padding=-1)),
    (ValueError, "padding.mode", lambda m, f: m.RandomCrop(3, padding=1, padding_mode="wrap")),
    (TypeError, "fill", lambda m, f: m.RandomCrop(3, fill="red")),
    (ValueError, "fill", lambda m, f: m.RandomCrop(3, fill=())),
    (TypeError, "scale", lambda m, f: m.RandomResizedCrop(3, scale=0.5)),
    (ValueError, "ratio", lambda m, f: m.RandomResizedCrop(3, ratio=(2, 1))),
    (ValueError, "padding.mode", lambda m, f: m.Pad(1, padding_mode="wrap")),
    (ValueError, "padding", lambda m, f: m.Pad(-1)),
    (TypeError, "adding", lambda m, f: m.Pad((1, 2, 3))),
    (ValueError, "brightness", lambda m, f: m.ColorJitter(-0.1)),
    (ValueError, "contrast", lambda m, f: m.ColorJitter(contrast=(2, 1))),
    (ValueError, "saturation", lambda m, f: m.ColorJitter(saturation=None)),
    (ValueError, "hue", lambda m, f: m.ColorJitter(hue=0.6)),
    (ValueError, "hue", lambda m, f: m.ColorJitter(hue=(-0.6, 0.2))),
    (ValueError, "num_output_channels", lambda m, f: m.Grayscale(2)),
    (ValueError, "p", lambda m, f: m.RandomGrayscale(1.5)),
    (ValueError, "p should be a floating point value", lambda m, f: m.RandomApply([], "often")),
    (ValueError, "p should be a floating point value", lambda m, f: m.RandomApply([], 2.0)),
    (ValueError, "ernel", lambda m, f: m.GaussianBlur(4)),
    (ValueError, "ernel", lambda m, f: m.GaussianBlur((3, 1.5))),
    (ValueError, "sigma", lambda m, f: m.GaussianBlur(3, 0.0)),
    (ValueError, "sigma", lambda m, f: m.GaussianBlur(3, (2.0, 1.0))),
    (ValueError, "sigma", lambda m, f: m.GaussianBlur(3, (1.0, 1.0, 1.0))),
    (TypeError, "(?i)mean", lambda m, f: m.Normalize(0.5, [1.0])),
    (ValueError, "(?i)std", lambda m, f: m.Normalize([0.5], [0.0])),
    (NotImplementedError, "inplace", lambda m, f: m.Normalize([0.5], [1.0], inplace=True)),
    (RuntimeError, "Compose", lambda m, f: m.Resize(3)(CHW)),
    (TypeError, ".", lambda m, f: m.Compose([m.CenterCrop(3)])([CHW])),
    (TypeError, ".", lambda m, f: f.resize(PIXELS, 3)),
    (TypeError, ".", lambda m, f: f.resize(CHW[0], 3)),
    (ValueError, "CMYK", lambda m, f: f.resize(PICTURES["rgb"].convert("CMYK"), 3)),
    (TypeError, "integer", lambda m, f: f.crop(CHW, 0.5, 0, 3, 3)),
    (ValueError, ".", lambda m, f: f.crop(CHW, 0, 0, 0, 3)),
    (TypeError, ".", lambda m, f: f.normalize(PICTURES["rgb"], MEAN, STD)),
    (TypeError, ".", lambda m, f: f.pil_to_tensor(CHW)),
    (TypeError, ".", lambda m, f: f.to_pil_image(PICTURES["rgb"])),
    (TypeError, ".", lambda m, f: f.to_pil_image(CHW.long())),
    (ValueError, ".", lambda m, f: f.to_pil_image(PICTURES["nchw"])),
    (TypeError, ".", lambda m, f: f.get_size(PIXELS)),
]  # fmt: skip


@pytest.mark.parametrize(
    "mistake", MISTAKES, ids=lambda m: inspect.getsource(m[2]).partition("f: ")[2].strip(" ),\n")
)
def test_mistakes(mistake: Any) -> None:
    kind, match, call = mistake
    with pytest.raises(kind, match=match):
        call(tv, F)


def test_mistakes_that_only_headrace_finds_early() -> None:
    with pytest.raises(TypeError, match="headrace.torch.compile takes those"):
        tv.Compose([v2.Resize(3)])
    with pytest.raises(TypeError, match="fill"):
        tv.Pad(1, fill={})
    with pytest.raises(ValueError, match="`device` must be 'cpu' or 'gpu'"):
        tv.Resize(3, device="tpu")
    with pytest.raises(ValueError, match="no images"):
        compose()(torch.zeros(0, 3, 4, 5))
    with pytest.raises(ValueError, match="4 channels"):
        compose(tv.Grayscale())(PICTURES["rgba"])


def test_limits_of_repeated_pixels() -> None:
    with pytest.raises(RuntimeError, match="repeats the input more than 65536 times"):
        F.pad(torch.zeros(1, 2, 3), 1000, padding_mode="reflect")
    with pytest.raises(RuntimeError, match="has no elements that could be repeated"):
        F.pad(torch.zeros(1, 0, 3), 1, padding_mode="edge")
    assert F.pad(torch.ones(1, 1, 1), 1000, padding_mode="symmetric").sum() == 2001**2


# ---- against DALI ----


@pytest.fixture(scope="module")
def dali(live_dali: ModuleType) -> Any:
    """DALI's module. On a machine without a GPU it must not ask PyTorch for the current stream."""
    types = importlib.import_module("nvidia.dali.types")
    old = types._get_default_stream_for_array
    if not torch.cuda.is_available():
        types._get_default_stream_for_array = lambda array: None
    yield importlib.import_module("nvidia.dali.experimental.torchvision")
    types._get_default_stream_for_array = old


# What DALI does differently: it shifts the picture by one pixel where an odd number of rows is
# added, swaps the two sizes of kernels, and does not take colours of tensors or of grey pictures.
NOT_DALI = ("center crop beyond", "blur, two sizes")


@pytest.mark.live_dali
def test_pixels_are_dalis(dali: Any) -> None:
    cases = {name: case for name, case in CASES.items() if name not in NOT_DALI}
    for mode in (0, 1, 2, 3):
        cases[f"resize {mode}"] = (lambda m, mode=mode: m.Resize(30, mode), FILTERED, 1)
    cases["resize without antialias"] = (lambda m: m.Resize(20, antialias=False), FILTERED, 1)
    jitter = ((1.5, 1.5), (0.7, 0.7), (0.3, 0.3), (0.2, 0.2))
    cases["jitter"] = (lambda m: m.ColorJitter(*jitter), ("rgb",), 1)
    for name, (make, inputs, tolerance) in cases.items():
        coloured = name == "brightness" or "grey" in name
        for kind in set(inputs) & {"rgb"} if coloured else inputs:
            one, other = make(tv), make(dali)
            ours = one if isinstance(one, tv.Compose) else tv.Compose([one])
            theirs = other if isinstance(other, dali.Compose) else dali.Compose([other])
            found = difference(ours(PICTURES[kind]), theirs(PICTURES[kind]))
            assert found <= max(tolerance, 1e-3), (name, kind)


@pytest.mark.live_dali
def test_mistakes_are_dalis(dali: Any) -> None:
    functions = importlib.import_module(f"{dali.__name__}.v2.functional")
    for kind, _, call in MISTAKES:
        with pytest.raises(kind):
            call(dali, functions)


@pytest.mark.live_dali
def test_names_and_arguments_are_dalis(dali: Any) -> None:
    theirs = importlib.import_module(f"{dali.__name__}.v2.functional")
    for ours, other in ((tv, dali), (F, theirs)):
        assert sorted(ours.__all__) == sorted(other.__all__)
        for name in ours.__all__:
            if name == "InterpolationMode":
                assert {m.name: m.value for m in getattr(ours, name)} == {
                    m.name: m.value for m in getattr(other, name)
                }
                continue
            mine, its = (inspect.signature(getattr(m, name)).parameters for m in (ours, other))
            assert list(mine) == list(its), name
            assert all(mine[n].default == its[n].default or n == "interpolation" for n in its), name
