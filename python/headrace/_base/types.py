# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Element types, enumerations and constants. Enumeration members are also module attributes."""

from __future__ import annotations

import enum
import warnings
from typing import Any, Protocol, TypeAlias

from headrace._base import messages

__all__ = [
    "ANY",
    "ANY_DATA",
    "BGR",
    "BOOL",
    "BatchInfo",
    "CPU_ONLY_DEVICE_ID",
    "CUDAStream",
    "DALIDataType",
    "DALIImageType",
    "DALIInterpType",
    "DATA_TYPE",
    "DTypeLike",
    "FEATURE",
    "FLOAT",
    "FLOAT16",
    "FLOAT64",
    "GRAY",
    "IMAGE_TYPE",
    "INT16",
    "INT32",
    "INT64",
    "INT8",
    "INTERP_CUBIC",
    "INTERP_GAUSSIAN",
    "INTERP_LANCZOS3",
    "INTERP_LINEAR",
    "INTERP_NN",
    "INTERP_TRIANGULAR",
    "INTERP_TYPE",
    "NCHW",
    "NFCHW",
    "NFHWC",
    "NHWC",
    "NO_TYPE",
    "PYTHON_OBJECT",
    "PipelineAPIType",
    "RGB",
    "SAME",
    "STRING",
    "SampleInfo",
    "ScalarConstant",
    "TENSOR_LAYOUT",
    "TensorLayout",
    "UINT16",
    "UINT32",
    "UINT64",
    "UINT8",
    "YCbCr",
    "_DALIDataType",
    "_all_types",
    "_bool_types",
    "_float_types",
    "_int_types",
    "check_numeric",
    "data_type",
    "data_types",
    "element_type",
    "enum_type",
    "is_enum",
    "name_in_messages",
    "to_dali_type",
    "to_numpy_type",
]

CPU_ONLY_DEVICE_ID = -99999


class _Enum(enum.IntEnum):
    """Prints as DALI's enumerations do, even where IntEnum would print the number."""

    __str__ = enum.Enum.__str__
    __format__ = enum.Enum.__format__  # type: ignore[assignment]


class DALIDataType(_Enum):
    """Types of elements (UINT8 to BOOL) and of operator arguments."""

    def __call__(self) -> DALIDataType:
        """Returns the type itself: `dtype` of tensors was a method once.

        .. deprecated:: use ``dtype`` without parentheses.
        """
        warnings.warn("Calling '.dtype()' is deprecated, please use '.dtype' instead", stacklevel=2)
        return self

    NO_TYPE = -1
    UINT8 = 0
    UINT16 = 1
    UINT32 = 2
    UINT64 = 3
    INT8 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    FLOAT16 = 8
    FLOAT = 9
    FLOAT64 = 10
    BOOL = 11
    STRING = 12
    _BOOL_VEC = 13
    _INT32_VEC = 14
    _STRING_VEC = 15
    _FLOAT_VEC = 16
    FEATURE = 17
    IMAGE_TYPE = 20
    DATA_TYPE = 21
    INTERP_TYPE = 22
    TENSOR_LAYOUT = 23
    PYTHON_OBJECT = 24


class DALIImageType(_Enum):
    """Color spaces of images."""

    RGB = 0
    BGR = 1
    GRAY = 2
    YCbCr = 3
    ANY_DATA = 4


class DALIInterpType(_Enum):
    """Resampling filters."""

    INTERP_NN = 0
    INTERP_LINEAR = 1
    INTERP_CUBIC = 2
    INTERP_LANCZOS3 = 3
    INTERP_TRIANGULAR = 4
    INTERP_GAUSSIAN = 5


class PipelineAPIType(enum.Enum):
    """Ways to run a pipeline, which cannot be mixed: `run`, iterators, `schedule_run`."""

    BASIC = 0
    ITERATOR = 1
    SCHEDULED = 2


class TensorLayout(str):
    """A layout, one letter per dimension ("HWC"); compares equal to its string."""

    __slots__ = ()


