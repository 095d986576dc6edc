# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`Tensor` and `Batch`: data on which operators work where they are called."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from headrace import _core
from headrace._base import tensor_text, types
from headrace._base.types import INT32, enum_type, is_enum, to_numpy_type
from headrace._graph.subscript import NewAxis
from headrace.experimental.dynamic import _types
from headrace.experimental.dynamic._context import Device
from headrace.experimental.dynamic._context import device as to_device
from headrace.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

# The functions that run operators; `_operators` sets them: call(name, inputs, arguments).
_run: Callable[..., Any]
_arithmetic: Callable[..., Any]


def set_functions(run: Callable[..., Any], arithmetic: Callable[..., Any]) -> None:
    global _run, _arithmetic
    _run, _arithmetic = run, arithmetic


def _text(array: Any, indent: str = "    ") -> str:
    import numpy

    lines = numpy.array2string(array, separator=" ").split("\n")
    return "\n".join([lines[0], *(line and indent + line for line in lines[1:])])


class _Data:
    """What tensors and batches have in common. `_stored` is None until the call that makes them has run."""

    __slots__ = ("_stored", "_call", "_index", "__weakref__")
    _stored: Any
    _call: Any
    _index: int
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def _of(cls, stored: Any) -> Self:
        made = cls.__new__(cls)
        made._stored = stored
        made._call = None
        return made

    @classmethod
    def _later(cls, call: Any, index: int) -> Self:
        made = cls.__new__(cls)
        made._stored = None
        made._call = call
        made._index = index
        return made

    @property
    def _storage(self) -> Any:
        if self._stored is None:
            self._stored = self._call()[self._index]
            self._call = None
        return self._stored

    def evaluate(self) -> Self:
        """Runs the operators that this depends on, if they have not run yet. Returns the object."""
        self._storage  # noqa: B018
        return self

    @property
    def device(self) -> Device:
        """Where the data are."""
        number = _device_id(self._storage)
        return Device.CPU if number < 0 else Device("gpu", number)

    @property
    def dtype(self) -> _types.DType:
        """The type of the elements."""
        return _types.DType.from_type_id(self._storage.dtype)

    @property
    def layout(self) -> str | None:
        """One letter per dimension, or None."""
        return self._storage.layout() or None

    @property
    def ndim(self) -> int:
        """Number of dimensions, of each sample for a batch."""
        return self._storage.ndim()

    def cpu(self) -> Self:
        """The data in host memory; the object itself if they are there."""
        return self.to_device("cpu")

    def gpu(self, index: int | None = None) -> Self:
        """The data on a GPU; the object itself if they are there."""
        return self.to_device(Device("gpu", index))

    def to_device(self, device: Any, force_copy: bool = False) -> Self:
        """The data on `device`. The object itself if they are there, unless `force_copy`."""
        wanted = to_device(device)
        if wanted == self.device and not force_copy:
            return self
        stored = self._storage
        if wanted.device_type == "cpu":
            return self._of(stored._to_host() if _device_id(stored) >= 0 else self._copied())
        if _device_id(stored) >= 0:
            stored = stored._to_host()
        return self._of(stored._as_gpu(wanted.device_id))

    def _copied(self) -> Any:
        raise NotImplementedError

    def __bool__(self) -> bool:
        return all(bool(sample.any()) for sample in self._arrays())

    def _arrays(self) -> list[Any]:
        raise NotImplementedError

    def __pos__(self) -> Self:
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Arithmetic between our data and arrays is ours; other functions of NumPy take tensors as arrays."""
        if method == "__call__" and not kwargs and len(inputs) == 2 and ufunc.__name__ in _UFUNCS:
            return _arithmetic(_UFUNCS[ufunc.__name__], *inputs)
        if any(isinstance(item, Batch) for item in inputs):
            return NotImplemented
        arrays = [item.__array__() if isinstance(item, Tensor) else item for item in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)


def _device_id(stored: Any) -> int:
    if isinstance(stored, _core.Batch):
        return stored._device
    return stored.device_id() if isinstance(stored, _core.DeviceTensor) else -1


def _device_tensor(data: Any, layout: str | None, copy: bool) -> Any:
    return _core.make_tensor(TensorGPU, data, layout, copy, None, max(_device_id(data), 0))


def batch_like(stored: Any, samples: Sequence[Any], layout: str | None, copy: bool = False) -> Any:
    """The samples as a batch in the memory of `stored`, a tensor or a batch."""
    device = _device_id(stored)
    kind = TensorListGPU if device >= 0 else TensorListCPU
    return _core.make_batch(kind, samples, layout or None, copy, None, device)


def _forward(op: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        return _arithmetic(op, self, other)

    return method


def _backward(op: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        return _arithmetic(op, other, self)

    return method


def _unary(op: str) -> Any:
    def method(self: Any) -> Any:
        return _arithmetic(op, self)

    return method


_BINARY = "add sub mul truediv floordiv mod pow and or xor lshift rshift"
for _name in _BINARY.split():
    _op = {"truediv": "div"}.get(_name, _name)
    setattr(_Data, f"__{_name}__", _forward(_op))
    setattr(_Data, f"__r{_name}__", _backward(_op))
for _name in "eq ne lt le gt ge".split():
    setattr(_Data, f"__{_name}__", _forward(_name))
for _name, _function in (("neg", "neg"), ("invert", "invert"), ("abs", "abs")):
    setattr(_Data, f"__{_name}__", _unary(_function))


# NumPy's names of the operations with two operands
_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "floordiv",
    "remainder": "mod", "power": "pow", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "left_shift": "lshift", "right_shift": "rshift", "equal": "eq",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip


# ---- reading what the user gives ----


def _array(data: Any) -> Any:
    """Numbers, lists and arrays as a contiguous NumPy array; Python's numbers have 32 bits."""
    import numpy

    array = numpy.asarray(data)
    if type(data) in (bool, int, float, list, tuple) and array.dtype in (
        numpy.int64,
        numpy.float64,
    ):
        wide = isinstance(data, (list, tuple)) and _has_arrays(data)
        if not wide:
            narrow = numpy.int32 if array.dtype == numpy.int64 and array.size else numpy.float32
            if (
                narrow is numpy.int32
                and array.size
                and not (-(2**31) <= int(array.min()) and int(array.max()) < 2**31)
            ):
                raise OverflowError(
                    f"{data} does not fit into 32 bits. Pass a NumPy array of int64."
                )
            array = array.astype(narrow)
    return numpy.ascontiguousarray(array) if array.ndim else array


