# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Tensors and batches on the CPU and the GPU. Their memory lives as long as a view of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from headrace import _core
from headrace._base.tensor_text import format_batch, format_tensor
from headrace._base.types import DALIDataType, DTypeLike, check_numeric, data_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "TensorCPU",
    "TensorGPU",
    "TensorListCPU",
    "TensorListGPU",
    "format_batch",
    "format_tensor",
]


def _address(ptr: Any) -> int:
    return int(getattr(ptr, "value", ptr) or 0)


class _OnCpu:
    """Members of tensors and batches in host memory."""

    __slots__ = ()
    _device_name = "cpu"

    def as_cpu(self) -> Self:
        """Returns the object itself."""
        return self


class _OnGpu:
    """Members of tensors and batches in GPU memory."""

    __slots__ = ()
    _device_name = "gpu"

    @property
    def stream(self) -> None:
        """The stream on which the data are complete: None, because they are on every stream."""
        return None

    def as_cpu(self: Any) -> Any:
        """Returns a copy in host memory."""
        return self._to_host()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            "The data are in GPU memory: use as_cpu() to copy them to host memory first."
        )


class _Data:
    """Members of tensors and batches on both devices."""

    __slots__ = ()

    @property
    def dtype(self: Any) -> DALIDataType:
        """Element type."""
        return DALIDataType(self._dtype)

    def set_layout(self: Any, layout: str | None) -> None:
        """Sets the layout: one letter per dimension of a sample; None or "" removes it.

        Raises:
            ValueError: the number of letters is not the number of dimensions.
        """
        super().set_layout(layout or "")  # type: ignore[misc]

    def copy_to_external(
        self: Any,
        ptr: Any,
        cuda_stream: Any = None,
        non_blocking: bool = False,
        use_copy_kernel: bool = False,
    ) -> None:
        """Copies all elements, sample after sample, to an address in host or device memory.

        Args:
            ptr: target address: int or ``ctypes.c_void_p``. The memory must hold all elements.
            cuda_stream: for GPU data: stream on which copies are queued; None: the default stream.
            non_blocking: for GPU data: return without waiting for the copy.
            use_copy_kernel: has no effect.
        """
        address = _address(ptr)
        for part in self._parts():
            part._store(address, cuda_stream, not non_blocking)
            address += part.nbytes


class _Tensor(_Data):
    """Members of tensors on both devices."""

    __slots__ = ()

    def _parts(self) -> tuple[Self]:
        return (self,)

    def squeeze(self: Any, dim: int | None = None) -> bool:
        """Removes axis `dim`, or every axis, of extent 1, in place.

        Returns:
            Whether an axis was removed.

        Raises:
            RuntimeError: the tensor has no axis `dim`.
        """
        shape, layout = self.shape(), self.layout()
        if dim is None:
            keep = [i for i, extent in enumerate(shape) if extent != 1]
        else:
            axis = dim + len(shape) if dim < 0 else dim
            if not 0 <= axis < len(shape):
                raise RuntimeError(
                    f"Axis {dim} is out of range: the tensor has {len(shape)} dimensions."
                )
            keep = [i for i, extent in enumerate(shape) if i != axis or extent != 1]
        if len(keep) == len(shape):
            return False
        kept = "".join(layout[i] for i in keep) if layout else ""
        self._assign(self._view(self._dtype, tuple(shape[i] for i in keep), kept))
        return True

    def reinterpret(self: Any, dtype: DTypeLike) -> None:
        """Reinterprets the elements as another type of the same size, in place.

        Raises:
            RuntimeError: the sizes differ.
        """
        wanted = data_type(dtype)
        try:
            view = self._view(int(wanted), tuple(self.shape()), self.layout())
        except ValueError:
            raise RuntimeError(
                f"Cannot reinterpret {self.dtype} as {DALIDataType(wanted)}: they have different sizes."
            ) from None
        self._assign(view)

    def get_property(self: Any, key: str) -> str | None:
        """Returns the property `"layout"` or `"source_info"`; None if it is not set."""
        if key == "layout":
            return self.layout() or None
        if key == "source_info":
            return self.source_info() or None
        return None

    def __repr__(self) -> str:
        return format_tensor(self, show_data=False)

    def __str__(self) -> str:
        return format_tensor(self, show_data=True)


