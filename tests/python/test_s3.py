# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""s3://: signatures, regions and listings, against a small server that checks what it is sent, and against moto."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import has_curl

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
