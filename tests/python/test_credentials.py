# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Where credentials for s3:// and gs:// come from: files, programs, and servers that are played here."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from servers import Server, has_curl
from waiting import until

pytest.importorskip("numpy")

from s3_server import OBJECTS, S3, failure, read, serve_s3  # noqa: E402

if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)

ROLE = "arn:aws:iam::123456789012:role/reader"
FILE = "s3://bucket/train/a/1.jpg"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3]:
    with serve_s3(monkeypatch, tmp_path) as server:
        yield server


def test_profiles(s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = NOT\naws_secret_access_key=this\n"
        "[work]\n# mine\naws_access_key_id = KEY\naws_secret_access_key = secret/+=\n"
    )
    (tmp_path / ".aws/config").write_text(
        f"[profile work]\nregion = eu-north-1\nendpoint_url = {s3.server.url}/\n"
    )
    s3.region, s3.bucket = "eu-north-1", "north"
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert read("s3://north/train/a/1.jpg") == [b"a1"]
    monkeypatch.setenv("AWS_PROFILE", "works")
    assert "'works' (AWS_PROFILE) is in none of the files" in failure("s3://north/train/a/1.jpg")


def expiry(seconds: int) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


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


class Sts:
    """Plays AWS STS on the server of `s3`: who assumes the role gets the key ROLE
    with the tokens T1, T2, ..., of which only the last one is valid."""

    def __init__(self, s3: S3, lasts: int = 3600) -> None:
        self.s3 = s3
        self.lasts = lasts
        self.asked: list[dict[str, str]] = []
        self.web_token = ""
        self.answer = b""  # instead of credentials
        s3.keys["ROLE"] = "role+/secret"
        s3.before = self.before

    def before(self, handler: Any) -> bool:
        url = urlsplit(handler.path)
        if url.path != "/":
            return False
        by_token = handler.command == "POST"
        fields = dict(parse_qsl(handler.content.decode() if by_token else url.query))
        assert fields["Action"] == ("AssumeRoleWithWebIdentity" if by_token else "AssumeRole")
        assert fields["Version"] == "2011-06-15" and fields["RoleArn"] == ROLE
        self.asked.append(fields)
        if not by_token and self.s3.refused(handler, "sts"):
            return True
        if by_token and fields["WebIdentityToken"] != self.web_token:
            return self.s3.refuse(handler, 400, "InvalidIdentityToken")
        self.s3.tokens["ROLE"] = f"T{len(self.asked)}"
        values = {
            "AccessKeyId": "ROLE",
            "SecretAccessKey": self.s3.keys["ROLE"],
            "SessionToken": self.s3.tokens["ROLE"],
            "Expiration": expiry(self.lasts),
        }
        text = "".join(f"<{name}>{value}</{name}>" for name, value in values.items())
        handler.send(200, self.answer or f"<R><Credentials>{text}</Credentials></R>".encode())
        return True


def write_config(home: Path, text: str) -> None:
    (home / ".aws").mkdir(exist_ok=True)
    (home / ".aws/config").write_text(text)


