# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""An operation on samples whose strength is chosen by a number."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace import fn, types
from headrace.auto_aug.core import _args
from headrace.data_node import DataNode

MagRange: TypeAlias = tuple[float, float] | npt.NDArray[Any]
MagToParam: TypeAlias = Callable[[float], npt.ArrayLike]


class _Kept:
    """The default of `Augmentation.augmentation`: the setting stays as it is. None resets it."""


@dataclasses.dataclass(frozen=True)
class SignedBin:
    """A magnitude bin and whether the magnitude is negated.

    Indexing selects the bin of one step where a sample goes through several.
    """

    bin: int | DataNode
    random_sign: DataNode  # 1: negated
    # 2 * bin + random_sign: the place in a table of magnitudes with both signs. Computed at once: where a bin is used
    # in a branch, it would be computed there again.
    signed_magnitude_idx: DataNode

    def __getitem__(self, step: int) -> SignedBin:
        of_step = self.bin if isinstance(self.bin, int) else self.bin[step]
        return SignedBin(of_step, self.random_sign[step], self.signed_magnitude_idx[step])


def signed_bin(
    magnitude_bin: int | DataNode,
    random_sign: DataNode | None = None,
    seed: int | None = None,
    shape: tuple[int, ...] | None = None,
) -> SignedBin:
    """Adds a sign to a magnitude bin, once for all augmentations that may use it.

    Args:
        magnitude_bin: the bin, from 0 to `num_magnitude_bins` - 1: a number, or one per sample.
        random_sign: per sample 0, or 1 to negate. By default it is drawn.
        seed, shape: seed and shape of the signs that are drawn.
    """
    if not isinstance(magnitude_bin, int | DataNode):
        raise Exception(
            f"`magnitude_bin` must be an int or a DataNode with one bin per sample, got {magnitude_bin}."
        )
    if random_sign is None:
        random_sign = fn.random.uniform(values=[0, 1], dtype=types.INT32, seed=seed, shape=shape)
    elif seed is not None or shape is not None:
        raise Exception("`random_sign` cannot be specified together with `seed` or `shape`.")
    return SignedBin(magnitude_bin, random_sign, 2 * magnitude_bin + random_sign)


