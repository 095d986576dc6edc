# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A small server with the interface of S3, which checks the signatures that it is sent."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, UTC
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import numpy as np
import pytest
from servers import Server

from headrace import Pipeline, fn

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

    def signature(
        self, handler: Any, service: str, region: str, date: str, names: str, secret: str
    ) -> str:
        """Signature Version 4, as Amazon's documentation describes it."""
        url = urlsplit(handler.path)
        pairs = sorted(parse_qsl(url.query, keep_blank_values=True))
        query = "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in pairs)
        path = quote(unquote(url.path), safe="/-_.~")
        headers = "".join(f"{n}:{handler.headers[n].strip()}\n" for n in names.split(";"))
        request = "\n".join(["GET", path, query, headers, names, EMPTY])
        scope = f"{date[:8]}/{region}/{service}/aws4_request"
        text = "\n".join(
            ["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(request.encode()).hexdigest()]
        )
        key = ("AWS4" + secret).encode()
        for part in (date[:8], region, service, "aws4_request"):
            key = hmac.new(key, part.encode(), "sha256").digest()
        return hmac.new(key, text.encode(), "sha256").hexdigest()

    def refused(self, handler: Any, service: str = "s3") -> bool:
        """Whether the signature is wrong; the refusal has then been sent."""
        pattern = rf"AWS4-HMAC-SHA256 Credential=(\w+)/\d{{8}}/([\w-]+)/{service}/aws4_request,SignedHeaders=([\w;-]+),Signature=(\w+)"
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
        if signature != self.signature(handler, service, region, date, names, self.keys[key]):
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


@contextmanager
def serve_s3(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[S3]:
    """Runs a server that the environment names, with a home of its own."""
    for name in (
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT_URL_STS",
        "AWS_ENDPOINT_URL_SSO",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    ):
        monkeypatch.delenv(name, raising=False)
    with Server({}) as server:
        environment = {
            "NO_PROXY": "*",
            "HOME": str(home),
            "AWS_ENDPOINT_URL": server.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCESS_KEY_ID": "KEY",
            "AWS_SECRET_ACCESS_KEY": "secret/+=",
            "HEADRACE_NET_TIMEOUT": "30",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield S3(server)


def read(*files: str) -> list[bytes]:
    """Reads each file once, in one batch: nothing is asked of the server afterwards, as a reader's
    read-ahead does."""
    names = [np.frombuffer(name.encode(), np.uint8) for name in files]
    with Pipeline(len(files), 2, None) as pipe:
        pipe.set_outputs(fn.io.file.read(fn.external_source([names])))
    try:
        (out,) = pipe.run()
        return [np.asarray(sample).tobytes() for sample in out]
    finally:
        pipe.close()


def failure(uri: str) -> str:
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)) as caught:
        read(uri)
    return str(caught.value)
