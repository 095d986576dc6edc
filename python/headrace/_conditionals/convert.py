# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""From a function to its rewritten self: the same globals, defaults and cells, other code."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import sys
import types
import warnings
import weakref
from typing import Any

from headrace._conditionals.rewrite import RUNTIME, Rewriter

KEPT = "_headrace_do_not_convert"  # attribute of functions that are left alone

# Packages whose code never sees a node.
_LIBRARIES = {
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "PIL",
    "cv2",
    "torch",
    "torchvision",
    "tensorflow",
    "jax",
}
_LIBRARIES |= {"cupy", "numba", "nvidia", "pytest", "_pytest", "absl", "optree"}
# Ours that are written like a user's functions.
_CONVERTED = ("headrace.auto_aug", "headrace.experimental.torchvision")
_FUTURE = 0x1FF0000  # flags of `from __future__` in code objects

_rewritten: dict[types.CodeType, types.CodeType | None] = {}  # None: it is left as it is
_made: set[types.CodeType] = set()  # rewritten code and what is inside it
_functions: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def call(function: Any, asked: bool = False) -> Any:
    """What to call in place of `function`: its rewritten self, where it has one; `asked` as in `convert`."""
    if isinstance(function, types.FunctionType):
        return convert(function, asked)
    if isinstance(function, types.MethodType):
        made = call(function.__func__)
        return function if made is function.__func__ else types.MethodType(made, function.__self__)
    if isinstance(function, (type, types.BuiltinFunctionType)):
        return function
    if type(function) is functools.partial:
        return functools.partial(call(function.func), *function.args, **function.keywords)
    method = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(method, types.FunctionType) and not getattr(function, KEPT, False):
        made = convert(method)
        return function if made is method else types.MethodType(made, function)
    return function


def convert(function: types.FunctionType, asked: bool = False) -> Any:
    """The rewritten function, or the function itself where it is none of the user's.

    Args:
        asked: it is the pipeline's function: a warning says that its text cannot be found.
    """
    code = function.__code__
    if code in _made or function.__dict__.get(KEPT) or not _is_users(function):
        return function
    made = _functions.get(function)
    if made is not None and made[0] is code:
        return made[1]
    if code not in _rewritten:
        _rewritten[code] = _rewrite(function)
    new = _rewritten[code]
    if new is None:
        if asked:
            warnings.warn(
                f"The source of {function.__qualname__} cannot be found: its `if` statements cannot take nodes.",
                stacklevel=4,
            )
        return function
    made = _with_code(function, new)
    _functions[function] = (code, made)
    return made


def _is_users(function: types.FunctionType) -> bool:
    module = function.__globals__.get("__name__") or ""
    if module.startswith(_CONVERTED):
        return True
    top = module.partition(".")[0]
    library = top in sys.stdlib_module_names and module != "__main__"
    return not library and top != "headrace" and top not in _LIBRARIES


def _with_code(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    from headrace._conditionals import run

    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(run)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function)
    del made.__wrapped__  # type: ignore[attr-defined]
    return made


# ---- source ----


@functools.lru_cache(maxsize=64)
def _functions_of(text: str) -> dict[int, list[Any]]:
    """Functions and lambdas of a file by the line where they begin."""
    found: dict[int, list[Any]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            lines = [d.lineno for d in getattr(node, "decorator_list", [])] + [node.lineno]
            found.setdefault(min(lines), []).append(node)
    return found


def _find(function: types.FunctionType) -> Any:
    """The tree of a function, a copy of its own; None without source."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    try:
        nodes = _functions_of(text).get(code.co_firstlineno, [])
    except SyntaxError:
        return None
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    nodes = [
        n for n in nodes if getattr(n, "name", "<lambda>") == code.co_name and _names(n) == names
    ]
    if len(nodes) > 1:
        spots = [(p[0], p[2]) for p in code.co_positions() if p[0] is not None and p[2] is not None]
        inside = max(spots, default=(0, 0))
        nodes = [n for n in nodes if _spans(n, inside)]
    return nodes[0] if len(nodes) == 1 else None


def _names(node: Any) -> tuple[str, ...]:
    args = node.args
    return tuple(a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs])


def _spans(node: Any, spot: tuple[int, int]) -> bool:
    return bool((node.lineno, node.col_offset) <= spot < (node.end_lineno, node.end_col_offset))


def _rewrite(function: types.FunctionType) -> types.CodeType | None:
    """New code for a function; None where it is to stay as it is."""
    found = _find(function)
    if found is None:
        return None
    node = Rewriter().function(copy.deepcopy(found))
    inner: Any = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    inner.decorator_list = []
    # In a class, whose names functions do not see: the function's own name stays global. Names with two
    # underscores are the class's; of a class that is all underscores they stay as they are.
    owner = function.__qualname__.rpartition(".")[0].rpartition(".")[2]
    owner = owner if owner.isidentifier() else "_"
    inner = ast.ClassDef(owner, [], [], [inner], [], **_NO_TYPES)
    free = [ast.arg(name) for name in (*function.__code__.co_freevars, RUNTIME)]
    outer = ast.FunctionDef(
        "_outer", ast.arguments([], free, None, [], [], None, []), [inner], [], **_NO_TYPES
    )
    ast.copy_location(outer, node)
    tree = ast.fix_missing_locations(ast.Module([outer], []))
    flags = function.__code__.co_flags & _FUTURE
    code = compile(tree, function.__code__.co_filename, "exec", flags, dont_inherit=True)
    return _inside(code, function.__code__.co_name)


_NO_TYPES: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}


def _inside(code: types.CodeType, name: str) -> types.CodeType | None:
    """The code of the function that the module wraps."""
    for const in code.co_consts:
        if not isinstance(const, types.CodeType):
            continue
        if const.co_name == name and code.co_name != "<module>":
            _note(const)
            return const
        inner = _inside(const, name)
        if inner is not None:
            return inner
    return None


def _note(code: types.CodeType) -> None:
    _made.add(code)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            _note(const)