@pytest.fixture
def profiles(s3: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """No keys in the environment; the profile "chosen" is used."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_PROFILE", "chosen")
    return s3


KEYS = "aws_access_key_id = KEY\naws_secret_access_key = secret/+=\n"


def test_a_role_of_another_profile(profiles: S3, tmp_path: Path) -> None:
    sts = Sts(profiles)
    write_config(
        tmp_path,
        f"[profile chosen]\nrole_arn = {ROLE}\nsource_profile = a b\nexternal_id = x=1&y\n"
        f"role_session_name = me\nduration_seconds = 900\n[profile a b]\n{KEYS}",
    )
    assert read(*[FILE] * 5) == [b"a1"] * 5
    assert sts.asked == [
        {
            "Action": "AssumeRole",
            "DurationSeconds": "900",
            "ExternalId": "x=1&y",
            "RoleArn": ROLE,
            "RoleSessionName": "me",
            "Version": "2011-06-15",
        }
    ]
    profiles.tokens["ROLE"] = "gone"  # the first one is not taken any more
    assert read(FILE) == [b"a1"] and len(sts.asked) == 2
    profiles.tokens["ROLE"], profiles.keys["KEY"] = "gone", "another"
    text = failure(FILE)
    assert f"the role {ROLE} cannot be assumed: the server answered HTTP 403 Signature" in text


def test_roles_that_assume_roles(
    profiles: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By a profile's own keys; by a profile that has a role itself; by a container."""
    sts = Sts(profiles)
    own = f"[profile chosen]\nrole_arn = {ROLE}\nsource_profile = chosen\n{KEYS}"
    more = f"[profile second]\nrole_arn = {ROLE}\nsource_profile = chosen\n"
    by_container = f"[profile third]\nrole_arn = {ROLE}\ncredential_source = EcsContainer\n"
    write_config(tmp_path, own + more + by_container)
    assert read(FILE) == [b"a1"] and len(sts.asked) == 1
    monkeypatch.setenv("AWS_PROFILE", "second")
    assert read(FILE) == [b"a1"] and len(sts.asked) == 3

    def container(handler: Any) -> bool:
        if handler.path != "/container":
            return sts.before(handler)
        answer = {"AccessKeyId": "KEY", "SecretAccessKey": "secret/+="}
        handler.send(200, json.dumps(answer).encode())
        return True

    profiles.before = container
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{profiles.server.url}/container")
    monkeypatch.setenv("AWS_PROFILE", "third")
    assert read(FILE) == [b"a1"] and len(sts.asked) == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "neither a source_profile, a web_identity_token_file nor a credential_source"),
        ("source_profile = none", "'chosen' has a source_profile that does not exist"),
        ("source_profile = empty", "its source has no credentials"),
        ("source_profile = loop", "refers to too many others"),
        ("source_profile = empty\nmfa_serial = arn", "mfa_serial, which is not supported"),
        ("credential_source = Elsewhere", "a credential_source that is known"),
        ("web_identity_token_file = /nonexistent", "the token in '/nonexistent': cannot be opened"),
        (f"source_profile = {'x' * 300}", "a value in the AWS profile 'chosen' is too long"),
    ],
)
def test_roles_that_cannot_be_assumed(
    profiles: S3, tmp_path: Path, more: str, message: str
) -> None:
    Sts(profiles)
    loop = "[profile loop]\nrole_arn = x\nsource_profile = pool\n[profile pool]\nrole_arn = x\nsource_profile = loop\n"
    write_config(
        tmp_path,
        f"[profile chosen]\nrole_arn = {ROLE}\n{more}\n[profile empty]\nregion = x\n{loop}",
    )
    assert message in failure(FILE)


