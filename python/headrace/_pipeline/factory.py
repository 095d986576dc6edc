# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`pipeline_def`: turns functions into pipeline factories."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from headrace._base import messages
from headrace._pipeline.pipeline import Pipeline

if TYPE_CHECKING:
    from typing import Unpack

    from headrace._pipeline.typed import Factory, P, PipelineOptions

Function = TypeVar("Function", bound=Callable[..., Any])


def _constructor_arguments() -> frozenset[str]:
    """Names of the constructor's arguments, even if a tool has wrapped the constructor."""
    import inspect

    return frozenset(list(inspect.signature(Pipeline.__init__).parameters)[1:])


def _unexpected(function: str, name: str, known: Iterable[str]) -> TypeError:
    hint = messages.suggestion(name, known)
    return TypeError(f"{function} got an unexpected keyword argument `{name}`.{hint}")


def _split_kwargs(
    function: Callable[..., Any], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits `kwargs` into constructor and function arguments; the function takes precedence."""
    import inspect

    parameters = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        raise TypeError(
            f"Using variadic keyword argument `**{list(parameters)[-1]}` in graph-defining function is not "
            "allowed."
        )
    own, constructor = {}, {}
    known = _constructor_arguments()
    for name, value in kwargs.items():
        if name in parameters:
            own[name] = value
            if name in known:
                print(
                    f"Warning: the argument `{name}` shadows a Pipeline constructor argument of the same "
                    "name."
                )
        elif name in known:
            constructor[name] = value
        else:
            raise _unexpected(function.__name__, name, [*parameters, *known])
    return constructor, own


def _converted(function: Callable[..., Any]) -> Callable[..., Any]:
    from headrace import _conditionals

    return _conditionals.call(function, asked=True)


def _check_convertible(function: Any) -> None:
    from headrace._conditionals import KEPT

    if getattr(function, KEPT, False):
        raise ValueError("Pipeline definition cannot be marked with @do_not_convert.")


@overload
def pipeline_def(
    fn: Callable[P, Any], **pipeline_kwargs: Unpack[PipelineOptions]
) -> Factory[P]: ...
@overload
def pipeline_def(
    fn: None = None, **pipeline_kwargs: Unpack[PipelineOptions]
) -> Callable[[Callable[P, Any]], Factory[P]]: ...
def pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    enable_conditionals: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """Decorator that turns a function returning the outputs of a graph into a pipeline factory.

    The factory takes the arguments of the function and, by keyword, those of `Pipeline`. The
    latter override those given to the decorator.

    Args:
        fn: the function that defines the graph.
        enable_conditionals: let ``if``, ``and``, ``or`` and ``not`` work on nodes, in the function
            and in the functions that it calls. An operator in a branch then runs only for the
            samples that take the branch (docs/conditionals.md).
        pipeline_kwargs: arguments of `Pipeline`.

    Raises:
        TypeError: the function takes ``**kwargs``, or the factory gets an unknown argument.
        ValueError: the function is marked with `do_not_convert`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Pipeline]:
        _check_convertible(function)

        @functools.wraps(function)
        def create_pipeline(*args: Any, **kwargs: Any) -> Pipeline:
            conditionals = kwargs.pop("enable_conditionals", enable_conditionals)
            constructor, own = _split_kwargs(function, kwargs)
            known = _constructor_arguments()
            for name in pipeline_kwargs.keys() - known:
                raise _unexpected("pipeline_def", name, known)
            pipeline = Pipeline(**{**pipeline_kwargs, **constructor})
            pipeline._conditionals_enabled = bool(conditionals)
            definition = _converted(function) if conditionals else function
            with pipeline:
                outputs = definition(*args, **own)
                if outputs is None:
                    outputs = ()
                pipeline.set_outputs(*(outputs if isinstance(outputs, tuple) else (outputs,)))
            return pipeline

        create_pipeline._is_pipeline_def = True  # type: ignore[attr-defined]
        create_pipeline._pipeline_kwargs = pipeline_kwargs  # type: ignore[attr-defined]
        return create_pipeline

    return decorate(fn) if fn is not None else decorate


@overload
def do_not_convert(func: Function) -> Function: ...
@overload
def do_not_convert(func: None = None) -> Callable[[Function], Function]: ...
def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Decorator that excludes a function, and the functions it calls, from conditional mode.

    Raises:
        ValueError: the function is a pipeline definition.
    """
    if func is None:
        return do_not_convert
    if getattr(func, "_is_pipeline_def", False):
        raise ValueError("Pipeline definition cannot be marked with @do_not_convert.")
    from headrace._conditionals import KEPT

    with contextlib.suppress(AttributeError):  # built-in functions are never converted
        setattr(func, KEPT, True)
    return func


@overload
def experimental_pipeline_def(
    fn: Callable[P, Any], *, debug: bool = False, **pipeline_kwargs: Unpack[PipelineOptions]
) -> Factory[P]: ...
@overload
def experimental_pipeline_def(
    fn: None = None, *, debug: bool = False, **pipeline_kwargs: Unpack[PipelineOptions]
) -> Callable[[Callable[P, Any]], Factory[P]]: ...
def experimental_pipeline_def(
    fn: Callable[..., Any] | None = None,
    *,
    debug: bool = False,
    enable_conditionals: bool = False,
    **pipeline_kwargs: Any,
) -> Any:
    """`pipeline_def` with a debug mode.

    In debug mode the function runs in every iteration, operators run where they are called, and
    nodes hold data: ``node.get()`` returns the batch, ``print(node)`` shows it, and errors point
    at the user's line. Every iteration must call the same operators with the same constant
    arguments.

    Args:
        fn: the function that defines the graph.
        debug: enables debug mode; also an argument of the factory.
        enable_conditionals: as in `pipeline_def`. In debug mode, nodes in a branch hold the
            samples that take the branch.
        pipeline_kwargs: arguments of `Pipeline`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Pipeline]:
        plain = pipeline_def(function, enable_conditionals=enable_conditionals, **pipeline_kwargs)

        @functools.wraps(function)
        def create_pipeline(*args: Any, **kwargs: Any) -> Pipeline:
            if not kwargs.pop("debug", debug):
                created: Pipeline = plain(*args, **kwargs)
                return created
            from headrace._pipeline.debug.pipeline import PipelineDebug

            conditionals = kwargs.pop("enable_conditionals", enable_conditionals)
            constructor, own = _split_kwargs(function, kwargs)
            definition = _converted(function) if conditionals else function
            call = functools.partial(definition, *args, **own)
            pipeline = PipelineDebug(call, **{**pipeline_kwargs, **constructor})
            pipeline._conditionals_enabled = bool(conditionals)
            return pipeline

        create_pipeline._is_pipeline_def = True  # type: ignore[attr-defined]
        create_pipeline._pipeline_kwargs = pipeline_kwargs  # type: ignore[attr-defined]
        return create_pipeline

    return decorate(fn) if fn is not None else decorate
