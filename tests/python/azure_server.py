# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""A small server with the interface of Azure's Blob storage, which checks the signatures that it is sent."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from s3_server import OBJECTS
from servers import Server

ACCOUNT = "trainer"
KEY = base64.b64encode(bytes(range(64))).decode()
SAS = "sv=2020-04-08&sr=c&sp=rl&se=2099-01-01T00%3A00%3A00Z&sig=S3CRETSIG%2Bxyz%3D"
# The headers of a Shared Key signature, in its order; Date is empty because x-ms-date is sent.
SIGNED = """Content-Encoding Content-Language Content-Length Content-MD5 Content-Type Date If-Modified-Since If-Match
    If-None-Match If-Unmodified-Since Range""".split()


class Azure:
    """Answers as Blob storage does: List Blobs in pages of two entries, Get Blob of ranges, errors in XML."""

    def __init__(self, server: Server, container: str = "data") -> None:
        self.server = server
        self.container = container
        self.accepts = {"key"}  # "key", "sas", "bearer", "nobody"
        self.keys = {ACCOUNT: KEY}
        self.sas = SAS
        self.bearer = ""
        self.before: Callable[[Any], bool] = lambda handler: False
        server.answer = self.answer

    def refuse(self, handler: Any, status: int, code: str) -> bool:
        handler.send(
            status,
            f"\ufeff<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode(),
        )
        return True

    def signature(self, handler: Any, account: str) -> str:
        """Shared Key, as Microsoft's documentation describes it for versions since 2015-02-21."""
        url = urlsplit(handler.path)
        lines = [handler.command, *(handler.headers.get(name, "") for name in SIGNED)]
        own = {k.lower(): v.strip() for k, v in handler.headers.items()}
        lines += [f"{name}:{own[name]}" for name in sorted(own) if name.startswith("x-ms-")]
        text = "\n".join(lines) + f"\n/{account}{url.path}"
        for name, value in sorted(parse_qsl(url.query, keep_blank_values=True)):
            text += f"\n{name.lower()}:{value}"
        digest = hmac.new(base64.b64decode(self.keys[account]), text.encode(), hashlib.sha256)
        return base64.b64encode(digest.digest()).decode()

    def refused(self, handler: Any) -> bool:
        """Whether the request is signed wrongly; the refusal has then been sent."""
        said = handler.headers.get("Authorization", "")
        query = urlsplit(handler.path).query
        if "sig=" in query:
            good = "sas" in self.accepts and query.endswith(self.sas)
        elif said.startswith("Bearer "):
            good = "bearer" in self.accepts and said == f"Bearer {self.bearer}"
        elif said:
            scheme, _, rest = said.partition(" ")
            account, _, signature = rest.partition(":")
            now = datetime.strptime(handler.headers["x-ms-date"], "%a, %d %b %Y %H:%M:%S GMT")
            assert abs(datetime.now(UTC) - now.replace(tzinfo=UTC)) < timedelta(60)
            good = scheme == "SharedKey" and "key" in self.accepts and account in self.keys
            good = good and hmac.compare_digest(signature, self.signature(handler, account))
        else:
            return "nobody" not in self.accepts and self.refuse(handler, 404, "ResourceNotFound")
        assert handler.headers["x-ms-version"] == "2020-04-08"
        return not good and self.refuse(handler, 403, "AuthenticationFailed")

    def answer(self, handler: Any) -> bool:
        url = urlsplit(handler.path)
        container, _, name = unquote(url.path)[1:].partition("/")
        if self.before(handler) or self.refused(handler):
            return True
        if container != self.container:
            return self.refuse(handler, 404, "ContainerNotFound")
        if not name:
            handler.send(200, self.listing(dict(parse_qsl(url.query))))
            return True
        if name not in OBJECTS:
            return self.refuse(handler, 404, "BlobNotFound")
        self.server.objects[handler.path] = OBJECTS[name]
        return False

    def listing(self, query: dict[str, str]) -> bytes:
        assert query["comp"] == "list" and query["restype"] == "container"
        assert query["delimiter"] == "/"
        prefix = query.get("prefix", "")
        names = set()
        for key in OBJECTS:
            if key.startswith(prefix):
                rest = key[len(prefix) :]
                names.add(prefix + rest.split("/")[0] + ("/" if "/" in rest else ""))
        rows = sorted(names)
        first = int(query.get("marker", "2!+0&")[3:-1])
        body = ""
        for name in rows[first : first + 2]:
            if name.endswith("/"):
                body += f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>"
            else:
                body += f"<Blob><Name>{escape(name)}</Name><Properties><Content-Length>1</Content-Length></Properties></Blob>"
        marker = escape(f"2!+{first + 2}&") if first + 2 < len(rows) else ""
        end = f"<NextMarker>{marker}</NextMarker>" if marker else "<NextMarker />"
        return (
            f'\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="{self.container}">'
            f"<Prefix>{escape(prefix)}</Prefix><Delimiter>/</Delimiter><Blobs>{body}</Blobs>{end}</EnumerationResults>"
        ).encode()
