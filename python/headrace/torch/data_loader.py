# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`DataLoader`: PyTorch's, with the work of known data sets and transforms done by pipelines."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils import data
from torch.utils.data import IterableDataset, default_collate
from torch.utils.data.distributed import DistributedSampler

from headrace._pipeline.config import integer
from headrace.plugin._loader import MOST_EPOCHS
from headrace.torch._compile.own_code import seeded
from headrace.torch._loading.detached import WorkerInit
from headrace.torch._loading.epoch import LARGEST_SEED, Epoch, Transformed, pinned, threads
from headrace.torch._loading.items import Collate
from headrace.torch._loading.plan import Explanation, Plan, choose, same, signature
from headrace.torch._loading.streams import Arriving, Placed, Places, undivided

_SAMPLERS = (data.Sampler.__module__, DistributedSampler.__module__)
_STATE = {"loader", "epoch", "taken", "generators", "samplers", "pipeline", "streams"}


class DataLoader(data.DataLoader[Any]):
    """A `torch.utils.data.DataLoader` that takes the fastest way to the same batches.

    Arguments, attributes, order and errors are PyTorch's; `explain` says which way is taken
    (docs/from-pytorch.md). Random transforms draw other numbers from the same distributions.

    If torch.distributed is initialised with several processes, and neither `sampler` nor
    `batch_sampler` is given, each process reads its shard of a data set with indices, with a
    `DistributedSampler` whose epoch this loader sets. ``sampler=SequentialSampler(dataset)`` reads
    everything.

    Args:
        dataset, batch_size, shuffle, sampler, batch_sampler, collate_fn, drop_last, generator:
            as in PyTorch.
        num_workers: processes for the data set's own code, and threads of the pipeline; 0: this
            process, and up to 4 threads.
        pin_memory, timeout, worker_init_fn, multiprocessing_context, prefetch_factor,
        persistent_workers, pin_memory_device, in_order: as in PyTorch. Those of worker processes
            have no effect where there are none.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._shards = 1
        if sampler is None and batch_sampler is None:
            sampler = self._shard(dataset, bool(shuffle), drop_last)
            shuffle = shuffle if sampler is None else None
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            **({"pin_memory_device": pin_memory_device} if pin_memory_device else {}),
            **({} if in_order else {"in_order": False}),
        )
        self._plan: Plan | None = None
        self._how: Any = None  # for which arguments it was made
        self._below: data.DataLoader[Any] | None = None
        self._epoch: Epoch | None = None  # of the newest loop
        self._number = 0  # of the next one
        self._reused = 0  # how often workers were
        self._restored: dict[str, Any] | None = None

    def explain(self) -> Explanation:
        """Returns how batches are made. `print` shows it. May try the first sample."""
        return self._planned().explanation

    # ---- loops -----------------------------------------------------------------------------------

    def __iter__(self) -> Any:
        state, self._restored, self._epoch = self._restored, None, None
        number = self._number if state is None else state["epoch"]
        self._number = number + 1
        if self._shards > 1:
            self.sampler.set_epoch(number)  # type: ignore[union-attr]
        plan = self._planned()
        loader = self._loader(plan, state is not None)
        places = Places(self.num_workers) if plan.streamed else None
        if places is not None and state is not None and state["streams"] is not None:
            places.restore(state["streams"])
        if state is None or state["generators"][0] is None:  # the beginning of an epoch
            if state is not None:
                self._set_generators(state["generators"])
            begun, taken = self._generators(), 0
            below = iter(loader)
        else:
            begun, taken = state["generators"], state["taken"]
            self._set_epochs(state["samplers"])
            below = self._resumed(plan, loader, begun, taken, places)
        arriving = Arriving(below, places) if places is not None else None
        seed = (int(below._base_seed) + self._reused) & LARGEST_SEED
        restored = None if state is None else state["pipeline"]
        batches = self._batches(plan, below if arriving is None else arriving, seed, restored)
        self._epoch = Epoch(batches, number, begun, taken, self._index_sampler, arriving)
        return self._epoch

    def _batches(
        self, plan: Plan, below: Iterator[Any], seed: int, restored: dict[str, Any] | None
    ) -> Iterator[Any]:
        if not plan.jobs:
            return map(pinned, below) if plan.streamed and self.pin_memory else below
        size = self.batch_size or getattr(self.batch_sampler, "batch_size", None) or 1
        return Transformed(
            below,
            plan,
            size,
            threads(self.num_workers),
            seed,
            self._ahead(plan),
            self._finish(),
            restored,
        )

    def _ahead(self, plan: Plan) -> bool:
        """Whether batches are begun before they are needed. Code of the user in this process, of the data
        set or a sampler, runs when PyTorch would run it."""
        if self.num_workers:
            return True
        return plan.in_process and all(
            type(one) in (list, tuple, range, type(None)) or type(one).__module__ in _SAMPLERS
            for one in self._samplers()
        )

    def _finish(self) -> Finish:
        collate = None if self._collates() else self.collate_fn
        return Finish(self._auto_collation, collate, self.pin_memory)

    def _collates(self) -> bool:
        """Whether batches are collated by PyTorch's own function."""
        return self._auto_collation and self.collate_fn is default_collate

    def _loader(self, plan: Plan, resumed: bool) -> data.DataLoader[Any]:
        """The DataLoader below."""
        if self._below is not None and self.persistent_workers and not resumed:
            self._reused += 1
            return self._below
        self._reused, self._order = 0, Order(self._index_sampler)
        given: dict[str, Any] = {"generator": self.generator, "collate_fn": self.collate_fn}
        given |= {"timeout": 0 if plan.in_process and self.num_workers else self.timeout}
        if not plan.jobs:
            given["pin_memory"] = self.pin_memory and not plan.streamed
        elif not self._auto_collation:
            given["collate_fn"] = Single()
        else:
            given["collate_fn"] = Collate(self._collates())
        if plan.explanation.way == "rows":
            given["collate_fn"] = list
        if not plan.in_process:
            given |= self._workers(plan.view is not self.dataset)
        if plan.streamed:
            given["collate_fn"] = Placed(plan.view, given["collate_fn"])
        if isinstance(self.dataset, IterableDataset):
            given |= {"batch_size": self.batch_size, "drop_last": self.drop_last}
        elif self._auto_collation:
            given["batch_sampler"] = self._order
        else:
            given |= {"batch_size": None, "sampler": self._order}
        self._below = data.DataLoader(plan.view, **given)
        return self._below

    def _workers(self, view: bool) -> dict[str, Any]:
        """The arguments that concern worker processes. `view`: they have a view of the data set."""
        given: dict[str, Any] = {"num_workers": self.num_workers}
        if self.num_workers:
            given["worker_init_fn"] = (
                WorkerInit(self.worker_init_fn) if view else self.worker_init_fn
            )
            given["multiprocessing_context"] = self.multiprocessing_context
            given["prefetch_factor"] = self.prefetch_factor
            given["persistent_workers"] = self.persistent_workers
            given |= {} if getattr(self, "in_order", True) else {"in_order": False}
        return given

    def _planned(self) -> Plan:
        """The plan, made anew if the transform has changed."""
        plan, how = self._plan, (self.num_workers, self._collates())
        if plan is None or how != self._how or not same(plan.signature, signature(self.dataset)):
            self._how = how
            workers = {k: v for k, v in self._workers(True).items() if k in _TRIED}
            plan = seeded((0,), choose, self.dataset, self._collates(), workers)
            assert plan is not None
            shown = dataclasses.replace(plan.explanation, notices=tuple(self._notices(plan)))
            self._plan = plan = dataclasses.replace(plan, explanation=shown)
            self._below = None
        return plan

    def _notices(self, plan: Plan) -> Iterator[str]:
        if self._shards > 1:
            yield f"{_shard_text(self._shards)}, because torch.distributed is initialised"
        if plan.in_process and self.num_workers:
            yield f"there are no worker processes: num_workers={self.num_workers} is a number of threads"
            if self.worker_init_fn is not None:
                yield "so worker_init_fn is not called"
        if plan.jobs and not self._collates() and self._auto_collation:
            yield "collate_fn runs in this process"
        if plan.decodes:
            yield "JPEG and PNG files that its code opens with Pillow are decoded by the engine"

    # ---- shards ----------------------------------------------------------------------------------

    def _shard(self, dataset: Any, shuffle: bool, drop_last: bool) -> Any:
        """A sampler for the shard of this process, if there are several."""
        dist = torch.distributed
        if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
            return None
        accelerate = sys.modules.get("accelerate.state")
        if accelerate is not None and accelerate.PartialState._shared_state:
            return None  # it gives each process its batches of what all of them would read
        if isinstance(dataset, IterableDataset):  # its own code says what a process reads
            if undivided(dataset):
                warnings.warn(
                    f"headrace.torch.DataLoader: each of {dist.get_world_size()} processes reads all of "
                    "the stream. To divide it, use `datasets.distributed.split_dataset_by_node`.",
                    stacklevel=3,
                )
            return None
        self._shards = dist.get_world_size()
        warnings.warn(
            f"headrace.torch.DataLoader: {_shard_text(self._shards)}. To read all of the data set, give "
            "`sampler=SequentialSampler(dataset)`.",
            stacklevel=3,
        )
        return DistributedSampler(dataset, shuffle=shuffle, drop_last=drop_last)

    # ---- states ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that was taken, as torchdata's StatefulDataLoader
        has it.

        The order is restored from the states of generators: `generator`, those of samplers, and
        PyTorch's default generator at the beginning of the epoch.
        """
        if self._restored is not None:
            return dict(self._restored)
        state: dict[str, Any] = {"loader": "headrace.torch.DataLoader", "samplers": self._epochs()}
        epoch = self._epoch
        if epoch is None or epoch.over:
            given = [*self._generators()[1:]]
            place = {"epoch": self._number, "taken": 0, "generators": [None, *given]}
            return {**state, **place, "pipeline": None, "streams": None}
        place = {"epoch": epoch.number, "taken": epoch.taken, "generators": epoch.begun}
        place["streams"] = epoch.arriving.places.state() if epoch.arriving else None
        made = epoch.batches.state() if isinstance(epoch.batches, Transformed) else None
        return {**state, **place, "pipeline": made}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Makes the next loop continue where `state_dict` was called.

        Raises:
            ValueError: it is not a state of such a loader.
        """
        if not isinstance(state_dict, dict) or {*state_dict} != _STATE:
            raise ValueError("This is not a state of a headrace.torch.DataLoader.")
        integer("epoch", state_dict["epoch"], 0, MOST_EPOCHS)
        integer("taken", state_dict["taken"], 0, 2**63 - 1)
        if len(state_dict["generators"]) != len(self._generators()):
            raise ValueError("The state is of a loader with another number of generators.")
        self._restored = dict(state_dict)

    def _samplers(self) -> tuple[Any, ...]:
        return self.sampler, self.batch_sampler, getattr(self.batch_sampler, "sampler", None)

    def _epochs(self) -> list[int | None]:
        """The epochs of samplers that are told theirs, such as DistributedSampler."""
        found = [getattr(one, "epoch", None) for one in self._samplers()]
        return [epoch if type(epoch) is int else None for epoch in found]

    def _set_epochs(self, epochs: list[int | None]) -> None:
        for one, epoch in zip(self._samplers(), epochs):
            if epoch is not None and hasattr(one, "set_epoch"):
                one.set_epoch(epoch)

    def _owned(self) -> list[torch.Generator]:
        """The generators that belong to this loader and its samplers."""
        found = [getattr(owner, "generator", None) for owner in (self, *self._samplers())]
        unique = {id(one): one for one in found if isinstance(one, torch.Generator)}
        return list(unique.values())

    def _generators(self) -> list[Any]:
        """The states of PyTorch's default generator, and of our own."""
        return [torch.get_rng_state(), *(one.get_state() for one in self._owned())]

    def _set_generators(self, states: list[Any]) -> None:
        if states[0] is not None:
            torch.set_rng_state(states[0])
        for one, state in zip(self._owned(), states[1:]):
            one.set_state(state)

    def _resumed(
        self,
        plan: Plan,
        loader: data.DataLoader[Any],
        begun: list[Any],
        taken: int,
        places: Places | None,
    ) -> Any:
        """Iterates over what is left of an epoch. PyTorch's default generator stays as it is."""
        default = torch.get_rng_state()
        self._set_generators(begun)
        try:
            if places is not None:
                plan.view.start = places, self.batch_size or 1
                below = iter(loader)
                plan.view.start = None
                return below
            if isinstance(self.dataset, IterableDataset):
                below = iter(loader)
                deque(itertools.islice(below, taken), maxlen=0)
                return below
            torch.empty((), dtype=torch.int64).random_(generator=self.generator)  # for workers
            order = iter(self._index_sampler)
            deque(itertools.islice(order, taken), maxlen=0)
            self._order.left = itertools.chain(list(itertools.islice(order, 1)), order)
            states = self._generators()[1:]
            below = iter(loader)
            self._set_generators([None, *states])
            return below
        finally:
            torch.set_rng_state(default)


