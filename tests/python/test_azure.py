# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Blobs of Azure: the names, the signatures, the listings, and what is said of failures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import Server, has_curl

np = pytest.importorskip("numpy")

from azure_server import ACCOUNT, KEY, SAS, Azure  # noqa: E402
from s3_server import ODD, failure, read  # noqa: E402

from headrace import Pipeline, fn  # noqa: E402

if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)

BLOB = "az://data/train/a/1.jpg"
VARIABLES = """AZURE_STORAGE_CONNECTION_STRING AZURE_STORAGE_ACCOUNT AZURE_STORAGE_ACCOUNT_NAME AZURE_STORAGE_KEY
    AZURE_STORAGE_ACCOUNT_KEY AZURE_STORAGE_SAS_TOKEN AZURE_STORAGE_SERVICE_ENDPOINT AZURE_STORAGE_ENDPOINT""".split()


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Azure]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with Server({}) as server:
        monkeypatch.setenv("NO_PROXY", "*")
        monkeypatch.setenv("HEADRACE_NET_TIMEOUT", "30")
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", ACCOUNT)
        monkeypatch.setenv("AZURE_STORAGE_SERVICE_ENDPOINT", server.url)
        monkeypatch.setenv("AZURE_STORAGE_KEY", KEY)
        yield Azure(server)


def labelled(root: str) -> list[tuple[bytes, int]]:
    with Pipeline(4, 2, None) as pipe:
        pipe.set_outputs(*fn.readers.file(file_root=root, name="r", file_filters=["*.jpg"]))
    data, labels = pipe.run()
    return [
        (np.asarray(d).tobytes(), int(np.asarray(n)[0])) for d, n in zip(data, labels, strict=True)
    ]


def test_a_shared_key(azure: Azure) -> None:
    """Ranges and names that have to be escaped are part of the signature."""
    assert read(BLOB, f"az://data/{ODD}") == [b"a1", b"odd"]
    assert all(h["Range"] == "bytes=0-1048575" for _, _, h in azure.server.seen)
    assert all(
        h["Authorization"].startswith(f"SharedKey {ACCOUNT}:") for *_, h in azure.server.seen
    )


def test_folders_are_listed(azure: Azure) -> None:
    """In pages of two; the marker has characters that are escaped in XML and in URLs."""
    files = [(b"a1", 0), (b"a2!", 0), (b"ab4", 1), (b"bc5", 2)]
    assert labelled("az://data/train") == files


@pytest.mark.parametrize("start", ["", "?"])
def test_a_shared_access_signature(
    azure: Azure, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", start + SAS)
    azure.accepts = {"sas"}
    assert read(BLOB) == [b"a1"]
    assert labelled("az://data/train")[0] == (b"a1", 0)
    assert not any("Authorization" in headers for *_, headers in azure.server.seen)
    azure.sas = SAS + "0"
    said = failure("az://data/other/a/9.jpg")
    assert "403 AuthenticationFailed" in said and "S3CRETSIG" not in said


def test_connection_strings(azure: Azure, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    base = f"DefaultEndpointsProtocol=http;BlobEndpoint={azure.server.url}/;AccountName={ACCOUNT};"
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING", f"{base}AccountKey={KEY};EndpointSuffix=x"
    )
    assert read(BLOB) == [b"a1"]
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"{base}SharedAccessSignature={SAS}")
    azure.accepts = {"sas"}
    assert read(BLOB) == [b"a1"]


def test_public_containers(azure: Azure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    azure.accepts = {"nobody"}
    assert read(BLOB) == [b"a1"]
    azure.accepts = {"key"}
    assert "no credentials were found" in failure("az://data/other/a/9.jpg")


def test_failures(azure: Azure, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "404 BlobNotFound: no; it does not exist" in failure("az://data/none.jpg")
    assert "404 ContainerNotFound" in failure("az://other/1.jpg")
    azure.keys = {ACCOUNT: "AAAA"}
    assert "403 AuthenticationFailed" in failure(BLOB)
    monkeypatch.setenv("AZURE_STORAGE_KEY", "S3CRET!")
    said = failure(BLOB)
    assert "not base64" in said and "S3CRET" not in said
    assert "does not begin with az://bucket/" in failure("az:///1.jpg")
    monkeypatch.delenv("AZURE_STORAGE_SERVICE_ENDPOINT")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT")
    assert "set AZURE_STORAGE_ACCOUNT or" in failure(BLOB)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "evil.example/")
    assert "letters, digits and hyphens" in failure(BLOB)


def test_hostile_listings(azure: Azure, tmp_path: Path) -> None:
    """Names outside of the folder are left out; what never ends, or cannot be expressed, is an error."""
    bodies = {
        "not answer with a listing": b"<html>",
        "ends within an element": b"<EnumerationResults><Blobs><Blob",
        "XML cannot express": b'<EnumerationResults><Blob><Name Encoded="true">train/%EF%BF%BE/</Name></Blob>',
        "same continuation token": b"<EnumerationResults><Blobs /><NextMarker>x</NextMarker></EnumerationResults>",
    }
    body = b""

    def before(handler: object) -> bool:
        handler.send(200, body)  # type: ignore[attr-defined]
        return True

    azure.before = before
    for message, body in bodies.items():  # noqa: B007
        with pytest.raises((RuntimeError, NotImplementedError), match=message):
            labelled("az://data/train")
    body = b"<EnumerationResults><Blob><Name>../x.jpg</Name></Blob><BlobPrefix><Name>other/</Name></BlobPrefix>"
    with pytest.raises(RuntimeError, match="no files|No files"):
        labelled("az://data/train")
