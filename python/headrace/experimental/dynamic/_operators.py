# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Calls of operators on data, and the functions made from the operators' tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from headrace import _core
from headrace._base import call_site, docs, foreign, messages, types
from headrace._graph import calls, modules, schema
from headrace._graph.plan import Kept, Plan
from headrace.experimental.dynamic import _data, _types
from headrace.experimental.dynamic._context import Device, EvalContext, EvalMode, device
from headrace.experimental.dynamic._data import Batch, Tensor, Tensors
from headrace.experimental.dynamic._rng import RNG, draw

_plans: Kept[Plan] = Kept(128)
_FEW = 8  # different values of a number before it is fed instead of compiled into plans
_NUMBERS = (bool, int, float)
_FLOATS = ("FLOAT", "FLOATS")


class _Values:
    """How many values the arguments of calls with one set of names have had."""

    __slots__ = ("count", "fed")

    def __init__(self) -> None:
        self.count = 0
        self.fed = False


_values: dict[Any, _Values] = {}


class _Call:
    """A call of an operator; it runs once, when its results are needed."""

    __slots__ = (
        "_op",
        "_inputs",
        "_constants",
        "_fed",
        "_size",
        "_device",
        "_context",
        "_seed",
        "_results",
        "_lock",
        "_line",
        "_site",
        "__weakref__",
    )

    def __init__(
        self,
        op: schema.Operator,
        inputs: list[Any],
        constants: dict[str, Any],
        fed: dict[str, Any],
        size: int | None,
        runs_on: Device,
        seed: int | None,
    ) -> None:
        self._op = op
        self._inputs = inputs
        self._constants = constants
        self._fed = fed
        self._size = size  # None: a single sample
        self._device = runs_on
        self._context = EvalContext.current()
        self._seed = seed
        self._results: list[Any] | None = None
        self._lock: Any = None
        self._line = ""
        self._site: Any = None  # where a call that is deferred was made

    def defer(self) -> list[Any]:
        """The results, to be computed later."""
        self._lock = threading.Lock()
        self._line = messages.user_line()
        self._site = call_site.here()
        self._context.wait_for(self)
        kind = Tensor if self._size is None else Batch
        return [kind._later(self, i) for i in range(_outputs(self._op, self._constants))]

    def __call__(self) -> list[Any]:
        with self._lock:
            if self._results is None:
                self._results = self.run()
                self._inputs, self._fed = [], {}
            return self._results

    def run(self) -> list[Any]:
        """Runs the operator. Returns what tensors or batches hold."""
        op, size = self._op, self._size
        count = 1 if size is None else size
        batches = [_batch(value, count) for value in self._inputs]
        given = [_batch(value, count) for value in self._fed.values()]
        name, number = self._device.device_type, self._device.device_id
        kinds = tuple(["cpu" if batch._device < 0 else "gpu" for batch in batches])
        if name == "gpu" and "gpu" not in op.devices and "mixed" in op.devices:
            name = "mixed"
        copied = name == "gpu" and op.is_copied
        place = "cpu" if copied else name
        try:
            key, plan = self._plan(place, kinds, count, -1 if number is None else number)
            try:
                results = plan.run(batches + given, count, -1 if self._seed is None else self._seed)
            finally:
                _plans.put(key, plan)
        except Exception as error:
            made = _located(error, op, self._line)
            if self._site is None:
                raise made from None
            cause = type(made)(*made.args).with_traceback(call_site.traceback(self._site))
            raise made from cause
        stored = [batch[0] for batch in results] if size is None else list(results)
        return [item._as_gpu(number) for item in stored] if copied else stored

    def _plan(self, name: str, kinds: tuple[str, ...], count: int, number: int) -> tuple[Any, Plan]:
        """The plan for this call, and its key."""
        room = 1 << (count - 1).bit_length() if count > 1 else 1
        threads = 0 if count == 1 else self._context.num_threads
        threads = 0 if threads == 1 else threads
        constants = self._constants
        key = (self._op, name, kinds, _frozen(constants), tuple(self._fed), room, threads, number)
        plan = _plans.take(key)
        if plan is None:
            device_id = max(number, 0) if name != "cpu" else number
            fed = tuple(self._fed)
            plan = Plan(
                self._op, name, kinds, constants, fed, room, threads, seed=0, device_id=device_id
            )
        return key, plan


