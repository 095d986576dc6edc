# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Phrases in error messages that scripts written for DALI match on, checked in Headrace and in live DALI."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import grouped
from harness import Engine

OUT_OF_BOUNDS = "Slice can't be placed out of bounds with current policy. Got: "
LENGTH = "must be between 0 and input_sequence_length = 4 for sample 0, but it is: "
MISSING_AXIS = "xis 'Q' is not present in the input layout"


def constant(e: Engine, value: Any, layout: str | None = None) -> Any:
    batch = [np.asarray(value)] * 2
    return e.fn.external_source(source=lambda: batch, batch=True, layout=layout)


def frames(e: Engine) -> Any:
    return constant(e, np.zeros((4, 6, 8, 3), np.uint8), "FHWC")


def vector(e: Engine) -> Any:
    return constant(e, np.zeros(3, np.float32))


def per_frame(e: Engine, shape: tuple[int, ...]) -> Any:
    return e.fn.per_frame(constant(e, np.zeros(shape, np.float32)))


def matrices(e: Engine, count: int) -> Any:
    return per_frame(e, (count, 2, 3))


def numbers(e: Engine, count: int) -> Any:
    return per_frame(e, (count,))


def roi(**args: Any) -> Any:
    given = {"crop_shape": [2], "roi_start": [1], "roi_end": [3], "in_shape": [4], **args}
    return lambda e: e.fn.roi_random_crop(**given)


def choice(n: Any, **args: Any) -> Any:
    return lambda e: e.fn.random.choice(n, **args)


def images(e: Engine, dtype: Any) -> Any:
    return constant(e, np.zeros((6, 8, 3), dtype), "HWC")


def spectrogram(samples: int, **args: Any) -> Any:
    return lambda e: e.fn.spectrogram(
        constant(e, np.zeros(samples, np.float32)), window_length=512, **args
    )


def regions(values: Any) -> Any:
    return lambda e: constant(e, np.array(values, np.int32))


def fractions(values: Any) -> Any:
    return lambda e: constant(e, np.array(values, np.float32))


def pasted(in_ids: list[int], **args: Any) -> Any:
    return lambda e: e.fn.multi_paste(
        images(e, np.uint8),
        in_ids=in_ids,
        output_size=[6, 8],
        **{name: make(e) for name, make in args.items()},
    )


def objects(**kwargs: Any) -> Any:
    return lambda e: e.fn.segmentation.random_object_bbox(
        constant(e, np.ones((3, 3), np.int32)), **kwargs
    )[0]


def masks(ids: list[int], columns: int = 3, end: int = 2) -> Any:
    polygons = np.array([[0, 0, end, 0][:columns]], np.int32)
    return lambda e: list(
        e.fn.segmentation.select_masks(
            constant(e, np.array(ids, np.int32)),
            constant(e, polygons),
            constant(e, np.zeros((3, 2), np.float32)),
        )
    )


def array_file(array: np.ndarray) -> np.ndarray:
    file = io.BytesIO()
    np.save(file, array)
    return np.frombuffer(file.getvalue(), np.uint8)


def pair(e: Engine) -> Any:
    """Two pictures of different sizes, with one channel and with two."""
    batch = [np.zeros(shape, np.uint8) for shape in ((4, 5, 1), (5, 5, 2))]
    return e.fn.external_source(source=lambda: batch, batch=True, layout="HWC")


def bayer(shape: tuple[int, ...], **kwargs: Any) -> Any:
    arguments = {"blue_position": [0, 0], **kwargs}
    return lambda e: e.fn.debayer(constant(e, np.zeros(shape, np.uint8)), **arguments)


def blurred(layout: str) -> Any:
    picture = np.zeros((4, 5, 6, 7)[: len(layout)], np.uint8)
    return lambda e: e.fn.gaussian_blur(constant(e, picture, layout), sigma=1.0)


