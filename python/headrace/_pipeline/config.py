# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The arguments of `Pipeline`: their checks, and the record that holds them."""

from __future__ import annotations

import enum
import operator
import os
from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar, overload

from headrace._base import messages
from headrace.types import DALIDataType, data_types


Value = TypeVar("Value")

NO_BATCH_SIZE = (
    "The pipeline has no batch_size: give it to Pipeline(batch_size=...), to "
    "@pipeline_def(batch_size=...), or to the call of the function that @pipeline_def decorates."
)


class StreamPolicy(enum.Enum):
    """How CUDA streams are assigned to operators. No effect: each iteration has its own stream."""

    SINGLE = 1
    PER_BACKEND = 2
    PER_OPERATOR = 3


class OperatorConcurrency(enum.Enum):
    """Which operators may run at the same time. No effect: iterations overlap in any case."""

    NONE = 0
    BACKEND = 1
    FULL = 2


_INT32, _INT64 = 2**31 - 1, 2**63 - 1
# argument -> smallest and largest value
_INTEGERS = {
    "batch_size": (1, 2**20),
    "num_threads": (None, _INT32),
    "device_id": (None, _INT32),
    "seed": (None, _INT64),
    "bytes_per_sample": (0, _INT64),
    "max_streams": (None, _INT64),
    "default_cuda_stream_priority": (None, _INT64),
    "py_num_workers": (0, _INT32),
    "host_memory_limit": (0, _INT64),
    "device_memory_limit": (0, _INT64),
    "read_ahead_limit": (0, _INT64),
    "max_image_pixels": (0, _INT64),
    "index_memory_limit": (0, _INT64),
}
_OPTIONAL = "batch_size num_threads device_id seed max_streams default_cuda_stream_priority".split()
_OPTIONAL += ["index_memory_limit", "py_num_workers"]
_BOOLS = (
    "exec_pipelined exec_async exec_dynamic experimental_exec_dynamic set_affinity fuse strict "
)
_BOOLS += "enable_memory_stats enable_checkpointing"
_PATHS = ("quarantine", "trace", "index_cache")
_ENUMS = {"stream_policy": StreamPolicy, "concurrency": OperatorConcurrency}


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Checks an argument that must be an integer, and returns it as Python's int.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is not from `low` to `high`.
    """
    if not _is_integer(value):
        raise TypeError(f"{name} must be an integer, not {value!r} ({type(value).__name__}).")
    number = operator.index(value)
    if not low <= number <= high:
        raise ValueError(f"{name} must be from {low} to {high}, got {value!r}.")
    return number


def checked(name: str, value: Any) -> int | None:
    """Checks an integer argument of `Pipeline`; None where it is optional."""
    low, high = _INTEGERS[name]
    if value is None and name in _OPTIONAL:
        return None
    return integer(name, value, -high if low is None else low, high)


def check_types(given: Mapping[str, Any]) -> dict[str, int | None]:
    """Checks constructor arguments that must be integers, booleans, paths or enumerations.

    Returns:
        The integer arguments by name, converted to Python's int.

    Raises:
        TypeError, ValueError: an argument is not allowed; the message names it and its value.
    """
    for name in _BOOLS.split():
        value = given[name]
        if not (value is None or isinstance(value, int) or hasattr(value, "dtype")):
            raise TypeError(
                f"{name} must be True or False, not {value!r} ({type(value).__name__})."
            )
    for name in _PATHS:
        value = given[name]
        if value is None:
            continue
        if not isinstance(value, (str, bytes, os.PathLike)):
            raise TypeError(f"{name} must be a path, not {value!r} ({type(value).__name__}).")
        if b"\0" in os.fsencode(value):
            raise ValueError(f"{name} is {value!r}: a path cannot contain a zero byte.")
    for name, kind in _ENUMS.items():
        if not (given[name] is None or isinstance(given[name], kind)):
            raise TypeError(f"{name} must be a {kind.__name__}, not {given[name]!r}.")
    return {name: checked(name, given[name]) for name in _INTEGERS}


def _is_integer(value: Any) -> bool:
    """Whether the value is an integer of Python or of a library, and not a truth value."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def queue_depths(depth: Any, exec_async: bool) -> tuple[bool, int, int]:
    """Returns whether the queues are separated, and their sizes for CPU and GPU.

    Raises:
        ValueError: separated queues without `exec_async`, or a size below 1.
        TypeError: `depth` is neither an int nor a dict of ints.
    """
    if isinstance(depth, dict):
        if not exec_async:
            raise ValueError(
                "`exec_async` must not evaluate to `False` when using separated queues."
            )
        given = depth.get("cpu_size", depth.get("cpu")), depth.get("gpu_size", depth.get("gpu"))
        if any(size is None for size in given):
            raise ValueError(
                'prefetch_queue_depth as a dictionary needs "cpu_size" and "gpu_size".'
            )
        if not all(_is_integer(size) for size in given):
            raise TypeError(f"prefetch_queue_depth needs integers, not {depth!r}.")
        separated, sizes = True, (operator.index(given[0]), operator.index(given[1]))
    elif _is_integer(depth):
        separated, sizes = False, (operator.index(depth),) * 2
    else:
        raise TypeError(
            f"Expected prefetch_queue_depth to be either int or Dict[int, int], not {depth!r}"
        )
    if min(sizes) < 1:
        raise ValueError(f"prefetch_queue_depth must be at least 1, got {depth}.")
    if max(sizes) > _INT32:
        raise ValueError(f"prefetch_queue_depth must be at most {_INT32}, got {depth}.")
    return separated, sizes[0], sizes[1]