def _outputs(op: schema.Operator, constants: dict[str, Any]) -> int:
    if op.out_count is not None:
        return op.out_count
    graph = _core.Graph()
    edges = [
        (graph.add_node("external_source", None, "cpu", None, [], {}, {}), 0)
        for _ in range(op.in_min)
    ]
    return graph.node_outputs(
        graph.add_node(op.name, None, op.devices[0], None, edges, constants, {})
    )


def _frozen(value: Any) -> Any:
    """The constants of a call as a key: 1, 1.0 and True are different."""
    if isinstance(value, dict):
        return tuple([(name, _frozen(item)) for name, item in value.items()])
    if isinstance(value, list):
        return tuple([_frozen(item) for item in value])
    return (type(value), repr(value) if isinstance(value, float) else value)


def _located(error: Exception, op: schema.Operator, line: str = "") -> Exception:
    """The error with the operator's name and the user's line."""
    text = str(error.args[0]) if error.args else str(error)
    if not text.startswith(op.name):
        text = f"{op.name}: {text}"
    line = line or messages.user_line()
    made: Exception = type(error)(f"{text} (called at {line})" if line else text)
    return made


def _batch(value: Any, count: int) -> Any:
    """The batch that an operator is fed."""
    stored = value._storage
    if isinstance(stored, _core.Batch):
        return stored
    return _data.batch_like(stored, [stored] * count, stored.layout())


def _sizes(values: Sequence[Any], label: str) -> int | None:
    """The number of samples of the batches among the values; None if there is none."""
    size = None
    for value in values:
        if isinstance(value, Batch):
            own = value.batch_size
            if size is not None and own != size:
                raise ValueError(
                    f"{label}: the batches have different numbers of samples: {size} and {own}."
                )
            size = own
    return size


def _input(value: Any) -> Any:
    if isinstance(value, (Tensor, Batch)):
        return value
    if isinstance(value, _core.Batch):
        return Batch(value)
    if isinstance(value, Tensors):
        return value.as_batch()
    if isinstance(value, (str, bytes)) or value is None:
        raise TypeError(f"A {type(value).__name__} is not an input of an operator.")
    if isinstance(value, (list, tuple)) and any(isinstance(item, Batch) for item in value):
        raise TypeError(
            "A list of batches is not an input of an operator: call it for each batch. Random operators draw the "
            "same numbers if each call has a clone of one generator: rng=rng.clone()."
        )
    return Tensor(value)


def _fed_value(argument: schema.Argument, value: Any) -> Tensor:
    """A number, or a list of numbers, of an argument as a tensor with one value for each sample."""
    import numpy

    kind = numpy.float32 if argument.type in _FLOATS else numpy.int32
    return Tensor(numpy.array(value, kind))


def _feedable(argument: schema.Argument | None, value: Any) -> bool:
    if argument is None or not argument.per_sample or "exact" in argument.flags:
        return False
    if argument.type not in ("FLOAT", "INT", "FLOATS", "INTS"):
        return False
    if isinstance(value, list):
        return bool(value) and argument.is_list and all(type(item) in _NUMBERS for item in value)
    return type(value) in _NUMBERS and (not argument.is_list or "scalar_ok" in argument.flags)


