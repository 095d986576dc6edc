# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""s3://: signatures, regions and listings, against a small server that checks what it is sent, and against moto."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import Server, has_curl

np = pytest.importorskip("numpy")

from s3_server import OBJECTS, ODD, S3, failure, read, serve_s3  # noqa: E402

from headrace import Pipeline, fn  # noqa: E402

if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3]:
    with serve_s3(monkeypatch, tmp_path) as server:
        yield server


def test_objects(s3: S3) -> None:
    assert read("s3://bucket/train/a/1.jpg", f"s3://bucket/{ODD}") == [b"a1", b"odd"]
    assert "NoSuchKey" in failure("s3://bucket/train/none.jpg")
    assert "NoSuchBucket" in failure("s3://elsewhere/x.jpg")
    assert "does not begin with s3://bucket/" in failure("s3:///x.jpg")


def test_folders_are_listed_as_local_ones_are(s3: S3, tmp_path: Path) -> None:
    """Classes in byte order, only files one level below, names that have to be escaped, several pages."""
    for key, data in OBJECTS.items():
        (tmp_path / "copy" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / key).write_bytes(data)
    results = []
    for root in (str(tmp_path / "copy" / "train"), "s3://bucket/train", "s3://bucket/train/"):
        with Pipeline(4, 2, None) as pipe:
            pipe.set_outputs(*fn.readers.file(file_root=root, name="r"))
        data, labels = pipe.run()
        results.append(
            [(np.asarray(d).tobytes(), int(np.asarray(n)[0])) for d, n in zip(data, labels)]
        )
    assert results[0] == [(b"a1", 0), (b"a2!", 0), (b"ab4", 1), (b"bc5", 2)]
    assert results[1:] == [results[0]] * 2
    assert any("continuation-token=%2B2%26&" in path for path in s3.server.paths())


def test_an_empty_folder_and_one_that_http_cannot_list(s3: S3) -> None:
    for root, message in (
        ("s3://bucket/none", "no files found"),
        ("http://127.0.0.1:1/x", "has no folders"),
    ):
        with Pipeline(1, 1, None) as pipe:
            pipe.set_outputs(fn.readers.file(file_root=root, name="r")[0])
        with pytest.raises((RuntimeError, ValueError), match=message):
            pipe.build()