NO_TYPE = DALIDataType.NO_TYPE
# As `dtype` of the image decoders: the type that keeps what is in the file. Not in DALI.
ANY = NO_TYPE
UINT8 = DALIDataType.UINT8
UINT16 = DALIDataType.UINT16
UINT32 = DALIDataType.UINT32
UINT64 = DALIDataType.UINT64
INT8 = DALIDataType.INT8
INT16 = DALIDataType.INT16
INT32 = DALIDataType.INT32
INT64 = DALIDataType.INT64
FLOAT16 = DALIDataType.FLOAT16
FLOAT = DALIDataType.FLOAT
FLOAT64 = DALIDataType.FLOAT64
BOOL = DALIDataType.BOOL
STRING = DALIDataType.STRING
FEATURE = DALIDataType.FEATURE
IMAGE_TYPE = DALIDataType.IMAGE_TYPE
DATA_TYPE = DALIDataType.DATA_TYPE
INTERP_TYPE = DALIDataType.INTERP_TYPE
TENSOR_LAYOUT = DALIDataType.TENSOR_LAYOUT
PYTHON_OBJECT = DALIDataType.PYTHON_OBJECT

RGB = DALIImageType.RGB
BGR = DALIImageType.BGR
GRAY = DALIImageType.GRAY
YCbCr = DALIImageType.YCbCr
ANY_DATA = DALIImageType.ANY_DATA

INTERP_NN = DALIInterpType.INTERP_NN
INTERP_LINEAR = DALIInterpType.INTERP_LINEAR
INTERP_CUBIC = DALIInterpType.INTERP_CUBIC
INTERP_LANCZOS3 = DALIInterpType.INTERP_LANCZOS3
INTERP_TRIANGULAR = DALIInterpType.INTERP_TRIANGULAR
INTERP_GAUSSIAN = DALIInterpType.INTERP_GAUSSIAN

# Named after the layout of a batch; the value is the layout of a sample, as operators take it.
NCHW = "CHW"
NHWC = "HWC"
NFCHW = "FCHW"
NFHWC = "FHWC"
SAME = ""

# ---- NumPy and other frameworks ----

_NUMPY_NAMES = {
    UINT8: "uint8",
    UINT16: "uint16",
    UINT32: "uint32",
    UINT64: "uint64",
    INT8: "int8",
    INT16: "int16",
    INT32: "int32",
    INT64: "int64",
    FLOAT16: "float16",
    FLOAT: "float32",
    FLOAT64: "float64",
    BOOL: "bool",
}
_FROM_NAME = {name: dtype for dtype, name in _NUMPY_NAMES.items()}
_FROM_NAME |= {"bool_": BOOL, "boolean": BOOL, "half": FLOAT16, "float": FLOAT, "double": FLOAT64}
_FROM_NAME |= {"sbyte": INT8, "byte": UINT8, "ubyte": UINT8, "short": INT16, "ushort": UINT16}
_FROM_NAME |= {"int": INT32, "long": INT64, "ulong": UINT64}


def to_numpy_type(dali_type: DALIDataType) -> type:
    """Returns the NumPy scalar type of an element type.

    Raises:
        KeyError: `dali_type` is not an element type.
    """
    import numpy

    return numpy.dtype(_NUMPY_NAMES[DALIDataType(dali_type)]).type


def to_dali_type(framework_type: Any) -> DALIDataType:
    """Returns the element type for a type of NumPy, PyTorch or another framework, or for its name.

    Raises:
        TypeError: no element type corresponds to it.
    """
    if isinstance(framework_type, DALIDataType):
        return framework_type
    if framework_type is bool:
        return BOOL
    if framework_type is int:
        return INT32
    if framework_type is float:
        return FLOAT
    name = framework_type
    if not isinstance(framework_type, str):
        name = getattr(framework_type, "name", None) or getattr(framework_type, "__name__", None)
        name = str(framework_type if name is None else name)
    try:
        return _FROM_NAME[name.rpartition(".")[2]]
    except KeyError:
        raise TypeError(f"No element type corresponds to {framework_type!r}.") from None


class _FrameworkType(Protocol):
    """numpy.dtype, torch.dtype and the like."""

    @property
    def itemsize(self) -> int: ...