def _arguments(
    op: schema.Operator, label: str, kwargs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits arguments into constants and those with data."""
    fed: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, value in kwargs.items():
        if value is None:
            continue
        argument = op.args.get(name)
        if argument is None:
            hint = foreign.suggestion(name, list(op.args))
            raise TypeError(
                f"{label}() got an unexpected keyword argument '{name}'{hint and '.' + hint}"
            )
        if isinstance(value, (Batch, Tensor)):
            if argument.per_sample:
                fed[name] = value
                continue
            if isinstance(value, Batch):
                raise TypeError(
                    f"{label}(): the argument '{name}' has one value for all samples, not a batch of them."
                )
            value = value._numpy().tolist()
        elif isinstance(value, _types.DType):
            value = _types.type_id(value)
        plain[name] = value
    if not plain:
        return plain, fed
    constants, _ = calls.split_arguments(op, label, plain)
    numbers = [name for name, value in constants.items() if _feedable(op.args.get(name), value)]
    if numbers:
        _feed_what_changes(op, constants, fed, numbers)
    return constants, fed


def _feed_what_changes(
    op: schema.Operator, constants: dict[str, Any], fed: dict[str, Any], numbers: list[str]
) -> None:
    """Numbers that had many values are fed, because each value would need a plan of its own."""
    names = (op, tuple(constants), tuple(fed))
    seen = _values.get(names)
    if seen is None:
        seen = _values[names] = _Values()
    if not seen.fed:
        key = (names, tuple([repr(constants[name]) for name in numbers]))
        if key not in _values:
            _values[key] = seen
            seen.count += 1
            seen.fed = seen.count > _FEW
    if seen.fed:
        for name in numbers:
            fed[name] = _fed_value(op.args[name], constants.pop(name))


def _wrong_count(op: schema.Operator, label: str, count: int) -> str:
    """The message for too many or too few inputs, as Python words it."""
    if count > op.in_max:
        plural = "" if op.in_max == 1 else "s"
        return f"{label}() takes {op.in_max} positional argument{plural} but {count} were given"
    missing = [spec["name"] for spec in op.inputs[count : op.in_min]] or ["input"]
    shown = " and ".join(f"'{name}'" for name in missing)
    return (
        f"{label}() missing {op.in_min - count} required positional "
        f"argument{'' if op.in_min - count == 1 else 's'}: {shown}"
    )


def call(op: schema.Operator, label: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Calls an operator.

    Returns:
        A tensor, or a batch if any input or argument is a batch or `batch_size` is given; a list of them if the
        operator has several outputs.
    """
    if not op.in_min <= len(inputs) <= op.in_max:
        raise TypeError(_wrong_count(op, label, len(inputs)))
    given = kwargs.pop("device", None)
    size = kwargs.pop("batch_size", None)
    rng = kwargs.pop("rng", None)
    if rng is not None and not op.has_seed:
        raise TypeError(f"{label}() got an unexpected keyword argument 'rng'")
    ready = [_input(value) for value in inputs]
    constants, fed = _arguments(op, label, kwargs)
    own = _sizes([*ready, *fed.values()], label)
    if own is not None and size is not None and own != size:
        raise ValueError(f"{label}: batch_size is {size}, but the inputs have {own} samples.")
    size = own if size is None else size
    runs_on = _place(op, given, ready)
    if runs_on.device_type == "gpu" and "on_host" in op.flags:
        ready = [value.cpu() for value in ready]
    elif runs_on.device_type == "gpu" and "gpu" in op.devices and not op.is_copied:
        ready = [value.to_device(runs_on) for value in ready]
    elif runs_on.device_type == "cpu":
        ready = [
            value if _data._device_id(value._storage) < 0 else _on_cpu(value, label)
            for value in ready
        ]
    fed = {name: value.cpu() for name, value in fed.items()} if fed else fed
    if "random" in op.flags and rng is None:
        rng = _default_rng()
    seed = draw(rng) if "random" in op.flags else None
    made = _Call(op, ready, constants, fed, size, runs_on, seed)
    if EvalMode.current() is EvalMode.deferred and not op.out_keys:
        results = made.defer()
    else:
        kind = Tensor if size is None else Batch
        results = [kind._of(stored) for stored in made.run()]
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)


def _on_cpu(value: Any, label: str) -> Any:
    raise ValueError(
        f'{label}: an input is on the GPU, but the operator was called with device="cpu". Use .cpu().'
    )