def test_wrong_and_missing_credentials(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "SignatureDoesNotMatch" in failure("s3://bucket/train/a/1.jpg")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    text = failure("s3://bucket/train/a/1.jpg")
    assert (
        "no credentials were found, so the request was not signed" in text
        and "HTTP 403 AccessDenied" in text
    )


def test_a_session_and_one_that_has_expired(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.tokens["KEY"] = "token+/="
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token+/=")
    assert read("s3://bucket/train/a/1.jpg") == [b"a1"]
    s3.tokens["KEY"] = "newer"
    assert "the credentials have expired" in failure("s3://bucket/train/a/1.jpg")


def test_the_region_is_learnt(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.region, s3.bucket = "eu-west-3", "far"
    for bucket in ("far", "further", "furthest"):  # all threads are told at the same time
        s3.bucket = bucket
        assert read(*[f"s3://{bucket}/train/a/1.jpg"] * 16) == [b"a1"] * 16
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    s3.bucket = "farther"
    assert read("s3://farther/train/a/1.jpg") == [b"a1"]
    signed = [h["Authorization"] for _, path, h in s3.server.seen if "/farther/" in path]
    assert signed and all("eu-west-3" in text for text in signed)


def assume_roles(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Two profiles for roles of moto's STS: by the keys of another profile, and by a token."""
    arn = "arn:aws:iam::123456789012:role/reader"
    (home / ".aws").mkdir()
    (home / "token").write_text("a.web.token\n")
    (home / ".aws/config").write_text(
        "[default]\naws_access_key_id = a\naws_secret_access_key = b\n"
        f"[profile role]\nrole_arn = {arn}\nsource_profile = default\n"
        f"[profile web]\nrole_arn = {arn}\nweb_identity_token_file = {home}/token\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "role")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")


def test_moto(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that others wrote: moto, filled by boto3."""
    server_module = pytest.importorskip(
        "moto.server", reason="moto is not installed: pip install 'moto[server]' boto3"
    )
    boto3 = pytest.importorskip("boto3")
    environment = {
        "NO_PROXY": "*",
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    moto = server_module.ThreadedMotoServer(port=0, verbose=False)
    moto.start()
    try:
        url = "http://{}:{}".format(*moto.get_host_and_port())
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        client = boto3.client("s3", endpoint_url=url)
        client.create_bucket(Bucket="bucket")
        big = np.random.default_rng(0).integers(0, 256, 3_000_000, np.uint8).tobytes()
        for key, data in {**OBJECTS, "big.bin": big, "empty": b""}.items():
            client.put_object(Bucket="bucket", Key=key, Body=data)
        files = ["s3://bucket/big.bin", "s3://bucket/empty", f"s3://bucket/{ODD}"]
        with Pipeline(3, 2, None) as pipe:
            pipe.set_outputs(fn.readers.file(files=files, name="r")[0])
        (data,) = pipe.run()
        assert [np.asarray(d).tobytes() for d in data] == [big, b"", b"odd"]
        with Pipeline(4, 2, None) as pipe:
            pipe.set_outputs(*fn.readers.file(file_root="s3://bucket/train", name="r"))
        data, labels = pipe.run()
        assert [np.asarray(d).tobytes() for d in data] == [b"a1", b"a2!", b"ab4", b"bc5"]
        assert [int(np.asarray(n)[0]) for n in labels] == [0, 0, 1, 2]
        assert "HTTP 404 NoSuchKey" in failure("s3://bucket/none")
        assert "HTTP 404 NoSuchBucket" in failure("s3://none/x")
        assume_roles(monkeypatch, tmp_path)
        assert read("s3://bucket/train/a/1.jpg") == [b"a1"]
        monkeypatch.setenv("AWS_PROFILE", "web")
        assert read("s3://bucket/train/a/2.jpg") == [b"a2!"]
    finally:
        moto.stop()


def files_of(folder: str) -> list[str]:
    with Pipeline(1, 1, None) as pipe:
        data, label = fn.readers.file(file_root=folder, name="R")
        pipe.set_outputs(data, label)
    pipe.build()
    return [str(pipe.run()[0][0].source_info()) for _ in range(pipe.epoch_size("R"))]


@pytest.mark.parametrize("scheme", ["s3", "gs"])
@pytest.mark.parametrize("cycle, start", [(1, 0), (2, 0), (3, 5), (7, 1), (0, 0)])
def test_listings_that_never_end(
    scheme: str, cycle: int, start: int, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens that repeat, after some that do not; or ever new ones, without names."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", s3.server.url)
    monkeypatch.setenv("NO_GCE_CHECK", "1")
    monkeypatch.setenv("CLOUDSDK_AUTH_ACCESS_TOKEN", "token")
    pages = 0

    def before(handler: Any) -> bool:
        nonlocal pages
        token = pages if not cycle or pages < start else start + (pages - start) % cycle
        pages += 1
        name = "<Contents><Key>t/1.jpg</Key></Contents>" if cycle else ""
        handler.send(
            200,
            f"<ListBucketResult>{name}<IsTruncated>true</IsTruncated>"
            f"<NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>".encode(),
        )
        return True

    s3.before = before
    with pytest.raises(RuntimeError, match="same continuation token" if cycle else "without a name"):
        files_of(f"{scheme}://bucket/t")
    assert pages <= (3 * (cycle + start) + 3 if cycle else 1001)


@pytest.mark.parametrize("how", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "profile", "STORAGE_EMULATOR_HOST"])
def test_caches_know_the_server(
    how: str, s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two servers have an object of the same name, size, date and tag: neither the cache of ranges nor
    that of scans takes one for the other."""
    archives = []
    for letter in "ab":
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            # the names of the members say in which archive the reader believes to be
            for name in (f"{letter}.jpg", f"{letter}{letter}.jpg"):
                info = tarfile.TarInfo(name)
                info.size = 600_000
                tar.addfile(info, io.BytesIO(letter.encode() * info.size))
        archives.append(file.getvalue())
    assert len(archives[0]) == len(archives[1])
    monkeypatch.setenv("HEADRACE_NET_CACHE", str(tmp_path / "ranges"))
    monkeypatch.setenv("HEADRACE_SCAN_CACHE", str(tmp_path / "scans"))
    monkeypatch.setenv("CLOUDSDK_AUTH_ACCESS_TOKEN", "token")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    scheme = "gs" if how == "STORAGE_EMULATOR_HOST" else "s3"

    def choose(url: str) -> None:
        if how != "profile":
            monkeypatch.setenv(how, url)
            return
        (tmp_path / ".aws").mkdir(exist_ok=True)
        (tmp_path / ".aws/config").write_text(f"[default]\nendpoint_url = {url}\n")

    def names() -> list[tuple[str, bytes]]:
        with Pipeline(1, 1, None) as pipe:
            pipe.set_outputs(fn.readers.webdataset(paths=f"{scheme}://bucket/x.tar", ext="jpg"))
        samples = [pipe.run()[0] for _ in range(2)]
        return [(str(x[0].source_info())[-6:], np.asarray(x.at(0)).tobytes()[:3]) for x in samples]

    with Server({"/bucket/x.tar": archives[0]}) as a, Server({"/bucket/x.tar": archives[1]}) as b:
        for server in (a, b):
            server.headers = {"ETag": '"same"'}
        for server, letter in ((a, "a"), (b, "b"), (a, "a"), (b, "b")):
            choose(server.url)
            got = names()
            assert [data for _, data in got] == [letter.encode() * 3] * 2
            assert all(name.endswith(f"{letter}.jpg") for name, _ in got)
        assert a.seen and b.seen
        a.fault = b.fault = lambda path, count: 404
        choose(a.url)
        assert names()[0][1] == b"aaa"  # what was kept is used
    kept = [p for folder in ("ranges", "scans") for p in (tmp_path / folder).iterdir()]
    assert len(kept) >= 4
