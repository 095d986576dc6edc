# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""s3:// and gs://: signatures, credentials, regions and listings, against a small server that checks what it is sent."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, UTC
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest
from servers import Server, has_curl

np = pytest.importorskip("numpy")

from headrace import Pipeline, fn  # noqa: E402

if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)

EMPTY = hashlib.sha256(b"").hexdigest()
ODD = "b c/ä+x=%41&~.jpg"  # a key with characters that have to be escaped
OBJECTS = {
    "train/a/1.jpg": b"a1",
    "train/a/2.jpg": b"a2!",
    "train/a/notes.txt": b"-",
    "train/a/deep/3.jpg": b"-",
    "train/a-b/4.jpg": b"ab4",
    "train/b c/5 ä+&.jpg": b"bc5",
    "train/top.jpg": b"-",
    "other/a/9.jpg": b"-",
    ODD: b"odd",
}


class S3:
    """Answers as S3 does: ListObjectsV2 in pages of two entries, GET of ranges, errors in XML."""

    def __init__(self, server: Server, bucket: str = "bucket") -> None:
        self.server = server
        self.bucket = bucket
        self.region = "us-east-1"
        self.keys = {"KEY": "secret/+="}
        self.tokens: dict[str, str] = {}  # of sessions
        self.before: Callable[[Any], bool] = lambda handler: False
        server.answer = self.answer

    def refuse(self, handler: Any, status: int, code: str, **headers: str) -> bool:
        handler.send(
            status, f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode(), **headers
        )
        return True

    def signature(self, handler: Any, region: str, date: str, names: str, secret: str) -> str:
        """Signature Version 4, as Amazon's documentation describes it."""
        url = urlsplit(handler.path)
        pairs = sorted(parse_qsl(url.query, keep_blank_values=True))
        query = "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in pairs)
        path = quote(unquote(url.path), safe="/-_.~")
        headers = "".join(f"{n}:{handler.headers[n].strip()}\n" for n in names.split(";"))
        request = "\n".join(["GET", path, query, headers, names, EMPTY])
        scope = f"{date[:8]}/{region}/s3/aws4_request"
        text = "\n".join(
            ["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(request.encode()).hexdigest()]
        )
        key = ("AWS4" + secret).encode()
        for part in (date[:8], region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), "sha256").digest()
        return hmac.new(key, text.encode(), "sha256").hexdigest()

    def refused(self, handler: Any) -> bool:
        pattern = r"AWS4-HMAC-SHA256 Credential=(\w+)/\d{8}/([\w-]+)/s3/aws4_request,SignedHeaders=([\w;-]+),Signature=(\w+)"
        found = re.fullmatch(pattern, handler.headers.get("Authorization", ""))
        if not found:
            return self.refuse(handler, 403, "AccessDenied")
        key, region, names, signature = found.groups()
        token = handler.headers.get("x-amz-security-token")
        if key not in self.keys:
            return self.refuse(handler, 403, "InvalidAccessKeyId")
        if token != self.tokens.get(key):
            return self.refuse(handler, 400, "ExpiredToken")
        if region != self.region:
            return self.refuse(
                handler, 400, "AuthorizationHeaderMalformed", x_amz_bucket_region=self.region
            )
        date = handler.headers["x-amz-date"]
        now = datetime.now(UTC)
        assert abs(now - datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)) < timedelta(
            60
        )
        assert {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names.split(";"))
        if signature != self.signature(handler, region, date, names, self.keys[key]):
            return self.refuse(handler, 403, "SignatureDoesNotMatch")
        return False

    def answer(self, handler: Any) -> bool:
        url = urlsplit(handler.path)
        bucket, _, key = unquote(url.path)[1:].partition("/")
        if self.before(handler):
            return True
        if bucket != self.bucket:
            return self.refuse(handler, 404, "NoSuchBucket")
        if self.refused(handler):
            return True
        if not key:
            handler.send(200, self.listing(dict(parse_qsl(url.query))))
            return True
        if key not in OBJECTS:
            return self.refuse(handler, 404, "NoSuchKey")
        self.server.objects[handler.path] = OBJECTS[key]
        return False

    def listing(self, query: dict[str, str]) -> bytes:
        assert query["list-type"] == "2" and query["delimiter"] == "/"
        prefix = query["prefix"]
        names = set()
        for key in OBJECTS:
            if key.startswith(prefix):
                rest = key[len(prefix) :]
                names.add(prefix + rest.split("/")[0] + ("/" if "/" in rest else ""))
        rows = sorted(names)
        first = int(query.get("continuation-token", "+0&")[1:-1])
        encode = quote if query.get("encoding-type") == "url" else escape
        body = ""
        for name in rows[first : first + 2]:
            text = encode(name)
            body += (
                f"<CommonPrefixes><Prefix>{text}</Prefix></CommonPrefixes>"
                if name.endswith("/")
                else f"<Contents><Key>{text}</Key><Size>1</Size></Contents>"
            )
        if first + 2 < len(rows):
            token = escape(f"+{first + 2}&")
            body += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
        kind = "<EncodingType>url</EncodingType>" if encode is quote else ""
        return f'<?xml version="1.0"?><ListBucketResult>{kind}<Prefix>{encode(prefix)}</Prefix>{body}</ListBucketResult>'.encode()


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3]:
    for name in (
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL_S3",
    ):
        monkeypatch.delenv(name, raising=False)
    with Server({}) as server:
        environment = {
            "NO_PROXY": "*",
            "HOME": str(tmp_path),
            "AWS_ENDPOINT_URL": server.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCESS_KEY_ID": "KEY",
            "AWS_SECRET_ACCESS_KEY": "secret/+=",
            "HEADRACE_NET_TIMEOUT": "5",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield S3(server)


def read(*files: str) -> list[bytes]:
    with Pipeline(len(files), 2, None) as pipe:
        pipe.set_outputs(fn.readers.file(files=list(files), name="r")[0])
    (out,) = pipe.run()
    return [np.asarray(sample).tobytes() for sample in out]


def failure(uri: str) -> str:
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)) as caught:
        read(uri)
    return str(caught.value)


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
        "no credentials were found, so the request was not signed" in text and "HTTP 403 AccessDenied" in text
    )


