# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Makes the rewritten version of a function: the same globals, defaults and cells with new code."""

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

KEPT = "_headrace_do_not_convert"  # attribute of functions that are not rewritten

# Packages whose code never handles nodes.
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
# Modules of this package that are written like user code.
_CONVERTED = ("headrace.auto_aug", "headrace.experimental.torchvision")
_FUTURE = 0x1FF0000  # flags of `from __future__` in code objects

runtime: Any = None  # the module `run`, which calls `convert` and therefore sets this
_rewritten: dict[types.CodeType, types.CodeType | None] = {}  # None: cannot be rewritten
_made: set[types.CodeType] = set()  # rewritten code objects and those nested in them
_functions: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def call(function: Any, asked: bool = False) -> Any:
    """What to call instead of `function`: its rewritten version if there is one. For `asked` see `convert`."""
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
    """The rewritten function, or the function itself if it is not user code.

    Args:
        asked: the function defines the pipeline. Warn if its source is not available.
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
                f"The source code of {function.__qualname__} is not available, so its `if` statements cannot take "
                "nodes. Define the function in a file.",
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
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(runtime)
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
    """Functions and lambdas of a file by their first line."""
    found: dict[int, list[Any]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            lines = [d.lineno for d in getattr(node, "decorator_list", [])] + [node.lineno]
            found.setdefault(min(lines), []).append(node)
    return found


def _find(function: types.FunctionType) -> Any:
    """The syntax tree of a function, or None if its source is not available or not unique."""
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
    """New code for a function, or None if its source is not available."""
    found = _find(function)
    if found is None:
        return None
    node = Rewriter().function(copy.deepcopy(found))
    inner: Any = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    inner.decorator_list = []
    # The function is compiled inside a class body. Functions do not see names of a class body, so the function's own
    # name still refers to the global. The class name mangles private names (`__x`) as before; a class named only
    # with underscores mangles nothing.
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
    """The code object named `name` that is nested in the compiled module."""
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