class Augmentation:
    """An operation on samples with a range of magnitudes. The decorator `augmentation` makes it."""

    def __init__(
        self,
        op: Callable[..., DataNode],
        mag_range: MagRange | None = None,
        randomly_negate: bool | None = None,
        mag_to_param: MagToParam | None = None,
        param_device: str | None = None,
        name: str | None = None,
    ) -> None:
        self.op = op
        self._settings: dict[str, Any] = {
            "mag_range": mag_range,
            "randomly_negate": randomly_negate,
            "mag_to_param": mag_to_param,
            "param_device": param_device,
            "name": name,
        }
        count = _args.positional_count(op)
        if count < 2:
            raise Exception(
                f"{op} accepts {count} positional argument(s), but the functions decorated with `@augmentation` "
                "take at least two: the samples and the parameter."
            )

    @property
    def mag_range(self) -> MagRange | None:
        """The magnitudes of the lowest and the highest bin, or an array with the magnitude of each bin."""
        return self._settings["mag_range"]

    @property
    def randomly_negate(self) -> bool:
        """Whether the magnitude is negated for half of the samples."""
        return self._settings["randomly_negate"] or False

    @property
    def mag_to_param(self) -> MagToParam:
        """Converts a magnitude to the parameter of the operation."""
        return self._settings["mag_to_param"] or np.array

    @property
    def param_device(self) -> str:
        """Where the parameters are kept: "cpu", "gpu", or "auto" for the device of the samples."""
        return self._settings["param_device"] or "cpu"

    @property
    def name(self) -> str:
        """The name, by default that of the decorated function."""
        return self._settings["name"] or self.op.__name__

    def __repr__(self) -> str:
        given = [f"{key}={value!r}" for key, value in self._settings.items() if value is not None]
        return f"Augmentation({', '.join([repr(self.op), *given])})"

    def augmentation(
        self,
        mag_range: Any = _Kept,
        randomly_negate: Any = _Kept,
        mag_to_param: Any = _Kept,
        param_device: Any = _Kept,
        name: Any = _Kept,
        augmentation_cls: type[Augmentation] | None = None,
    ) -> Augmentation:
        """The same operation with other settings; None gives a setting its default."""
        changed = {
            "mag_range": mag_range,
            "randomly_negate": randomly_negate,
            "mag_to_param": mag_to_param,
            "param_device": param_device,
            "name": name,
        }
        kept = {key: self._settings[key] for key, value in changed.items() if value is _Kept}
        return (augmentation_cls or type(self))(self.op, **{**changed, **kept})

    def __call__(
        self,
        data: DataNode,
        *,
        magnitude_bin: int | DataNode | SignedBin | None = None,
        num_magnitude_bins: int | None = None,
        **kwargs: Any,
    ) -> DataNode:
        """Applies the operation.

        Args:
            data: the samples.
            magnitude_bin: selects the magnitude, from 0 to `num_magnitude_bins` - 1.
            num_magnitude_bins: number of bins into which `mag_range` is divided.
            kwargs: further arguments; the operation gets those that it has parameters for.

        Raises:
            Exception: an argument that the operation requires is missing, or the magnitude is not determined.
        """
        parameter = self._parameter(magnitude_bin, num_magnitude_bins, data)
        missing = _args.missing(self.op, kwargs)
        if missing:
            raise _args.MissingArgException(
                f"The augmentation `{self.name}` requires arguments that were not provided to the call: "
                f"{', '.join(missing)}",
                self,
                missing,
            )
        return self.op(data, parameter, **_args.accepted(self.op, kwargs))

    def _parameter(
        self, magnitude_bin: int | DataNode | SignedBin | None, bins: int | None, data: DataNode
    ) -> Any:
        """The parameter of the operation: None, a constant, or one per sample."""
        magnitudes = self._get_magnitudes(bins)
        if magnitudes is None:
            return None
        if magnitude_bin is None:
            raise Exception(
                f"The augmentation `{self.name}` has a `mag_range`: it needs `magnitude_bin`, which selects the "
                "magnitude."
            )
        if self.randomly_negate and not isinstance(magnitude_bin, SignedBin):
            warnings.warn(
                f"The augmentation `{self.name}` negates magnitudes at random, but unsigned `magnitude_bin` was "
                "passed to the augmentation call, so it draws the signs itself. Before a choice between several "
                "augmentations, call `signed_bin` and pass its result.",
                stacklevel=3,
            )
            magnitude_bin = signed_bin(magnitude_bin)
        index: Any = magnitude_bin
        if isinstance(magnitude_bin, SignedBin):
            index = magnitude_bin.bin
            if self.randomly_negate:
                if isinstance(index, int):
                    magnitudes, index = [magnitudes[index]], magnitude_bin.random_sign
                else:
                    index = magnitude_bin.signed_magnitude_idx
                magnitudes = [m for magnitude in magnitudes for m in (magnitude, -magnitude)]
        device = self.param_device if self.param_device != "auto" else data.device or "cpu"
        if isinstance(index, int):
            return types.Constant(self._map_mag_to_param(magnitudes[index]), device=device)
        return types.Constant(self._map_mags_to_params(magnitudes), device=device)[index]

    def _get_magnitudes(self, num_magnitude_bins: int | None) -> Any:
        """The magnitude of each bin; None if the augmentation has no magnitudes."""
        of_range: Any = self.mag_range
        if of_range is None:
            return None
        if isinstance(of_range, np.ndarray):
            if num_magnitude_bins not in (None, len(of_range)):
                raise Exception(
                    f"The `mag_range` of the augmentation `{self.name}` is an array of {len(of_range)} magnitudes, "
                    f"but `num_magnitude_bins` is {num_magnitude_bins}."
                )
            return of_range
        if num_magnitude_bins is None:
            raise Exception(
                f"The `num_magnitude_bins` argument is missing in the call of the augmentation `{self.name}`: it "
                "says how many bins the range of magnitudes is divided into."
            )
        if not hasattr(of_range, "__len__") or len(of_range) != 2:
            raise Exception(
                f"The `mag_range` of the augmentation `{self.name}` must be a tuple of the lowest and the highest "
                f"magnitude, or an array of all magnitudes, got `{of_range}`."
            )
        return np.linspace(of_range[0], of_range[1], num_magnitude_bins, dtype=np.float32)

    def _map_mag_to_param(self, magnitude: Any) -> npt.NDArray[Any]:
        parameter = self.mag_to_param(magnitude)
        parts = parameter if isinstance(parameter, tuple | list) else [parameter]
        if any(isinstance(part, DataNode) for part in parts):
            raise Exception(
                f"The `mag_to_param` of the augmentation `{self.name}` returned a DataNode. The callback must "
                "return parameter that is `np.ndarray` or can be converted to one, because the parameters of all "
                "magnitudes are computed in advance. Operators belong into the decorated function."
            )
        return np.array(parameter)

    def _map_mags_to_params(self, magnitudes: Sequence[Any]) -> npt.NDArray[Any]:
        parameters = [self._map_mag_to_param(magnitude) for magnitude in magnitudes]
        first = parameters[0]
        for parameter, magnitude in zip(parameters, magnitudes, strict=True):
            if (parameter.shape, parameter.dtype) != (first.shape, first.dtype):
                raise Exception(
                    f"The `mag_to_param` of the `{self.name}` augmentation must return the arrays of the same type "
                    f"and shape for all magnitudes. The parameter of {magnitudes[0]} has shape {first.shape} and "
                    f"type {first.dtype}, but that of {magnitude} has shape {parameter.shape} and type "
                    f"{parameter.dtype}."
                )
        return np.array(parameters)


