# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What the engine offers, as `nvidia.dali.backend` answers it."""

from __future__ import annotations

from headrace import _schema
from headrace.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

__all__ = [
    "RegisteredCPUOps",
    "RegisteredGPUOps",
    "RegisteredMixedOps",
    "ReleaseUnusedMemory",
    "TensorCPU",
    "TensorGPU",
    "TensorListCPU",
    "TensorListGPU",
]


def _schema_name(name: str) -> str:
    module, _, _ = name.rpartition(".")
    prefix = "".join(part + "__" for part in module.split(".") if part)
    return prefix + _schema.class_name(name)


def _registered(device: str) -> list[str]:
    known = _schema.operators()
    return sorted(
        _schema_name(name) for name in _schema.function_names() if device in known[name].devices
    )


def RegisteredCPUOps() -> list[str]:
    """Schema names ("readers__File") of the operators of the CPU."""
    return _registered("cpu")


def RegisteredGPUOps() -> list[str]:
    """Schema names of the operators that have a GPU form."""
    return _registered("gpu")


def RegisteredMixedOps() -> list[str]:
    """Schema names of the operators from CPU to GPU."""
    return _registered("mixed")


def ReleaseUnusedMemory() -> None:
    """Nothing to do: memory pools belong to pipelines and go with them."""