def _has_arrays(data: Any) -> bool:
    return any(
        _has_arrays(item) if isinstance(item, (list, tuple)) else hasattr(item, "dtype")
        for item in data
    )


def _storage_of(data: Any, layout: str | None, copy: bool) -> Any:
    """The data as TensorCPU or TensorGPU."""
    if isinstance(data, Tensor):
        data = data._storage
    elif isinstance(data, Batch):
        data = data._dense()
    if isinstance(data, _core.Tensor):
        layout = layout or data.layout() or None
        if isinstance(data, _core.DeviceTensor):
            return _device_tensor(data, layout, copy)
        return _core.make_tensor(TensorCPU, data, layout, copy)
    enumeration = enum_type(data)
    if enumeration is not None:
        number = _core.make_tensor(TensorCPU, _array(int(data)), None, False)
        return number._view(int(enumeration), (), "")
    if isinstance(data, (bool, int, float, list, tuple)):
        if isinstance(data, (list, tuple)) and any(isinstance(v, Tensor) for v in data):
            import numpy

            data = numpy.stack([numpy.asarray(v._storage) for v in data])
        return _core.make_tensor(TensorCPU, _array(data), layout, False)
    if hasattr(data, "__cuda_array_interface__") and not hasattr(data, "__array_interface__"):
        return _device_tensor(data, layout, copy)
    try:
        return _core.make_tensor(TensorCPU, data, layout, copy)
    except (TypeError, ValueError, BufferError):
        if hasattr(data, "__array_interface__") or not hasattr(data, "__dlpack__"):
            return _core.make_tensor(TensorCPU, _array(data), layout, False)
        if data.__dlpack_device__()[0] in (1, 3):
            return _core.make_tensor(TensorCPU, _array(data), layout, False)
        return _device_tensor(data, layout, copy)


