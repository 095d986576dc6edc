# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The functions of `nvidia.dali.backend`: operator schemas and memory settings.

The settings of DALI's memory pools are stored but have no effect. In Headrace each pipeline owns its memory and frees
it when it ends.
"""

from __future__ import annotations

import enum
import json
from typing import Any

from headrace import _core, types
from headrace._base import messages
from headrace._graph import schema
from headrace.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

__all__ = [
    "CheckDLPackCapsule",
    "DLDeviceType",
    "GetCUDADeviceCount",
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
__cuda_version__ = 13000  # CUDA Toolkit that the wheels are built with: 1000 * major + 10 * minor

# ---- operators ----


def _registered(device: str) -> list[str]:
    known = schema.operators()
    return sorted(
        schema.schema_name(name)
        for name in schema.function_names()
        if device in known[name].devices
    )


def RegisteredCPUOps() -> list[str]:
    """Schema names ("readers__File") of the operators that run on the CPU, sorted."""
    return _registered("cpu")


def RegisteredGPUOps() -> list[str]:
    """Schema names of the operators that run on the GPU, sorted."""
    return _registered("gpu")


def RegisteredMixedOps() -> list[str]:
    """Schema names of the operators that take CPU inputs and give GPU outputs, sorted."""
    return _registered("mixed")


class OpSchema:
    """The schema of an operator, with DALI's method names."""

    def __init__(self, op: schema.Operator) -> None:
        self._op = op

    def Name(self) -> str:
        """The schema name: "readers__File"."""
        return schema.schema_name(self._op.name)

    def OperatorName(self) -> str:
        """The class name without modules: "File"."""
        return self._op.class_name

    def ModulePath(self) -> list[str]:
        """The modules of the operator: ["readers"]."""
        return self._op.name.split(".")[:-1]

    def Dox(self) -> str:
        """The documentation of the operator."""
        return self._op.doc

    def MinNumInput(self) -> int:
        """The smallest number of inputs."""
        return self._op.in_min

    def MaxNumInput(self) -> int:
        """The largest number of inputs."""
        return self._op.in_max

    def GetInputName(self, i: int) -> str:
        """The name of input `i`.

        Raises:
            IndexError: no such input.
        """
        return str(self._op.inputs[i]["name"])

    def GetArgumentNames(self) -> list[str]:
        """The names of all arguments, including those common to all operators, sorted."""
        common = ["bytes_per_sample_hint", "preserve", *(["seed"] if self._op.has_seed else [])]
        return sorted([*self._op.args, *common])

    def HasArgument(self, name: str) -> bool:
        """Whether the operator has an argument of that name."""
        return name in self.GetArgumentNames()

    def IsArgumentOptional(self, name: str) -> bool:
        """Whether a call may omit the argument."""
        return name not in self._op.args or not self._op.args[name].required

    def IsTensorArgument(self, name: str) -> bool:
        """Whether the argument may be a DataNode, with one value per sample."""
        return name in self._op.args and self._op.args[name].per_sample

    def GetArgumentDox(self, name: str) -> str:
        """The documentation of an argument.

        Raises:
            KeyError: no such argument.
        """
        return self._op.args[name].doc

    def HasArgumentDefaultValue(self, name: str) -> bool:
        """Whether the argument has a default value."""
        return name not in self._op.args or self._op.args[name].default is not None

    def GetArgumentDefaultValueString(self, name: str) -> str:
        """The `repr` of the argument's default value.

        Raises:
            KeyError: no such argument.
        """
        return repr(self._op.args[name].default)

    def GetInputDevice(
        self, index: int, actual_device: str | None = None, operator_device: str | None = None
    ) -> str | None:
        """The device on which an input must be; None if that is not known.

        Args:
            index: number of the input.
            actual_device: where the data are; None if that is not known.
            operator_device: where the operator runs; None if that is not known.
        """
        if actual_device is None or not self._op.inputs:
            return operator_device
        declared = self._op.inputs[
            min(index, len(self._op.inputs) - 1)
        ]  # the last stands for all further ones
        if (
            self._op.name == "copy"
            or "anywhere" in self._op.flags
            or declared["name"].endswith("_like")
        ):
            return actual_device  # its elements are not read, or copied anyway
        if declared["host"] and operator_device != "gpu":
            return "cpu" if operator_device else actual_device
        return "cpu" if declared["host"] and actual_device == "cpu" else operator_device

    def IsStateful(self) -> bool:
        """Whether a call depends on earlier ones: random numbers, sources, Python functions."""
        op = self._op
        return op.has_seed or bool(op.source) or "function" in op.flags

    def HasRandomSeedArg(self) -> bool:
        """Whether the operator has the argument `seed`."""
        return self._op.has_seed

    def IsDeprecated(self) -> bool:
        """Whether the operator is deprecated."""
        return "deprecated" in self._op.flags


