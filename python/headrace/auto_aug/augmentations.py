# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The augmentations of AutoAugment, RandAugment and TrivialAugment, for UINT8 images (HWC) and videos (FHWC).

Their settings are examples; `shear_x.augmentation(mag_range=(0, 0.5))` changes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headrace import fn, types
from headrace.auto_aug.core import augmentation
from headrace.data_node import DataNode

Array = npt.NDArray[Any]


# ---- geometry: pixels from outside of the image have `fill_value`; with None, those of the border repeat ----


def warp_x_param(magnitude: float) -> list[float]:
    """The parameter of an operation along x."""
    return [magnitude, 0]


def warp_y_param(magnitude: float) -> list[float]:
    """The parameter of an operation along y."""
    return [0, magnitude]


def _warp(data: DataNode, matrix: DataNode, fill_value: Any, interp_type: Any) -> DataNode:
    return fn.warp_affine(
        data, matrix=matrix, fill_value=fill_value, interp_type=interp_type, inverse_map=False
    )


def _shear(
    data: DataNode, shear: DataNode, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    return _warp(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


def _translate(
    data: DataNode, offset: DataNode, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    return _warp(data, fn.transforms.translation(offset=offset), fill_value, interp_type)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_x_param)
def shear_x(
    data: DataNode, shear: DataNode, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    """Shears by a multiple of the distance from the left."""
    return _shear(data, shear, fill_value, interp_type)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_y_param)
def shear_y(
    data: DataNode, shear: DataNode, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    """Shears by a multiple of the distance from the top."""
    return _shear(data, shear, fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_x_param)
def translate_x(
    data: DataNode, rel_offset: DataNode, shape: Any, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    """Shifts by a fraction of the width; `shape` begins with height and width."""
    return _translate(data, rel_offset * shape[1], fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_y_param)
def translate_y(
    data: DataNode, rel_offset: DataNode, shape: Any, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    """Shifts by a fraction of the height; `shape` begins with height and width."""
    return _translate(data, rel_offset * shape[0], fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_x_param, name="translate_x"
)
def translate_x_no_shape(
    data: DataNode, offset: DataNode, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    """Shifts along x by a number of pixels."""
    return _translate(data, offset, fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_y_param, name="translate_y"
)
def translate_y_no_shape(
    data: DataNode, offset: DataNode, fill_value: Any = 128, interp_type: Any = None
) -> DataNode:
    """Shifts along y by a number of pixels."""
    return _translate(data, offset, fill_value, interp_type)


@augmentation(mag_range=(0, 30), randomly_negate=True)
def rotate(
    data: DataNode,
    angle: DataNode,
    fill_value: Any = 128,
    interp_type: Any = None,
    rotate_keep_size: bool = True,
) -> DataNode:
    """Rotates counter-clockwise by an angle in degrees."""
    return fn.rotate(
        data,
        angle=angle,
        fill_value=fill_value,
        interp_type=interp_type,
        keep_size=rotate_keep_size,
    )


# ---- colour: with the factor 1 nothing changes, 0 is black, grey or blurred, 2 is the opposite ----


def shift_enhance_range(magnitude: float) -> Any:
    """The factor of brightness, contrast and color at a distance from 1."""
    return 1 + magnitude


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def brightness(data: DataNode, parameter: DataNode) -> DataNode:
    """Multiplies by a factor."""
    return fn.brightness(data, brightness=parameter)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def contrast(data: DataNode, parameter: DataNode) -> DataNode:
    """Multiplies the distance from the mean grey of the image, like Pillow's `ImageEnhance.Contrast`."""
    grey = types.Constant(np.array([0.299, 0.587, 0.114], np.float32))
    mean = fn.reductions.mean(data, axis_names="HW", keep_dims=True)
    center = fn.reductions.sum(mean * grey, axis_names="C", keep_dims=True)
    return fn.cast_like(center + (data - center) * parameter, data)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def color(data: DataNode, parameter: DataNode) -> DataNode:
    """Multiplies the saturation."""
    return fn.saturation(data, saturation=parameter)


def sharpness_kernel(magnitude: float) -> Array:
    """The filter that adds a multiple of the difference between an image and its blurred version."""
    blur = np.ones((3, 3), np.float32)
    blur[1, 1] = 5
    unchanged = np.zeros((3, 3), np.float32)
    unchanged[1, 1] = 1
    return (1 + magnitude) * unchanged - magnitude * (blur / 13)


def sharpness_kernel_shifted(magnitude: float) -> Array:
    """Like `sharpness_kernel`, for a factor: 1 changes nothing."""
    return sharpness_kernel(magnitude - 1)


@augmentation(
    mag_range=(0, 0.9), randomly_negate=True, mag_to_param=sharpness_kernel, param_device="auto"
)
def sharpness(data: DataNode, kernel: DataNode) -> DataNode:
    """Sharpens or blurs, like Pillow's `ImageEnhance.Sharpness` except at the border."""
    return fn.filter(data, kernel)


# ---- values ----


def poster_mask_uint8(magnitude: float) -> Array:
    """The mask that keeps as many high bits as the magnitude says, at least one."""
    bits = min(max(int(np.round(magnitude)), 1), 8)
    return np.array(256 - (1 << (8 - bits)), np.uint8)


@augmentation(mag_range=(0, 4), mag_to_param=poster_mask_uint8, param_device="auto")
def posterize(data: DataNode, mask: DataNode) -> DataNode:
    """Keeps the highest bits."""
    return data & mask


@augmentation(mag_range=(256, 0), param_device="auto")
def solarize(data: DataNode, threshold: DataNode) -> DataNode:
    """Inverts values from a threshold on."""
    below = data < threshold
    return below * data + (below ^ True) * invert.op(data, None)


def solarize_add_shift(shift: float) -> Any:
    """The number that `solarize_add` adds."""
    if shift >= 128:
        raise Exception("solarize_add accepts shifts from 0 to 128")
    return np.uint8(shift)


@augmentation(mag_range=(0, 110), param_device="auto", mag_to_param=solarize_add_shift)
def solarize_add(data: DataNode, shift: DataNode) -> DataNode:
    """Adds a number to values below 128."""
    return data + (data < types.Constant(128, dtype=types.UINT8)) * shift


@augmentation
def invert(data: DataNode, _: None) -> DataNode:
    """Replaces x by 255 - x."""
    return types.Constant(255, dtype=types.UINT8) - data


@augmentation
def equalize(data: DataNode, _: None) -> DataNode:
    """Equalises the histogram of each channel, like OpenCV."""
    return fn.equalize(data)


@augmentation
def auto_contrast(data: DataNode, _: None) -> DataNode:
    """Scales each channel so that its values reach from 0 to 255. A channel with a single value stays as it is."""
    low = fn.reductions.min(data, axis_names="HW", keep_dims=True)
    high = fn.reductions.max(data, axis_names="HW", keep_dims=True)
    varies = high > low
    full = types.Constant(255, dtype=types.UINT8)
    scale = 255 / ((high - low) * varies + full * (varies ^ True))
    return fn.cast_like((data - low * varies) * scale, data)


@augmentation
def identity(data: DataNode, _: None) -> DataNode:
    """Changes nothing."""
    return data