@dataclasses.dataclass
class Finish:
    """Makes what the user gets. It does not refer to the loader, which would be a circle then.

    Attributes:
        several: there is a batch, not a single sample in a list.
        collate: collates the samples; None: they are collated already.
        pin: copies to pinned memory.
    """

    several: bool
    collate: Callable[[Any], Any] | None
    pin: bool

    def __call__(self, batch: Any) -> Any:
        batch = batch if self.several else batch[0]
        batch = self.collate(batch) if self.collate else batch
        return pinned(batch) if self.pin else batch


class Order:
    """The indices for the DataLoader below: an epoch of the sampler's, or once what is `left`."""

    def __init__(self, sampler: Iterable[Any]) -> None:
        self._sampler = sampler
        self.left: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sampler) if self.left is None else self._rest()

    def _rest(self) -> Iterator[Any]:
        """Takes `left` only when it is needed: PyTorch asks for two iterators and uses one."""
        left, self.left = self.left, None
        yield from left or ()


class Single:
    """Collates a sample that is a batch by itself."""

    def __call__(self, sample: Any) -> Any:
        return Collate(False)([sample])


_TRIED = ("num_workers", "worker_init_fn", "multiprocessing_context")


def _shard_text(shards: int) -> str:
    return f"shard {torch.distributed.get_rank()} of {shards} is read"
