# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Measures the CPU time that reading objects over HTTP costs this side of the connection.

    python bench/http_reads.py [--objects 4000 --size 110000 --rounds 5] [--package NAME=FOLDER ...]

A private nginx serves files on the loopback; nothing is decoded. Every round runs each contender once, in a process
of its own: *files* reads the same files from the disk, *http* from nginx, *sockets* is the least that can be done
(one thread, blocking sockets in Python, `recv_into` a buffer). Times are microseconds of CPU per object, of the
client only, without starting it: medians of the rounds. `--package` measures other builds of Headrace as well, each
by the folder to import it from.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

CONFIG = """
daemon off;
pid {root}/pid;
worker_processes 1;
error_log {root}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    client_body_temp_path {root}/temp;
    proxy_temp_path {root}/temp;
    fastcgi_temp_path {root}/temp;
    uwsgi_temp_path {root}/temp;
    scgi_temp_path {root}/temp;
    server {{ listen 127.0.0.1:{port} reuseport; root {root}/files; }}
}}
"""
CONNECTIONS = 8  # of *sockets*


def cpu_us() -> float:
    use = resource.getrusage(resource.RUSAGE_SELF)
    return (use.ru_utime + use.ru_stime) * 1e6


def read_pipeline(names: list[str]) -> tuple[float, float]:
    from headrace import Pipeline, fn

    batch = 50
    with Pipeline(batch, 2, None) as pipe:
        pipe.set_outputs(fn.readers.file(files=names, name="r")[0])
    for _ in range(4):
        pipe.run()
    cpu, wall = cpu_us(), time.perf_counter()
    count = len(names) // batch
    for _ in range(count):
        pipe.run()
    return (cpu_us() - cpu) / (count * batch), (time.perf_counter() - wall) * 1e6 / (count * batch)


def receive(s: socket.socket, buffer: memoryview) -> None:
    """An answer to a GET, to the buffer."""
    have = s.recv_into(buffer)
    head, _, first = bytes(buffer[:have]).partition(b"\r\n\r\n")
    left = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]) - len(first)
    buffer[: len(first)] = first
    at = len(first)
    while left:
        n = s.recv_into(buffer[at : at + left], flags=socket.MSG_WAITALL)
        at, left = at + n, left - n


def read_sockets(names: list[str], size: int) -> tuple[float, float]:
    host, port = names[0].split("/")[2].split(":")
    open_ = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS)]
    buffer = memoryview(bytearray(size + 65536))
    cpu, wall = cpu_us(), time.perf_counter()
    for i, name in enumerate([*names, *[""] * CONNECTIONS]):
        s = open_[i % CONNECTIONS]
        if i >= CONNECTIONS:
            receive(s, buffer)
        if name:
            path = name.split("/", 3)[3]
            s.sendall(
                f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nRange: bytes=0-1048575\r\n\r\n".encode()
            )
    return (cpu_us() - cpu) / len(names), (time.perf_counter() - wall) * 1e6 / len(names)


def measure(options: argparse.Namespace) -> None:
    names = json.loads(pathlib.Path(options.names).read_text())
    if options.measure == "sockets":
        print(json.dumps(read_sockets(names, options.size)))
    else:
        print(json.dumps(read_pipeline(names)))


class Nginx:
    """A server on a free port, which serves `root`/files."""

    def __init__(self, program: str, root: pathlib.Path) -> None:
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.reserved.bind(("127.0.0.1", 0))
        address = self.reserved.getsockname()
        self.url = "http://%s:%d" % address
        (root / "nginx.conf").write_text(CONFIG.format(root=root, port=address[1]))
        self.process = subprocess.Popen(
            [program, "-p", root, "-e", root / "error.log", "-c", root / "nginx.conf"]
        )
        while socket.socket().connect_ex(address) != 0:
            if self.process.poll() is not None:
                sys.exit(f"nginx ended: {(root / 'error.log').read_text()}")
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.reserved.close()


def contenders(options: argparse.Namespace) -> dict[str, tuple[str, dict[str, str]]]:
    """Name: what to measure and the environment."""
    plain = dict(os.environ, NO_PROXY="*")
    found = {"sockets": ("sockets", plain), "files": ("files", plain), "http": ("http", plain)}
    for text in options.package:
        name, folder = text.split("=", 1)
        found[f"http {name}"] = ("http", dict(plain, PYTHONPATH=folder))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=4000)
    parser.add_argument("--size", type=int, default=110_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--package", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument(
        "--nginx", default=shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    )
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--names", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options)
        return
    if not options.nginx:
        sys.exit(
            "nginx is not there: tools/setup.sh nginx, and --nginx .cache/nginx/usr/sbin/nginx"
        )
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        (root / "files").mkdir()
        files = [root / f"files/{i:04}.bin" for i in range(min(options.objects, 500))]
        for i, path in enumerate(files):
            path.write_bytes(bytes([i % 256]) * options.size)
        server = Nginx(options.nginx, root)
        try:
            compare(options, root, [str(p) for p in files], server.url)
        finally:
            server.stop()


def compare(options: argparse.Namespace, root: pathlib.Path, files: list[str], url: str) -> None:
    lists = {"files": files, "http": [f"{url}/{pathlib.Path(p).name}" for p in files]}
    for kind, names in lists.items():
        (root / f"{kind}.json").write_text(
            json.dumps([names[i % len(names)] for i in range(options.objects)])
        )
    who = contenders(options)
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in who}
    for _ in range(options.rounds):
        for name, (kind, environment) in who.items():
            command = [sys.executable, __file__, "--measure", kind, "--size", str(options.size)]
            command += ["--names", str(root / f"{'files' if kind == 'files' else 'http'}.json")]
            out = subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            ).stdout
            results[name].append(tuple(json.loads(out)))
    print(f"{'':20} CPU us/object   (least)   wall us/object")
    for name, times in results.items():
        cpu, wall = zip(*times, strict=True)
        print(
            f"{name:20} {statistics.median(cpu):13.1f} {min(cpu):9.1f} {statistics.median(wall):16.1f}"
        )


if __name__ == "__main__":
    main()