def _cast(stored: Any, wanted: Any) -> Any:
    """A tensor with elements of another type. The members of enumerations are int32."""
    if stored.dtype == wanted:
        return stored
    shape, layout = tuple(stored.shape()), stored.layout()
    if is_enum(stored.dtype):
        stored = stored._view(int(INT32), shape, layout)
    if is_enum(wanted):
        return _cast(stored, INT32)._view(int(wanted), shape, layout)
    if stored.dtype == wanted:
        return stored
    return _run("cast", [Tensor._of(stored)], {"dtype": wanted})._storage


class Tensor(_Data):
    """An array with a type, a device and a layout.

    NumPy, PyTorch and others read it without a copy.

    Args:
        data: a tensor, an array of any library, a number, or a list of numbers.
        dtype: element type; by default that of the data. Python's numbers become int32 and float32.
        device: where the tensor is made; by default where the data are.
        layout: one letter per dimension.
        copy: the tensor gets memory of its own.
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any = None,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        batch: Any = None,
        index_in_batch: int | None = None,
        invocation_result: Any = None,
        copy: bool = False,
    ) -> None:
        self._call = None
        if batch is not None:
            self._stored = batch._storage[operator.index(index_in_batch or 0)]
            return
        stored = _storage_of(data, layout, copy)
        wanted = None if dtype is None else _types.type_id(dtype)
        self._stored = stored if wanted is None else _cast(stored, wanted)
        if device is not None:
            self._stored = self.to_device(device)._storage

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self._storage.shape())

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.nbytes // self.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._storage.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.bytes

    def item(self) -> Any:
        """The only element, as a Python number.

        Raises:
            ValueError: the tensor has several elements, or none.
        """
        if self.size != 1:
            raise ValueError(f"Tensor has {self.size} elements, expected 1")
        return self._numpy().item()

    def _numpy(self) -> Any:
        import numpy

        stored = self._storage
        return numpy.asarray(stored if _device_id(stored) < 0 else stored._to_host())

    def _arrays(self) -> list[Any]:
        return [self._numpy()]

    def _copied(self) -> Any:
        return _core.make_tensor(TensorCPU, self._storage, self.layout, True)

    def torch(self, copy: bool | None = False) -> Any:
        """The tensor as one of PyTorch, which shares the memory unless `copy`."""
        import torch

        made = torch.from_dlpack(self._storage)
        return made.clone() if copy else made

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._storage.__array__(dtype, copy)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._storage.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._storage.__dlpack_device__()

    def __getattr__(self, name: str) -> Any:
        if name in ("__array_interface__", "__cuda_array_interface__"):
            return getattr(self._storage, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __getitem__(self, ranges: Any) -> Tensor:
        return _subscript(self, ranges)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(self.shape[0]))

    def __str__(self) -> str:
        return f"Tensor(\n    {_text(self._numpy())},{_facts(self)},\n    shape={self.shape})"

    __repr__ = __str__


def _facts(data: _Data) -> str:
    layout = f'\n    layout="{data.layout}",' if data.layout else ""
    return f'\n    dtype={data.dtype},{layout}\n    device="{data.device}"'


class Tensors(Sequence[Tensor]):
    """Samples of a batch; without `indices` all of them."""

    def __init__(self, batch: Batch, indices: Sequence[int] | None = None) -> None:
        self._batch = batch
        self._indices = range(batch.batch_size) if indices is None else indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, i: Any) -> Any:
        return self.select(i)

    def __iter__(self) -> Iterator[Tensor]:
        stored = self._batch._storage
        return iter([Tensor._of(stored[i]) for i in self._indices])

    def select(self, indices: Any) -> Any:
        """A tensor for a number, a sequence like this one for a list or slice."""
        own = self._indices
        if isinstance(indices, slice):
            return Tensors(self._batch, own[indices])
        if isinstance(indices, (list, tuple, range)):
            return Tensors(self._batch, [own[_within(i, len(own))] for i in indices])
        return self._batch.select(own[_within(indices, len(own))])

    def tolist(self) -> list[Tensor]:
        return list(self)

    def as_batch(self, copy: bool = False) -> Batch:
        """These samples as a batch."""
        chosen = self._batch.select(list(self._indices))
        return Batch(chosen, copy=True) if copy else chosen


class _Slices:
    """`batch.slice`: subscripts of each sample."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __getitem__(self, ranges: Any) -> Batch:
        return _subscript(self._batch, ranges)


