# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Checkpoints: the states of several readers and random number generators as one text."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

from headrace.experimental.dynamic._context import EvalContext
from headrace.experimental.dynamic._readers import ReaderState

_VERSION = 1


class Checkpoint:
    """The states of what was registered.

    ``collect`` takes the states, ``serialize`` and ``save`` write them; ``deserialize`` and ``load`` read them, and
    ``restore`` gives them back. What is registered after ``load`` gets its state at once.
    """

    def __init__(self) -> None:
        self._things: dict[str, Any] = {}
        self._states: dict[str, Any] = {}
        self._loaded = False

    @property
    def names(self) -> list[str]:
        """The names of what is registered or has a state."""
        return list({**self._things, **self._states})

    @property
    def is_loaded(self) -> bool:
        """Whether the states were read from a text."""
        return self._loaded

    @property
    def is_complete(self) -> bool:
        """Whether everything that is registered has a state."""
        return all(name in self._states for name in self._things)

    def register(self, op: Any, name: str | None = None) -> str:
        """Adds a reader or a generator. Returns its name, by default one made of its class and a number.

        Raises:
            ValueError: the name is taken.
        """
        if name is None:
            number = 0
            while f"{type(op).__name__}_{number}" in self._things:
                number += 1
            name = f"{type(op).__name__}_{number}"
        if self._things.get(name, op) is not op:
            raise ValueError(f"The checkpoint has another object of the name '{name}'.")
        self._things[name] = op
        if self._loaded and name in self._states:
            op.set_state(self._states[name])
        return name

    def collect(self) -> None:
        """Takes the states of all that is registered."""
        self._states = {name: op.get_state() for name, op in self._things.items()}

    def restore(self) -> None:
        """Gives all that is registered its state.

        Raises:
            KeyError: something has no state.
        """
        for name, op in self._things.items():
            op.set_state(self.get_state(name))

    def clear(self) -> None:
        """Forgets all objects and states."""
        self.__init__()  # type: ignore[misc]

    def get_state(self, name: str) -> Any:
        """The state of that name."""
        if name not in self._states:
            raise KeyError(f"The checkpoint has no state of the name '{name}'.")
        return self._states[name]

    def set_state(self, name: str, value: Any, op_type: Any = None) -> None:
        """Sets a state."""
        self._states[name] = value

    def serialize(self) -> str:
        """The states as JSON."""
        states = {name: _plain(state) for name, state in self._states.items()}
        return json.dumps({"version": _VERSION, "states": states})

    def deserialize(self, data: str) -> None:
        """Reads what ``serialize`` wrote.

        Raises:
            ValueError: it is not the text of a checkpoint.
        """
        try:
            read = json.loads(data)
            if read["version"] != _VERSION:
                raise ValueError(f"its version is {read['version']}")
            self._states = {name: _state(item) for name, item in read["states"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"This is not a checkpoint of dynamic mode: {error}.") from None
        self._loaded = True

    def save(self, filename: str) -> str:
        """Writes the states to a file, whole or not at all. Returns its name."""
        path = Path(filename)
        whole = path.with_name(f"{path.name}.{os.getpid()}.new")
        whole.write_text(self.serialize(), "utf-8")
        whole.replace(path)
        return str(path)

    def load(self, filename: str) -> str:
        """Reads the states from a file. Returns its name."""
        self.deserialize(Path(filename).read_text("utf-8"))
        return str(filename)


def _plain(state: Any) -> Any:
    if not isinstance(state, ReaderState):
        return str(state)
    data = base64.b64encode(state.data).decode("ascii")
    return {"data": data, "left": state.left, "epoch": state.epoch, "size": state.size}


def _state(item: Any) -> Any:
    if isinstance(item, str):
        return item
    left, epoch, size = (item[name] for name in ("left", "epoch", "size"))
    if not all(type(number) is int for number in (left, epoch)):
        raise ValueError("the position of a reader is not a number")
    return ReaderState(base64.b64decode(item["data"], validate=True), left, epoch, size)


def current() -> Checkpoint:
    """The checkpoint of the current context."""
    context = EvalContext.current()
    if context.checkpoint is None:
        context.checkpoint = Checkpoint()
    return context.checkpoint


__all__ = ["Checkpoint", "current"]
