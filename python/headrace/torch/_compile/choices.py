# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Transforms that run others, or not: RandomApply, RandomChoice, RandomOrder."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from headrace import _graph, fn
from headrace._graph import schema
from headrace.data_node import DataNode
from headrace.torch._compile import augment
from headrace.torch._compile.augment import Step, every, one, order, step_of
from headrace.torch._compile.state import State, Unsupported
from headrace.torch._compile.table import rule, strict


def weights_of(transform: Any) -> list[float]:
    return [float(p) for p in transform.p or [1.0] * len(transform.transforms)]


def apply_step(transform: Any, state: State) -> Step:
    return every((step_of(part, state) for part in transform.transforms), float(transform.p))


def choice_step(transform: Any, state: State) -> Step:
    return one((step_of(part, state) for part in transform.transforms), weights_of(transform))


@augment.step("RandomOrder")
def order_step(transform: Any, state: State) -> Step:
    return order(step_of(part, state) for part in transform.transforms)


augment.STEPS.update(RandomApply=apply_step, RandomChoice=choice_step)


@rule("RandomApply")
def random_apply(transform: Any, state: State) -> None:
    choose(state, [list(transform.transforms), []], [transform.p, 1 - transform.p], transform)


@rule("RandomChoice")
def random_choice(transform: Any, state: State) -> None:
    choose(state, [[part] for part in transform.transforms], weights_of(transform), transform)


def choose(state: State, branches: list[list[Any]], weights: list[float], transform: Any) -> None:
    """One operator if it can do it all, otherwise a branch of the graph for each choice."""
    before = dataclasses.replace(state)
    try:
        augment.run(transform, state)
    except Unsupported:
        state.assign(before)
        if state.others:
            raise
        branch(state, branches, weights)


def branch(state: State, branches: list[list[Any]], weights: list[float]) -> None:
    if len(branches) == 1:
        strict(branches[0], state)
        return
    total = sum(weights)
    coin = fn.random.coin_flip(probability=weights[0] / total if total else 0.0)
    truth = conditional("validate_logical", coin, expression_name="if")
    first, others = dataclasses.replace(state), dataclasses.replace(state)
    with only(truth, True):
        strict(branches[0], first)
    with only(truth, False):
        branch(others, branches[1:], weights[1:])
    if not first.same_kind(others):
        raise Unsupported("its choices return different types")
    merged = conditional("merge", first.image, others.image, predicate=truth)
    state.assign(first, image=merged, needs_cpu=first.needs_cpu or others.needs_cpu)


def conditional(name: str, *inputs: DataNode, **kwargs: Any) -> DataNode:
    op = schema.operators()[f"_conditional.{name}"]
    return _graph.call(op, op.class_name, inputs, kwargs)


@contextlib.contextmanager
def only(truth: DataNode, when: bool) -> Iterator[None]:
    """Nodes made inside run for the samples of one side."""
    graph = _graph.current_graph()
    outer, graph.branch = graph.branch, (truth, when)
    try:
        yield
    finally:
        graph.branch = outer
