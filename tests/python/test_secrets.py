# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A password and a signature are planted in every URL, and looked for in all that Headrace shows or writes: messages,
lists, files, caches, reports."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

np = pytest.importorskip("numpy")

from conftest import child_environment  # noqa: E402
from servers import Server, has_curl  # noqa: E402
from tfrecords import example, record  # noqa: E402

from headrace import Pipeline, fn, types  # noqa: E402
from headrace import tfrecord as tf  # noqa: E402

if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)

PASSWORD, SIGNATURE = "S3CRETPW", "S3CRETSIG"
SECRETS = (PASSWORD, SIGNATURE)
# A user info, a query, a fragment; with characters that end a URL elsewhere.
FORMS = {
    "password": f"http://user:{PASSWORD}@HOST/NAME",
    "user": f"http://{PASSWORD}@HOST/NAME",
    "slash": f"http://user:x{PASSWORD}/{PASSWORD}@HOST/NAME",
    "query": f"http://HOST/NAME?X-Amz-Credential=a&X-Amz-Signature={SIGNATURE}",
    "quotes": f"http://HOST/NAME?a='{SIGNATURE}'&b=%27{SIGNATURE}&c='{SIGNATURE}",
    "fragment": f"http://HOST/NAME#{SIGNATURE}",
    "both": f"http://user:{PASSWORD}@HOST/NAME?{SIGNATURE}",
    "long": f"http://user:{PASSWORD}@HOST/NAME?X-Amz-Security-Token=" + SIGNATURE * 300,
}
FEATURES = {"n": tf.FixedLenFeature((), tf.int64, 0)}


def strings(*names: str) -> list[Any]:
    return [np.frombuffer(name.encode(), np.uint8) for name in names]