def augmentation(
    function: Callable[..., DataNode] | None = None,
    *,
    mag_range: MagRange | None = None,
    randomly_negate: bool | None = None,
    mag_to_param: MagToParam | None = None,
    param_device: str | None = None,
    name: str | None = None,
    augmentation_cls: type[Augmentation] | None = None,
) -> Any:
    """Makes an `Augmentation` of a function, which takes the samples and a parameter and returns samples.

    The augmentation takes a magnitude bin instead of the parameter. The magnitudes of all bins are
    `linspace(mag_range[0], mag_range[1], num_magnitude_bins)`.

    Args:
        function: `function(data, parameter, ...)`, built from operators. Further parameters get the keyword arguments
            of the same names.
        mag_range: the magnitudes of the lowest and the highest bin, or an array with the magnitude of each bin.
            Without it, the parameter is None.
        randomly_negate: negate the magnitude for half of the samples.
        mag_to_param: converts a magnitude to the parameter, an array of the same type and shape for all magnitudes.
        param_device: where the parameters are kept: "cpu" (default), "gpu", or "auto" for the device of the samples.
        name: the name of the augmentation, by default that of the function.
        augmentation_cls: a subclass of `Augmentation` to make.

    Raises:
        Exception: `function` is an augmentation already, cannot be called, or takes fewer than two arguments.
    """

    def decorate(function: Callable[..., DataNode]) -> Augmentation:
        if isinstance(function, Augmentation):
            raise Exception(
                "The `@augmentation` was applied to already decorated Augmentation. Its method `augmentation` "
                f"changes its settings: {function}"
            )
        if not callable(function):
            raise Exception(f"`@augmentation` decorates functions, got {function}.")
        return (augmentation_cls or Augmentation)(
            function,
            mag_range=mag_range,
            randomly_negate=randomly_negate,
            mag_to_param=mag_to_param,
            param_device=param_device,
            name=name,
        )

    return decorate if function is None else decorate(function)
