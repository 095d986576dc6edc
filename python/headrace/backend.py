# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""What the engine offers, as `nvidia.dali.backend` answers it. Settings of DALI's memory pools are kept and change
nothing: memory belongs to pipelines here and goes with them."""

from __future__ import annotations

from typing import Any

from headrace import _core, _graph, _schema, types
from headrace.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

__all__ = [
    "CheckDLPackCapsule",
    "GetCxx11AbiFlag",
    "GetDeviceBufferGrowthFactor",
    "GetHostBufferGrowthFactor",
    "GetHostBufferShrinkThreshold",
    "GetNvjpegVersion",
    "GetSchema",
    "OpSchema",
    "PreallocateDeviceMemory",
    "PreallocatePinnedMemory",
    "RegisteredCPUOps",
    "RegisteredGPUOps",
    "RegisteredMixedOps",
    "ReleaseUnusedMemory",
    "RestrictPinnedMemUsage",
    "SetBufferGrowthFactor",
    "SetDeviceBufferGrowthFactor",
    "SetHostBufferGrowthFactor",
    "SetHostBufferShrinkThreshold",
    "TensorCPU",
    "TensorGPU",
    "TensorListCPU",
    "TensorListGPU",
    "TryGetSchema",
    "deprecation_warning",
    "initialized",
    "types",
]

initialized = True
__cuda_version__ = 13000  # CUDA Toolkit of the packages: 1000 * major + 10 * minor

# ---- operators ----


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


class OpSchema:
    """What an operator takes, by the methods that DALI has for it."""

    def __init__(self, op: _schema.Operator) -> None:
        self._op = op

    def Name(self) -> str:
        """Its schema name: "readers__File"."""
        return _schema_name(self._op.name)

    def OperatorName(self) -> str:
        """Its class, without modules: "File"."""
        return self._op.class_name

    def ModulePath(self) -> list[str]:
        """Its modules: ["readers"]."""
        return self._op.name.split(".")[:-1]

    def Dox(self) -> str:
        """What it does."""
        return self._op.doc

    def MinNumInput(self) -> int:
        """Fewest inputs."""
        return self._op.in_min

    def MaxNumInput(self) -> int:
        """Most inputs."""
        return self._op.in_max

    def GetInputName(self, i: int) -> str:
        """The name of an input."""
        return str(self._op.inputs[i]["name"])

    def GetArgumentNames(self) -> list[str]:
        """The names of all arguments, those of every operator included."""
        common = ["bytes_per_sample_hint", "preserve", *(["seed"] if self._op.has_seed else [])]
        return sorted([*self._op.args, *common])

    def HasArgument(self, name: str) -> bool:
        """Whether there is such an argument."""
        return name in self.GetArgumentNames()

    def IsArgumentOptional(self, name: str) -> bool:
        """Whether a call may go without it."""
        return name not in self._op.args or not self._op.args[name].required

    def IsTensorArgument(self, name: str) -> bool:
        """Whether it may be a node, with a value a sample."""
        return name in self._op.args and self._op.args[name].per_sample

    def GetArgumentDox(self, name: str) -> str:
        """What an argument means."""
        return self._op.args[name].doc

    def HasArgumentDefaultValue(self, name: str) -> bool:
        """Whether the argument has a value where it is not given."""
        return name not in self._op.args or self._op.args[name].default is not None

    def GetArgumentDefaultValueString(self, name: str) -> str:
        """That value, as Python has it."""
        return repr(self._op.args[name].default)

    def GetInputDevice(
        self, index: int, actual_device: str | None = None, operator_device: str | None = None
    ) -> str | None:
        """The device on which an operator on `operator_device` takes an input. `actual_device` is where the data
        are; it decides where the operator takes both."""
        if operator_device in (None, "mixed"):
            return "cpu" if operator_device else actual_device
        if "anywhere" in self._op.flags and actual_device is not None:
            return actual_device
        return operator_device

    def HasRandomSeedArg(self) -> bool:
        """Whether it draws random numbers."""
        return self._op.has_seed

    def IsDeprecated(self) -> bool:
        """Whether another one should be used."""
        return "deprecated" in self._op.flags


def TryGetSchema(name: str) -> OpSchema | None:
    """The schema of that name ("readers__File"), or None."""
    found = _schema.find_class(name.replace("__", "."))
    return OpSchema(found[0]) if found else None


def GetSchema(name: str) -> OpSchema:
    """The schema of that name ("readers__File").

    Raises:
        KeyError: there is none.
    """
    schema = TryGetSchema(name)
    if schema is None:
        raise KeyError(f'Schema for operator "{name}" not registered')
    return schema


# ---- memory ----

_factors = {"host": 1.1, "device": 1.1, "shrink": 0.5}


def _set_growth(kind: str, factor: float) -> None:
    if not factor >= 1:
        raise ValueError(f"A growth factor is at least 1, not {factor}.")
    _factors[kind] = float(factor)


def GetHostBufferGrowthFactor() -> float:
    """What `SetHostBufferGrowthFactor` was given."""
    return _factors["host"]


def GetDeviceBufferGrowthFactor() -> float:
    """What `SetDeviceBufferGrowthFactor` was given."""
    return _factors["device"]


def GetHostBufferShrinkThreshold() -> float:
    """What `SetHostBufferShrinkThreshold` was given."""
    return _factors["shrink"]


def SetHostBufferGrowthFactor(factor: float) -> None:
    """Without effect.

    Raises:
        ValueError: less than 1.
    """
    _set_growth("host", factor)


def SetDeviceBufferGrowthFactor(factor: float) -> None:
    """Without effect.

    Raises:
        ValueError: less than 1.
    """
    _set_growth("device", factor)


def SetBufferGrowthFactor(factor: float) -> None:
    """Without effect.

    Raises:
        ValueError: less than 1.
    """
    _set_growth("host", factor)
    _set_growth("device", factor)


def SetHostBufferShrinkThreshold(fraction: float) -> None:
    """Without effect.

    Raises:
        ValueError: not between 0 and 1.
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"A threshold is between 0 and 1, not {fraction}.")
    _factors["shrink"] = float(fraction)


def ReleaseUnusedMemory() -> None:
    """Nothing to do: memory pools belong to pipelines and go with them."""


def PreallocateDeviceMemory(bytes: int, device_id: int) -> None:
    """Nothing to do: memory pools belong to pipelines."""


def PreallocatePinnedMemory(bytes: int) -> None:
    """Nothing to do: memory pools belong to pipelines."""


def RestrictPinnedMemUsage() -> bool:
    """Whether pinned memory is restricted: it is taken for large outputs and staging alone, so no."""
    return False


# ---- others ----


def GetNvjpegVersion() -> int:
    """-1: nvJPEG is not used."""
    return -1


def GetCxx11AbiFlag() -> int:
    """1: what C++ code for DALI is compiled with."""
    return 1


def CheckDLPackCapsule(ptr: Any) -> tuple[bool, bool]:
    """Whether `ptr` is a DLPack capsule that nobody has consumed, and whether its tensor is on a CUDA device."""
    return _core.dlpack_check(ptr)


def deprecation_warning(what: str) -> None:
    """Warns at the user's line."""
    _graph.deprecated(what)
