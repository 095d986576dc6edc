# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Files and archives that are read from nginx, a server that others wrote; skipped where it is not installed."""

from __future__ import annotations

import io
import os
import re
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import has_curl
from waiting import until

np = pytest.importorskip("numpy")

from headrace import Pipeline, fn  # noqa: E402

UNPACKED = Path(__file__).resolve().parents[2] / ".cache/nginx/usr/sbin/nginx"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:{UNPACKED.parent}")

if not NGINX:
    pytest.skip("nginx is not there: tools/setup.sh nginx", allow_module_level=True)
if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)

CONFIG = """
daemon off;
master_process off;
pid {root}/pid;
error_log {root}/error.log;
events {{ worker_connections 256; }}
http {{
    log_format short '$connection $status $request_uri "$http_range"';
    access_log {root}/access.log short;
    client_body_temp_path {root}/temp;
    proxy_temp_path {root}/temp;
    fastcgi_temp_path {root}/temp;
    uwsgi_temp_path {root}/temp;
    scgi_temp_path {root}/temp;
    limit_req_zone $binary_remote_addr zone=slow:1m rate=50r/s;
    split_clients $request_id $unlucky {{ 10% yes; * ''; }}
    server {{
        listen 127.0.0.1:{port} reuseport;
        root {root}/files;
        location /whole/ {{ alias {root}/files/; max_ranges 0; }}
        location /short/ {{ alias {root}/files/; keepalive_requests 3; }}
        location /busy/ {{
            alias {root}/files/;
            limit_req zone=slow burst=10 nodelay;
            limit_req_status 429;
        }}
        location /flaky/ {{ alias {root}/files/; if ($unlucky) {{ return 503; }} }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
    }}
}}
"""
SMALL = {f"{i:03}.bin": bytes([i]) * (500 + 37 * i) for i in range(200)}


class Nginx:
    """A private server on a free port, which serves the folder `files`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Nobody but nginx can take the port of this socket, which gets no connections.
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.reserved.bind(("127.0.0.1", 0))
        self.address = self.reserved.getsockname()
        self.url = "http://%s:%d" % self.address
        (root / "nginx.conf").write_text(CONFIG.format(root=root, port=self.address[1]))
        command = [str(NGINX), "-p", str(root), "-e", f"{root}/error.log"]
        self.process = subprocess.Popen([*command, "-c", f"{root}/nginx.conf"])
        until(self.answers, "nginx answers")

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.root / "error.log").read_text()
        with socket.socket() as s:
            return s.connect_ex(self.address) == 0

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reserved.close()

    def log(self) -> list[tuple[int, int, str, str]]:
        """Connection, status, path and range of each request so far."""
        pattern = r'(\d+) (\d+) (\S+) "(.*)"'
        lines = (self.root / "access.log").read_text().splitlines()
        found = [re.fullmatch(pattern, line) for line in lines]
        return [(int(m[1]), int(m[2]), m[3], m[4]) for m in found if m]


def fill(files: Path) -> None:
    random = np.random.default_rng(0)
    files.mkdir()
    for name, data in SMALL.items():
        (files / name).write_bytes(data)
    (files / "empty.bin").write_bytes(b"")
    (files / "big.bin").write_bytes(random.integers(0, 256, 20_000_001, np.uint8).tobytes())
    with tarfile.open(files / "a.tar", "w") as archive:
        for i in range(20):
            for ext, size in (("jpg", 1000 + i), ("bin", 200_000)):
                info = tarfile.TarInfo(f"{i:03}.{ext}")
                info.size = size
                archive.addfile(info, io.BytesIO(bytes([i]) * size))


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    root = tmp_path_factory.mktemp("nginx")
    fill(root / "files")
    server = Nginx(root)
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


def read(files: list[str], **options: Any) -> list[bytes]:
    with Pipeline(len(files), 2, None, **options) as pipe:
        pipe.set_outputs(fn.readers.file(files=files, name="r")[0])
    (out,) = pipe.run()
    return [np.asarray(sample).tobytes() for sample in out]


def test_files(nginx: Nginx) -> None:
    """Whole small files, a large one in parts, over connections that stay open."""
    before = len(nginx.log())
    names = [*SMALL, "empty.bin", "big.bin"]
    expected = [(nginx.root / "files" / name).read_bytes() for name in names]
    assert read([f"{nginx.url}/{name}" for name in names]) == expected
    assert read([f"{nginx.url}/whole/{name}" for name in names]) == expected
    log = nginx.log()[before:]
    assert len({connection for connection, *_ in log}) < len(log) / 3
    parts = {span for _, status, path, span in log if path == "/big.bin" and status == 206}
    assert parts == {
        "bytes=0-1048575",
        "bytes=1048576-9437183",
        "bytes=9437184-17825791",
        "bytes=17825792-20000000",
    }


def test_an_archive(nginx: Nginx) -> None:
    with Pipeline(20, 2, None) as pipe:
        pipe.set_outputs(fn.readers.webdataset(paths=f"{nginx.url}/a.tar", ext=["jpg"]))
    (out,) = pipe.run()
    assert [np.asarray(x).tobytes() for x in out] == [bytes([i]) * (1000 + i) for i in range(20)]
    bounds = [span[6:].split("-") for _, status, path, span in nginx.log() if path == "/a.tar"]
    size = (nginx.root / "files/a.tar").stat().st_size
    assert sum(int(last) + 1 - int(first) for first, last in bounds) < size


@pytest.mark.parametrize("trouble", ["short", "busy", "flaky", "moved"])
def test_trouble_costs_no_sample(
    nginx: Nginx, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections that close after 3 requests, too many requests, a tenth that fails, redirections."""
    monkeypatch.setenv("HEADRACE_NET_ATTEMPTS", "100")
    before = len(nginx.log())
    names = list(SMALL)[: 50 if trouble == "busy" else None]
    files = [f"{nginx.url}/{trouble}/{name}" for name in names]
    assert read(files, prefetch_queue_depth=1) == [SMALL[name] for name in names]
    seen = {status for _, status, *_ in nginx.log()[before:]}
    assert {"short": 206, "busy": 429, "flaky": 503, "moved": 302}[trouble] in seen


def test_a_file_that_is_not_there(nginx: Nginx) -> None:
    with pytest.raises(RuntimeError, match="HTTP 404; it does not exist"):
        read([f"{nginx.url}/none.bin"])


def test_a_server_that_dies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What has not been read becomes an error, not a wait."""
    monkeypatch.setenv("HEADRACE_NET_TIMEOUT", "1")
    (tmp_path / "files").mkdir()
    (tmp_path / "files/a.bin").write_bytes(b"a")
    server = Nginx(tmp_path)
    try:
        with Pipeline(500, 2, None) as pipe:
            pipe.set_outputs(fn.readers.file(files=[f"{server.url}/a.bin"], name="r")[0])
        assert np.asarray(pipe.run()[0][0]).tobytes() == b"a"
        server.stop()
        with pytest.raises(RuntimeError, match="a.bin: .*(connect|did not answer|after 0 bytes)"):
            for _ in range(20):
                pipe.run()
    finally:
        server.stop()
