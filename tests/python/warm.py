# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Runs scripts in processes that are forked from one that has imported PyTorch: its import takes
seconds of CPU time, and a test may start many processes."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from waiting import HANG_S

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    ["torch._dynamo", "torch.distributed", "PIL.Image", "headrace.plugin.pytorch"]
)


def _run(command: list[str], environment: dict[str, str], output: Path) -> None:
    os.environ.update(environment)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


def run(command: list[str], output: Path, ranks: int = 1) -> str:
    """Runs a script with its arguments and returns what it printed. With several ranks it runs in
    as many processes at once, as torchrun does it."""
    environment = {"OMP_NUM_THREADS": "1"}
    if ranks > 1:
        import torch.distributed as dist

        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        environment |= {
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(store.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True",  # the store is not that of rank 0
        }
    outputs = [Path(f"{output}.{rank}") for rank in range(ranks)]
    processes: list[BaseProcess] = []
    for rank, file in enumerate(outputs):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {}
        process = _context.Process(target=_run, args=(command, environment | own, file))
        process.start()
        processes.append(process)
    for process in processes:
        process.join(HANG_S)
        process.kill()
        process.join()
    text = "".join(file.read_text() for file in outputs)
    assert [process.exitcode for process in processes] == [0] * ranks, text
    return text