def TryGetSchema(name: str) -> OpSchema | None:
    """The schema named `name` ("readers__File"), or None if it does not exist."""
    found = schema.find_class(name.replace("__", "."))
    return OpSchema(found[0]) if found else None


def GetSchema(name: str) -> OpSchema:
    """The schema named `name` ("readers__File").

    Raises:
        KeyError: it does not exist.
    """
    found = TryGetSchema(name)
    if found is None:
        raise KeyError(f'Schema for operator "{name}" not registered')
    return found


# ---- memory ----

_factors = {"host": 1.1, "device": 1.1, "shrink": 0.5}


def _set_growth(kind: str, factor: float) -> None:
    if not factor >= 1:
        raise ValueError(f"A growth factor must be at least 1, got {factor}.")
    _factors[kind] = float(factor)


def GetHostBufferGrowthFactor() -> float:
    """The value last passed to `SetHostBufferGrowthFactor`."""
    return _factors["host"]


def GetDeviceBufferGrowthFactor() -> float:
    """The value last passed to `SetDeviceBufferGrowthFactor`."""
    return _factors["device"]


def GetHostBufferShrinkThreshold() -> float:
    """The value last passed to `SetHostBufferShrinkThreshold`."""
    return _factors["shrink"]


def SetHostBufferGrowthFactor(factor: float) -> None:
    """Stores the value; it has no effect.

    Raises:
        ValueError: `factor` is less than 1.
    """
    _set_growth("host", factor)


def SetDeviceBufferGrowthFactor(factor: float) -> None:
    """Stores the value; it has no effect.

    Raises:
        ValueError: `factor` is less than 1.
    """
    _set_growth("device", factor)


def SetBufferGrowthFactor(factor: float) -> None:
    """Stores the value for host and device; it has no effect.

    Raises:
        ValueError: `factor` is less than 1.
    """
    _set_growth("host", factor)
    _set_growth("device", factor)


def SetHostBufferShrinkThreshold(fraction: float) -> None:
    """Stores the value; it has no effect.

    Raises:
        ValueError: `fraction` is not between 0 and 1.
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"A shrink threshold must be between 0 and 1, got {fraction}.")
    _factors["shrink"] = float(fraction)


def ReleaseUnusedMemory() -> None:
    """Does nothing: each pipeline owns its memory and frees it when it ends."""


def PreallocateDeviceMemory(bytes: int, device_id: int) -> None:
    """Does nothing: each pipeline owns its memory."""


def PreallocatePinnedMemory(bytes: int) -> None:
    """Does nothing: each pipeline owns its memory."""


def RestrictPinnedMemUsage() -> bool:
    """Always False: the use of pinned memory cannot be restricted."""
    return False


# ---- others ----


class DLDeviceType(enum.IntEnum):
    """Kinds of devices in DLPack: the first number that `__dlpack_device__` gives."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def GetCUDADeviceCount() -> int:
    """The number of CUDA devices that pipelines can use; 0 without a driver."""
    return int(json.loads(_core.doctor_json())["cuda_devices"])


def GetNvjpegVersion() -> int:
    """Always -1: nvJPEG is not used."""
    return -1


def GetCxx11AbiFlag() -> int:
    """Always 1, the C++ ABI that DALI is compiled with."""
    return 1


def CheckDLPackCapsule(ptr: Any) -> tuple[bool, bool]:
    """Whether `ptr` is a DLPack capsule that has not been consumed, and whether its tensor is on a CUDA device."""
    return _core.dlpack_check(ptr)


def deprecation_warning(what: str) -> None:
    """Issues a DeprecationWarning at the user's line."""
    messages.deprecated(what)