class Batch(_Data):
    """A list of tensors of one type and number of dimensions, on one device. Their shapes may differ.

    Args:
        tensors: the samples; or an array whose first dimension is the batch; or a batch.
        dtype: element type; required without samples.
        device: where the batch is made.
        layout: layout of the samples.
        copy: the batch gets memory of its own.
    """

    __slots__ = ("_empty",)  # the type of the elements of a batch without samples

    def __init__(
        self,
        tensors: Any = None,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        invocation_result: Any = None,
        copy: bool = False,
    ) -> None:
        self._call = None
        stored = _batch_storage(tensors, dtype, layout, copy)
        wanted = None if dtype is None else _types.type_id(dtype)
        self._empty = wanted
        if wanted is not None and len(stored) and stored.dtype != wanted:
            samples = [_cast(sample, wanted) for sample in stored]
            stored = batch_like(stored, samples, stored.layout())
        self._stored = stored
        if device is not None:
            self._stored = self.to_device(device)._storage

    @staticmethod
    def broadcast(sample: Any, batch_size: int, device: Any = None, dtype: Any = None) -> Batch:
        """A batch whose samples are all `sample`.

        Raises:
            ValueError: `sample` is a batch.
        """
        if isinstance(sample, (Batch, _core.Batch)):
            raise ValueError("Cannot broadcast a Batch.")
        tensor = Tensor(sample, dtype, device)._storage
        kind = TensorListGPU if _device_id(tensor) >= 0 else TensorListCPU
        return Batch._of(kind([tensor] * batch_size, tensor.layout()))

    @property
    def dtype(self) -> _types.DType:
        """The type of the elements."""
        stored = self._storage
        found = stored.dtype if len(stored) else getattr(self, "_empty", None)
        return _types.DType.from_type_id(types.UINT8 if found is None else found)

    @property
    def batch_size(self) -> int:
        """Number of samples."""
        return len(self._storage)

    @property
    def shape(self) -> list[tuple[int, ...]]:
        """The shapes of the samples."""
        return self._storage.shape()

    @property
    def tensors(self) -> Tensors:
        """The samples, as a sequence."""
        return Tensors(self)

    @property
    def slice(self) -> _Slices:
        """Subscripts of each sample: `batch.slice[0]`."""
        return _Slices(self)

    def select(self, sample_range: Any) -> Any:
        """A sample for a number; a batch for a slice or list of numbers."""
        if sample_range is Ellipsis:
            return self
        stored = self._storage
        count = len(stored)
        if isinstance(sample_range, slice):
            chosen = [stored[i] for i in range(*sample_range.indices(count))]
        elif isinstance(sample_range, (list, tuple, range)):
            chosen = [stored[_within(i, count)] for i in sample_range]
        else:
            return Tensor._of(stored[_within(sample_range, count)])
        kind = TensorListGPU if _device_id(stored) >= 0 else TensorListCPU
        made = Batch._of(kind(chosen, stored.layout()))
        made._empty = self.dtype.type_id
        return made

    def __iter__(self) -> Iterator[Tensor]:
        return iter([Tensor._of(sample) for sample in self._storage])

    def _arrays(self) -> list[Any]:
        return [sample._numpy() for sample in self]

    def _copied(self) -> Any:
        stored = self._storage
        return _core.make_batch(TensorListCPU, list(stored), stored.layout() or None, True)

    def _dense(self) -> Any:
        """The samples as one tensor with the batch in front."""
        import numpy

        stored = self._storage
        dense = stored._dense()
        if dense is None:
            if len(set(stored.shape())) > 1:
                raise ValueError(
                    "The samples have different shapes, so they do not make a tensor. Pass pad=True to pad them to "
                    f"one shape. The shapes are: {stored.shape()}"
                )
            host = stored if _device_id(stored) < 0 else stored._to_host()
            dense = TensorCPU(numpy.stack([numpy.asarray(sample) for sample in host]))
            if _device_id(stored) >= 0:
                dense = dense._as_gpu(_device_id(stored))
        layout = stored.layout()
        return dense._view(dense._dtype, tuple(dense.shape()), "N" + layout if layout else "")

    def torch(self, copy: bool | None = None, pad: bool = False) -> Any:
        """The batch as one tensor of PyTorch; `pad` pads the samples with zeros to one shape.

        Raises:
            ValueError: the samples have different shapes; `copy` is False but a copy is needed.
        """
        import torch

        whole = _padded(self) if pad else self
        if copy is False and whole._storage._dense() is None:
            raise ValueError("The samples are not contiguous: a copy is needed.")
        made = torch.from_dlpack(whole._dense())
        return made.clone() if copy else made

    def __str__(self) -> str:
        elements = sum(math.prod(shape) for shape in self.shape)
        texts = tensor_text.sample_texts(self.tensors, elements, lambda one: _text(one._numpy()))
        between = ", " if self.ndim == 0 else ",\n" + "\n" * (self.ndim - 1) + "    "
        shown = between.join(texts)
        return (
            f"Batch(\n    [{shown}],{_facts(self)},\n    num_samples={self.batch_size},\n"
            f"    shape={self.shape})"
        )

    __repr__ = __str__


