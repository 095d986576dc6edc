# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Credentials that the program gives: who is asked, when, in which thread and process, and what is shown of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from servers import Server, has_curl
from waiting import HANG_S

np = pytest.importorskip("numpy")

from azure_server import ACCOUNT, KEY, SAS, Azure  # noqa: E402
from s3_server import S3, failure, read, serve_s3  # noqa: E402

import headrace  # noqa: E402
from headrace import Pipeline, fn  # noqa: E402

if not has_curl():
    pytest.skip("libcurl is not installed", allow_module_level=True)

FILE = "s3://bucket/train/a/1.jpg"
BLOB = "az://data/train/a/1.jpg"
SECRET = "secret/+="


@pytest.fixture(autouse=True)
def nobody_gives() -> Iterator[None]:
    yield
    headrace.storage_options({"s3": None, "gs": None, "az": None})


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3]:
    """Without credentials in the environment."""
    with serve_s3(monkeypatch, tmp_path) as server:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        yield server


@pytest.fixture
def gs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """Google's storage, which accepts the token "good"."""
    for name in ("GS_ACCESS_KEY_ID", "CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_CONFIG",
                 "GOOGLE_APPLICATION_CREDENTIALS"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("NO_GCE_CHECK", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    with Server({"/bucket/1.jpg": b"one"}) as server:

        def answer(handler: Any) -> bool:
            if handler.headers.get("Authorization") == "Bearer good":
                return False
            handler.send(401 if "Authorization" in handler.headers else 403, b"")
            return True

        server.answer = answer
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield server


def test_a_dictionary_and_a_function(s3: S3) -> None:
    keys = {"access_key": "KEY", "secret_key": SECRET}
    headrace.storage_options({"s3": keys})
    assert read(FILE) == [b"a1"]
    headrace.storage_options({"s3": lambda: keys})
    assert read(FILE) == [b"a1"]
    headrace.storage_options({"s3": {**keys, "secret_key": "other"}})
    assert "SignatureDoesNotMatch" in failure(FILE)
    with Pipeline(1, 1, None, storage_options={"s3": keys}) as pipe:
        pipe.set_outputs(fn.readers.file(files=[FILE], name="r")[0])
    assert np.asarray(pipe.run()[0].at(0)).tobytes() == b"a1"
    assert SECRET not in pipe.serialize().decode("latin-1")
    pipe.close()  # it reads ahead, and would ask the server with what later tests give
    headrace.storage_options({"s3": None})
    assert "no credentials were found" in failure(FILE)


def test_not_signing(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program comes before the environment, also if it gives nothing."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert read(FILE) == [b"a1"]
    for nothing in (False, lambda: None):
        headrace.storage_options({"s3": nothing})
        assert "was not signed" in failure(FILE)


class Session:
    """As botocore's: credentials that renew themselves."""

    def __init__(self, s3: S3) -> None:
        self.s3, self.asked, self.threads = s3, 0, set()
        s3.keys = {"KEY": SECRET}

    def get_credentials(self) -> Session:
        return self

    def get_frozen_credentials(self) -> Any:
        self.asked += 1
        self.threads.add(threading.get_ident())
        token = f"T{self.asked}"
        return SimpleNamespace(access_key="KEY", secret_key=SECRET, token=token)


def test_a_session_is_asked_once_and_when_a_server_refuses(s3: S3) -> None:
    """By many requests at once, in threads of the engine, with the GIL; after 400 ExpiredToken it is asked again."""
    session = Session(s3)
    s3.tokens = {"KEY": "T1"}
    headrace.storage_options({"s3": session})
    assert read(*[FILE] * 50) == [b"a1"] * 50
    assert session.asked == 1
    s3.tokens = {"KEY": "T2"}
    assert read(FILE) == [b"a1"] and session.asked == 2
    assert threading.get_ident() not in session.threads


def test_before_they_expire(gs: Server) -> None:
    """Five minutes before, the function is asked again; until then not."""
    asked = []

    def give() -> dict[str, Any]:
        asked.append(1)
        left = timedelta(seconds=3600 if len(asked) > 1 else 299)
        return {"token": "good", "expires": datetime.now(UTC) + left}

    headrace.storage_options({"gs": give})
    for _ in range(3):
        assert read("gs://bucket/1.jpg") == [b"one"]
    assert len(asked) == 1  # it would only give the same: asked again after a minute
    headrace.storage_options({"gs": give})
    assert read("gs://bucket/1.jpg") == [b"one"] and len(asked) == 2
    assert read("gs://bucket/1.jpg") == [b"one"] and len(asked) == 2


def test_google_auth(gs: Server) -> None:
    """Credentials are refreshed if they are no longer valid."""
    credentials = SimpleNamespace(
        valid=True, token="good", expiry=datetime(2099, 1, 1), refresh=None
    )
    headrace.storage_options({"gs": credentials})
    assert read("gs://bucket/1.jpg") == [b"one"]
    headrace.storage_options({"gs": lambda: "bad"})
    assert "HTTP 401" in failure("gs://bucket/1.jpg")


def test_google_auth_itself(gs: Server) -> None:
    auth = pytest.importorskip("google.oauth2.credentials")
    pytest.importorskip("requests")
    with Server({}) as tokens:
        tokens.answer = lambda handler: (
            handler.send(200, b'{"access_token": "good", "expires_in": 3599}') or True
        )
        credentials = auth.Credentials(None, "r", None, f"{tokens.url}/token", "id", "secret")
        headrace.storage_options({"gs": credentials})
        assert read("gs://bucket/1.jpg") == [b"one"]
        assert read("gs://bucket/1.jpg") == [b"one"] and len(tokens.seen) == 1


def test_botocore_itself(s3: S3) -> None:
    session = pytest.importorskip("botocore.session").Session()
    session.set_credentials("KEY", SECRET)
    headrace.storage_options({"s3": session})
    assert read(FILE) == [b"a1"]


def test_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", ACCOUNT)
    scopes = []

    def get_token(scope: str) -> Any:
        scopes.append(scope)
        return SimpleNamespace(token="eyJ.bearer", expires_on=4_000_000_000)

    with Server({}) as server:
        monkeypatch.setenv("AZURE_STORAGE_SERVICE_ENDPOINT", server.url)
        azure = Azure(server)
        azure.accepts, azure.bearer = {"key", "sas", "bearer"}, "eyJ.bearer"
        forms = [
            {"account_key": KEY},
            {"sas_token": SAS},
            SAS,
            SimpleNamespace(get_token=get_token),
        ]
        kinds = []
        for form in [lambda: SAS, *forms]:
            headrace.storage_options({"az": form})
            assert read(BLOB) == [b"a1"]
            _, path, headers = server.seen[-1]
            kinds.append("SAS" if "sig=" in path else headers["Authorization"].split()[0])
        assert kinds == ["SAS", "SharedKey", "SAS", "SAS", "Bearer"]
        assert scopes == ["https://storage.azure.com/.default"]
        # A SAS that is refused is asked for once more.
        given = iter(["sv=1&sig=old", SAS])
        headrace.storage_options({"az": lambda: next(given)})
        assert read(BLOB) == [b"a1"]


def test_failures_show_no_secrets(s3: S3) -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

    def fails() -> Any:
        raise ValueError(f"invalid_grant: the key {secret} is not accepted")

    headrace.storage_options({"s3": fails})
    said = failure(FILE)
    assert "ValueError: invalid_grant: the key *** is not accepted" in said
    assert "the credentials that the program gives for s3://" in said and secret not in said
    for wrong in (secret, {"access_key": "KEY"}, {secret: 1}, 7, {"access_key": "KEY", "secret_key": 5},
                  {"access_key": "K\nX", "secret_key": secret}, {"access_key": "K", "secret_key": 201 * "x"},
                  {"access_key": "K", "secret_key": "x", "expires": "soon"}):  # fmt: skip
        headrace.storage_options({"s3": lambda wrong=wrong: wrong})
        said = failure(FILE)
        assert "the credentials that the program gives for s3://" in said and secret not in said


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"ftp": {}}, ValueError, "'ftp'; it may have s3, gs, az"),
        (
            {"s3": {"acces_key": "SECRET"}},
            ValueError,
            "has the key 'acces_key'; it may have access_key",
        ),
        ({"s3": {"access_key": "SECRET"}}, ValueError, "needs both"),
        ({"gs": 7}, TypeError, "of the type int"),
        ("s3", TypeError, "is a dictionary"),
    ],
)
def test_wrong_options(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        headrace.storage_options(options)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(error, match=message):
        Pipeline(1, 1, None, storage_options=options)


def _in_child(queue: Any) -> None:
    queue.put((os.getpid(), read(FILE)))


def test_a_forked_process_asks_itself(s3: S3) -> None:
    asked = []
    headrace.storage_options(
        {"s3": lambda: asked.append(os.getpid()) or {"access_key": "KEY", "secret_key": SECRET}}
    )
    assert read(FILE) == [b"a1"] and asked == [os.getpid()]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    pid, data = queue.get(timeout=HANG_S)
    child.join()
    assert pid != os.getpid() and data == [b"a1"] and child.exitcode == 0


def test_another_thread_with_the_gil(s3: S3) -> None:
    """The function waits for a thread that runs Python, while others wait for credentials: no lock is held."""
    inside, go_on = threading.Event(), threading.Event()

    def give() -> dict[str, str]:
        inside.set()
        assert go_on.wait(HANG_S)
        return {"access_key": "KEY", "secret_key": SECRET}

    headrace.storage_options({"s3": give})
    results: list[list[bytes]] = []
    threads = [threading.Thread(target=lambda: results.append(read(FILE, FILE))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert inside.wait(HANG_S)
    headrace.storage_options({"gs": False})  # needs the lock of the table
    go_on.set()
    for thread in threads:
        thread.join(HANG_S)
    assert results == [[b"a1", b"a1"]] * 3


# ---- the login of gcloud ----


@pytest.mark.parametrize("place", ["variable", "home", "config"])
def test_the_login_of_gcloud(
    gs: Server, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def answer(handler: Any) -> bool:
        asked.append((handler.path, dict(parse_qsl(handler.content.decode()))))
        handler.send(200, b'{"access_token": "good", "expires_in": 3599, "token_type": "Bearer"}')
        return True

    with Server({}) as tokens:
        tokens.answer = answer
        login = {
            "type": "authorized_user",
            "client_id": "id.apps.example",
            "client_secret": "s+/&=",
            "refresh_token": "1//r&t",
            "token_uri": f"{tokens.url}/token",
        }
        path = tmp_path / ".config/gcloud/application_default_credentials.json"
        if place == "config":
            path = tmp_path / "cfg/application_default_credentials.json"
            monkeypatch.setenv("CLOUDSDK_CONFIG", str(path.parent))
        if place == "variable":
            path = tmp_path / "mine.json"
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(login))
        assert read("gs://bucket/1.jpg") == [b"one"]
        assert read("gs://bucket/1.jpg") == [b"one"]
    fields = {"grant_type": "refresh_token", "client_id": "id.apps.example", "client_secret": "s+/&=",
              "refresh_token": "1//r&t"}  # fmt: skip
    assert asked == [("/token", fields)]


@pytest.mark.parametrize(
    ("login", "message"),
    [
        ({"type": "service_account", "private_key": "S3CRET"}, "of the type 'service_account'.*storage_options"),
        ({"type": "authorized_user", "client_id": "S3CRET"}, "contains no credentials"),
        ({"type": "authorized_user", "client_id": "a", "refresh_token": "S3CRET",
          "token_uri": "http://example.com/"}, "token_uri must be https"),
        ({"type": "authorized_user", "client_id": "a", "refresh_token": "S3CRET\n"}, "contains no credentials"),
        ("S3CRET", "contains no credentials"),
    ],
)  # fmt: skip
def test_logins_that_cannot_be_used(
    gs: Server, login: Any, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(login))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    with pytest.raises(Exception, match=f"(?s)GOOGLE_APPLICATION_CREDENTIALS.*{message}") as caught:
        read("gs://bucket/1.jpg")
    assert "S3CRET" not in str(caught.value)
    path.unlink()
    assert "GOOGLE_APPLICATION_CREDENTIALS" in failure("gs://bucket/1.jpg")


def test_a_login_that_is_refused(
    gs: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Server({}) as tokens:
        tokens.answer = lambda handler: handler.send(400, b'{"error": "invalid_grant"}') or True
        path = tmp_path / "mine.json"
        path.write_text(
            json.dumps(
                {
                    "type": "authorized_user",
                    "client_id": "a",
                    "client_secret": "S3CRET",
                    "refresh_token": "S3CRET",
                    "token_uri": tokens.url,
                }
            )  # fmt: skip
        )
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
        said = failure("gs://bucket/1.jpg")
    assert "GOOGLE_APPLICATION_CREDENTIALS" in said and "HTTP 400" in said and "S3CRET" not in said


def test_a_session_given_while_another_is_asked(s3: S3) -> None:
    """What was asked before counts for what was given before: the new one is asked by itself, once."""
    session, asked, go_on = Session(s3), threading.Event(), threading.Event()
    s3.tokens = {"KEY": "T1"}

    def slow() -> dict[str, str]:
        asked.set()
        assert go_on.wait(60)
        return {"access_key": "KEY", "secret_key": SECRET, "token": "old"}

    headrace.storage_options({"s3": slow})
    found: list[bytes] = []
    early = threading.Thread(target=lambda: found.extend(read(FILE)))
    early.start()
    assert asked.wait(60)
    headrace.storage_options({"s3": session})
    later = threading.Thread(target=lambda: found.extend(read(FILE)))
    later.start()
    go_on.set()
    early.join()
    later.join()
    assert found == [b"a1"] * 2 and session.asked == 1