def test_a_web_identity(profiles: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in EKS: the token is read again whenever a role is assumed. Before credentials expire, others
    are fetched; if that fails, the old ones are used as long as they are valid."""
    sts = Sts(profiles, lasts=301)  # others are fetched 300 seconds earlier
    monkeypatch.delenv("AWS_PROFILE")
    token = tmp_path / "token"
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "pod")
    token.write_text("old.token-_\n")
    sts.web_token = "old.token-_"
    assert read(*[FILE] * 4) == [b"a1"] * 4
    assert sts.asked[0]["RoleSessionName"] == "pod"
    token.write_text("new.token")
    sts.web_token = "new.token"
    asked = len(sts.asked)

    def asks_again() -> bool:
        assert read(FILE) == [b"a1"]
        return len(sts.asked) > asked

    until(asks_again, "credentials are fetched again")
    assert [fields["WebIdentityToken"] for fields in sts.asked[-1:]] == ["new.token"]
    sts.web_token = "refused"
    asked = len(sts.asked)
    until(asks_again, "credentials are fetched again")
    assert read(FILE) == [b"a1"] and len(sts.asked) > asked
    profiles.tokens["ROLE"] = "gone"
    text = failure(FILE)
    assert (
        f"the role {ROLE} cannot be assumed: the server answered HTTP 400 InvalidIdentity" in text
    )


@pytest.mark.parametrize(
    "answer",
    [
        b"{}",
        b"<Credentials><AccessKeyId>ROLE</AccessKeyId></Credentials>",
        b"<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        b"<SessionToken>a\nHost: x</SessionToken><Expiration>2026-11-23T21:00:00Z</Expiration></Credentials>",
        b" " * 70000,
    ],
)
def test_a_sts_that_is_hostile(profiles: S3, tmp_path: Path, answer: bytes) -> None:
    sts = Sts(profiles)
    sts.answer = answer
    write_config(tmp_path, f"[profile chosen]\nrole_arn = {ROLE}\nsource_profile = chosen\n{KEYS}")
    text = failure(FILE)
    assert "contains no credentials" in text or "answer is longer than 65535 bytes" in text


class Sso:
    """Plays the portal of a single sign-on on the server of `s3`."""

    def __init__(self, s3: S3, home: Path) -> None:
        self.cache = home / ".aws/sso/cache"
        self.cache.mkdir(parents=True)
        self.s3 = s3
        self.asked = 0
        self.token = "to+ken/="
        s3.keys["ROLE"] = "role+/secret"
        s3.before = self.before

    def log_in(self, key: str, lasts: int = 3600, **more: str) -> None:
        name = hashlib.sha1(key.encode()).hexdigest()
        login = {"accessToken": self.token, "expiresAt": expiry(lasts), "region": "x", **more}
        (self.cache / f"{name}.json").write_text(json.dumps(login))

    def before(self, handler: Any) -> bool:
        url = urlsplit(handler.path)
        if url.path != "/federation/credentials":
            return False
        assert dict(parse_qsl(url.query)) == {"account_id": "0123", "role_name": "a=b&c"}
        self.asked += 1
        if handler.headers["x-amz-sso_bearer_token"] != self.token:
            handler.send(401, b'{"message": "Session token not found or invalid"}')
            return True
        self.s3.tokens["ROLE"] = f"T{self.asked}"
        answer = {
            "accessKeyId": "ROLE",
            "secretAccessKey": "role+/secret",
            "sessionToken": f"T{self.asked}",
            "expiration": int(datetime.now(UTC).timestamp() + 3600) * 1000,
        }
        handler.send(200, json.dumps({"roleCredentials": answer}).encode())
        return True


SSO = "sso_account_id = 0123\nsso_role_name = a=b&c\n"
LOG_IN = "run `aws sso login --profile chosen`"


@pytest.mark.parametrize("legacy", [False, True])
def test_a_single_sign_on(profiles: S3, tmp_path: Path, legacy: bool) -> None:
    sso = Sso(profiles, tmp_path)
    where = "sso_start_url = https://x.awsapps.com/start\nsso_region = eu-west-1\n"
    key = "https://x.awsapps.com/start" if legacy else "my session"
    session = "" if legacy else "sso_session = my session\n[sso-session my session]\n"
    write_config(tmp_path, f"[profile chosen]\n{SSO}{session}{where}")
    assert f"uses SSO: nobody has logged in with it; {LOG_IN}" in failure(FILE)
    sso.log_in(key, -5)
    assert f"uses SSO: its login has expired; {LOG_IN}" in failure(FILE)
    sso.log_in(key)
    assert read(*[FILE] * 3) == [b"a1"] * 3 and sso.asked == 1
    profiles.tokens["ROLE"] = "gone"
    assert read(FILE) == [b"a1"] and sso.asked == 2
    profiles.tokens["ROLE"], sso.token = "gone", "another"
    assert f"does not accept its login any more; {LOG_IN}" in failure(FILE)


def test_logins_that_are_damaged(profiles: S3, tmp_path: Path) -> None:
    sso = Sso(profiles, tmp_path)
    write_config(
        tmp_path, f"[profile chosen]\n{SSO}sso_session = s\n[sso-session s]\nsso_region = a/b\n"
    )
    sso.log_in("s", accessToken="a\r\nHost: x")
    assert "is damaged" in failure(FILE)
    sso.log_in("s", expiresAt="tomorrow")
    assert "is damaged" in failure(FILE)
    sso.log_in("s", more="x" * 70000)
    assert "nobody has logged in" in failure(FILE)
    sso.log_in("s")
    assert "it needs sso_account_id, sso_role_name and sso_region" in failure(FILE)


PRINT = """
import json, sys
if sys.argv[1] == "a b" and len(sys.argv) == 3:
    print(json.dumps(json.loads(sys.argv[2])))
else:
    sys.exit(3)
"""
GIVEN = {"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "secret/+="}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"'a b' '{json.dumps(GIVEN)}'", ""),
        (f"a b '{json.dumps(GIVEN)}'", "it ended with the status 3"),
        (f"'a b' '{json.dumps({**GIVEN, 'Version': 2})}'", "contains no credentials"),
        (f"'a b' '{json.dumps({**GIVEN, 'x': 'x' * 3000})}'", ""),
        (f"'a b' '\"{'x' * 10}\"'", "contains no credentials"),
        ("'a b", "is not a command"),
    ],
)
def test_a_program_that_prints_credentials(
    profiles: S3, tmp_path: Path, arguments: str, message: str
) -> None:
    program = tmp_path / "print it.py"
    program.write_text(PRINT)
    command = f'{sys.executable} -SE "{program}" {arguments}'
    write_config(tmp_path, f"[profile chosen]\ncredential_process = {command}\n")
    if message:
        assert message in failure(FILE)
    else:
        assert read(FILE) == [b"a1"]


def test_a_program_that_prints_too_much(profiles: S3, tmp_path: Path) -> None:
    write_config(tmp_path, "[profile chosen]\ncredential_process = cat /dev/zero\n")
    assert "it printed more than 65535 bytes" in failure(FILE)
    write_config(tmp_path, "[profile chosen]\ncredential_process = /nonexistent/program x\n")
    assert "credential_process '/nonexistent/program x': it cannot be started" in failure(FILE)