def _declared(
    name: str, value: Any, kind: type | tuple[type, ...], text: str, bad: Any, rule: str
) -> None:
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if item is None:
            continue
        if not isinstance(item, kind):
            raise TypeError(
                f"`{name}` must be either: {text}, a list of these or None. Found type {type(item)}."
            )
        if bad(item):
            raise ValueError(f"`{name}` must be {rule}. Got {item}.")


def _element_types(value: Any) -> Any:
    """`output_dtype` as members of `DALIDataType`, except for numbers and Python's own number types.

    `int` and `float` say nothing about a size, so they declare nothing that could be checked.
    """
    given = value if isinstance(value, (list, tuple)) else (value,)
    if any(item in (bool, int, float) for item in given if isinstance(item, type)):
        return value
    try:
        return data_types(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"`output_dtype`: {error}") from None


def check_declared(dtype: Any, ndim: Any, layout: Any) -> None:
    """Checks `output_dtype`, `output_ndim` and `output_layout`.

    Raises:
        TypeError: a value has the wrong type.
        ValueError: a value is not allowed.
    """
    _declared(
        "output_dtype",
        dtype,
        DALIDataType,
        "a value from headrace.types.DALIDataType",
        lambda v: v == DALIDataType.NO_TYPE,
        "an element type other than types.NO_TYPE",
    )
    _declared("output_ndim", ndim, int, "an int", lambda v: v < 0, "non-negative")
    _declared("output_layout", layout, str, "a string", lambda v: False, "a layout")


def each_output(name: str, value: Any, count: int) -> list[Any]:
    """Expands a declared value to a list with one element per output.

    Raises:
        RuntimeError: `value` is a list with a different length.
    """
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(
            f"Lengths of provided outputs descriptions do not match. Expected: {count}, `{name}` has "
            f"{len(value)}."
        )
    return list(value)


_ENGINE = """on_error fuse strict host_memory_limit device_memory_limit read_ahead_limit
    max_image_pixels index_memory_limit index_cache quarantine trace""".split()