def _place(op: schema.Operator, given: Any, inputs: list[Any]) -> Device:
    """The device of a call: the given one, that of an input on the GPU, or the current one."""
    if given is not None:
        place = device("gpu" if given == "mixed" else given)
        if place.device_type not in op.devices and not (
            place.device_type == "gpu" and "mixed" in op.devices
        ):
            raise ValueError(
                f"{op.name} does not run on {place}: allowed are {', '.join(op.devices)}."
            )
        return place
    for value in inputs:
        number = _data._device_id(value._storage)
        if number >= 0 and "gpu" in op.devices:
            return Device("gpu", number)
    current = Device.current()
    return current if current.device_type in op.devices and not inputs else Device.CPU


_local = threading.local()


def _default_rng() -> RNG:
    found = getattr(_local, "rng", None)
    if found is None:
        found = _local.rng = RNG()
    return found


def get_default_rng() -> RNG:
    """The generator of this thread, which calls without `rng` use."""
    return _default_rng()


def set_seed(seed: int) -> None:
    """Seeds the generator of this thread."""
    _default_rng().set_state(RNG(seed).get_state())


# ---- arithmetic and functions for other modules ----


def arithmetic(op: str, *operands: Any) -> Any:
    """Computes `op` of one or two operands, element by element. Numbers have the types int32 and float32."""
    args: dict[str, Any] = {"op": op}
    inputs = []
    for side, operand in enumerate(operands):
        if type(operand) in _NUMBERS and "const_side" not in args and len(operands) > 1:
            number = types.ScalarConstant(operand)
            args["const_side"] = side
            args["const_type"] = number.dtype
            if number.dtype == types.FLOAT:
                args["fvalue"] = float(operand)
            else:
                args["ivalue"] = int(operand)
            continue
        if isinstance(operand, str):
            raise TypeError(f"A {type(operand).__name__} is not an operand of '{op}'.")
        inputs.append(_input(operand))
    return call(schema.operators()["_arithmetic"], op, inputs, args)


def _run(name: str, inputs: list[Any], kwargs: dict[str, Any]) -> Any:
    op = schema.operators()[name]
    return call(op, name.lstrip("_"), inputs, kwargs)


_data.set_functions(_run, arithmetic)

# ---- functions ----

# What only makes sense in a pipeline, or has another form here.
_NOT_HERE = frozenset(
    {"external_source", "python_function", "dl_tensor_python_function", "constant"}
)


def names() -> list[str]:
    """The names of the functions, with their modules."""
    return [
        name
        for name in schema.function_names()
        if name not in _NOT_HERE and not schema.operators()[name].source
    ]


def signature(op: schema.Operator) -> Any:
    """The signature of an operator's function."""
    import inspect

    kind = inspect.Parameter
    parameters = modules._input_parameters(op, kind)
    common = ["batch_size", "device"] + (["rng"] if op.has_seed else [])
    arguments = sorted(op.args.values(), key=lambda a: (a.required, a.name))
    for name in common:
        parameters.append(kind(name, kind.KEYWORD_ONLY, default=None))
    for arg in arguments:
        default = kind.empty if arg.required else None
        parameters.append(kind(arg.name, kind.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters)


def make(name: str) -> Callable[..., Any] | None:
    """The function of an operator, or None if there is none of that name."""
    found = schema.find_function(name)
    if found is None or name in _NOT_HERE or name.startswith("_") or found[0].source:
        return None
    op = found[0]
    module, _, leaf = name.rpartition(".")

    def function(*inputs: Any, **kwargs: Any) -> Any:
        return call(op, leaf, inputs, kwargs)

    function.__name__ = function.__qualname__ = leaf
    package = __name__.rpartition(".")[0]
    function.__module__ = f"{package}.{module}" if module else package
    function.__doc__ = docs.docstring(op.raw)
    function.__signature__ = signature(op)  # type: ignore[attr-defined]
    function._schema_name = schema.schema_name(op.name)  # type: ignore[attr-defined]
    return function
