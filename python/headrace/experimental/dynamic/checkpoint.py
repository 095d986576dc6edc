# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checkpoints: the states of several readers and random number generators as one text."""

from __future__ import annotations

import glob
import json
import os
import re
import string
from pathlib import Path
from typing import Any, NamedTuple

from headrace.experimental.dynamic._context import EvalContext
from headrace.experimental.dynamic._readers import Reader

_VERSION = 2
_AUTOMATIC = "__op_"  # begins the names of what is registered without a name


class _Entry(NamedTuple):
    """A state, and the class of what it belongs to, if that is known."""

    state: Any
    type_name: str | None = None


class Checkpoint:
    """The states of what was registered: readers and generators of random numbers.

    `collect` takes the states, `serialize` and `save` write them; `deserialize` and `load` read them. What is
    registered afterwards gets its state at once; `restore` gives theirs to all that were registered before.
    """

    def __init__(self) -> None:
        self._things: dict[str, Any] = {}
        self._states: dict[str, _Entry] = {}
        self._dirty: set[str] = set()  # names of states that have not been given to their objects
        self._complete = False
        self._loaded = False
        self._next: int | None = (
            None  # the number of the next file; None: after those in the folder
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what is registered."""
        return tuple(self._things)

    @property
    def is_loaded(self) -> bool:
        """Whether the states were read from a text, and not collected since."""
        return self._loaded

    @property
    def is_complete(self) -> bool:
        """Whether the states were collected. Nothing can be registered then."""
        return self._complete

    def __len__(self) -> int:
        return len(self._things)

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def register(self, op: Any, name: str | None = None) -> str:
        """Adds a reader or a generator, and gives it its state if one was loaded or set.

        Args:
            op: an object with `get_state` and `set_state`.
            name: by default one made of a running number, so that the order of calls must be the same when a
                checkpoint is loaded. An object of the same class that has the name is replaced.

        Returns:
            The name. An object that is registered already keeps its name.

        Raises:
            RuntimeError: the checkpoint is complete, or the object has another name.
            KeyError: the states were loaded, and none has the name.
            TypeError: the name belongs to something of another class.
        """
        if isinstance(op, Reader):
            op._enable_checkpointing()
        own = next((key for key, thing in self._things.items() if thing is op), None)
        if name is None:
            name = f"{_AUTOMATIC}{len(self._things)}" if own is None else own
        elif not name or name.startswith(_AUTOMATIC):
            raise ValueError(f"A name must not be empty or begin with {_AUTOMATIC}: {name!r}.")
        if own not in (None, name):
            raise RuntimeError(f"The object is registered as {own!r} already, not as {name!r}.")
        held = self._things.get(name)
        if held is not None and type(held) is not type(op):
            raise TypeError(
                f"Cannot replace operator {name!r} of type {type(held).__qualname__!r} with one of type "
                f"{type(op).__qualname__!r}."
            )
        if held is None:
            self._check_new(name)
        self._things[name] = op
        self._give(name)
        return name

    def _check_new(self, name: str) -> None:
        if self._complete:
            raise RuntimeError(
                f"{name!r} cannot be registered: the checkpoint was completed by `collect`. Call `clear` before."
            )
        if self._loaded and name not in self._states:
            raise KeyError(
                f"Loaded checkpoint has no state for {name!r}: it has {sorted(self._states)}. Objects without a name "
                "must be registered in the same order as when it was saved."
            )

    def _give(self, name: str) -> None:
        """Gives an object a state that it has not got yet."""
        if name not in self._dirty:
            return
        op, entry = self._things[name], self._states[name]
        if entry.type_name not in (None, type(op).__qualname__):
            raise TypeError(
                f"Type mismatch for {name!r}: the state is of type {entry.type_name!r}, but the object is of type "
                f"{type(op).__qualname__!r}."
            )
        op.set_state(entry.state)
        self._dirty.discard(name)

    def collect(self) -> None:
        """Takes the states of all that is registered.

        Raises:
            RuntimeError: a state belongs to nothing that is registered.
        """
        self._check_extra()
        self._states = {
            name: _Entry(op.get_state(), type(op).__qualname__) for name, op in self._things.items()
        }
        self._dirty.clear()
        self._complete, self._loaded = True, False

    def restore(self) -> None:
        """Restores the state of every object that has not been restored yet, if a checkpoint was loaded.

        Raises:
            RuntimeError: something has no state, or a state belongs to nothing.
        """
        if not self._states:
            return
        self._check_extra()
        missing = sorted(set(self._things) - set(self._states))
        if missing:
            raise RuntimeError(f"The checkpoint is incomplete: it has no states for {missing}.")
        for name in sorted(self._dirty):
            self._give(name)

    def _check_extra(self) -> None:
        extra = sorted(set(self._states) - set(self._things))
        if extra:
            raise RuntimeError(
                f"The checkpoint has states with no corresponding registered ops: {extra}."
            )

    def clear(self) -> None:
        """Forgets all objects and states."""
        self.__init__()  # type: ignore[misc]

    def get_state(self, name: str) -> Any:
        """The state of that name, as text if it was loaded; None if there is none yet.

        Raises:
            KeyError: nothing is registered under the name.
        """
        if name not in self._things:
            raise KeyError(f"Nothing is registered under {name!r}; there are {list(self._things)}.")
        entry = self._states.get(name)
        return None if entry is None else entry.state

    def set_state(self, name: str, value: Any, op_type: Any = None) -> None:
        """Sets a state, which `register` or `restore` gives to its object.

        Args:
            name: the name of an object, also of one that is registered later.
            value: what the object's `set_state` takes.
            op_type: the class of the object, or its name, which is then checked.

        Raises:
            KeyError: the checkpoint is complete and nothing has the name.
            TypeError: `op_type` is neither a class nor a name.
        """
        if self._complete and name not in self._things:
            raise KeyError(f"Nothing is registered under {name!r}; there are {list(self._things)}.")
        if op_type is not None and not isinstance(op_type, (str, type)):
            raise TypeError(f"`op_type` must be a class or its name, not {op_type!r}.")
        kind = op_type.__qualname__ if isinstance(op_type, type) else op_type
        self._states[name] = _Entry(value, kind)
        self._dirty.add(name)

    def serialize(self) -> str:
        """The states as JSON.

        Raises:
            RuntimeError: there are none.
        """
        if not self._states:
            raise RuntimeError(
                "The checkpoint is empty: call `collect` or `set_state` before it is written."
            )
        states = {
            name: {"state": str(entry.state), "type": entry.type_name}
            for name, entry in self._states.items()
        }
        return json.dumps({"version": _VERSION, "states": states})

    def deserialize(self, data: str) -> None:
        """Reads what `serialize` wrote.

        Raises:
            ValueError: it is not the text of a checkpoint.
        """
        try:
            read = json.loads(data)
        except ValueError as error:
            raise ValueError(f"This is not a checkpoint of dynamic mode: {error}.") from None
        if not isinstance(read, dict) or not isinstance(read.get("states"), dict):
            raise ValueError("This is not a checkpoint of dynamic mode: it has no states.")
        if read.get("version") != _VERSION:
            raise ValueError(
                f"The checkpoint has the version {read.get('version')!r}; this version of Headrace reads {_VERSION}."
            )
        self._states = {name: _entry(name, item) for name, item in read["states"].items()}
        self._dirty = set(self._states)
        self._complete, self._loaded = False, True

    def save(self, filename: str) -> str:
        """Writes the states to a new file, whole or not at all. Returns its name.

        Args:
            filename: contains `{seq}`, possibly with a format as in `{seq:04d}`, which becomes a number higher than
                that of the files that are there.
        """
        data = self.serialize()
        number = self._next
        if number is None:
            number = max((found for found, _ in _files(filename)), default=-1) + 1
        else:
            _pattern(filename)
        while os.path.exists(filename.format(seq=number)):
            number += 1
        path = Path(filename.format(seq=number))
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.with_name(f"{path.name}.{os.getpid()}.new")
        whole.write_text(data, "utf-8")
        whole.replace(path)
        self._next = number + 1
        return str(path)

    def load(self, filename: str) -> str:
        """Reads the states from the file with the highest number. Returns its name.

        Args:
            filename: as in `save`.

        Raises:
            FileNotFoundError: no file has such a name.
        """
        number, path = max(_files(filename), default=(-1, ""))
        if number < 0:
            raise FileNotFoundError(f"No checkpoint has a name like {filename!r}.")
        self.deserialize(Path(path).read_text("utf-8"))
        self._next = number + 1
        return path


def _entry(name: str, item: Any) -> _Entry:
    if not isinstance(item, dict) or "state" not in item:
        raise ValueError(f"Invalid checkpoint entry for {name!r}: it has no state.")
    kind = item.get("type")
    if kind is not None and not isinstance(kind, str):
        raise ValueError(f"Invalid `type` for {name!r}: it must be a string, not {kind!r}.")
    return _Entry(str(item["state"]), kind)


def _pattern(filename: str) -> tuple[str, re.Pattern[str]]:
    """The names of the files of a checkpoint, for `glob` and as a regular expression."""
    globbed, expression, fields = "", "", []
    for literal, name, _, _ in string.Formatter().parse(filename):
        globbed += glob.escape(literal)
        expression += re.escape(literal)
        if name is not None:
            fields.append(name)
            globbed += "*"
            expression += r"(\d+)"
    if fields != ["seq"]:
        raise ValueError(
            f"The name of a checkpoint must contain {{seq}} once and no other field: {filename!r}."
        )
    return globbed, re.compile(expression)


def _files(filename: str) -> list[tuple[int, str]]:
    """The number and the name of each file that is there."""
    globbed, expression = _pattern(filename)
    found = [(expression.fullmatch(path), path) for path in glob.iglob(globbed)]
    return [(int(match[1]), path) for match, path in found if match]


def current() -> Checkpoint:
    """The checkpoint of the current context."""
    checkpoint: Checkpoint = EvalContext.current().checkpoint
    return checkpoint


EvalContext._make_checkpoint = Checkpoint

__all__ = ["Checkpoint", "current"]
