# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Pipeline outputs that share memory: a framework that writes into one of them in place must not change another.

`fn.reshape` and the other operators in VIEWS are documented as views of their input; all other outputs have their
own memory. The functions take batches of either engine on either device."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from harness import Case, Data, Engine, Failure

# Documented as views, here as in DALI.
VIEWS = {"expand_dims", "per_frame", "reinterpret", "reshape", "squeeze"}

_BIG = [np.random.default_rng(i).integers(0, 255, (4, 70, 90, 3)).astype(np.uint8) for i in (1, 2)]
_FRAMES = Data(_BIG, "FHWC")
_PICTURES = Data([sample[0] for sample in _BIG], "HWC")
_ORDER = Data([np.array(1, np.int32), np.array(0, np.int32)])

# Inputs that are large enough for sharing memory to be worthwhile.
LARGE: list[Case] = [
    Case("copy", [_FRAMES], {}),
    Case("slice", [_FRAMES], {"start": [1], "shape": [2], "axes": [0]}),
    Case("slice", [_FRAMES], {"start": [0], "shape": [4], "axes": [0]}),
    Case("element_extract", [_FRAMES], {"element_map": [1, 1, 2]}),
    Case("permute_batch", [_FRAMES], {"indices": [1, 0]}),
    Case("permute_batch", [_FRAMES], {"indices": [0, 0]}),
    Case("permute_batch", [_FRAMES], {"indices": _ORDER}),
    Case("cast", [_FRAMES], {"dtype": "types.UINT8"}),
    Case("cat", [_FRAMES], {}),
    Case("crop", [_PICTURES], {"crop": (70, 90)}),
    Case("flip", [_PICTURES], {"horizontal": 0}),
    Case("pad", [_FRAMES], {}),
    Case("reductions.sum", [_FRAMES], {"axes": [], "dtype": "types.UINT8"}),
    Case("resize", [_PICTURES], {"size": (70, 90)}),
    Case("rotate", [_PICTURES], {"angle": 0.0, "keep_size": True}),
    Case("sequence_rearrange", [_FRAMES], {"new_order": [0, 1, 2, 3]}),
    Case("transpose", [_FRAMES], {"perm": [0, 1, 2, 3]}),
]


def spans(batch: Any) -> list[tuple[int, int]]:
    """First and end address of every sample that is not empty."""
    out = []
    for i in range(len(batch)):
        first = batch[i].data_ptr()
        elements = int(np.prod(batch[i].shape(), dtype=np.int64))
        size = elements * np.array(batch.as_cpu()[i]).itemsize
        if size:
            out.append((first, first + size))
    return out


def overlapping(batches: list[Any]) -> list[tuple[int, int]]:
    """Pairs of outputs some of whose samples overlap; (k, k) if samples within output k overlap."""
    found = set()
    every = [(span, k) for k, batch in enumerate(batches) for span in spans(batch)]
    every.sort()
    for ((_, end), k), ((first, _), other) in itertools.pairwise(every):
        if first < end:
            found.add((min(k, other), max(k, other)))
    return sorted(found)


def outputs_with_inputs(case: Case, engine: Engine) -> list[Any] | Failure:
    """The batches of the case's inputs, followed by those of its outputs, of one iteration."""
    batches: list[Any] = []

    def define(engine: Engine) -> list[Any]:
        fed = [engine.feed(data) for data in case.inputs]
        if engine.device != "cpu":
            fed = [engine.moved(node) for node in fed]
        args = {key: engine.value(value) for key, value in case.args.items()}
        made = engine.operator(case.op)(*fed, **args)
        return [*fed, *(made if isinstance(made, (list, tuple)) else [made])]

    failure = engine.run(case.batch_size(), define, taken=batches.extend)
    return failure if isinstance(failure, Failure) else batches


def aliased(case: Case, engine: Engine) -> list[tuple[int, int]]:
    """See `overlapping`; outputs are numbered after the inputs. Fails if the case gives no outputs."""
    batches = outputs_with_inputs(case, engine)
    assert not isinstance(batches, Failure), f"{case}: {batches}"
    return overlapping(batches)
