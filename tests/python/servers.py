# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A small HTTP server on the loopback that serves ranges of objects in memory and misbehaves on demand."""

from __future__ import annotations

import ctypes
import itertools
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def has_curl() -> bool:
    """Whether one of the libraries that the module opens is there."""
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


class Server:
    """Serves `objects`, a dictionary from paths ("/a/b.jpg") to bytes.

    Attributes:
        answer: called with the handler before an object is looked up; returns True if it has answered.
        fault: called with the path and the number of requests for it so far; returns what goes wrong with this
            request: None, a status, "cut", "reset", "stall", "garbage", "other range", "whole" or "changed".
        seen: the requests: method, path and headers.
    """

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects
        self.answer: Callable[[Any], bool] = lambda handler: False
        self.fault: Callable[[str, int], int | str | None] = lambda path, count: None
        self.headers: dict[str, str] = {}
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.counts: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self._http = _Listener(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def paths(self) -> list[str]:
        """The paths of the requests so far."""
        return [path for _, path, _ in self.seen]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    block_on_close = False
    owner: Server
    versions = itertools.count(1)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that go away are part of the tests


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer leaves at once and in one piece. Otherwise the second piece waits, by Nagle's
    # algorithm, until the client acknowledges the first one, which it delays by 40 ms.
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Listener
    content = b""  # of a POST

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        owner = self.server.owner
        with owner.lock:
            owner.seen.append((self.command, self.path, dict(self.headers.items())))
            owner.counts[self.path] += 1
            count = owner.counts[self.path]
            owner.at_once += 1
            owner.most_at_once = max(owner.most_at_once, owner.at_once)
        try:
            if not owner.answer(self):
                self._serve(owner, owner.fault(self.path, count))
        finally:
            with owner.lock:
                owner.at_once -= 1

    do_PUT = do_GET

    def do_POST(self) -> None:
        self.content = self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def send(self, status: int, body: bytes, **headers: str) -> None:
        """Sends a complete answer; underscores in names of headers stand for hyphens."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _serve(self, owner: Server, fault: int | str | None) -> None:
        if isinstance(fault, int):
            self.send(
                fault,
                b"<Error><Code>Injected</Code><Message>for a test</Message></Error>",
                **owner.headers,
            )
            return
        if fault == "reset":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if fault == "garbage":
            self.wfile.write(b"\0\1\2 this is not HTTP\r\n\r\n")
            self.close_connection = True
            return
        if fault == "stall":
            owner.closing.wait()
            self.close_connection = True
            return
        body = owner.objects.get(self.path)
        if body is None:
            self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        self._object(body, fault)

    def _object(self, body: bytes, fault: str | None) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = 0, len(body) - 1
        if asked and fault != "whole":
            first, last = int(asked[1]), min(int(asked[2]), last)
            if first >= len(body):
                self.send(416, b"", Content_Range=f"bytes */{len(body)}")
                return
            self.send_response(206)
            shift = 1 if fault == "other range" else 0
            self.send_header("Content-Range", f"bytes {first + shift}-{last}/{len(body) + shift}")
        else:
            self.send_response(200)
        part = body[first : last + 1]
        self.send_header("Content-Length", str(len(part)))
        version = next(self.server.versions) if fault == "changed" else 0
        self.send_header("ETag", f'"{len(body)}-{version}"')
        self.end_headers()
        if fault == "slow":
            for i in range(len(part)):
                self.wfile.write(part[i : i + 1])
                self.wfile.flush()
                self.server.owner.closing.wait(0.05)
        elif fault == "cut":
            self.wfile.write(part[: len(part) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            self.wfile.write(part)