CASES = {
    "slice, axis": (
        lambda e: e.fn.slice(frames(e), start=[0], end=[1], axes=[7]),
        "Axis 7 out of range. Expected range is [-4, 3] for a 4D input",
    ),
    "pad, axis": (
        lambda e: e.fn.pad(frames(e), axes=[-5]),
        "Axis -5 out of range. Expected range is [-4, 3] for a 4D input",
    ),
    "slice, axis_names": (
        lambda e: e.fn.slice(frames(e), start=[0], end=[1], axis_names="Q"),
        MISSING_AXIS,
    ),
    "pad, axis_names": (lambda e: e.fn.pad(frames(e), axis_names="Q"), MISSING_AXIS),
    "squeeze, axis_names": (lambda e: e.fn.squeeze(frames(e), axis_names="Q"), MISSING_AXIS),
    "squeeze, axis twice": (
        lambda e: e.fn.squeeze(constant(e, np.zeros((1, 1, 3))), axes=[0, 0]),
        "Specified at least twice same dimension to remove.",
    ),
    "slice, window": (
        lambda e: e.fn.slice(frames(e), start=[0], end=[9], axes=[0]),
        OUT_OF_BOUNDS,
    ),
    "slice, end and shape": (
        lambda e: e.fn.slice(frames(e), start=[0], end=[1], shape=[1], axes=[0]),
        '"end", "rel_end", "shape", and "rel_shape" arguments are mutually exclusive',
    ),
    "slice, starts": (
        lambda e: e.fn.slice(frames(e), start=[0], rel_start=[0.5], axes=[0]),
        "are mutually exclusive",
    ),
    "expand_dims, negative": (
        lambda e: e.fn.expand_dims(frames(e), axes=[0, -1]),
        "Axis value can't be negative",
    ),
    "expand_dims, twice": (
        lambda e: e.fn.expand_dims(frames(e), axes=[1, 1]),
        "Duplicate axis index found.",
    ),
    "expand_dims, names": (
        lambda e: e.fn.expand_dims(frames(e), axes=[2, 0, 2], new_axis_names="AB"),
        "Specified 3 new dimensions, but layout contains only 2 new dimension names",
    ),
    "expand_dims, no layout": (
        lambda e: e.fn.expand_dims(vector(e), axes=[1], new_axis_names="C"),
        "Specifying ``new_axis_names`` requires an input with a proper layout.",
    ),
    "pad, align": (
        lambda e: e.fn.pad(frames(e), align=0),
        "Values of `align` argument must be positive.",
    ),
    "reshape, no elements": (
        lambda e: e.fn.reshape(constant(e, np.zeros((320, 0))), rel_shape=[-1, 1]),
        "Cannot infer the extent of dimension 0 when the volume of remaining dimensions is 0. "
        "Input shape: 320 x 0",
    ),
    "transforms, input and argument": (
        lambda e: e.fn.transforms.rotation(matrices(e, 3), angle=numbers(e, 2)),
        "The sample 0 of tensor argument `angle` contains 2 per-frame parameters, but there are 3 "
        "frames in the corresponding sample of input 0.",
    ),
    "transforms, two arguments": (
        lambda e: e.fn.transforms.rotation(angle=numbers(e, 2), axis=per_frame(e, (4, 3))),
        "The sample 0 of tensor argument `axis` contains 4 per-frame parameters, but there are 2 "
        "frames in the corresponding sample of argument `angle`",
    ),
    "transforms, two inputs": (
        lambda e: e.fn.transforms.combine(matrices(e, 3), matrices(e, 2)),
        "The input 0 and the input 1 have different number of frames for sample 0",
    ),
    "crop, window": (lambda e: e.fn.crop(frames(e), crop=(10, 10)), OUT_OF_BOUNDS),
    "normalize, axes": (
        lambda e: e.fn.normalize(frames(e), axes=[0], axis_names="F"),
        "Arguments `axes` and `axis_names` are mutually exclusive",
    ),
    "sequence_rearrange, layout": (
        lambda e: e.fn.sequence_rearrange(
            constant(e, np.zeros((4, 6), np.uint8), "HW"), new_order=[0]
        ),
        "Expected sequence as the input, where outermost dimension represents frames dimension "
        '`F`, got data with layout = "HW"',
    ),
    "sequence_rearrange, dimensions": (
        lambda e: e.fn.sequence_rearrange(
            frames(e), new_order=constant(e, np.zeros((2, 1), np.int32))
        ),
        "Input with dimension (2) cannot be converted to dimension (1)",
    ),
    "sequence_rearrange, too large": (
        lambda e: e.fn.sequence_rearrange(frames(e), new_order=[9]),
        f"new_order[0] {LENGTH}9",
    ),
    "sequence_rearrange, negative": (
        lambda e: e.fn.sequence_rearrange(frames(e), new_order=[0, -1]),
        f"new_order[1] {LENGTH}-1",
    ),
    "sequence_rearrange, negative per sample": (
        lambda e: e.fn.sequence_rearrange(
            frames(e), new_order=constant(e, np.array([-1], np.int32))
        ),
        f"new_order[0] {LENGTH}-1",
    ),
    "sequence_rearrange, empty": (
        lambda e: e.fn.sequence_rearrange(frames(e), new_order=[]),
        "Empty result sequences are not allowed",
    ),
    "sequence_rearrange, empty per sample": (
        lambda e: e.fn.sequence_rearrange(frames(e), new_order=constant(e, np.zeros(0, np.int32))),
        "Empty `new_order` for sample 0 is not allowed",
    ),
    "element_extract, dimensions": (
        lambda e: e.fn.element_extract(vector(e), element_map=[0]),
        "Input must have at least two dimensions - outermost for sequence and at least one for "
        "data elements",
    ),
    "element_extract, layout": (
        lambda e: e.fn.element_extract(constant(e, np.zeros((2, 3)), "XF"), element_map=[0]),
        "Input layout must describe a sequence - it must start with 'F', got 'XF' instead.",
    ),
    "element_extract, index": (
        lambda e: e.fn.element_extract(frames(e), element_map=[9]),
        "Index `9` from `element_map` is out of bounds",
    ),
    "element_extract, negative": (
        lambda e: e.fn.element_extract(frames(e), element_map=[1, -5]),
        "Negative indices in `element_map` are not allowed, found: -5",
    ),
    "debayer, algorithm": (
        lambda e: e.fn.debayer(
            constant(e, np.zeros((4, 4), np.uint8), "HW"), blue_position=[0, 0], algorithm="default_npp"
        ),
        "default_npp algorithm is not supported on CPU.",
    ),
    "one_hot, axis_name": (
        lambda e: e.fn.one_hot(frames(e), axis_name="AB"),
        'Unsupported axis_name value. It must be a single character, got "AB"',
    ),
    "one_hot, no layout": (
        lambda e: e.fn.one_hot(constant(e, np.zeros((2, 3))), axis_name="Q"),
        "Input layout mismatch",
    ),
    "stack, axis_name": (
        lambda e: e.fn.stack(frames(e), frames(e), axis_name="AB"),
        "must be a single character; got",
    ),
    "cat, axis_name": (
        lambda e: e.fn.cat(frames(e), frames(e), axis_name="Q"),
        "specifies an undefined axis 'Q' for layout \"FHWC\"",
    ),
    "permute_batch, index": (
        lambda e: e.fn.permute_batch(frames(e), indices=[0, 7]),
        "Sample index out of range. indices[1] = 7 is not a valid index for an input batch of "
        "2 tensors.",
    ),
    "random.choice, probability": (
        choice(2, p=[-0.5, 1.5]),
        "Probabilities must be in range [0, 1], but got: -0.5 for sample: 0 at index 0.",
    ),
    "random.choice, sum": (
        choice(2, p=[0.25, 0.25]),
        "Sum of probabilities must be 1.0, but got 0.5 for sample: 0.",
    ),
    "random.choice, sum of equal probabilities": (
        choice(2, p=0.25),
        "Sum of probabilities must be 1.0, but got 0.5 for sample: 0.",
    ),
    "random.choice, number of probabilities": (
        choice(5, p=[0.25, 0.5, 0.25]),
        'Argument "p" expected shape 5 but got 3 values',
    ),
    "random.choice, nothing": (
        choice(-5),
        "Expected positive number of elements for sampling, got: -5 for sample: 0.",
    ),
    "random.choice, probabilities of a sample": (
        lambda e: e.fn.random.choice(5, p=constant(e, np.float32([0.25, 0.5, 0.25]))),
        'Unexpected shape for argument "p". Expected {5',
    ),
    "random_object_bbox, threshold": (
        objects(threshold=[1, 2, 3, 4, 5]),
        'Argument "threshold" expected shape 2 but got 5 values, which can\'t be interpreted as the '
        "expected shape.",
    ),
    "random_object_bbox, weights": (
        objects(classes=[1, 2], class_weights=[1.0, 2.0, 3.0]),
        "If both ``classes`` and ``class_weights`` are provided, their shapes must match. Got:\n",
    ),
    "spectrogram, nothing": (
        spectrogram(0),
        "Spectogram does not support empty (0-volume) samples",
    ),
    "spectrogram, short": (spectrogram(1, center_windows=False), "Signal is too short"),
    "multi_paste, index": (
        pasted(in_ids=[-1]),
        "Got in_idx: -1. Input batch size is: 2.",
    ),
    "multi_paste, region": (
        pasted(in_ids=[0], in_anchors=regions([[4, 0]]), shapes=regions([[5, 5]])),
        "The pasted region must be within",
    ),
    "multi_paste, relative region": (
        pasted(in_ids=[0], in_anchors_rel=fractions([[-0.5, 0]]), shapes=regions([[5, 5]])),
        "must be float in [0, 1] range, got -0.5",
    ),
    "paste, canvas": (
        lambda e: e.fn.paste(images(e, np.uint8), fill_value=0, ratio=2, min_canvas_size=-1),
        "min_canvas_size_ of less than 0 is not supported",
    ),
    "paste, type": (
        lambda e: e.fn.paste(images(e, np.int32), fill_value=0, ratio=2),
        "requested type: uint8 current buffer type: int32",
    ),
    "laplacian, axes": (
        lambda e: e.fn.laplacian(images(e, np.uint8), window_size=[3, 5, 3]),
        'Argument "window_size" expects either a single value or a list of 2 elements. 3 given',
    ),
    "laplacian, type": (
        lambda e: e.fn.laplacian(images(e, np.uint8), dtype=e.types.UINT16),
        "Output data type must be same as input, FLOAT or skipped",
    ),
    "laplacian, no axes": (
        lambda e: e.fn.laplacian(constant(e, np.zeros((5, 3), np.uint8), "CF")),
        "No spatial axes found in the layout",
    ),
    "gaussian_blur, sigma": (
        lambda e: e.fn.gaussian_blur(images(e, np.uint8), sigma=-1.0),
        "`sigma` must have non-negative values, got -1 for sample: 0, axis: 0.",
    ),
    "gaussian_blur, window": (
        lambda e: e.fn.gaussian_blur(images(e, np.uint8), window_size=-11),
        "`window_size` must have non-negative values, got -11 for sample: 0, axis : 0.",
    ),
    "gaussian_blur, nothing": (
        lambda e: e.fn.gaussian_blur(images(e, np.uint8), sigma=0.0, window_size=0),
        "`sigma` and `window_size` shouldn't be 0 at the same time for sample: 0, axis: 0.",
    ),
    "gaussian_blur, layout": (
        lambda e: e.fn.gaussian_blur(
            constant(e, np.zeros((2, 3, 4, 5, 6), np.uint8), "FCCHW"), sigma=1.0
        ),
        "Found more the one occurrence of 'F' or 'C' axes in layout: FCCHW.",
    ),
    "gaussian_blur, frames": (
        lambda e: e.fn.gaussian_blur(
            constant(e, np.zeros((3, 5, 6), np.uint8), "CHW"),
            window_size=e.fn.per_frame(constant(e, np.int32([3, 5]))),
        ),
        "Tensor input for argument window_size is specified per frame (got F layout). In that case, "
        "samples in the input 0 must contain frames too. Got layout `CHW` that does not contain frames.",
    ),
    "roi_random_crop, region twice": (
        roi(roi_shape=[2]),
        "Either ROI end or ROI shape should be defined, but not both",
    ),
    "roi_random_crop, crop": (
        roi(crop_shape=[10]),
        "Cropping shape can't be bigger than the input shape. Got: crop_shape[10] and "
        "sample_shape[4] for d=0",
    ),
    "roi_random_crop, region": (
        roi(roi_end=[5]),
        "ROI can't be out of bounds. Got roi_start[1], roi_end[5], sample_shape[4], for d=0",
    ),
    "roi_random_crop, input": (roi(in_shape=[-4]), "Input shape can't be negative. Got -4 for d=0"),
    "roi_random_crop, input twice": (
        lambda e: e.fn.roi_random_crop(
            vector(e), crop_shape=[2], roi_start=[0], roi_end=[2], in_shape=[3]
        ),
        "``in_shape`` argument is incompatible with providing an input.",
    ),
    "debayer, channels": (
        bayer((4, 6, 2)),
        "The debayer operator expects grayscale (i.e. single channel) images",
    ),
    "debayer, odd": (bayer((5, 6)), "The height and width of the image to debayer must be even"),
    "debayer, position": (
        bayer((4, 6), blue_position=[1, 2]),
        "The `blue_position` position must lie within 2x2 tile",
    ),
    "gaussian_blur, even": (
        lambda e: e.fn.gaussian_blur(frames(e), window_size=4),
        "Kernel window should have odd length, got: 4.",
    ),
    "gaussian_blur, frames inside": (
        blurred("HFW"),
        "For sequences, layout should begin with 'F' or 'C', got: HFW.",
    ),
    "gaussian_blur, channels inside": (
        blurred("HCW"),
        "Only channel-first or channel-last layouts are supported, got: HCW.",
    ),
    "gaussian_blur, dimensions": (
        blurred("ABDE"),
        "Too many dimensions, found: 4 data axes, maximum supported is: 3.",
    ),
    "laplacian, window": (
        lambda e: e.fn.laplacian(frames(e), window_size=4),
        "Window size must be an odd integer between 3 and 31",
    ),
    "laplacian, smoothing": (
        lambda e: e.fn.laplacian(frames(e), smoothing_size=4),
        "Smoothing window size must be an odd integer between 1 and 31",
    ),
    "laplacian, scale": (
        lambda e: e.fn.laplacian(frames(e), scale=2.0, normalized_kernel=True),
        "Parameter ``scale`` cannot be specified when ``normalized_kernel`` is set to True",
    ),
    "mfcc, normalized": (
        lambda e: e.fn.mfcc(constant(e, np.ones((4, 3), np.float32)), dct_type=1, normalize=True),
        "Ortho-normalization is not supported for DCT type I",
    ),
    "mfcc, type": (
        lambda e: e.fn.mfcc(constant(e, np.ones((4, 3), np.float32)), dct_type=10),
        "Unsupported DCT type: 10. Supported types are: 1, 2, 3, 4",
    ),
    "mfcc, negative axis": (
        lambda e: e.fn.mfcc(constant(e, np.ones((4, 3), np.float32)), axis=-1),
        "Provided axis cannot be negative",
    ),
    "mfcc, axis": (
        lambda e: e.fn.mfcc(constant(e, np.ones((4, 3), np.float32)), axis=2),
        "Axis 2 is out of bounds [0,2)",
    ),
    "multi_paste, shapes": (
        lambda e: e.fn.multi_paste(pair(e), in_ids=[0]),
        "If the `output_size` is not specified, all the input samples must have the same shape.",
    ),
    "multi_paste, channels": (
        lambda e: e.fn.multi_paste(pair(e), in_ids=[0, 1], output_size=[9, 9]),
        "All regions pasted into given output sample must have the same number of channels",
    ),
    "paste, size of the canvas": (
        lambda e: e.fn.paste(
            constant(e, np.zeros((4, 4, 3), np.uint8)), ratio=1.5, fill_value=0, min_canvas_size=-1.0
        ),
        "min_canvas_size",
    ),
    "get_property, key": (lambda e: e.fn.get_property(frames(e), key=["layout"]), "layout"),
    "random_object_bbox, background": (
        objects(classes=[0, 2], background=0),
        "Class label 0 coincides with background label",
    ),
    "random_object_bbox, ignored": (
        objects(classes=[1], ignore_class=True),
        "cannot be used when ``ignore_class`` is True",
    ),
    "random_object_bbox, largest": (
        objects(k_largest=-1),
        "``k_largest`` must be at least 1; got -1",
    ),
    "select_masks, mask": (masks([10]), "Selected mask_id 10 is not present in the input."),
    "select_masks, columns": (
        masks([0], columns=4),
        "``polygons`` is expected to contain 2D tensors with 3 columns: ``mask_id, start_idx, "
        "end_idx``. Got 4 columns.",
    ),
    "select_masks, vertices": (
        masks([0], end=20),
        "Vertex index range for mask id 0 [0, 20) is out of bounds. Expected to be within the "
        "range of available vertices [0, 3).",
    ),
    "to_decibels, reference": (
        lambda e: e.fn.to_decibels(vector(e), reference=0.0),
        "`reference` argument can't be zero",
    ),
    "readers, shards": (
        lambda e: e.fn.readers.file(files=[__file__], num_shards=3)[0],
        "The number of input samples: 1, needs to be at least equal to the requested number of "
        "shards: 3.",
    ),
    "decoders.numpy, no array": (
        lambda e: e.fn.decoders.numpy(constant(e, np.zeros(99, np.uint8))),
        "Got bad magic string for numpy header",
    ),
    "decoders.numpy, type": (
        lambda e: e.fn.decoders.numpy(constant(e, array_file(np.zeros(3, np.complex64)))),
        "Unknown Numpy type string",
    ),
    "decoders.numpy, too short": (
        lambda e: e.fn.decoders.numpy(constant(e, array_file(np.zeros(100, np.uint8))[:-100])),
        "Expected data numpy size ",
    ),
    "decoders.numpy, too long": (
        lambda e: e.fn.decoders.numpy(constant(e, np.append(array_file(np.zeros(4)), np.uint8(0)))),
        "Expected data numpy size ",
    ),
    "crop, position": (
        lambda e: e.fn.crop(frames(e), crop=(2, 2), crop_pos_x=-10.0),
        "Anchor for dimension 2 (-10",
    ),
    "no layout": (
        lambda e: e.fn.crop(constant(e, np.zeros(5, np.uint8)), crop=(1, 1)),
        "The number of dimensions 1 does not match any of the allowed layouts",
    ),
    "argument that is missing": (
        lambda e: e.fn.rotate(frames(e)),
        "Not all required arguments were specified",
    ),
    "layout of a constant": (
        lambda e: e.fn.zeros(shape=[2, 3, 4], layout="HW"),
        "Layout 'HW' has 2 dimensions but output shape has 3",
    ),
    "argument on a device": (
        lambda e: e.fn.random.coin_flip(probability=constant(e, np.float32(0)).gpu()),
        "Invalid device \"gpu\" for argument 'probability'",
    ),
}


