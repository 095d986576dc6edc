# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The functions that rewritten code calls. Python values behave as usual; nodes create guards and merges."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace import _graph
from headrace._base import messages
from headrace._conditionals import tree
from headrace._conditionals.convert import call
from headrace._graph import schema
from headrace.data_node import DataNode

__all__ = [
    "MISSING",
    "NO_RETURN",
    "and_",
    "branches",
    "call",
    "compare",
    "not_",
    "or_",
    "peek",
    "plain",
    "result",
]


class _Marker:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


MISSING = _Marker("<not assigned>")
NO_RETURN = _Marker("<no return>")

# These are DALI's messages, which scripts match.
_ABSENT = (
    "Encountered inconsistent outputs out of the `if/else` control flow statement. Variables need to be "
    "initialized in every code path (both `if` branches)."
)
_DIVERGENT = (
    "Divergent data found in different branches of `if/else` control flow statement. Variables in all code paths "
    "are merged into common output batches. The values assigned to a given variable need to have the same nesting "
    "structure in every code path (both `if` branches). This is not so for {what}:\n"
    "  in the `if` branch: {a}\n  in the `else` branch: {b}"
)


def _operator(name: str, *inputs: DataNode, **kwargs: Any) -> DataNode:
    op = schema.operators()[f"_conditional.{name}"]
    return _graph.call(op, op.class_name, inputs, kwargs)


def _truth(value: DataNode, expression: str, side: str = "") -> DataNode:
    """Converts a condition to the BOOL scalar that guards need."""
    if value.device != "cpu":
        if expression == "if":
            raise ValueError(
                "Invalid device \"gpu\" for argument 'predicate' of operator "
                f"'{messages.package()}.fn._conditional.split'. The condition of an `if` statement must be on "
                "the CPU: use .cpu()."
            )
        raise _gpu_operand(expression, f"as the {side} argument ")
    return _operator("validate_logical", value, expression_name=expression, expression_side=side)


def _gpu_operand(expression: str, side: str = "") -> RuntimeError:
    kind = "" if expression == "not" else " of `bool` type"
    return RuntimeError(
        f"Logical expression `{expression}` is restricted to scalar (0-d tensors) inputs{kind}, that are placed on "
        f"CPU. Got a GPU input {side}in logical expression: use .cpu()."
    )


def _graph_now(condition: DataNode) -> _graph.Graph:
    pipeline = _graph.current_pipeline()
    if pipeline is None or not getattr(pipeline, "_conditionals_enabled", False):
        bool(condition)  # raises the error that explains it
    return pipeline._graph  # type: ignore[union-attr,no-any-return]


class _Plain:
    """An `if` on a Python value."""

    open = False

    def __init__(self, when: bool) -> None:
        self.when = (when,)

    def __iter__(self) -> Iterator[bool]:
        return iter(self.when)


_PLAIN = _Plain(False), _Plain(True)


class _Branches:
    """An `if` on a node. Holds the variables as they were before it, and their values after the first branch."""

    open = True

    def __init__(
        self,
        test: DataNode,
        merged: tuple[str, ...],
        temporary: tuple[str, ...],
        state: Mapping[str, Any],
        items: dict[str, Any],
    ) -> None:
        self.graph = _graph_now(test)
        self.outer = self.graph.branch
        self.predicate = _truth(test, "if")
        self.merged = merged
        self.temporary = temporary
        self.before = self._values(state, items)
        self.taken: list[Any] | None = None

    def __iter__(self) -> Iterator[bool]:
        try:
            for when in (True, False):
                self.graph.branch = (self.predicate, when)
                yield when
        finally:  # also when a branch raises, because the loop then drops the iterator
            self.graph.branch = self.outer

    def _values(self, state: Mapping[str, Any], items: dict[str, Any]) -> list[Any]:
        merged = [state.get(name, MISSING) for name in self.merged]
        return merged + list(items.values()) + [state.get(n, MISSING) for n in self.temporary]

    def swap(self, state: Mapping[str, Any], items: dict[str, Any]) -> list[Any]:
        """Called at the end of a branch. Returns the values that the variables get from here on."""
        names = [*self.merged, *items]
        values = self._values(state, items)[: len(names)]
        branch = "else" if self.taken is not None else "if"
        outputs = [_output(n, v, branch) for n, v in zip(names, values, strict=True)]
        if self.taken is None:
            self.taken = outputs
            return self.before
        self.graph.branch = self.outer
        both = zip(names, self.taken, outputs, strict=True)
        return [self._merge(n, a, b) for n, a, b in both] + self.before[len(names) :]

    def _merge(self, name: str, a: Any, b: Any) -> Any:
        if (a is NO_RETURN) != (b is NO_RETURN):
            branch = "if" if a is NO_RETURN else "else"
            raise RuntimeError(
                f"{_ABSENT} The `{branch}` branch must also have a return statement."
            )
        if not tree.alike(a, b):
            what = "the returned value" if name.startswith("_headrace") else f"variable '{name}'"
            raise ValueError(_DIVERGENT.format(what=what, a=tree.sketch(a), b=tree.sketch(b)))
        return tree.map_leaves(self._merge_nodes, a, b)

    def _merge_nodes(self, a: Any, b: Any) -> Any:
        if a is b or (a.source is b.source and a.index == b.index and a.device == b.device):
            return a
        return _operator("merge", a, b, predicate=self.predicate)


