# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Files and archives that are read from an HTTP server, which sometimes fails."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import Server, has_curl
from waiting import FOREVER_S, HANG_S, until

np = pytest.importorskip("numpy")

from headrace import Pipeline, fn, types  # noqa: E402

if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)

SMALL = {f"/d/{i}.bin": bytes([i]) * (1000 + i) for i in range(40)}
BIG = np.random.default_rng(0).integers(0, 256, 20_000_001, np.uint8).tobytes()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(SMALL | {"/d/big.bin": BIG, "/d/empty.bin": b""}) as s:
        yield s


def read(files: list[str], batch: int = 0, **options: Any) -> list[bytes]:
    """The contents of the files, in one batch."""
    with Pipeline(batch or len(files), 2, None, **options) as pipe:
        data, _ = fn.readers.file(files=files, name="r")
        pipe.set_outputs(data)
    (out,) = pipe.run()
    return [np.asarray(sample).tobytes() for sample in out]


def urls(server: Server) -> list[str]:
    return [server.url + path for path in SMALL]


def failure(url: str, **options: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        read([url], **options)
    assert url in str(caught.value)
    return str(caught.value)


def test_small_files_take_one_request(server: Server) -> None:
    assert read(urls(server)) == list(SMALL.values())
    first = [path for path in server.paths() if path in SMALL]
    assert set(first) == set(SMALL)
    assert all(h["Range"] == "bytes=0-1048575" for _, _, h in server.seen)


def test_large_files_are_read_in_parts(server: Server) -> None:
    big, empty = read([f"{server.url}/d/big.bin", f"{server.url}/d/empty.bin"])
    assert big == BIG and empty == b""
    ranges = {h["Range"] for _, path, h in server.seen if path == "/d/big.bin"}
    assert ranges == {
        "bytes=0-1048575",
        "bytes=1048576-9437183",
        "bytes=9437184-17825791",
        "bytes=17825792-20000000",
    }


def test_sizes_around_the_first_request(server: Server) -> None:
    """Received straight into the sample's buffer, or not, and again after half of it: the same bytes."""
    chance = np.random.default_rng(3)
    sizes = [0, 1, 4095, 65536, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_000_000]
    server.objects = {f"/{i}": chance.bytes(size) for i, size in enumerate(sizes * 3)}
    server.fault = lambda path, count: "cut" if count == 1 and int(path[1:]) % 5 else None
    assert read([server.url + path for path in server.objects]) == list(server.objects.values())


def test_bytes_that_wait_for_a_worker_are_limited(server: Server) -> None:
    """Only what two workers wait for is read beyond the limit."""
    server.objects = {f"/{i}": bytes([i]) * 40_000 for i in range(100)}
    files = [server.url + path for path in server.objects]
    with Pipeline(50, 2, None, read_ahead_limit=100_000, prefetch_queue_depth=1) as pipe:
        pipe.set_outputs(fn.readers.file(files=files, name="r")[0])
    got = [np.asarray(sample).tobytes() for _ in range(2) for sample in pipe.run()[0]]
    assert got == list(server.objects.values())
    assert 40_000 <= pipe.stats()["read_ahead_peak_bytes"] <= 100_000 + 2 * 40_000


def test_no_byte_is_asked_for_twice(server: Server) -> None:
    """Also by io.file.read, whose operator needs the size before the bytes."""
    for size, most in ((1, 1), (70_000, 1), (1 << 20, 1), ((1 << 20) + 1, 2), (3_000_000, 2)):
        server.objects["/x"] = os.urandom(size)
        del server.seen[:]
        name = np.frombuffer(f"{server.url}/x".encode(), np.uint8)
        with Pipeline(1, 1, None) as pipe:
            pipe.set_outputs(fn.io.file.read(fn.external_source([[name]])))
        (out,) = pipe.run()
        assert np.asarray(out.at(0)).tobytes() == server.objects["/x"]
        assert len(server.seen) == most


def test_a_server_without_ranges(server: Server) -> None:
    server.fault = lambda path, count: "whole"
    assert read([f"{server.url}/d/big.bin", f"{server.url}/d/7.bin"]) == [BIG, SMALL["/d/7.bin"]]


def test_a_redirection(server: Server) -> None:
    def answer(handler: Any) -> bool:
        if handler.path == "/moved":
            handler.send(302, b"", Location="/d/3.bin")
        elif handler.path == "/out":
            handler.send(302, b"", Location="file:///etc/passwd")
        elif handler.path == "/loop":
            handler.send(302, b"", Location="/loop")
        else:
            return False
        return True

    server.answer = answer
    assert read([f"{server.url}/moved"]) == [SMALL["/d/3.bin"]]
    assert "not supported or disabled" in failure(f"{server.url}/out")
    assert "redirects" in failure(f"{server.url}/loop")


def test_archives_are_read_by_ranges(server: Server, tmp_path: Path) -> None:
    """Only the headers of the archive and the wanted components are read."""
    random = np.random.default_rng(1)
    members = []
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for i in range(20):
            for ext, size in (("jpg", 1000), ("bin", 200_000)):
                data = random.integers(0, 256, size, np.uint8).tobytes()
                info = tarfile.TarInfo(f"{i:03}.{ext}")
                info.size = size
                archive.addfile(info, io.BytesIO(data))
                members.append(data)
    server.objects["/a.tar"] = (tmp_path / "a.tar").read_bytes()
    with Pipeline(20, 2, None) as pipe:
        pipe.set_outputs(fn.readers.webdataset(paths=f"{server.url}/a.tar", ext=["jpg"]))
    (out,) = pipe.run()
    assert [np.asarray(x).tobytes() for x in out] == members[::2]
    bounds = [h["Range"][6:].split("-") for _, path, h in server.seen if path == "/a.tar"]
    assert sum(int(last) + 1 - int(first) for first, last in bounds) < len(server.objects["/a.tar"])


def test_list_files_and_names_as_data(server: Server) -> None:
    server.objects["/d/list.txt"] = b"3.bin 7\n5.bin 8\n"
    with Pipeline(2, 1, None) as pipe:
        data, labels = fn.readers.file(file_list=f"{server.url}/d/list.txt", name="r")
        name = np.frombuffer(f"{server.url}/d/9.bin".encode(), np.uint8)
        pipe.set_outputs(data, labels, fn.io.file.read(types.Constant(name)))
    data, labels, named = pipe.run()
    assert [np.asarray(x).tobytes() for x in data] == [SMALL["/d/3.bin"], SMALL["/d/5.bin"]]
    assert [int(np.asarray(x)[0]) for x in labels] == [7, 8]
    assert np.asarray(named[0]).tobytes() == SMALL["/d/9.bin"]


@pytest.mark.parametrize("fault", [500, 503, 429, "cut", "reset", "stall"])
def test_failures_that_pass_cost_no_sample(
    server: Server, fault: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "stall":
        # a third of it without data ends an attempt
        monkeypatch.setenv("HEADRACE_NET_TIMEOUT", "6")
    chosen = set(list(SMALL)[::10])
    server.fault = lambda path, count: fault if path in chosen and count == 1 else None
    assert read(urls(server)) == list(SMALL.values())
    assert all(server.counts[path] >= 2 for path in chosen)


def test_the_server_may_ask_for_patience(server: Server) -> None:
    """The client comes back when the time is over that it is told to wait."""
    server.headers = {"Retry-After": "1"}
    times: defaultdict[str, list[float]] = defaultdict(list)

    def fault(path: str, count: int) -> int | None:
        # no luck: a lower bound, and a busy machine only makes the client wait longer
        times[path].append(time.monotonic())
        return 429 if count == 1 else None

    server.fault = fault
    server.objects = {f"/many/{i}": b"%d" % i for i in range(1000)}  # more than are read ahead
    out = read([server.url + path for path in server.objects], batch=40)
    assert out == list(server.objects.values())[:40]
    assert all(path in times for path in list(server.objects)[:40])
    assert all(t[1] - t[0] >= 0.99 for t in times.values() if len(t) > 1)
    assert all(len(t) <= 2 for t in times.values())


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (403, "HTTP 403 Injected: for a test; check the credentials"),
        (404, "HTTP 404 Injected: for a test; it does not exist"),
        (500, "HTTP 500 Injected: for a test"),
        ("cut", "after 500 bytes"),
        ("reset", r"after 0 bytes|did not answer"),
        ("garbage", "after 0 bytes|did not answer"),
        ("stall", "no data for"),
        ("slow", "not complete after"),
        ("other range", "sent the bytes 1-1000 of 1002 instead of 0-"),
    ],
)
def test_failures_that_last(
    server: Server, fault: int | str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_NET_TIMEOUT", "3" if fault in ("stall", "slow") else "60")
    monkeypatch.setenv("HEADRACE_NET_ATTEMPTS", "2")
    server.fault = lambda path, count: fault
    text = failure(f"{server.url}/d/1.bin")
    assert re.search(message, text), text


def test_an_object_that_changes(server: Server) -> None:
    server.fault = lambda path, count: "changed"
    assert "changed while it was read" in failure(f"{server.url}/d/big.bin")


def test_bad_objects_can_be_replaced(server: Server) -> None:
    server.fault = lambda path, count: 404 if path == "/d/3.bin" else None
    out = read(urls(server)[:6], on_error="replace")
    assert out[:3] + out[4:] == list(SMALL.values())[:3] + list(SMALL.values())[4:6]
    assert out[3] in SMALL.values() and out[3] != SMALL["/d/3.bin"]


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """All samples of the batch fail within the time for one; together they would take an hour."""
    monkeypatch.setenv("HEADRACE_NET_TIMEOUT", "1")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{s.getsockname()[1]}/x.jpg"
        assert "connect" in failure(dead, batch=4000)


@pytest.mark.timing
@pytest.mark.parametrize("waits_for", ["file", "listing", "archive", "file list"])
def test_waiting_is_interrupted(
    server: Server, waits_for: str, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """Ctrl-C while nothing comes ends the run, or the building of the pipeline, within a second."""
    server.fault = lambda path, count: "stall"
    arguments = {
        "file": f"files=['{server.url}/d/1.bin']",
        "listing": "file_root='s3://bucket/train'",
        "archive": f"paths=['{server.url}/a.tar', '{server.url}/b.tar'], ext='bin'",
        "file list": f"file_list='{server.url}/list.txt'",
    }
    reader = "webdataset" if waits_for == "archive" else "file"
    program = f"""
        import sys, time
        from headrace import Pipeline, fn
        with Pipeline(8, 2, None) as pipe:
            data = fn.readers.{reader}({arguments[waits_for]}, name="r")
            pipe.set_outputs(data[0] if isinstance(data, (list, tuple)) else data)
        try:
            pipe.build()
            pipe.run()
        except KeyboardInterrupt:
            print("interrupted", time.monotonic())
        """
    child = start(
        program,
        AWS_ENDPOINT_URL=server.url,
        AWS_ACCESS_KEY_ID="KEY",
        AWS_SECRET_ACCESS_KEY="secret",
        HEADRACE_NET_TIMEOUT=str(FOREVER_S),
    )
    until(lambda: server.seen or child.poll() is not None, "the server is asked")
    assert child.poll() is None
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=HANG_S)
    assert out.startswith("interrupted "), out
    assert float(out.split()[1]) - begin < 1  # the clock is the same in all processes
    assert child.returncode == 0


def test_a_forked_child_reads_for_itself(server: Server) -> None:
    """The child has no thread for requests of its parent, and makes one."""
    program = f"""
import os, numpy as np
from headrace import Pipeline, fn
def read():
    with Pipeline(1, 1, None) as pipe:
        pipe.set_outputs(fn.readers.file(files=["{server.url}/d/1.bin"], name="r")[0])
    return np.asarray(pipe.run()[0][0]).sum()
read()
pid = os.fork()
assert read() == 1001
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=HANG_S)


def cached_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.range"))


def test_a_folder_keeps_what_was_read(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another process asks nothing of the server; a damaged file is read again."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("HEADRACE_NET_CACHE", str(folder))
    files = [f"{server.url}/d/big.bin", f"{server.url}/d/empty.bin", *urls(server)]
    expected = [BIG, b"", *SMALL.values()]
    assert read(files) == expected
    assert read(files) == expected
    # what closed pipelines had still requested may arrive at any time, but nobody waits for it
    server.fault = lambda path, count: 404
    program = f"""
from test_net import read
assert [len(x) for x in read({files})] == {[len(x) for x in expected]}
"""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    subprocess.run(
        [sys.executable, "-c", program], check=True, env=os.environ | {"PYTHONPATH": path}
    )
    server.fault = lambda path, count: None
    asked = len(server.seen)
    for file in cached_files(folder):
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
    assert read(files) == expected
    assert len(server.seen) > asked


def test_the_folder_has_a_limit(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADRACE_NET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADRACE_NET_CACHE_SIZE", "32000")
    assert read(urls(server)) == list(SMALL.values())
    sizes = [file.stat().st_size for file in cached_files(tmp_path / "cache")]
    assert 0 < sum(sizes) <= 32000 + 32000 // 16 + 2000


def test_folders_and_files_of_others_are_not_used(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, link = tmp_path / "cache", tmp_path / "link"
    monkeypatch.setenv("HEADRACE_NET_CACHE", str(folder))
    url = f"{server.url}/d/1.bin"
    assert read([url]) == [SMALL["/d/1.bin"]]
    (file,) = cached_files(folder)
    secret = tmp_path / "secret"
    file.rename(secret)
    file.symlink_to(secret)
    before = len(server.seen)
    assert read([url]) == [SMALL["/d/1.bin"]]
    assert len(server.seen) > before and not file.is_symlink() and secret.exists()
    link.symlink_to(folder)
    monkeypatch.setenv("HEADRACE_NET_CACHE", str(link))
    before = len(server.seen)
    assert read([url]) == [SMALL["/d/1.bin"]]
    assert len(server.seen) > before
    folder.chmod(0o777)
    monkeypatch.setenv("HEADRACE_NET_CACHE", str(folder))
    before = len(server.seen)
    assert read([url]) == [SMALL["/d/1.bin"]]
    assert len(server.seen) > before


def test_without_the_module() -> None:
    program = """
from headrace import Pipeline, fn
with Pipeline(1, 1, None) as pipe:
    pipe.set_outputs(fn.readers.file(files=["http://127.0.0.1:1/x"], name="r")[0])
pipe.run()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"HEADRACE_NET_MODULE": "/nonexistent/module.so"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "module for HTTP cannot be opened" in done.stderr
