# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""`headrace doctor`: shows what this machine and build support, and what would make loading faster."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import random
import time
from collections.abc import Callable
from typing import Any

from headrace import _core
from headrace.cli._common import UserError, need

HELP = "show what this machine and build support, and what would make loading faster"
DESCRIPTION = (
    "Shows what this machine and build support (CPU levels, limits, memory, codecs)\n"
    "and what would make loading faster."
)

_READ_SECONDS = 2.0
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "fuse", "afs", "gpfs", "beegfs"}
_HYPERVISORS = {"QEMU", "VMWARE", "MSFT", "XEN", "GOOGLE", "VBOX"}  # vendor ids of virtual disks
_FRAMEWORKS = ("torch", "torchvision", "numpy", "PIL", "jax", "tensorflow")


def _read(path: str) -> str | None:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


# ---- facts ---------------------------------------------------------------------------------------


def cpu_facts() -> dict[str, Any]:
    """The CPU model, the number of cores, and the limits of this process: affinity and control-group quota."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in (_read("/proc/cpuinfo") or "").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    siblings = set()
    for cpu in range(os.cpu_count() or 1):
        text = _read(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        siblings.add(text if text is not None else str(cpu))
    return {
        "model": model,
        "cpus": os.cpu_count(),
        "cores": len(siblings),
        "usable_cpus": len(os.sched_getaffinity(0)),
        "cgroup_cpus": cgroup_cpus(),
        "load": round(os.getloadavg()[0], 2),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }


def _cgroup_folders() -> list[str]:
    """The folders of this process's control groups (versions 1 and 2), innermost first."""
    folders = []
    for line in (_read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        roots = (
            ["/sys/fs/cgroup"]
            if not controllers
            else [f"/sys/fs/cgroup/{name}" for name in (controllers, *controllers.split(","))]
        )
        for root in roots:
            while True:
                folders.append(root + path.rstrip("/"))
                if path in ("", "/"):
                    break
                path = os.path.dirname(path)
    return folders


def cgroup_cpus() -> float | None:
    """The CPU time per second of wall time that the control groups allow, or None if unlimited."""
    limits = []
    for folder in _cgroup_folders():
        quota, period = None, None
        if text := _read(f"{folder}/cpu.max"):
            quota, _, period = text.partition(" ")
        elif text := _read(f"{folder}/cpu.cfs_quota_us"):
            quota, period = text, _read(f"{folder}/cpu.cfs_period_us")
        if quota and period and quota not in ("max", "-1"):
            limits.append(int(quota) / int(period))
    return round(min(limits), 2) if limits else None


def memory_facts() -> dict[str, Any]:
    """Total and available memory and the control-group limit, in bytes; the setting of huge pages."""
    info = {}
    for line in (_read("/proc/meminfo") or "").splitlines():
        key, _, value = line.partition(":")
        info[key] = int(value.split()[0]) * (1024 if value.endswith("kB") else 1)
    limits = []
    for folder in _cgroup_folders():
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _read(f"{folder}/{name}")
            if text and text != "max" and int(text) < info.get("MemTotal", 0):
                limits.append(int(text))
    return {
        "total": info.get("MemTotal"),
        "available": info.get("MemAvailable"),
        "cgroup_limit": min(limits) if limits else None,
        "huge_pages": _chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "shared_memory_free": _free("/dev/shm"),
    }


def _chosen(text: str | None) -> str | None:
    """The word in brackets, e.g. "madvise" in "always [madvise] never"."""
    return text[text.find("[") + 1 : text.find("]")] if text and "[" in text else text


def _free(path: str) -> int | None:
    try:
        stat = os.statvfs(path)
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize


def gpu_facts() -> list[str]:
    """The names of the device files of NVIDIA GPUs."""
    try:
        names = os.listdir("/dev")
    except OSError:
        return []
    return sorted(n for n in names if n.startswith("nvidia") and n[6:].isdigit())


def storage_facts(folder: str) -> dict[str, Any]:
    """The file system and kind of disk of a folder, and the measured speed of reading its files.

    Raises:
        UserError: the folder does not exist or contains no files.
    """
    if not os.path.isdir(folder):
        raise UserError(f"no such folder: {folder}")
    path = os.path.realpath(folder)
    mounts = []
    for line in (_read("/proc/self/mounts") or "").splitlines():
        device, point, kind = line.split()[:3]
        point = point.encode().decode("unicode_escape")
        if path == point or path.startswith(point.rstrip("/") + "/"):
            mounts.append((len(point), device, point, kind))
    _, device, point, kind = max(mounts, default=(0, "?", "/", "?"))
    facts: dict[str, Any] = {"dir": path, "mount": point, "device": device, "file_system": kind}
    number = os.stat(path).st_dev
    facts["disk"] = disk_kind(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    facts.update(_read_speed(path))
    return facts


def disk_kind(block: str) -> str | None:
    """The kind of a block device: "virtual", "rotating", "solid state", or None if unknown.

    Args:
        block: the folder of the device in /sys.
    """
    path = os.path.realpath(block)
    if not os.path.isdir(os.path.join(path, "queue")):
        path = os.path.dirname(path)  # a partition
    rotational = _read(os.path.join(path, "queue", "rotational"))
    if rotational is None:
        return None
    vendor = (_read(os.path.join(path, "device", "vendor")) or "").upper()
    model = (_read(os.path.join(path, "device", "model")) or "").upper()
    # The physical disk behind a virtual one is unknown; many virtual disks report that they rotate.
    if "/virtio" in path or "/vbd-" in path or vendor in _HYPERVISORS:
        return "virtual"
    if any(word in model for word in ("VIRTUAL", "QEMU", "ELASTIC BLOCK", "PERSISTENT")):
        return "virtual"
    return "rotating" if rotational == "1" else "solid state"


def _read_speed(folder: str) -> dict[str, Any]:
    """Reads files in random order for up to `_READ_SECONDS`, dropping them from the page cache if possible."""
    files = []
    for root, _, names in os.walk(folder):
        files += [os.path.join(root, name) for name in names]
        if len(files) >= 20_000:
            break
    if not files:
        raise UserError(f"no files in {folder}")
    random.Random(0).shuffle(files)
    size, count, start = 0, 0, time.perf_counter()
    for path in files:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            while chunk := os.read(fd, 1 << 20):
                size += len(chunk)
            count += 1
        except OSError:
            continue
        finally:
            os.close(fd)
        if time.perf_counter() - start > _READ_SECONDS:
            break
    seconds = time.perf_counter() - start
    return {
        "files_read": count,
        "mean_file_bytes": size // max(count, 1),
        "files_per_second": round(count / seconds, 1),
        "bytes_per_second": round(size / seconds),
    }


def build_facts() -> dict[str, Any]:
    """What the engine reports about itself: versions, CPU levels, codecs."""
    facts: dict[str, Any] = json.loads(_core.doctor_json())
    return facts


def framework_facts() -> dict[str, str]:
    """Versions of installed frameworks, found without importing them."""
    from importlib import metadata

    found = {}
    for name in _FRAMEWORKS:
        if importlib.util.find_spec(name) is None:
            continue
        try:
            found[name] = metadata.version("pillow" if name == "PIL" else name)
        except metadata.PackageNotFoundError:
            found[name] = "?"
    return found


def collect(data: str | None) -> dict[str, Any]:
    """Collects all facts as JSON values.

    Args:
        data: folder whose reading speed is measured, or None.

    Raises:
        UserError: the folder does not exist or contains no files.
    """
    facts: dict[str, Any] = {
        "build": build_facts(),
        "cpu": cpu_facts(),
        "memory": memory_facts(),
        "gpus": gpu_facts(),
        "frameworks": framework_facts(),
    }
    if data is not None:
        facts["storage"] = storage_facts(data)
    facts["advice"] = [text for rule in _RULES if (text := rule(facts))]
    return facts


# ---- advice: each rule returns one sentence about the facts, or None -----------------------------


def _advise_affinity(facts: dict[str, Any]) -> str | None:
    cpu = facts["cpu"]
    if cpu["usable_cpus"] < cpu["cpus"]:
        return (
            f"This process may use {cpu['usable_cpus']} of {cpu['cpus']} CPUs (affinity). A larger "
            "num_threads does not help. To use more CPUs, change taskset or the job's CPU request."
        )
    return None


def _advise_quota(facts: dict[str, Any]) -> str | None:
    cpu = facts["cpu"]
    if cpu["cgroup_cpus"] is not None and cpu["cgroup_cpus"] < cpu["usable_cpus"]:
        return (
            f"The container is limited to the time of {cpu['cgroup_cpus']:g} CPUs on "
            f"{cpu['usable_cpus']} CPUs. Set num_threads to about "
            f"{max(1, round(cpu['cgroup_cpus']))}, or raise the CPU limit."
        )
    return None


def _advise_threads(facts: dict[str, Any]) -> str | None:
    cpu = facts["cpu"]
    limit = min(cpu["usable_cpus"], cpu["cgroup_cpus"] or cpu["usable_cpus"])
    return f"num_threads={max(1, round(limit))} uses all CPU time available to one process."


def _advise_load(facts: dict[str, Any]) -> str | None:
    cpu = facts["cpu"]
    if cpu["load"] > 0.5 * cpu["cpus"]:
        return (
            f"Other processes are running (load {cpu['load']:g} on {cpu['cpus']} CPUs), so measured "
            "speeds are too low."
        )
    return None


def _advise_governor(facts: dict[str, Any]) -> str | None:
    if facts["cpu"]["governor"] == "powersave":
        return "The CPU frequency governor is powersave; decoding may be faster with performance."
    return None


def _advise_level(facts: dict[str, Any]) -> str | None:
    if facts["build"].get("cpu_level") == "base" and platform.machine() == "x86_64":
        return "This CPU has no AVX2, or HEADRACE_CPU_LEVEL disables it, so slower code is used."
    return None


def _advise_memory(facts: dict[str, Any]) -> str | None:
    memory = facts["memory"]
    room = min(
        memory["cgroup_limit"] or memory["available"] or 1 << 62, memory["available"] or 1 << 62
    )
    if room < 2 << 30:
        return f"Only {_size(room)} of memory are free. Keep batch_size and prefetch_queue_depth small."
    return None


def _advise_huge_pages(facts: dict[str, Any]) -> str | None:
    if facts["memory"]["huge_pages"] == "never":
        return "Transparent huge pages are off. The setting madvise makes writing large batches cheaper."
    return None


def _advise_storage(facts: dict[str, Any]) -> str | None:
    storage = facts.get("storage")
    if not storage:
        return None
    speed = f"{storage['files_per_second']:,.0f} files per second"
    if storage["file_system"].split(".")[0] in _NETWORK:
        return f"The data are on a network file system ({speed}). A local copy is faster."
    if storage["disk"] == "rotating":
        return f"The data are on a rotating disk ({speed}, one by one). An SSD or memory is faster."
    if storage["files_per_second"] < 500 and storage["mean_file_bytes"] < 1 << 20:
        return f"Files are read at {speed}, one by one. Faster storage would help."
    return None


def _advise_gpu(facts: dict[str, Any]) -> str | None:
    if not facts["gpus"]:
        return "No NVIDIA GPU is visible, so everything runs on the CPU."
    return None


def _advise_video(facts: dict[str, Any]) -> str | None:
    codecs = {codec["name"]: codec["version"] for codec in facts["build"].get("codecs", [])}
    if codecs.get("video") == "is not installed":
        return (
            "Videos, and the sound of MP4, WebM and AAC files, cannot be decoded on the CPU. Run "
            "`pip install headrace-video`, or `make video-wheel` in the sources of Headrace and install "
            "the wheel."
        )
    return None


_RULES: list[Callable[[dict[str, Any]], str | None]] = [
    _advise_threads,
    _advise_affinity,
    _advise_quota,
    _advise_load,
    _advise_governor,
    _advise_level,
    _advise_memory,
    _advise_huge_pages,
    _advise_storage,
    _advise_gpu,
    _advise_video,
]


# ---- printing ------------------------------------------------------------------------------------


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


_BYTES = {"total", "available", "cgroup_limit", "shared_memory_free", "mean_file_bytes"}


def _text(key: str, value: Any) -> str:
    if value is None:
        return "none" if key.startswith("cgroup") else "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key in _BYTES:
        return _size(value)
    if key == "bytes_per_second":
        return f"{_size(value)}/s"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_text(k, v)}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(_text("", v) for v in value) or "none"
    return str(value)


def _rows(section: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(section, value)]
    if section != "build":
        return list(value.items())
    codecs = [
        f"{c['name']} ({' '.join(filter(None, (c['library'], c['version'])))})"
        for c in value.get("codecs", [])
    ]
    shown = ("version", "compiler", "cpu_level", "operators", "hwloc", "cuda_driver", "gpu_support")
    curl = (
        value.get("libcurl")
        or "not installed: no http://, s3://, gs:// or az:// (package libcurl4)"
    )
    return [(key, value.get(key)) for key in shown] + [("codecs", codecs), ("libcurl", curl)]


def _print(facts: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print("[bold]advice[/bold]")
    for text in facts["advice"]:
        console.print(f"  * {escape(text)}")
    for section, value in facts.items():
        if section == "advice":
            continue
        table = Table(box=box.SIMPLE_HEAD, title=section, title_justify="left", show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for key, item in _rows(section, value):
            table.add_row(str(key).replace("_", " "), escape(_text(key, item)))
        console.print(table)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the command."""
    parser.add_argument(
        "--data", metavar="DIR", help="measure how fast the files of this folder can be read"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit status."""
    if not args.json:
        need("rich")
    facts = collect(args.data)
    if args.json:
        print(json.dumps(facts, indent=1))
    else:
        _print(facts)
    return 0