def _output(name: str, value: Any, branch: str) -> Any:
    """The value of a variable at the end of a branch, with numbers as nodes of the branch.

    Raises:
        RuntimeError: the branch does not assign the variable.
        TypeError: a value that cannot be a node.
    """
    if value is MISSING:
        raise RuntimeError(
            f"{_ABSENT} Variable '{name}' must also be initialized in the `{branch}` branch."
        )
    if value is NO_RETURN:
        return value
    return tree.map_leaves(lambda leaf: _promote(leaf, name), value)


def _promote(value: Any, name: str) -> DataNode:
    if isinstance(value, DataNode):
        return value
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return _graph.constant(value)
    except TypeError:
        what = "The returned value" if name.startswith("_headrace") else f"Variable '{name}'"
        raise TypeError(
            f"{what} is a `{type(value).__name__}` in a branch of an `if` statement on a node. Only nodes, "
            "numbers and arrays can be merged with the other branch."
        ) from None


# ---- called by rewritten code ----


def branches(
    test: Any,
    merged: tuple[str, ...],
    temporary: tuple[str, ...],
    state: Mapping[str, Any],
    items: dict[str, Any],
) -> _Plain | _Branches:
    """The branches of an `if` to run.

    Args:
        test: the condition.
        merged: names that the branches assign and that are used later.
        temporary: names that the branches assign and that are not used later.
        state: the current variables.
        items: current values of the assigned items and attributes, by their text.
    """
    if isinstance(test, DataNode):
        return _Branches(test, merged, temporary, state, items)
    return _PLAIN[bool(test)]


def peek(read: Callable[[], Any]) -> Any:
    """The value of an item or attribute, or MISSING."""
    try:
        return read()
    except (NameError, AttributeError, LookupError, TypeError):
        return MISSING


def plain(test: Any, statement: str) -> Any:
    """The condition of an `if` that cannot be split because it contains `statement`. It must not be a node.

    Raises:
        RuntimeError, TypeError: it is a node.
    """
    if isinstance(test, DataNode):
        text = f"`{statement}` is not supported inside an `if` statement on a node: each sample has its own condition."
        raise RuntimeError(f"{_ABSENT} {text}") if statement == "return" else TypeError(text)
    return test


def result(value: Any) -> Any:
    """The return value of a function."""
    return None if value is NO_RETURN else value


def _lazy(expression: str, left: DataNode, right: Callable[[], Any]) -> DataNode:
    graph = _graph_now(left)
    predicate = _truth(left, expression, "left")
    outer, when = graph.branch, expression == "and"
    graph.branch = (predicate, when)
    try:
        value = _promote(right(), "_headrace")
        other = _truth(value, expression, "right")
    finally:
        graph.branch = outer
    ends = (other, predicate) if when else (predicate, other)
    return _operator("merge", *ends, predicate=predicate)


def and_(left: Any, right: Callable[[], Any]) -> Any:
    """``left and right()``. `right` is evaluated only for the samples that need it."""
    if isinstance(left, DataNode):
        return _lazy("and", left, right)
    return left and right()


def or_(left: Any, right: Callable[[], Any]) -> Any:
    """``left or right()``. `right` is evaluated only for the samples that need it."""
    if isinstance(left, DataNode):
        return _lazy("or", left, right)
    return left or right()


def not_(value: Any) -> Any:
    """``not value``"""
    if not isinstance(value, DataNode):
        return not value
    _graph_now(value)
    if value.device != "cpu":
        raise _gpu_operand("not")
    return _operator("not_", value)


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def compare(ops: tuple[str, ...], left: Any, *rights: Callable[[], Any]) -> Any:
    """A chained comparison: ``a < b < c``."""
    right = rights[0]()
    found = _COMPARISONS[ops[0]](left, right)
    if len(rights) == 1:
        return found
    return and_(found, lambda: compare(ops[1:], right, *rights[1:]))
