# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What arguments are called in other libraries (torchvision, torchaudio, NumPy, OpenCV), for messages."""

from __future__ import annotations

from collections.abc import Sequence

from headrace._base import messages

# By foreign name: our names, of which the first that the operator has is meant.
NAMES: dict[str, tuple[str, ...]] = {
    "angles": ("angle",),
    "anti_aliasing": ("antialias",),
    "axes": ("perm",),
    "axis": ("axes",),
    "axis_name": ("axis_names",),
    "blur_limit": ("window_size",),
    "brightness_factor": ("brightness",),
    "contrast_factor": ("contrast",),
    "crop_height": ("crop_h",),
    "crop_size": ("crop", "crop_shape", "size"),
    "crop_width": ("crop_w",),
    "degrees": ("angle",),
    "dim": ("axes", "axis"),
    "dims": ("axes", "perm", "axis"),
    "dsize": ("size",),
    "extensions": ("file_filters",),
    "fill": ("fill_value", "fill_values"),
    "height": ("resize_y", "crop_h"),
    "hflip": ("horizontal", "mirror"),
    "high": ("range",),
    "hop_length": ("window_step",),
    "hue_factor": ("hue",),
    "interpolation": ("interp_type",),
    "k": ("window_size",),
    "keepdim": ("keep_dims",),
    "keepdims": ("keep_dims",),
    "kernel_size": ("window_size",),
    "ksize": ("window_size",),
    "loc": ("mean",),
    "low": ("range",),
    "mode": ("interp_type",),
    "n_fft": ("nfft",),
    "n_mels": ("nfilter",),
    "new_freq": ("out_rate",),
    "newshape": ("shape",),
    "num_samples": ("shape",),
    "order": ("perm", "interp_type"),
    "orig_freq": ("in_rate",),
    "output_size": ("size", "crop"),
    "p": ("probability", "prob"),
    "probs": ("probability", "prob"),
    "ratio": ("random_aspect_ratio", "aspect_ratio"),
    "resize_height": ("resize_y",),
    "resize_width": ("resize_x",),
    "root": ("file_root",),
    "saturation_factor": ("saturation",),
    "scale": ("random_area", "scaling"),
    "shift": ("offset",),
    "shuffle": ("random_shuffle",),
    "sigma": ("stddev",),
    "size": ("crop", "shape", "window_size", "sizes"),
    "sr": ("sample_rate",),
    "std": ("stddev",),
    "transform": ("matrix",),
    "translate": ("offset",),
    "value": ("fill_value",),
    "vflip": ("vertical",),
    "width": ("resize_x", "crop_w"),
    "win_length": ("window_length",),
}


def suggestion(name: str, known: Sequence[str]) -> str:
    """As `messages.suggestion`, for an argument of an operator: also for what other libraries call it."""
    meant = next((ours for ours in NAMES.get(name, ()) if ours in known), None)
    return f' Did you mean "{meant}"?' if meant else messages.suggestion(name, known)