class PipelineConfig:
    """The arguments of `Pipeline` after their checks, and what follows from them."""

    max_batch_size: int | None
    num_threads: int | None
    device_id: int | None
    seed: int | None
    exec_pipelined: bool
    exec_async: bool
    exec_dynamic: bool | None
    exec_separated: bool  # the queues of CPU and GPU have sizes of their own
    prefetch_queue_depth: int | dict[str, int]
    cpu_queue_size: int
    gpu_queue_size: int
    set_affinity: bool
    enable_memory_stats: bool
    enable_checkpointing: bool
    py_num_workers: int | None
    py_start_method: str
    py_callback_pickler: Any
    output_dtype: Any
    output_ndim: Any
    output_layout: Any
    stream_policy: StreamPolicy | None
    concurrency: OperatorConcurrency | None
    options: dict[str, Any]  # what the engine takes under the same name; None: not given

    def __init__(self, values: Mapping[str, Any]) -> None:
        for name in type(self).__annotations__:
            setattr(self, name, values[name])

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> Self:
        """Makes the record from the constructor's arguments by name; warns about deprecated ones.

        Raises:
            TypeError, ValueError: an argument is not allowed; the message names it and its value.
            RuntimeError: two arguments exclude each other.
        """
        values = {**given, **check_types(given)}
        _warn_deprecated(values)
        _check_choices(values)
        values["output_dtype"] = _element_types(values["output_dtype"])
        check_declared(values["output_dtype"], values["output_ndim"], values["output_layout"])
        depth, exec_async = values["prefetch_queue_depth"], values["exec_async"]
        separated, cpu_size, gpu_size = queue_depths(depth, exec_async)
        if values["exec_dynamic"] and separated:
            raise RuntimeError(
                "The dynamic executor (`exec_dynamic`) does not support separated queues."
            )
        if (
            values["exec_dynamic"] is None
            and values["exec_pipelined"]
            and exec_async
            and not separated
        ):
            values["exec_dynamic"] = True
        values |= {
            "max_batch_size": values["batch_size"],
            "exec_separated": separated,
            "cpu_queue_size": cpu_size,
            "gpu_queue_size": gpu_size,
            "options": {name: values[name] for name in _ENGINE},
        }
        return cls(values)

    @property
    def depth(self) -> int:
        """Number of iterations in flight."""
        return max(self.cpu_queue_size, self.gpu_queue_size) if self.exec_pipelined else 1

    def require_exec_dynamic(self, message: str) -> None:
        """Raises RuntimeError, beginning with `message`, where DALI would not use its dynamic executor."""
        if self.exec_dynamic:
            return
        if self.exec_separated:
            reason = "is not compatible with separated CPU/GPU queues"
        elif not self.exec_async or not self.exec_pipelined:
            reason = "requires `exec_async` and `exec_pipelined` to be enabled"
        else:
            reason = "was explicitly disabled in this pipeline"
        raise RuntimeError(f"{message}the dynamic executor, which {reason}.")


class Argument(Generic[Value]):
    """A read-only attribute of `Pipeline` that shows the field of its `PipelineConfig` of the same name."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, pipeline: None, owner: type) -> Self: ...

    @overload
    def __get__(self, pipeline: Any, owner: type) -> Value: ...

    def __get__(self, pipeline: Any, owner: type) -> Any:
        return self if pipeline is None else getattr(pipeline._config, self._name)

    def __set__(self, pipeline: Any, value: Value) -> None:
        raise AttributeError(f"{self._name} of a pipeline is read-only.")


def _warn_deprecated(values: dict[str, Any]) -> None:
    """Warns about deprecated arguments, and replaces them with the current ones."""
    if values["experimental_exec_dynamic"] is not None:
        messages.deprecated("`experimental_exec_dynamic` is deprecated, use `exec_dynamic`.")
        values["exec_dynamic"] = values["experimental_exec_dynamic"]
    for name in ("default_cuda_stream_priority", "max_streams"):
        if values[name] is not None:
            messages.warn(f"The `{name}` is deprecated and has no effect.")
    if values["seed"] is not None and values["seed"] < 0:
        messages.warn("A negative seed is deprecated and is treated as None.")
        values["seed"] = None


def _check_choices(values: dict[str, Any]) -> None:
    on_error, method = values["on_error"], values["py_start_method"]
    if on_error not in ("raise", "replace", "skip"):
        raise ValueError(f'on_error must be "raise", "replace" or "skip", not {on_error!r}.')
    if method not in ("fork", "spawn"):
        raise ValueError(f'py_start_method must be "fork" or "spawn", not {method!r}.')
    if values["py_callback_pickler"] is not None and method == "fork":
        raise ValueError(
            "``py_callback_pickler`` should not be set when 'fork' start method is used."
        )
