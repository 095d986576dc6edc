# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""The proxy: collects the inputs of a batch, and passes them to the server."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any

from torch.utils.data import get_worker_info
from torch.utils.data._utils.collate import default_collate_fn_map

from headrace._external.worker import end_with
from headrace.plugin.pytorch.experimental.proxy._memory import Slots, Writer
from headrace.plugin.pytorch.experimental.proxy._refs import (
    DALIOutputBatchRef,
    DALIOutputSampleRef,
    DALIPipelineRunRef,
)
from headrace.plugin.pytorch.experimental.proxy._requests import Request, Requests


class _Caller:
    """Who calls the proxy: a thread of a process, and the batch that it is collecting."""

    def __init__(self) -> None:
        info = get_worker_info()
        self.pid = os.getpid()
        self.name = os.urandom(12)
        self.worker = threading.get_ident() if info is None else info.id
        self.batches = 0
        self.samples = 0  # in `batch`
        self.batch: DALIPipelineRunRef | None = None
        self.slots = Slots()

    def open(self) -> DALIPipelineRunRef:
        """The batch that is being collected."""
        if self.batch is None or self.batch.is_complete:
            self.batch = DALIPipelineRunRef((self.worker, self.batches), self.name)
            self.batches += 1
            self.samples = 0
        return self.batch


class Proxy:
    """Takes the inputs of a sample and returns a reference to each output.

    It can be copied to other processes, by forking or by pickling while they are started.

    Args:
        names: the inputs of the pipeline.
        outputs: number of outputs.
        requests: the server's, used in its process.
        sender: socket to the server, used in other processes.
        deterministic: batches run only when they are asked for.
    """

    def __init__(
        self,
        names: Sequence[str],
        outputs: int,
        requests: Requests,
        sender: socket.socket,
        deterministic: bool,
    ) -> None:
        self.names = tuple(names)
        self.deterministic = deterministic
        self.session: int | None = None  # of the iterator whose worker this process is
        self._outputs = range(outputs)
        self._requests: Requests | None = requests
        self._sender = sender
        self._owner = os.getpid()
        self._local = threading.local()

    @property
    def __signature__(self) -> Signature:
        kind = Parameter.POSITIONAL_OR_KEYWORD if len(self.names) == 1 else Parameter.KEYWORD_ONLY
        returned = tuple(DALIOutputSampleRef for _ in self._outputs)
        return Signature([Parameter(name, kind) for name in self.names], return_annotation=returned)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_local": None, "_requests": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._local = threading.local()

    def __deepcopy__(self, memo: Any) -> Proxy:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """References to the outputs: one, or a tuple if the pipeline has several.

        Raises:
            ValueError: the arguments are not the inputs of the pipeline.
            RuntimeError: an input is not an array. Only workers check this.
        """
        if len(args) == 1 and not kwargs and len(self.names) == 1:
            kwargs = {self.names[0]: args[0]}
        elif args or kwargs.keys() != set(self.names):
            raise self._wrong(args, kwargs)
        caller = self._caller()
        batch = caller.open()
        if self._requests is None:  # another process than the server's
            if batch.writer is None:
                batch.writer = Writer(caller.slots)
            kwargs = {name: batch.writer.write(value) for name, value in kwargs.items()}
        for name, value in kwargs.items():
            batch.call_args.setdefault(name, []).append(value)
        made = [DALIOutputSampleRef(self, batch, i, caller.samples) for i in self._outputs]
        caller.samples += 1
        return made[0] if len(made) == 1 else tuple(made)

    def _wrong(self, args: Any, kwargs: Any) -> ValueError:
        try:
            self.__signature__.bind(*args, **kwargs)
            reason = ""
        except TypeError as error:
            reason = f": {error}"
        how = "one positional or named argument" if len(self.names) == 1 else "named arguments only"
        return ValueError(
            f"The proxy takes the inputs of the pipeline ({', '.join(self.names)}) as {how}, but got "
            f"{len(args)} positional arguments and the names {sorted(kwargs)}{reason}."
        )

    def _caller(self) -> _Caller:
        caller: _Caller | None = getattr(self._local, "caller", None)
        if caller is None or caller.pid != os.getpid():  # a forked process inherits its parent's
            if caller is not None:
                caller.slots.close()
            self._local.caller = caller = _Caller()
            self._enter()
        return caller

    def _enter(self) -> None:
        """In a new process: lets go of what belongs to the server's process, and ends with it."""
        if os.getpid() == self._owner:
            return
        if self._requests is not None:
            self._requests.leave()
            self._requests = None
        if get_worker_info() is not None:
            threading.Thread(target=end_with, args=(self._owner,), daemon=True).start()

    def start_worker(self, session: int) -> None:
        """Prepares a worker of the iterator with this number."""
        self.session = session
        self._caller()

    def send(self, batch: DALIPipelineRunRef) -> None:
        """Passes the inputs of a batch to the server.

        Raises:
            RuntimeError: there are none, or the server has ended.
        """
        if not batch.call_args:
            raise RuntimeError("The batch has no inputs. Were they passed to the server already?")
        columns = [batch.call_args[name] for name in self.names]
        batch.call_args = {}
        if batch.writer is None:
            assert self._requests is not None
            self._requests.put(Request(batch.key, columns, self.session, self.deterministic))
            return
        writer, batch.writer = batch.writer, None
        written = tuple(writer.finish(columns))
        message = batch.key, os.getpid(), written, self.session, self.deterministic
        try:
            socket.send_fds(self._sender, [pickle.dumps(message)], [writer.fd])
        except OSError as error:
            raise RuntimeError(f"The DALIServer has ended: {error}") from error


def _collate_dali_output_sample_ref_fn(
    samples: Sequence[DALIOutputSampleRef], *, collate_fn_map: Any = None
) -> DALIOutputBatchRef:
    """Makes a batch of references, and passes its inputs to the server.

    Raises:
        RuntimeError: the samples do not form a batch.
    """
    first = samples[0]
    batch, proxy = first.pipe_run_ref, first.proxy
    for i, sample in enumerate(samples):
        if sample.pipe_run_ref is not batch or sample.proxy is not proxy:
            raise RuntimeError("The references come from several batches.")
        if sample.output_idx != first.output_idx:
            raise RuntimeError("The references are to several outputs.")
        if sample.sample_idx != i:
            raise RuntimeError(
                f"Sample {sample.sample_idx} of the batch is at position {i}: all samples that the proxy was "
                "called for must be collated, in this order."
            )
    if not batch.is_complete:
        batch.is_complete = True
        proxy.send(batch)
        batch.is_scheduled = not proxy.deterministic
    return DALIOutputBatchRef(batch, first.output_idx)


default_collate_fn_map.update({DALIOutputSampleRef: _collate_dali_output_sample_ref_fn})