def check(engine: Engine, name: str) -> None:
    call, phrase = CASES[name]
    pipe = engine.root.Pipeline(batch_size=2, num_threads=1, device_id=None)
    said = "no error"
    try:
        with pipe:
            out = call(engine)
            pipe.set_outputs(*(out if isinstance(out, list) else [out]))
        pipe.build()
        pipe.run()
    except (RuntimeError, ValueError) as error:
        said = str(error)
    assert phrase in said


@pytest.mark.parametrize("cases", [list(CASES)], ids=["all"])
def test_phrase(headrace: Engine, cases: list[str]) -> None:
    grouped.run(cases, lambda name: check(headrace, name))


@pytest.mark.parametrize("cases", [list(CASES)], ids=["all"])
def test_phrase_of_dali(live_dali: Engine, cases: list[str]) -> None:
    grouped.run(cases, lambda name: check(live_dali, name))


# Scripts expect these errors from `build` or `run`, not from the definition.
WHEN_RUN = ("slice, end and shape", "expand_dims, negative", "expand_dims, twice",
            "expand_dims, names", "pad, align", "roi_random_crop, region twice",
            "normalize, axes")  # fmt: skip


@pytest.mark.parametrize("name", WHEN_RUN)
def test_definition_succeeds(headrace: Engine, name: str) -> None:
    pipe = headrace.root.Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipe:
        pipe.set_outputs(CASES[name][0](headrace))
    with pytest.raises(RuntimeError):
        pipe.build()
        pipe.run()