def _within(i: Any, count: int) -> int:
    number = operator.index(i.item() if isinstance(i, Tensor) else i)
    if not -count <= number < count:
        raise IndexError(f"Sample {number} is out of range: the batch has {count} samples.")
    return number % count


def _batch_storage(tensors: Any, dtype: Any, layout: str | None, copy: bool) -> Any:
    if isinstance(tensors, Batch):
        tensors = tensors._storage
    if isinstance(tensors, _core.Batch):
        return batch_like(tensors, list(tensors), layout or tensors.layout(), copy)
    if not isinstance(tensors, (list, tuple)) and _is_array(tensors):
        dense = _storage_of(tensors, None, copy)
        own = dense.layout()
        if own and not layout:
            layout = own[1:] or None
        device = _device_id(dense)
        kind = TensorListGPU if device >= 0 else TensorListCPU
        rows = dense._view(dense._dtype, tuple(dense.shape()), "")
        return _core.make_batch_dense(kind, rows, layout, False, None, device)
    whole = _batch_of_equals(tensors, layout, copy) if tensors else None
    if whole is not None:
        return whole
    samples = [_storage_of(item, None, copy) for item in tensors or ()]
    if not samples:
        if dtype is None:
            raise ValueError("Element type must be specified if the list is empty")
        import numpy

        empty = numpy.empty((0,), to_numpy_type(_types.type_id(dtype)))
        return TensorListCPU(empty, layout)
    kinds = {sample.dtype for sample in samples}
    if len(kinds) > 1 and dtype is not None:
        samples = [Tensor(sample, dtype)._storage for sample in samples]
    elif len(kinds) > 1:  # an empty list has the type of the others
        others = {s.dtype for s, item in zip(samples, tensors, strict=True) if not _is_empty(item)}
        if len(others) == 1:
            wanted = others.pop()
            samples = [
                _cast(sample, wanted) if _is_empty(item) else sample
                for sample, item in zip(samples, tensors, strict=True)
            ]
    return batch_like(samples[0], samples, layout or samples[0].layout())


