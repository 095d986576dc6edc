# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Static analysis of a function: where control may leave a block, which names a block binds, and which names are read
after a statement."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
Block = list[ast.stmt]


def walk(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and their descendants, except those inside functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from walk(list(ast.iter_child_nodes(node)))


# ---- leaving a block ----


def leaves(nodes: Sequence[ast.AST], kinds: tuple[type[ast.AST], ...], loops: bool = True) -> bool:
    """Whether the nodes contain a statement of these kinds. Nested loops are searched only if `loops` is set."""
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) or (isinstance(node, LOOPS) and not loops):
            continue
        if leaves(list(ast.iter_child_nodes(node)), kinds, loops):
            return True
    return False


def _ends(block: Block, kind: type[ast.stmt]) -> bool:
    """Whether every path through the block ends with a statement of this kind, or raises."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _ends(last.body, kind) and _ends(last.orelse, kind)
    return isinstance(last, (kind, ast.Raise))


def _only_at_ends(block: Block, kind: type[ast.stmt]) -> bool:
    """Whether statements of this kind occur only at the end of the block, or of an `if` that ends the block."""
    if not block:
        return True
    last = block[-1]
    inner = kind is ast.Return
    if leaves(block[:-1], (kind,), inner):
        return False
    if isinstance(last, ast.If):
        return _only_at_ends(last.body, kind) and _only_at_ends(last.orelse, kind)
    return isinstance(last, kind) or not leaves([last], (kind,), inner)


def straighten(block: Block, kind: type[ast.stmt] | None) -> Block:
    """Moves the statements after an `if` that contains a `return` (in a loop body: a `continue`) into its branches,
    so that every path through the `if` ends with that statement.

    Args:
        kind: what reaching the end of the block means: Return, Continue, or None if more statements follow.
    """
    for i, statement in enumerate(block):
        if not isinstance(statement, ast.If):
            _straighten_inside(statement)
            continue
        rest = block[i + 1 :]
        if kind is None or not leaves([statement], (kind,), kind is ast.Return):
            statement.body = straighten(statement.body, None if rest else kind)
            statement.orelse = straighten(statement.orelse, None if rest else kind)
            continue
        statement.ends = kind  # type: ignore[attr-defined]
        if not _ends(statement.body, kind):
            statement.body = statement.body + copy.deepcopy(rest)
        if not _ends(statement.orelse, kind):
            statement.orelse = statement.orelse + rest
        statement.body = straighten(statement.body, kind)
        statement.orelse = straighten(statement.orelse, kind)
        return block[: i + 1]
    return block


def _straighten_inside(statement: ast.stmt) -> None:
    if isinstance(statement, LOOPS):
        statement.body = straighten(statement.body, ast.Continue)
        statement.orelse = straighten(statement.orelse, None)
    elif not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        for inner in _blocks(statement):
            inner[:] = straighten(inner, None)


def _blocks(statement: ast.stmt) -> Iterator[Block]:
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(statement, field, None)
        if isinstance(inner, list):
            yield inner
    for part in getattr(statement, "handlers", None) or getattr(statement, "cases", []):
        yield part.body


def returns_whole(statement: ast.If) -> bool:
    """Whether every path returns or raises, and no `return` is inside a loop, `try`, `with` or `match`."""
    return _ends([statement], ast.Return) and _only_at_ends([statement], ast.Return)


def continues_whole(statement: ast.If) -> bool:
    """Whether every `continue` can be removed without effect."""
    tail = getattr(statement, "ends", None) is ast.Continue
    return tail and _only_at_ends([statement], ast.Continue)


# ---- names ----


def bound(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that are assigned to or deleted."""
    names: set[str] = set()
    for node in walk(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names - _comprehension_names(nodes)


def _comprehension_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Targets of comprehensions, which have their own scope, unless the name is also assigned elsewhere."""
    inner: dict[int, str] = {}
    for node in walk(nodes):
        if isinstance(node, ast.comprehension):
            inner |= {id(n): n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    outside = {
        n.id
        for n in walk(nodes)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and id(n) not in inner
    }
    return set(inner.values()) - outside


def item_targets(nodes: Sequence[ast.AST], changed: set[str]) -> set[str]:
    """Items and attributes that are assigned to, as text (``d["a"]``, ``self.x``). Only those without a `changed`
    name: their text means the same before and after the nodes."""
    found: set[str] = set()
    for node in walk(nodes):
        if not isinstance(node, (ast.Subscript, ast.Attribute)) or isinstance(node.ctx, ast.Load):
            continue
        parts = list(ast.walk(node))
        simple = all(
            isinstance(p, (ast.Subscript, ast.Attribute, ast.Name, ast.Constant, ast.expr_context))
            for p in parts
        )
        if simple and not any(isinstance(p, ast.Name) and p.id in changed for p in parts):
            found.add(ast.unparse(node))
    return found


# ---- names that are read later ----


class Liveness:
    """Sets the attribute `live` of each `if` statement to the names that are read after it."""

    def __init__(self, body: Block) -> None:
        self.breaks: list[set[str]] = []
        self.continues: list[set[str]] = []
        self.handlers: set[str] = set()  # names that enclosing exception handlers may read
        self._block(body, set())

    def _block(self, block: Block, after: set[str]) -> set[str]:
        for statement in reversed(block):
            after = self._statement(statement, after) | self.handlers
        return after

    def _statement(self, node: ast.stmt, after: set[str]) -> set[str]:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is not None:
            return method(node, after)
        changed = isinstance(node, ast.AugAssign)
        return _reads(node) | (after - (set() if changed else bound([node])))

    def _if(self, node: ast.If, after: set[str]) -> set[str]:
        node.live = getattr(node, "live", set()) | after  # type: ignore[attr-defined]
        return _reads(node.test) | self._block(node.body, after) | self._block(node.orelse, after)

    def _loop(
        self, node: ast.For | ast.While, after: set[str], head: ast.expr, given: set[str]
    ) -> set[str]:
        done = after | self._block(node.orelse, after)
        start = done | _reads(head)
        for _ in range(2):  # the second pass includes the names that the next iteration reads
            self.breaks.append(after)
            self.continues.append(start)
            start = start | (self._block(node.body, start) - given)
            self.breaks.pop()
            self.continues.pop()
        return start

    def _for(self, node: ast.For, after: set[str]) -> set[str]:
        return self._loop(node, after, node.iter, bound([node.target]))

    def _while(self, node: ast.While, after: set[str]) -> set[str]:
        return self._loop(node, after, node.test, set())

    def _break(self, node: ast.Break, after: set[str]) -> set[str]:
        return self.breaks[-1]

    def _continue(self, node: ast.Continue, after: set[str]) -> set[str]:
        return self.continues[-1]

    def _return(self, node: ast.Return, after: set[str]) -> set[str]:
        return _reads(node)

    def _raise(self, node: ast.Raise, after: set[str]) -> set[str]:
        return _reads(node)

    def _try(self, node: ast.Try, after: set[str]) -> set[str]:
        behind = self._block(node.finalbody, after)
        caught = set(behind)
        for handler in node.handlers:
            caught |= self._block(handler.body, behind) - {handler.name}
            caught |= _reads(handler.type) if handler.type else set()
        outer, self.handlers = self.handlers, self.handlers | caught
        before = self._block(node.body, self._block(node.orelse, behind))
        self.handlers = outer
        return before

    _trystar = _try

    def _with(self, node: ast.With, after: set[str]) -> set[str]:
        inside = self._block(node.body, after) - bound(node.items)
        return inside.union(*(_reads(item) for item in node.items))

    def _match(self, node: ast.Match, after: set[str]) -> set[str]:
        read = _reads(node.subject) | after
        for case in node.cases:
            inside = self._block(case.body, after) | (_reads(case.guard) if case.guard else set())
            read |= _reads(case.pattern) | (inside - bound([case.pattern]))
        return read


def _reads(node: ast.AST) -> set[str]:
    """Names that are read, also by nested functions."""
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    } | {
        n.target.id
        for n in ast.walk(node)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
