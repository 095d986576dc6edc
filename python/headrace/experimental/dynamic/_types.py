# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Element types: `uint8` ... `float64`, `bool`, with DALI's names."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, ClassVar

from headrace._base import types
from headrace._base.types import DALIDataType


class DType:
    """An element type. Calling it makes a tensor of that type."""

    class Kind(enum.Enum):
        signed = 1
        unsigned = 2
        float = 3
        bool = 4
        enum = 5

    _known: ClassVar[dict[DALIDataType, DType]] = {}
    _make: ClassVar[Callable[..., Any]]  # `tensor`, which a later module sets

    def __init__(
        self,
        kind: DType.Kind,
        bits: int,
        exponent_bits: int | None = None,
        significand_bits: int | None = None,
        type_id: DALIDataType | None = None,
        name: str | None = None,
        docs: str | None = None,
    ) -> None:
        self.kind = kind
        self.bits = bits
        self.bytes = max(bits // 8, 1)
        self.exponent_bits = exponent_bits
        self.significand_bits = significand_bits
        self.type_id = type_id
        self.name = name or f"{kind.name[0]}{bits}"
        self.__doc__ = docs or f"{bits}-bit {kind.name}"

    @staticmethod
    def from_type_id(type_id: DALIDataType) -> DType:
        """The type with DALI's number `type_id`."""
        return DType._known[DALIDataType(type_id)]

    @staticmethod
    def from_fw_type(numpy_type: Any) -> DType:
        """The type of NumPy or PyTorch."""
        return DType.from_type_id(types.element_type(numpy_type, enums=True))

    @staticmethod
    def parse(name: str) -> DType:
        """The type with a name such as "u8", "f32" or "float32"."""
        for known in (*DType._known.values(), bfloat16):
            if known.name == name:
                return known
        return DType.from_fw_type(name)

    def __call__(self, data: Any, **kwargs: Any) -> Any:
        return DType._make(data, dtype=self, **kwargs)

    def _key(self) -> tuple[Any, ...]:
        return (self.kind, self.bits, self.exponent_bits, self.significand_bits, self.type_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        text = f"DType(kind=Kind.{self.kind.name}, bits={self.bits}"
        if self.kind is DType.Kind.float:
            text += (
                f", exponent_bits={self.exponent_bits}, significand_bits={self.significand_bits}"
            )
        return text + ")"


def _integer(bits: int, signed: bool) -> DType:
    kind = DType.Kind.signed if signed else DType.Kind.unsigned
    type_id = getattr(types, f"{'' if signed else 'U'}INT{bits}")
    text = f"{bits}-bit {'signed' if signed else 'unsigned'} integer"
    return DType(kind, bits, None, None, type_id, f"{'i' if signed else 'u'}{bits}", text)


def _float(bits: int, exponent: int, type_id: DALIDataType | None, name: str) -> DType:
    text = f"{bits}-bit floating point number"
    return DType(DType.Kind.float, bits, exponent, bits - 1 - exponent, type_id, name, text)


uint8, uint16, uint32, uint64 = (_integer(bits, False) for bits in (8, 16, 32, 64))
int8, int16, int32, int64 = (_integer(bits, True) for bits in (8, 16, 32, 64))
float16 = _float(16, 5, types.FLOAT16, "f16")
float32 = _float(32, 8, types.FLOAT, "f32")
float64 = _float(64, 11, types.FLOAT64, "f64")
bfloat16 = _float(16, 8, None, "bfloat16")  # named by DALI; no operator of it or ours takes it
bool = DType(DType.Kind.bool, 8, None, None, types.BOOL, "bool", "Boolean value")
ImageType = DType(DType.Kind.enum, 32, None, None, types.IMAGE_TYPE, "ImageType")
DataType = DType(DType.Kind.enum, 32, None, None, types.DATA_TYPE, "DataType")
InterpType = DType(DType.Kind.enum, 32, None, None, types.INTERP_TYPE, "InterpType")

for _value in list(globals().values()):
    if isinstance(_value, DType) and _value.type_id is not None:
        DType._known[_value.type_id] = _value


def dtype(value: Any) -> DType:
    """The element type that a DType, a number of DALI, a name, or a type of a framework stands for."""
    if isinstance(value, DType):
        return value
    if isinstance(value, DALIDataType):
        return DType.from_type_id(value)
    if value is float:
        return float32
    if value is int:
        return int32
    return DType.parse(value) if isinstance(value, str) else DType.from_fw_type(value)


def type_id(value: Any) -> DALIDataType:
    """DALI's number of an element type."""
    if isinstance(value, DALIDataType):
        return value
    found = dtype(value).type_id
    if found is None:
        raise ValueError(f"No operator takes elements of the type {value}.")
    return found
