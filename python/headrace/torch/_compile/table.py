# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The table of rules: how a transform becomes operators, by the name of its class.

A rule gets the transform and the `State`, whose image it replaces. It raises `Unsupported` with
the reason if the transform, or this use of it, has no equivalent; Python then calls the transform.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from headrace.torch._compile.report import Step
from headrace.torch._compile.state import State, Unsupported

Rule = Callable[[Any, State], None]
RULES: dict[str, Rule] = {}
# Names of rules that move masks and boxes with the image, or leave them as torchvision does.
JOINT = set(
    """
    CenterCrop ClampBoundingBoxes ColorJitter ConvertBoundingBoxFormat ConvertImageDtype GaussianBlur
    Grayscale Identity Normalize Pad RGB RandomAdjustSharpness RandomAffine RandomApply
    RandomAutocontrast RandomChoice RandomCrop RandomEqualize RandomGrayscale RandomHorizontalFlip
    RandomInvert RandomOrder RandomPerspective RandomPosterize RandomResizedCrop RandomRotation
    RandomSolarize RandomVerticalFlip Resize SanitizeBoundingBoxes ToDtype ToImage ToPureTensor
    """.split()
)
# Modules whose classes have the rules' names; those of the second have a prefix in the table.
TIMM = ("timm.data.transforms", "timm.data.auto_augment", "timm.data.random_erasing")
OWNERS = ("torchvision.transforms", "headrace.experimental.torchvision", "torch.nn.modules", *TIMM)


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of the classes of these names."""

    def add(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return add


def find(transform: Any) -> Rule:
    """The rule of a transform.

    Raises:
        Unsupported: there is none.
    """
    kind = type(transform)
    if not owned(kind):
        raise Unsupported("it is not a transform of torchvision")
    if changed(transform):
        raise Unsupported("it has hooks, or methods of its own")
    if name_of(kind) not in RULES:
        raise Unsupported("no operator does the same")
    return RULES[name_of(kind)]


def name_of(kind: type) -> str:
    """The name of a class in the table."""
    return f"timm.{kind.__name__}" if kind.__module__ in TIMM else kind.__name__


def with_others(name: str, state: State) -> None:
    """Checks whether the transforms of a name can be compiled for this state.

    Raises:
        Unsupported: masks or boxes move with the image, and the rule knows nothing of them.
    """
    if not state.others:
        return
    if name not in JOINT:
        raise Unsupported("it is compiled for images alone, not for masks and boxes")
    if state.pure:
        raise Unsupported("it comes after ToPureTensor")


def owned(kind: type) -> bool:
    """Whether a class is one of torchvision or PyTorch, not one that is derived from it elsewhere."""
    return any(f"{kind.__module__}.".startswith(f"{owner}.") for owner in OWNERS)


def changed(transform: Any) -> bool:
    """Whether this object does something else than its class says."""
    hooks = ("_forward_hooks", "_forward_pre_hooks")
    own = vars(transform) if hasattr(transform, "__dict__") else {}
    return any(own.get(name) for name in hooks) or any(
        callable(value) and callable(getattr(type(transform), name, None))
        for name, value in own.items()
    )


def text(transform: Any) -> str:
    """A transform on one line."""
    name = getattr(transform, "__qualname__", None) or repr(transform)
    line = " ".join(name.split())
    return line if len(line) <= 100 else line[:97] + "..."


def apply(transform: Any, state: State, steps: list[Step]) -> None:
    """Compiles a transform and reports on it; Python calls what has no rule."""
    from headrace.torch._compile import python

    parts = sequence(transform)
    if parts is not None:
        for part in parts:
            apply(part, state, steps)
        return
    before = dataclasses.replace(state)
    state.needs_cpu = False
    try:
        if state.mode is not None:
            raise Unsupported(f"the PIL image has the mode {state.mode} here")
        found = find(transform)
        with_others(name_of(type(transform)), state)
        found(transform, state)
        steps.append(Step(text(transform), needs_cpu=state.needs_cpu))
        return
    except Unsupported as error:
        reason = str(error)
        state.assign(before)
    if state.others:  # it runs elsewhere
        steps.append(Step(text(transform), compiled=False, reason=reason, needs_cpu=True))
        return
    python.apply(transform, state)
    steps.append(Step(text(transform), compiled=False, reason=reason, needs_cpu=True))


def strict(transforms: Any, state: State) -> None:
    """Compiles transforms within another one, where Python cannot take over.

    Raises:
        Unsupported: one of them cannot be compiled.
    """
    for transform in transforms:
        parts = sequence(transform)
        if parts is not None:
            strict(parts, state)
            continue
        try:
            find(transform)(transform, state)
        except Unsupported as error:
            raise Unsupported(f"{text(transform)} in it: {error}") from None


def sequence(transform: Any) -> list[Any] | None:
    """The transforms of a container that runs them one after the other; otherwise None."""
    kind = type(transform)
    if kind.__name__ == "Compose" and owned(kind) and not changed(transform):
        return list(transform.transforms)
    if kind.__name__ == "Sequential" and owned(kind) and not changed(transform):
        return list(transform)
    return list(transform) if kind in (list, tuple) else None