Sample = TypeVar("Sample", bound=_Tensor)


class _Batch(_Data, Generic[Sample]):
    """Members of batches on both devices."""

    __slots__ = ()
    _sample: Any  # the class of its samples

    if TYPE_CHECKING:

        def __getitem__(self, i: int, /) -> Sample: ...

    def _parts(self: Any) -> Any:
        """Tensors that cover all samples: a single one if the samples are contiguous."""
        dense = self._dense()
        return self if dense is None else (dense,)

    @classmethod
    def broadcast(cls: Any, tensor: Any, num_samples: int) -> Any:
        """Returns a batch whose `num_samples` samples are all `tensor`.

        Raises:
            ValueError: `num_samples` is negative.
        """
        if num_samples < 0:
            raise ValueError(f"A batch cannot have {num_samples} samples.")
        return cls([cls._sample(tensor)] * num_samples, contiguous=False)

    def __iter__(self: Any) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def is_dense_tensor(self: Any) -> bool:
        """Whether all samples have the same shape and are contiguous."""
        return len(self) == 0 or self._dense() is not None

    def as_tensor(self: Any) -> Sample:
        """Returns the batch as one tensor that shares its memory, with the batch in dimension 0.

        Raises:
            RuntimeError: the samples differ in shape or are not contiguous.
        """
        dense = self._dense()
        if dense is None:
            raise RuntimeError(
                "Cannot make one tensor: the samples differ in shape or are not contiguous. Pad or crop "
                "the samples to a common shape, or check is_dense_tensor() beforehand."
            )
        return dense

    def as_reshaped_tensor(self: Any, shape: Sequence[int]) -> Sample:
        """Returns the batch as one tensor of `shape`, without layout, that shares its memory.

        Raises:
            RuntimeError: `shape` has a different number of elements, or `as_tensor` fails.
        """
        dense = self.as_tensor()
        try:
            return dense._view(dense._dtype, tuple(int(n) for n in shape), "")
        except ValueError:
            raise RuntimeError(
                f"To view the batch as a tensor, the new shape needs the same volume: got {list(shape)} "
                f"for {dense.shape()}."
            ) from None

    def reinterpret(self: Any, dtype: DTypeLike) -> None:
        """Reinterprets the elements as another type of the same size, in place.

        Raises:
            RuntimeError: the sizes differ.
        """
        views = list(self)
        for view in views:
            view.reinterpret(dtype)
        self._assign(_core.make_batch(type(self), views, None, False, None, self._device))

    def data_ptr(self: Any) -> int:
        """Returns the address of the first sample, which is valid while this batch lives.

        Raises:
            RuntimeError: the samples differ in shape or are not contiguous.
        """
        return self.as_tensor().data_ptr()

    def source_info(self: Any) -> list[str]:
        """Origin of each sample, for example its file name."""
        return [sample.source_info() for sample in self]

    def asCPU(self: Any) -> Any:
        """Old name of `as_cpu`."""
        return self.as_cpu()

    def reset(self: Any) -> None:
        """Releases the samples; the batch is empty afterwards."""
        self._assign(_core.make_batch(TensorListCPU, [], None, True))

    def _repr_html_(self) -> str:
        """What a notebook shows: images of the first samples, element type, layout, shapes."""
        from headrace._base import images  # loads `html`

        return images.batch_html(self)

    def __repr__(self) -> str:
        return format_batch(self, show_data=False)

    def __str__(self) -> str:
        return format_batch(self, show_data=True)


# ---- CPU ----