def test_a_session_and_one_that_has_expired(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.tokens["KEY"] = "token+/="
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token+/=")
    assert read("s3://bucket/train/a/1.jpg") == [b"a1"]
    s3.tokens["KEY"] = "newer"
    assert "the credentials have expired" in failure("s3://bucket/train/a/1.jpg")


def test_the_region_is_learnt(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.region, s3.bucket = "eu-west-3", "far"
    assert read(*["s3://far/train/a/1.jpg"] * 4) == [b"a1"] * 4
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    s3.bucket = "farther"
    before = len(s3.server.seen)
    assert read("s3://farther/train/a/1.jpg") == [b"a1"]
    assert all("eu-west-3" in h["Authorization"] for _, _, h in s3.server.seen[before:])


def test_profiles(s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = NOT\naws_secret_access_key=this\n"
        "[work]\n# mine\naws_access_key_id = KEY\naws_secret_access_key = secret/+=\n"
    )
    (tmp_path / ".aws/config").write_text(
        f"[profile work]\nregion = eu-north-1\nendpoint_url = {s3.server.url}/\n[profile sso]\nsso_session = x\n"
    )
    s3.region, s3.bucket = "eu-north-1", "north"
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert read("s3://north/train/a/1.jpg") == [b"a1"]
    monkeypatch.setenv("AWS_PROFILE", "sso")
    assert "uses sso_session, which is not supported" in failure("s3://north/train/a/1.jpg")


def expiry(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


@pytest.mark.parametrize("kind", ["container", "instance"])
def test_metadata(s3: S3, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials are fetched once, and again when the server says that they have expired."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_EC2_METADATA_DISABLED"):
        monkeypatch.delenv(name)
    asked = []

    def metadata(handler: Any) -> bool:
        if handler.path == "/latest/api/token" and handler.command == "PUT":
            assert handler.headers["X-aws-ec2-metadata-token-ttl-seconds"]
            handler.send(200, b"IMDS")
        elif handler.path == "/latest/meta-data/iam/security-credentials/":
            assert handler.headers["X-aws-ec2-metadata-token"] == "IMDS"
            handler.send(200, b"role")
        elif handler.path in ("/latest/meta-data/iam/security-credentials/role", "/container"):
            if kind == "container":
                assert handler.headers["Authorization"] == "pod"
            asked.append(handler.path)
            token = f"T{len(asked)}"
            answer = {
                "AccessKeyId": "KEY",
                "SecretAccessKey": "secret/+=",
                "Token": token,
                "Expiration": expiry(3600),
            }
            handler.send(200, json.dumps(answer).encode())
        else:
            return False
        return True

    s3.before = metadata
    if kind == "container":
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{s3.server.url}/container")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod")
    else:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", s3.server.url)
    s3.tokens["KEY"] = "T1"
    assert read(*["s3://bucket/train/a/1.jpg"] * 3) == [b"a1"] * 3
    assert len(asked) == 1
    s3.tokens["KEY"] = "T2"
    assert read("s3://bucket/train/a/2.jpg") == [b"a2!"]
    assert len(asked) == 2


def test_metadata_are_not_asked_of_strangers(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1.example.com/x")
    assert "must be https" in failure("s3://bucket/train/a/1.jpg")


def test_google(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token of the metadata server is sent as it is; keys sign as for S3, in the region "auto"."""
    for name in (
        "GS_ACCESS_KEY_ID",
        "CLOUDSDK_AUTH_ACCESS_TOKEN",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
        "NO_GCE_CHECK",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    with Server({"/bucket/a/1.jpg": b"one"}) as server:

        def answer(handler: Any) -> bool:
            if handler.path == "/computeMetadata/v1/instance/service-accounts/default/token":
                assert handler.headers["Metadata-Flavor"] == "Google"
                handler.send(200, b'{"access_token": "ya29.x", "expires_in": 3599}')
                return True
            if handler.headers.get("Authorization") != "Bearer ya29.x":
                handler.send(401, b"")
                return True
            return False

        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        monkeypatch.setenv("GCE_METADATA_HOST", server.url.removeprefix("http://"))
        server.answer = answer
        assert read("gs://bucket/a/1.jpg") == [b"one"]
        monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "wrong")
        assert "HTTP 401" in failure("gs://bucket/a/1.jpg")
        monkeypatch.setenv("GS_ACCESS_KEY_ID", "KEY")
        monkeypatch.setenv("GS_SECRET_ACCESS_KEY", "secret/+=")
        monkeypatch.setitem(OBJECTS, "a/1.jpg", b"signed")
        s3 = S3(server)
        s3.region = "auto"
        assert read("gs://bucket/a/1.jpg") == [b"signed"]


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
        assert read("s3://bucket/big.bin", "s3://bucket/empty", f"s3://bucket/{ODD}") == [
            big,
            b"",
            b"odd",
        ]
        with Pipeline(4, 2, None) as pipe:
            pipe.set_outputs(*fn.readers.file(file_root="s3://bucket/train", name="r"))
        data, labels = pipe.run()
        assert [np.asarray(d).tobytes() for d in data] == [b"a1", b"a2!", b"ab4", b"bc5"]
        assert [int(np.asarray(n)[0]) for n in labels] == [0, 0, 1, 2]
        assert "HTTP 404 NoSuchKey" in failure("s3://bucket/none")
        assert "HTTP 404 NoSuchBucket" in failure("s3://none/x")
    finally:
        moto.stop()
