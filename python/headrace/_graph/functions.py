# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Operators that call Python functions: `python_function` and `dl_tensor_python_function`."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace import _core
from headrace._base.types import CUDAStream
from headrace._graph import schema
from headrace._graph.arrays import (
    Arrays,
    Capsules,
    CupyArrays,
    NumpyArrays,
    current_stream,
    stream_of,
)
from headrace._graph.calls import promote, split_arguments
from headrace._graph.graph import (
    Instance,
    check_device,
    choose_device,
    current_pipeline,
    pop_pipeline,
    push_pipeline,
)
from headrace._graph.node import Node

__all__ = ["DLTensorPythonFunction", "PythonFunction", "make_function"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_KEPT = 16  # exceptions of a function that `add_cause` finds


# ---- called by worker threads ----


class Function:
    """The function of one node. Passes the samples of an iteration to the user's function and stores its results.

    Args:
        function: the user's function.
        arrays: what the user's function takes and returns.
        batch: the function takes and returns lists with one item per sample.
        whole: the function takes and returns one array per batch; its samples have one shape.
        outputs: number of outputs that the function returns.
        pipeline: the pipeline of the node; no strong reference is kept.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arrays: Arrays,
        batch: bool,
        whole: bool,
        outputs: int,
        pipeline: Any,
    ) -> None:
        self._function = function
        self._arrays = arrays
        self._batch = batch or whole
        self._whole = whole
        self._outputs = outputs
        self._pipeline = weakref.ref(pipeline)
        self.failures: deque[tuple[str, BaseException]] = deque(maxlen=_KEPT)

    def __call__(self, call: Any) -> str | None:
        """Runs the function on a worker thread. Returns the text of the error, or None."""
        pipeline = self._pipeline()
        if pipeline is None:
            return "the pipeline is gone"
        push_pipeline(pipeline)
        try:
            with stream_of(call), self._arrays.scope(call):
                self._run(call)
        except BaseException as error:
            text = _describe(error)
            self.failures.append((text, error))
            return text
        finally:
            pop_pipeline()
        return None

    def _run(self, call: Any) -> None:
        (self._run_batch if self._batch else self._run_samples)(call)

    def _run_samples(self, call: Any) -> None:
        arrays = self._arrays
        inputs = call.inputs()
        failed = 0
        for i in range(call.samples):
            try:
                result = self._function(*[arrays.convert(batch[i]) for batch in inputs])
                for k, value in enumerate(self._results(result)):
                    call.put(k, i, arrays.result(value))
            except MemoryError:
                raise
            except Exception as error:
                if call.device >= 0:
                    raise
                text = _describe(error)
                call.fail(i, text)
                failed += 1
                if failed <= _KEPT // 2:  # `run` raises the first one; other calls need room, too
                    self.failures.append((text, error))

    def _run_batch(self, call: Any) -> None:
        arrays = self._arrays
        count = call.samples
        inputs = call.inputs()
        lists: list[Any]
        if self._whole:
            lists = [arrays.convert(_uniform(batch, call)) for batch in inputs]
        else:
            lists = [[arrays.convert(sample) for sample in batch] for batch in inputs]
        for k, values in enumerate(self._results(self._function(*lists))):
            if len(values) != count:
                raise RuntimeError(
                    f"The function returned {len(values)} samples for output {k}, expected {count}."
                )
            if self._whole:
                call.put_batch(k, arrays.result(values))
                continue
            for i in range(count):
                call.put(k, i, arrays.result(values[i]))

    def _results(self, result: Any) -> Sequence[Any]:
        """Splits the return value of the function into outputs.

        Raises:
            TypeError, ValueError, RuntimeError: the number of outputs is not the declared one.
        """
        count = self._outputs
        if result is None:
            if count == 0:
                return ()
            raise RuntimeError(f"The function returned None, expected {count} output(s).")
        if count > 1 and not isinstance(result, tuple):
            raise TypeError(
                "The output from a multi-output Python function operator must be a tuple, got: "
                f"{type(result)}"
            )
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != count and not (count == 1 and results):
            raise ValueError(
                f"Unexpected number of outputs from Python function operator - got {len(results)}, "
                f"expected {count}"
            )
        return results[:count]


def _uniform(batch: Any, call: Any) -> Any:
    """A batch as one array, which shares its memory if that is contiguous.

    Raises:
        RuntimeError: the samples differ in shape.
    """
    dense = batch._dense()
    if dense is not None:
        return dense
    shapes = sorted(set(batch.shape()))
    if len(shapes) > 1:
        shown = ", ".join(map(str, shapes[:3])) + (", ..." if len(shapes) > 3 else "")
        raise RuntimeError(
            f"The function takes whole batches, but the samples differ in shape ({shown})."
        )
    stream = call.stream if call.device >= 0 else None
    copy = _core.make_batch(type(batch), list(batch), stream=stream, device=call.device)
    return copy._dense()


def _describe(error: BaseException) -> str:
    """The error's type and text, and the lines of user code, innermost first."""
    import traceback

    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    lines = [
        f"  {frame.filename}({frame.lineno}): {frame.name}"
        for frame in reversed(traceback.extract_tb(error.__traceback__))
        if not frame.filename.startswith(_PACKAGE)
    ]
    return "\n\nAt:\n".join([text, "\n".join(lines)]) if lines else text


def add_cause(instances: Iterable[Any], error: BaseException) -> None:
    """If `error` reports an exception of a Python function, sets that exception as its cause."""
    for instance in instances:
        if instance.function is None:
            continue
        failures = instance.function.failures
        for failure in failures:
            if failure[0][:200] in str(error):  # the engine truncates long messages
                error.__cause__ = failure[1]
                failures.remove(failure)
                return


# ---- the operators ----


def make_function(
    name: str,
    label: str,
    function: Callable[..., Any] | None,
    arrays: Callable[[str], Arrays],
    inputs: Sequence[Any],
    kwargs: dict[str, Any],
    whole: bool = False,
    make: type[Function] = Function,
) -> Any:
    """Adds a node of the operator `name` that calls `function`.

    Args:
        label: the operator's name in messages.
        arrays: what `function` takes and returns on the device that it gets, "cpu" or "gpu".
        inputs: nodes, numbers or arrays.
        kwargs: arguments of the operator. Without `device`, it runs where its inputs are.
        whole: `function` takes and returns whole batches as arrays.
        make: the class that calls `function`.

    Returns:
        A node, or a list of nodes unless there is one output.

    Raises:
        RuntimeError: no pipeline is being defined.
        TypeError: an input cannot be a node; `function` is missing or not callable.
    """
    kwargs = dict(kwargs)
    device = kwargs.pop("device", None) or choose_device(inputs)
    check_device(device, label)
    node_name = kwargs.pop("name", None)
    kwargs.pop(
        "preserve", None
    )  # always preserved: the function may be called only for its side effects
    constants, arguments = split_arguments(schema.operators()[name], label, kwargs)
    pipeline = current_pipeline()
    if pipeline is None:
        raise RuntimeError(
            f"Current Pipeline not set!\n{label} operator must be used inside `define_graph` or current "
            "pipeline must be explicitly set using context manager (`with my_pipeline:`) or with a call to "
            "`Pipeline.push_current(my_pipeline)`."
        )
    if function is None:
        raise TypeError(f"{label}: the required argument `function` is missing.")
    if not callable(function):
        raise TypeError(f"{label}: `function` must be callable, not {function!r}.")
    for value in inputs:
        if isinstance(value, (list, tuple)) and any(isinstance(v, Node) for v in value):
            raise TypeError(
                f"Expected inputs of type `DataNode`. Received input of type '{type(value).__name__}'. "
                "Python Operators do not support Multiple Input Sets."
            )
    outputs = constants.get("num_outputs", 1)
    if isinstance(constants.get("output_layouts"), str) and isinstance(outputs, int):
        constants["output_layouts"] = [constants["output_layouts"]] * max(outputs, 1)
    instance = Instance(
        name,
        [promote(value, label, i, device) for i, value in enumerate(inputs)],
        constants,
        arguments,
        node_name,
        True,
        label,
        device,
        make(
            function,
            arrays(device),
            bool(constants.get("batch_processing")),
            whole,
            outputs,
            pipeline,
        ),
    )
    nodes = instance.nodes()
    return nodes[0] if len(nodes) == 1 else nodes


class _FunctionOperator:
    """Base of the classes: the constructor takes the arguments, the call takes the inputs."""

    _name = ""
    _label = ""
    _batch = False

    def __init__(
        self,
        function: Callable[..., Any] | None,
        num_outputs: int = 1,
        device: str | None = "cpu",
        batch_processing: bool | None = None,
        **kwargs: Any,
    ) -> None:
        self.function = function
        self.num_outputs = num_outputs
        batch = self._batch if batch_processing is None else batch_processing
        self._args = dict(kwargs, num_outputs=num_outputs, device=device, batch_processing=batch)

    @property
    def device(self) -> str:
        return self._args["device"] or "cpu"

    def _arrays(self, device: str) -> Arrays:
        raise NotImplementedError

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        for key, value in kwargs.items():
            if value is not None and self._args.get(key) is not None and key != "device":
                raise ValueError(f"The argument `{key}` was already specified in __init__.")
        given = {**self._args, **{k: v for k, v in kwargs.items() if v is not None}}
        return make_function(self._name, self._label, self.function, self._arrays, inputs, given)


class PythonFunction(_FunctionOperator):
    """`python_function` as a class. See `headrace.fn.python_function` for the arguments."""

    _name = "python_function"
    _label = "PythonFunction"

    def _arrays(self, device: str) -> Arrays:
        return CupyArrays() if device == "gpu" else NumpyArrays()

    @staticmethod
    def current_stream() -> CUDAStream:
        """The stream of the pipeline, inside a function that runs on a GPU."""
        return CUDAStream(current_stream())


class DLTensorPythonFunction(_FunctionOperator):
    """`dl_tensor_python_function` as a class. See `headrace.fn.dl_tensor_python_function`."""

    _name = "dl_tensor_python_function"
    _label = "DLTensorPythonFunction"
    _batch = True

    def _arrays(self, device: str) -> Arrays:
        return Capsules(bool(self._args.get("synchronize_stream", True)))


def call_operator(
    operator: type[_FunctionOperator],
    inputs: Sequence[Any],
    function: Callable[..., Any] | None,
    kwargs: dict[str, Any],
) -> Any:
    """Calls the class as a function of `fn`, which runs where its inputs are."""
    return operator(function, **{"device": None, **kwargs})(*inputs)


def python_function(*inputs: Any, function: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    return call_operator(PythonFunction, inputs, function, kwargs)


def dl_tensor_python_function(
    *inputs: Any, function: Callable[..., Any] | None = None, **kwargs: Any
) -> Any:
    return call_operator(DLTensorPythonFunction, inputs, function, kwargs)


#: Name under `fn` -> function and class.
OPERATORS = {
    "python_function": (python_function, PythonFunction),
    "dl_tensor_python_function": (dl_tensor_python_function, DLTensorPythonFunction),
}