class TensorCPU(_Tensor, _OnCpu, _core.HostTensor):
    """One sample, or a whole batch, in host memory.

    NumPy, PyTorch and other libraries read it without a copy through the buffer protocol,
    ``__array_interface__`` or DLPack. The memory is writable.

    Args:
        data: object with the buffer protocol, ``__array_interface__`` or DLPack, or a DLPack
            capsule. It is referenced, not copied.
        layout: one letter per dimension, or empty.
        is_pinned: has no effect.

    Raises:
        TypeError: the object cannot be read as a tensor.
        ValueError: the layout does not match the number of dimensions.
    """

    __slots__ = ()

    def __new__(cls, data: Any, layout: str = "", is_pinned: bool = False) -> TensorCPU:
        return _core.make_tensor(cls, data, layout or None, False)

    def _as_gpu(self, device_id: int = 0) -> TensorGPU:
        """A copy on a GPU."""
        return _core.make_tensor(TensorGPU, self, None, True, None, device_id)

    def _store(self, address: int, stream: Any, wait: bool) -> None:
        self._copy_to(address)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import numpy

        check_numeric(self._dtype)
        array = numpy.asarray(memoryview(self))
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("copy=False is not possible: the element type has to be converted")
            return array.astype(dtype)
        return array.copy() if copy else array


class TensorListCPU(_Batch[TensorCPU], _OnCpu, _core.Batch):
    """A batch in host memory.

    All samples have the same element type and number of dimensions. Their shapes may differ.

    Args:
        data: DLPack capsule or array with the batch in dimension 0, another batch, or a list with
            one tensor or array per sample.
        layout: layout of a sample, one letter per dimension.
        is_pinned: has no effect.
        contiguous: copy the samples of a list into one block of memory.

    Raises:
        TypeError: the data cannot be read, or the samples differ in element type.
        RuntimeError: the samples differ in number of dimensions.
        ValueError: the layout does not match the number of dimensions.
    """

    __slots__ = ()
    _sample = TensorCPU

    def __new__(
        cls, data: Any, layout: str | None = None, is_pinned: bool = False, contiguous: bool = True
    ) -> TensorListCPU:
        layout = layout or None
        if isinstance(data, _core.Batch):
            return _core.make_batch(cls, list(data), layout or data.layout() or None, False)
        if isinstance(data, (list, tuple)):
            return _core.make_batch(cls, data, layout, contiguous and len(data) > 1)
        return _core.make_batch_dense(cls, data, layout, False)

    @staticmethod
    def from_dlpack_list(
        objects: Sequence[Any], layout: str | None = None, contiguous: bool = False
    ) -> TensorListCPU:
        """Makes a batch from DLPack objects, one per sample; `contiguous` copies them together."""
        return _core.make_batch(TensorListCPU, list(objects), layout or None, contiguous)

    def at(self, i: int) -> NDArray[Any]:
        """Returns sample `i` as a NumPy array that shares its memory.

        Raises:
            RuntimeError: `i` is out of range.
        """
        import numpy

        if not 0 <= i < len(self):
            raise RuntimeError(f"Index is out-of-range: {i} of {len(self)} samples.")
        check_numeric(self._dtype)
        return numpy.asarray(self[i])

    def as_array(self) -> NDArray[Any]:
        """Returns the batch as a NumPy array that shares its memory.

        Samples of one shape that are not contiguous are copied.

        Raises:
            RuntimeError: the samples differ in shape.
        """
        import numpy

        check_numeric(self._dtype)
        dense = self._dense()
        if dense is not None:
            return numpy.asarray(dense)
        if len(self) == 0:
            return numpy.empty(0)
        if len(set(self.shape())) > 1:
            raise RuntimeError(
                "Cannot produce a numpy array: the tensors in the list do not all have the same shape. "
                "Pad or crop the samples to a common shape, or check is_dense_tensor() beforehand."
            )
        return numpy.stack([numpy.asarray(sample) for sample in self])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.as_array()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _as_gpu(self, device_id: int = 0) -> TensorListGPU:
        """A copy on a GPU."""
        return _core.make_batch(TensorListGPU, list(self), None, True, None, device_id)


