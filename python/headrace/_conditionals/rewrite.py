# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Rewrites functions so that `if`, `and`, `or`, `not` and chained comparisons take nodes.

An `if` becomes a loop over its branches. For a Python value the loop runs the branch that Python would run. For a
node it runs both branches, each starting with the variables as they were before the `if`. The rewritten code::

    _headrace_1 = _headrace.branches(TEST, ("y",), ("t",), locals(), {})
    for _headrace_2 in _headrace_1:
        if _headrace_2:
            BODY
        else:
            ORELSE
        if _headrace_1.open:
            y, t = _headrace_1.swap(locals(), {})

All added code gets the line number of the `if`, so that messages and debuggers show the user's lines.
"""

from __future__ import annotations

import ast
from typing import Any

from headrace._conditionals import flow

RUNTIME = "_headrace"  # the name of headrace._conditionals.run in rewritten code
RESULT = "_headrace_result"


def _located(text: str, at: ast.AST, **parts: Any) -> list[ast.stmt]:
    """Parses `text` and replaces the names in `parts` by expressions or lists of statements."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return parts.get(node.id, node)

        def visit_Expr(self, node: ast.Expr) -> Any:
            inner = parts.get(node.value.id) if isinstance(node.value, ast.Name) else None
            return inner if isinstance(inner, list) else self.generic_visit(node)

    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            ast.copy_location(node, at)
    return [s for statement in tree.body for s in _as_list(Fill().visit(statement))]


def _as_list(value: Any) -> list[ast.stmt]:
    return value if isinstance(value, list) else [value]


def _call(name: str, at: ast.AST, *args: ast.expr) -> ast.expr:
    function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
    call = ast.copy_location(ast.Call(function, list(args), []), at)
    return ast.fix_missing_locations(call)


def _later(value: ast.expr) -> ast.expr:
    """``lambda: value``"""
    empty = ast.arguments([], [], None, [], [], None, [])
    return ast.fix_missing_locations(ast.copy_location(ast.Lambda(empty, value), value))


def _is_kept(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).rpartition(".")[2].startswith("do_not_convert")


class Rewriter(ast.NodeTransformer):
    """Rewrites one function. Each nested function gets its own rewriter."""

    def __init__(self) -> None:
        self.count = 0
        self.globals: set[str] = set()

    def function(self, node: Any) -> Any:
        """Rewrites the body of a function or lambda in place."""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return node
        self.globals = {
            name for n in flow.walk(node.body) if isinstance(n, ast.Global) for name in n.names
        }
        if any(isinstance(n, ast.If) for n in flow.walk(node.body)):
            if not isinstance(node.body[-1], (ast.Return, ast.Raise)):
                node.body.append(ast.copy_location(ast.Return(), node.body[-1]))
            node.body = flow.straighten(node.body, ast.Return)
            flow.Liveness(node.body)
        node.body = self.block(node.body)
        return node

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return [s for statement in block for s in _as_list(self.visit(statement))]

    # ---- nested functions ----

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if any(_is_kept(d) for d in node.decorator_list):
            return node
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        return Rewriter().function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.args = self.visit(node.args)
        return Rewriter().function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node

    # ---- if ----

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        whole = flow.returns_whole(node)
        reason = (
            "break"
            if flow.leaves([node], (ast.Break,), loops=False)
            else "continue"
            if flow.leaves([node], (ast.Continue,), loops=False) and not flow.continues_whole(node)
            else "return"
            if not whole and flow.leaves([node], (ast.Return,))
            else None
        )
        if reason:
            node.test = _call("plain", node.test, self.visit(node.test), ast.Constant(reason))
            node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            return [node]
        if whole:
            _Results().visit_branches(node)
        _Continues().visit_branches(node)
        lowered = self._branches(node)
        if whole:
            lowered += _located(f"return {RUNTIME}.result({RESULT})", node)
        return lowered

    def _branches(self, node: ast.If) -> list[ast.stmt]:
        branches = [*node.body, *node.orelse]
        changed = flow.bound(branches)
        items = {name: name for name in changed & self.globals}
        changed -= self.globals
        items |= {text: text for text in sorted(flow.item_targets(branches, changed))}
        live = getattr(node, "live", set()) | {RESULT}
        merged = sorted(changed & live)
        temporary = sorted(changed - live)
        self.count += 1
        it, when = f"{RUNTIME}_{self.count}", f"{RUNTIME}_branch_{self.count}"
        peek = ", ".join(f"{text!r}: {RUNTIME}.peek(lambda: {e})" for text, e in items.items())
        targets = [*merged, *items.values(), *temporary]
        assign = ", ".join(targets) + ", = " if targets else ""
        swap = f"{assign}{it}.swap(locals(), {{{peek}}})\n"
        drop = "".join(f"        if {t} is {RUNTIME}.MISSING: del {t}\n" for t in targets)
        text = (
            f"{it} = {RUNTIME}.branches(TEST, {tuple(merged)}, {tuple(temporary)}, locals(), {{{peek}}})\n"
            f"for {when} in {it}:\n"
            f"    if {when}:\n        BODY\n"
            f"    else:\n        ORELSE\n"
            f"    if {it}.open:\n        {swap}{drop}"
        )
        body, orelse = self.block(node.body), self.block(node.orelse)
        nothing = [ast.copy_location(ast.Pass(), node)]
        test = self.visit(node.test)
        return _located(text, node.test, TEST=test, BODY=body or nothing, ORELSE=orelse or nothing)

    # ---- expressions ----

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if any(
            isinstance(n, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await))
            for n in ast.walk(node)
        ):
            return self.generic_visit(node)  # type: ignore[return-value]
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        values = [self.visit(value) for value in node.values]
        result = values.pop()
        while values:
            value = values.pop()
            result = _call(name, value, value, _later(result))
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return _call("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1 or any(isinstance(n, ast.NamedExpr) for n in ast.walk(node)):
            return node
        names = ast.Tuple([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        return _call("compare", node, names, node.left, *map(_later, node.comparators))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node.func = _call("call", node.func, node.func)
        return node


class _Ends(ast.NodeTransformer):
    """Replaces the last statement of each branch of an `if`."""

    def visit_branches(self, node: ast.If) -> None:
        for block in (node.body, node.orelse):
            if block and isinstance(block[-1], ast.If):
                self.visit_branches(block[-1])
            elif block:
                block[-1] = self.end(block[-1])

    def end(self, statement: ast.stmt) -> ast.stmt:
        return statement


class _Results(_Ends):
    def end(self, statement: ast.stmt) -> ast.stmt:
        if not isinstance(statement, ast.Return):
            return statement
        value = statement.value or ast.copy_location(
            ast.Attribute(ast.Name(RUNTIME, ast.Load()), "NO_RETURN", ast.Load()), statement
        )
        (made,) = _located(f"{RESULT} = VALUE", statement, VALUE=value)
        return ast.fix_missing_locations(made)


class _Continues(_Ends):
    def end(self, statement: ast.stmt) -> ast.stmt:
        here = isinstance(statement, ast.Continue)
        return ast.copy_location(ast.Pass(), statement) if here else statement