#: What arguments such as `dtype` take: types.FLOAT, "float32", numpy.float32, torch.float32.
DTypeLike: TypeAlias = DALIDataType | str | type[Any] | _FrameworkType


def data_type(value: Any) -> Any:
    """Returns the element type that an argument stands for. Numbers are returned as they are.

    Raises:
        ValueError: no element type has this name.
        TypeError: it is neither a type nor a name.
    """
    if hasattr(type(value), "__index__"):
        return value
    if isinstance(value, str) and value in DALIDataType.__members__:
        return DALIDataType[value]
    try:
        return to_dali_type(value)
    except TypeError:
        if isinstance(value, str):
            close = messages.suggestion(value, [*_FROM_NAME, *DALIDataType.__members__])
            known = close or f" There are {', '.join(_NUMPY_NAMES.values())}."
            raise ValueError(f'"{value}" is not an element type.{known}') from None
        raise TypeError(
            f"{value!r} is not an element type: pass a member of `types` such as types.FLOAT, a "
            'name such as "float32", or a type of NumPy or PyTorch.'
        ) from None


def data_types(value: Any) -> Any:
    """`data_type` of a value, or of each element of a list. None is returned as it is."""
    if isinstance(value, (list, tuple)):
        return [data_types(item) for item in value]
    return None if value is None else data_type(value)


_ENUM_TYPES = {DALIImageType: IMAGE_TYPE, DALIDataType: DATA_TYPE, DALIInterpType: INTERP_TYPE}
_ENUMS = {dtype: enumeration.__name__ for enumeration, dtype in _ENUM_TYPES.items()}


def enum_type(value: Any) -> DALIDataType | None:
    """Returns the element type of a member of an enumeration; None for other values."""
    return _ENUM_TYPES.get(type(value))


def is_enum(dtype: Any) -> bool:
    """Returns whether elements of this type are members of an enumeration."""
    return isinstance(dtype, int) and dtype in _ENUMS


def check_numeric(dtype: int) -> None:
    """Checks that elements are numbers, not members of an enumeration.

    Raises:
        TypeError: they are not.
    """
    if is_enum(dtype):
        raise TypeError(
            f"{messages.product()} enum types cannot be used with buffer protocol, DLPack or arrays: the elements are "
            f"of {DALIDataType(dtype).name}. You can use `{messages.package()}.fn.cast` to convert them to integers."
        )


def name_in_messages(dtype: int) -> str:
    """Returns the name of an element type in messages that scripts match: "double", "DALIDataType"."""
    known = DALIDataType(dtype)
    return "double" if known == FLOAT64 else _ENUMS.get(known, known.name.lower())


def element_type(dtype: Any, enums: bool = False) -> DALIDataType:
    """Returns `dtype` as the element type of a constant.

    Args:
        dtype: a type.
        enums: whether the types of enumerations are allowed.

    Raises:
        TypeError: it is not an element type.
    """
    try:
        known = DALIDataType(data_type(dtype))
    except (TypeError, ValueError):
        known = NO_TYPE
    if known not in _NUMPY_NAMES and not (enums and known in _ENUMS):
        raise TypeError(f"A constant cannot be of type {dtype!r}.")
    return known


# Names that scripts take from DALI's module.
_DALIDataType = DALIDataType
_bool_types = [BOOL]
_int_types = [INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64]
_float_types = [FLOAT16, FLOAT, FLOAT64]
_all_types = _bool_types + _int_types + _float_types

# ---- constants ----

_INTEGERS = frozenset((UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64))
_FLOATS = frozenset((FLOAT16, FLOAT, FLOAT64))


def _convert(dtype: DALIDataType, value: Any) -> bool | int | float:
    if hasattr(value, "item"):
        value = value.item()
    if dtype == BOOL:
        return bool(value)
    if dtype in _INTEGERS:
        return int(value)
    return float(value)