def _batch_of_equals(samples: Sequence[Any], layout: str | None, copy: bool) -> Any:
    """What `_batch_storage` makes, in one call of the extension, if all samples are numbers of one type, or tensors or
    NumPy's arrays in host memory with elements of one type. None for others."""
    kinds = set(map(type, samples))
    kind = kinds.pop()
    if kinds:
        return None
    if kind in (bool, int, float):
        return _core.make_batch_dense(TensorListCPU, _array(list(samples)), layout, False)
    if kind is Tensor:
        samples = [sample._storage for sample in samples]
        layout = layout or samples[0].layout() or None
        if not all(type(sample) is TensorCPU for sample in samples):
            return None
    else:
        import numpy

        if kind is not numpy.ndarray:
            return None
    if len({sample.dtype for sample in samples}) > 1:
        return None
    try:
        return _core.make_batch(TensorListCPU, samples, layout, copy)
    except (TypeError, ValueError, BufferError):  # perhaps a sample can be read in another way
        return None


def _is_empty(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not value


def _is_array(value: Any) -> bool:
    return isinstance(value, (Tensor, _core.Tensor)) or any(
        hasattr(value, name)
        for name in ("__array_interface__", "__dlpack__", "__cuda_array_interface__", "__array__")
    )


def _padded(batch: Batch) -> Batch:
    return _run("pad", [batch], {}) if len(set(batch.shape)) > 1 else batch


# ---- subscripts ----


def _subscript(data: Any, ranges: Any) -> Any:
    """Indexes each sample like NumPy's basic indexing."""
    given = ranges if isinstance(ranges, tuple) else (ranges,)
    taken = sum(item is not Ellipsis and not isinstance(item, NewAxis) for item in given)
    if sum(item is Ellipsis for item in given) > 1:
        raise ValueError("Only one Ellipsis is allowed in a subscript.")
    if taken > data.ndim:
        raise ValueError(
            f"Number of ranges ({taken}) is greater than the number of dimensions of the tensor ({data.ndim})"
        )
    arguments: dict[str, Any] = {}
    at = 0
    for item in given:
        if item is Ellipsis:
            at += data.ndim - taken
        elif item is None:
            at += 1
        elif isinstance(item, slice):
            for key, value in (("lo", item.start), ("hi", item.stop), ("step", item.step)):
                if value is not None:
                    arguments[f"{key}_{at}"] = _index(value)
            at += 1
        else:
            arguments[f"at_{at}"] = _index(item)
            at += 1
    if not arguments:
        return data
    return _run("_subscript", [data], {**arguments, "num_subscripts": at})


def _index(value: Any) -> Any:
    if isinstance(value, (Tensor, Batch)):
        return value
    try:
        return operator.index(value)
    except TypeError:
        if getattr(value, "ndim", None) is not None:
            return Tensor(value)
        raise


# ---- making tensors and batches ----


def tensor(
    data: Any, dtype: Any = None, device: Any = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """Copies `data` to a new tensor; a batch becomes one with the batch in front, padded with `pad`."""
    if isinstance(data, (Batch, _core.Batch)):
        batch = data if isinstance(data, Batch) else Batch._of(data)
        data = _padded(batch) if pad else batch
    return Tensor(data, dtype, device, layout, copy=True)


def as_tensor(
    data: Any, dtype: Any = None, device: Any = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """Like `tensor`, but shares the memory of `data` where possible."""
    if isinstance(data, (Batch, _core.Batch)):
        batch = data if isinstance(data, Batch) else Batch._of(data)
        data = _padded(batch) if pad else batch
    return Tensor(data, dtype, device, layout)


def batch(tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None) -> Batch:
    """Copies `tensors` to a new batch."""
    return Batch(tensors, dtype, device, layout, copy=True)


def as_batch(
    tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None
) -> Batch:
    """Like `batch`, but shares the memory of `tensors` where possible; a batch that fits is returned."""
    if isinstance(tensors, Batch) and dtype is None and device is None and layout is None:
        return tensors
    return Batch(tensors, dtype, device, layout)


_types.DType._make = staticmethod(as_tensor)