# ---- GPU ----


class TensorGPU(_Tensor, _OnGpu, _core.DeviceTensor):
    """One sample, or a whole batch, in GPU memory.

    PyTorch, CuPy and other libraries read it without a copy through DLPack or
    ``__cuda_array_interface__``. The data are complete, so readers need not wait for a stream. The
    memory is reused only after the work that its readers have queued.

    Args:
        data: object with DLPack or ``__cuda_array_interface__`` (contiguous), or a DLPack capsule.
            It is referenced, not copied.
        layout: one letter per dimension, or empty.
        device_id: device of an object that does not state its own; -1: the first one.
        stream: stream on which the data are complete; None: the default stream.

    Raises:
        TypeError: the object cannot be read as a tensor in GPU memory.
        ValueError: the layout does not match the number of dimensions, or the array is not
            contiguous.
        RuntimeError: the CUDA module is missing.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def as_cpu(self) -> TensorCPU: ...

    def __new__(
        cls, data: Any, layout: str | None = None, device_id: int | None = -1, stream: Any = None
    ) -> TensorGPU:
        return _core.make_tensor(cls, data, layout or None, False, stream, max(device_id or 0, 0))

    def _store(self, address: int, stream: Any, wait: bool) -> None:
        self._copy_to(address, stream, wait)


class TensorListGPU(_Batch[TensorGPU], _OnGpu, _core.Batch):
    """A batch in GPU memory.

    All samples have the same element type and number of dimensions. Their shapes may differ.

    Args:
        data: DLPack capsule or array with the batch in dimension 0, another batch, or a list with
            one tensor or array per sample; all in GPU memory.
        layout: layout of a sample, one letter per dimension.
        device_id: device of objects that do not state their own; -1: the first one.
        contiguous: copy the samples of a list into one block of memory.
        stream: stream on which the data are complete; None: the default stream.

    Raises:
        TypeError: the data cannot be read, or the samples differ in element type.
        RuntimeError: the samples differ in number of dimensions or in device.
        ValueError: the layout does not match the number of dimensions, or an array is not
            contiguous.
    """

    __slots__ = ()
    _sample = TensorGPU

    if TYPE_CHECKING:

        def as_cpu(self) -> TensorListCPU: ...

    def __new__(
        cls,
        data: Any = (),
        layout: str | None = None,
        device_id: int | None = -1,
        contiguous: bool = True,
        stream: Any = None,
    ) -> TensorListGPU:
        device, layout = max(device_id or 0, 0), layout or None
        if isinstance(data, _core.Batch):
            return _core.make_batch(
                cls, list(data), layout or data.layout() or None, False, stream, device
            )
        if not isinstance(data, (list, tuple)):
            return _core.make_batch_dense(cls, data, layout, False, stream, device)
        samples = [TensorGPU(sample, None, device, stream) for sample in data]
        copy = contiguous and len(samples) > 1
        return _core.make_batch(cls, samples, layout, copy, stream, device)

    @staticmethod
    def from_dlpack_list(
        objects: Sequence[Any],
        layout: str | None = None,
        stream: Any = None,
        contiguous: bool = False,
    ) -> TensorListGPU:
        """Makes a batch from DLPack objects, one per sample; `contiguous` copies them together."""
        return TensorListGPU(list(objects), layout, -1, contiguous, stream)

    def device_id(self) -> int:
        """Index of the CUDA device; -1 for an empty batch."""
        return self._device

    def at(self, i: int) -> Any:
        """Returns sample `i`, as ``batch[i]`` does."""
        return self[i]


_core.set_classes(TensorListCPU, TensorCPU, TensorListGPU, TensorGPU)