class ScalarConstant:
    """A number with an element type, for arithmetic with nodes: ``image * Constant(0.5).float16()``.

    Args:
        value: bool, int or float.
        dtype: element type; by default BOOL, INT32 or FLOAT, depending on the value.

    Raises:
        TypeError: the value is not a number, or `dtype` is not an element type.
    """

    def __init__(self, value: bool | int | float, dtype: DTypeLike | None = None) -> None:
        if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
            if dtype is None and hasattr(value, "dtype"):
                dtype = to_dali_type(value.dtype)
            value = value.item()
        if not isinstance(value, (bool, int, float)) or enum_type(value) is not None:
            kind = type(value)
            raise TypeError(
                "Expected scalar value of type 'bool', 'int' or 'float', got "
                f"{kind.__module__}.{kind.__qualname__}."
            )
        if dtype is None:
            dtype = BOOL if isinstance(value, bool) else INT32 if isinstance(value, int) else FLOAT
        dtype = element_type(dtype)
        self.dtype = dtype
        self.value = _convert(dtype, value)
        self.shape: list[int] = []

    def bool(self) -> ScalarConstant:
        return ScalarConstant(self.value, BOOL)

    def int8(self) -> ScalarConstant:
        return ScalarConstant(self.value, INT8)

    def int16(self) -> ScalarConstant:
        return ScalarConstant(self.value, INT16)

    def int32(self) -> ScalarConstant:
        return ScalarConstant(self.value, INT32)

    def int64(self) -> ScalarConstant:
        return ScalarConstant(self.value, INT64)

    def uint8(self) -> ScalarConstant:
        return ScalarConstant(self.value, UINT8)

    def uint16(self) -> ScalarConstant:
        return ScalarConstant(self.value, UINT16)

    def uint32(self) -> ScalarConstant:
        return ScalarConstant(self.value, UINT32)

    def uint64(self) -> ScalarConstant:
        return ScalarConstant(self.value, UINT64)

    def float16(self) -> ScalarConstant:
        return ScalarConstant(self.value, FLOAT16)

    def float32(self) -> ScalarConstant:
        return ScalarConstant(self.value, FLOAT)

    def float64(self) -> ScalarConstant:
        return ScalarConstant(self.value, FLOAT64)

    def __bool__(self) -> bool:  # type: ignore[valid-type]
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return f"{self.value}:{self.dtype}"

    def __repr__(self) -> str:
        return f"{self.value}"


class CUDAStream:
    """A CUDA stream given by its address.

    Args:
        ptr: address of the stream (``cudaStream_t``); 0: the default stream.
    """

    __slots__ = ("_ptr",)

    def __init__(self, ptr: int = 0) -> None:
        self._ptr = ptr

    @property
    def ptr(self) -> int:
        """Address of the stream."""
        return self._ptr

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which other libraries take streams: its version, and the address."""
        return 0, self._ptr


# ---- external_source ----


class SampleInfo:
    """The sample that an `external_source` callback must return.

    Attributes:
        idx_in_epoch: index of the sample in the epoch.
        idx_in_batch: index of the sample in the batch.
        iteration: index of the batch in the epoch.
        epoch_idx: index of the epoch.
    """

    __slots__ = ("idx_in_epoch", "idx_in_batch", "iteration", "epoch_idx")

    def __init__(
        self, idx_in_epoch: int, idx_in_batch: int, iteration: int, epoch_idx: int
    ) -> None:
        self.idx_in_epoch = idx_in_epoch
        self.idx_in_batch = idx_in_batch
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return (
            f"SampleInfo(idx_in_epoch={self.idx_in_epoch}, idx_in_batch={self.idx_in_batch}, "
            f"iteration={self.iteration}, epoch_idx={self.epoch_idx})"
        )


class BatchInfo:
    """The batch that an `external_source` callback must return.

    Attributes:
        iteration: index of the batch in the epoch.
        epoch_idx: index of the epoch.
    """

    __slots__ = ("iteration", "epoch_idx")

    def __init__(self, iteration: int, epoch_idx: int) -> None:
        self.iteration = iteration
        self.epoch_idx = epoch_idx

    def __repr__(self) -> str:
        return f"BatchInfo(iteration={self.iteration}, epoch_idx={self.epoch_idx})"