# Everything that takes the name of a file: what makes the node from a function that gives the URL of a name.
READERS: dict[str, Callable[[Callable[[str], str]], Any]] = {
    "file": lambda u: fn.readers.file(files=[u("a.bin"), u("b.bin")], name="r")[0],
    "file root": lambda u: fn.readers.file(files=["a.bin"], file_root=u("folder"), name="r")[0],
    "file listing": lambda u: fn.readers.file(file_root=u("folder"), name="r")[0],
    "file list": lambda u: fn.readers.file(file_list=u("list.txt"), name="r")[0],
    "numpy": lambda u: fn.readers.numpy(files=[u("a.npy")], name="r"),
    "fits": lambda u: fn.experimental.readers.fits(files=[u("a.fits")], name="r", dtypes=types.UINT8),
    "webdataset": lambda u: fn.readers.webdataset(paths=u("a.tar"), ext="jpg", name="r"),
    "webdataset index": lambda u: fn.readers.webdataset(
        paths=u("a.tar"), index_paths=u("a.idx"), ext="jpg", name="r"
    ),
    "tfrecord": lambda u: fn.readers.tfrecord(path=u("a.tfrecord"), features=FEATURES, name="r")["n"],
    "tfrecord index": lambda u: fn.readers.tfrecord(
        path=u("a.tfrecord"), index_path=u("i.idx"), features=FEATURES, name="r"
    )["n"],
    "parquet": lambda u: fn.readers.parquet(paths=u("a.parquet"), columns="x", name="r"),
    "mxnet": lambda u: fn.readers.mxnet(path=u("a.rec"), index_path=u("a.idx"), name="r")[0],
    "caffe": lambda u: fn.readers.caffe(path=u("lmdb"), name="r")[0],
    "caffe2": lambda u: fn.readers.caffe2(path=u("lmdb"), name="r")[0],
    "coco": lambda u: fn.readers.coco(file_root=u("images"), annotations_file=u("a.json"), name="r")[0],
    "nemo": lambda u: fn.readers.nemo_asr(manifest_filepaths=[u("a.json")], name="r"),
    "sequence": lambda u: fn.readers.sequence(file_root=u("s"), sequence_length=1, name="r"),
    "video": lambda u: fn.readers.video(
        filenames=[u("a.mp4")], sequence_length=1, device="cpu", name="r"
    ),
    "io.file.read": lambda u: fn.io.file.read(fn.external_source([strings(u("a.bin"))] * 9)),
    "decoded": lambda u: fn.decoders.image(fn.readers.file(files=[u("a.bin")], name="r")[0]),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server({}) as made:
        yield made


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("HEADRACE_NET_CACHE", str(tmp_path / "ranges"))
    monkeypatch.setenv("HEADRACE_SCAN_CACHE", str(tmp_path / "scans"))
    monkeypatch.setenv("HEADRACE_NET_ATTEMPTS", "1")


def collect(folder: Path, make: Callable[[], Any], action: str) -> dict[str, str]:
    """Runs a pipeline, and gathers everything that it has shown and written."""
    shown: dict[str, str] = {}
    files = {name: folder / name for name in ("quarantine", "trace", "report.html", "checkpoint")}
    pipe: Any = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            pipe = Pipeline(
                2, 1, None, on_error=action, quarantine=files["quarantine"], trace=files["trace"],
                enable_checkpointing=True,
            )  # fmt: skip
            with pipe:
                pipe.set_outputs(make())
            shown["repr"] = repr(pipe)
            pipe.build()
            for _ in range(2):
                (out,) = pipe.run()
                shown["source_info"] = str([t.source_info() for t in out])
        except Exception:
            # the program's own line is in the traceback, but has no URL in it
            shown["exception"] = traceback.format_exc()
        for name, call in (
            ("errors", lambda: pipe.errors()),
            ("stats", lambda: pipe.stats()),
            ("html", lambda: pipe._repr_html_()),
            ("checkpoint", lambda: pipe.checkpoint(str(files["checkpoint"]))),
            ("report", lambda: pipe.report(files["report.html"], 1, 1)),
            ("dot", lambda: pipe.save_graph_to_dot_file(str(folder / "graph.dot"))),
        ):
            try:
                shown[name] = str(call())
            except Exception:
                shown[name] = traceback.format_exc()
        pipe = None  # writes the trace
    shown["warnings"] = str([str(w.message) for w in warned])
    for path in folder.rglob("*"):
        if path.is_file():
            shown[str(path.relative_to(folder))] = path.name + path.read_bytes().decode("latin1")
    return shown


def check(shown: dict[str, str]) -> None:
    found = {name for name, text in shown.items() for secret in SECRETS if secret in text}
    assert not found, {name: shown[name][:3000] for name in found}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reader", READERS)
def test_objects_that_cannot_be_read(
    reader: str, form: str, server: Server, tmp_path: Path
) -> None:
    server.objects.clear()

    def url(name: str) -> str:
        return FORMS[form].replace("HOST", f"127.0.0.1:{server.port}").replace("NAME", name)

    everything = ""
    for action in ("raise", "replace", "skip"):
        folder = tmp_path / action
        folder.mkdir()
        shown = collect(folder, lambda: READERS[reader](url), action)
        check(shown)
        everything += "".join(shown.values())
    # something was shown, if only a name below the root
    assert "***" in everything or "a.bin" in everything or reader == "nemo", everything
    check({str(p): p.name + p.read_bytes().decode("latin1") for p in tmp_path.rglob("*") if p.is_file()})


@pytest.mark.parametrize("form", ["password", "query", "both"])
@pytest.mark.parametrize("reader", ["file", "webdataset", "tfrecord", "tfrecord index", "mxnet", "decoded"])
def test_objects_that_are_bad(
    reader: str, form: str, server: Server, tmp_path: Path
) -> None:
    """They are read, kept in caches and have names with more than the URL; some samples are bad."""
    import io
    import struct
    import tarfile

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for k in range(3):
            info = tarfile.TarInfo(f"{k}.jpg")
            info.size = 1 << 19
            tar.addfile(info, io.BytesIO(bytes(info.size)))
    good, bad = record(example({"n": [1]})), bytearray(record(example({"n": [2]})))
    bad[-1] ^= 1
    rec = struct.pack("<II", 0xCED7230A, 28) + struct.pack("<IfQQ", 0, 5.0, 0, 0) + b"abcd"
    padding = record(example({"x": b"0" * (1 << 20)}))
    server.objects.clear()

    def serve(name: str, content: bytes) -> None:
        for target in (f"/{name}", f"/{name}?{SIGNATURE}", urlsplit(url(name)).path + "?" + urlsplit(url(name)).query):
            server.objects[target] = content

    def url(name: str) -> str:
        return FORMS[form].replace("HOST", f"127.0.0.1:{server.port}").replace("NAME", name)

    serve("a.bin", b"no image")
    serve("a.tar", archive.getvalue())
    serve("a.tfrecord", good + bytes(bad) + padding)
    serve("i.idx", f"0 {len(good)}\n{len(good)} {len(bad)}\n".encode())
    serve("a.rec", rec)
    serve("a.idx", b"0\t0\n")
    for action in ("raise", "skip"):
        folder = tmp_path / action
        folder.mkdir()
        shown = collect(folder, lambda: READERS[reader](url), action)
        check(shown)
        quarantine = folder / "quarantine"
        assert stat.S_IMODE(quarantine.stat().st_mode) == 0o600
        text = "".join(shown.values())
        if reader in ("webdataset", "tfrecord", "mxnet") and "source_info" in shown:
            tail = {"webdataset": ":512:0.jpg", "tfrecord": f" at index {len(good)}", "mxnet": " at index 0"}
            assert tail[reader] in text
        if reader != "tfrecord index":
            assert "***" in text
    kept = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert any(p.parent.name == "ranges" for p in kept)
    check({str(p): p.name + p.read_bytes().decode("latin1") for p in kept})


def test_endpoints(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.objects.clear()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PASSWORD)
    monkeypatch.setenv("CLOUDSDK_AUTH_ACCESS_TOKEN", PASSWORD)
    for number, endpoint in enumerate((
        f"http://user:{PASSWORD}@127.0.0.1:{server.port}",
        f"user:{PASSWORD}@127.0.0.1:{server.port}",
        f"ftp://user:{PASSWORD}@127.0.0.1",
        f"http://user:{PASSWORD}@" + "h" * 600,
    )):  # fmt: skip
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", endpoint)
        for scheme in ("s3", "gs"):
            folder = tmp_path / f"{number} {scheme}"
            folder.mkdir()
            for reader in ("file", "webdataset", "file listing"):
                start = f"{scheme}://bucket/"
                make = partial(READERS[reader], lambda name, start=start: start + name)
                shown = collect(folder, make, "raise")
                check(shown)
                assert "exception" in shown
                assert f"{scheme}://bucket/" in "".join(shown.values())


def test_names_without_secrets_stay_as_they_are(server: Server) -> None:
    """Also those of local files and of objects whose names look like queries."""
    server.objects.clear()
    server.objects["/a@2x.jpg"] = b"1"
    url = f"{server.url}/a@2x.jpg"
    with Pipeline(1, 1, None) as pipe:
        pipe.set_outputs(fn.readers.file(files=[url])[0])
    assert pipe.run()[0][0].source_info() == url
    for name in ("file:///none/a?b@c", "/none/a://b?c", "s3://bucket/a?b@c#d"):
        with Pipeline(1, 1, None) as pipe:
            pipe.set_outputs(fn.readers.file(files=[name])[0])
        if name.startswith("s3"):
            os.environ["AWS_ENDPOINT_URL"] = server.url
            os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
        try:
            with pytest.raises(RuntimeError) as caught:
                pipe.run()
        finally:
            os.environ.pop("AWS_ENDPOINT_URL", None)
            os.environ.pop("AWS_EC2_METADATA_DISABLED", None)
        if name != "/none/a://b?c":
            assert name in str(caught.value)


def test_the_command_line(server: Server, tmp_path: Path) -> None:
    environment = {
        **child_environment(),
        "NO_PROXY": "*",
        "AWS_ENDPOINT_URL": f"http://user:{PASSWORD}@127.0.0.1:{server.port}",
        "https_proxy": f"http://user:{PASSWORD}@127.0.0.1:1",
    }
    url = f"http://user:{PASSWORD}@127.0.0.1:{server.port}/a?{SIGNATURE}"
    for arguments in (["doctor"], ["bench", url], ["show", url], ["index", url], ["pack", url, tmp_path]):
        done = subprocess.run(
            [sys.executable, "-m", "headrace.cli", *map(str, arguments)],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        check({" ".join(map(str, arguments[:1])): done.stdout + done.stderr})
        assert done.stdout + done.stderr


def test_a_list_is_masked_as_text(server: Server, tmp_path: Path) -> None:
    """errors() is a list of dictionaries, as JSON in a report would be."""
    server.objects.clear()
    url = FORMS["both"].replace("HOST", f"127.0.0.1:{server.port}").replace("NAME", "a.jpg")
    with Pipeline(1, 1, None) as pipe:
        pipe.set_outputs(fn.readers.file(files=[url])[0])
    with pytest.raises(RuntimeError):
        pipe.run()
    (entry,) = pipe.errors()[:1]
    assert entry["source"] == f"http://***@127.0.0.1:{server.port}/a.jpg?***"
    check({"json": json.dumps(pipe.errors())})
