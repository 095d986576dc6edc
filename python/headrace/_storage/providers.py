# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Credentials in the forms that programs have them in, as a function of the engine's form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

SCHEMES = ("s3", "gs", "az")
Secrets = tuple[str, str, str, int]  # access key, secret key, token, seconds since 1970 or 0
NOTHING: Secrets = ("", "", "", 0)
_AZURE_SCOPE = "https://storage.azure.com/.default"
_KEYS = {
    "s3": {"access_key", "secret_key", "token", "expires"},
    "gs": {"access_key", "secret_key", "token", "expires"},
    "az": {"account_key", "sas_token", "token", "expires"},
}
_SECRET = re.compile(r"[A-Za-z0-9+/=_.~%\-]{16,}")


def provider(scheme: str, value: Any) -> Callable[[], Secrets]:
    """A function that gives the credentials; what it raises shows no secrets.

    Raises:
        TypeError, ValueError: the value is of no form that is known.
    """
    if _reader(scheme, value) is None and not callable(value):
        raise TypeError(
            f"storage_options[{scheme!r}] is {_article(value)}; it may be a function, a dictionary, a session of "
            "botocore or boto3, or credentials of google-auth or azure-identity."
        )
    if isinstance(value, Mapping):
        _of_mapping(scheme, value)

    def give() -> Secrets:
        try:
            return _secrets(scheme, value)
        except Exception as error:
            text = masked(str(error))
            failure = f"{type(error).__name__}: {text}" if text else type(error).__name__
        raise RuntimeError(failure)

    return give


def masked(text: str) -> str:
    """A text with *** for all that is long enough to be a secret and has a digit or both cases."""

    def mask(found: re.Match[str]) -> str:
        word = found[0]
        plain = word.isalpha() and (word.islower() or word.isupper() or word.istitle())
        words = re.fullmatch(r"[a-z]+(_[a-z]+)+", word)  # an identifier such as invalid_grant
        return word if plain or words else "***"

    return _SECRET.sub(mask, text)


def _article(value: Any) -> str:
    return f"an object of the type {type(value).__name__}"


def _secrets(scheme: str, value: Any, called: bool = False) -> Secrets:
    read = _reader(scheme, value)
    if read is not None:
        return read()
    if callable(value) and not called:
        return _secrets(scheme, value(), called=True)
    raise TypeError(f"the function of storage_options[{scheme!r}] returned {_article(value)}")


def _reader(scheme: str, value: Any) -> Callable[[], Secrets] | None:
    """How to read credentials of this form; None: it is none of them."""
    if value is None or value is False:
        return lambda: NOTHING
    if isinstance(value, str):
        return lambda: _of_token(scheme, value)
    if isinstance(value, Mapping):
        return lambda: _of_mapping(scheme, value)
    if scheme == "s3" and hasattr(value, "get_credentials"):  # a session
        return lambda: _of_session(value)
    if scheme == "s3" and hasattr(value, "get_frozen_credentials"):
        return lambda: _of_amazon(value.get_frozen_credentials())
    if scheme == "s3" and hasattr(value, "access_key") and hasattr(value, "secret_key"):
        return lambda: _of_amazon(value)
    if scheme == "gs" and hasattr(value, "refresh") and hasattr(value, "valid"):
        return lambda: _of_google(value)
    if scheme == "az" and hasattr(value, "get_token"):
        return lambda: _of_azure(value)
    return None


def _seconds(expires: Any) -> int:
    if expires is None:
        return 0
    if isinstance(expires, datetime):
        # google-auth has times in UTC that do not say so
        aware = expires if expires.tzinfo else expires.replace(tzinfo=UTC)
        return int(aware.timestamp())
    if isinstance(expires, (int, float)) and not isinstance(expires, bool):
        return int(expires)
    raise TypeError(f"expires is a datetime or a number, not {type(expires).__name__}")


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a string, not {type(value).__name__}")
    return value


def _of_token(scheme: str, token: str) -> Secrets:
    if scheme == "s3":
        raise TypeError("s3 needs an access key and a secret key; a token alone is not enough")
    return ("", "", token, 0)


def _of_mapping(scheme: str, value: Mapping[str, Any]) -> Secrets:
    unknown = set(value) - _KEYS[scheme]
    if unknown:
        raise ValueError(
            f"storage_options[{scheme!r}] has the key {masked(str(min(unknown, key=str)))!r}; it may have "
            f"{', '.join(sorted(_KEYS[scheme]))}."
        )
    access, secret = value.get("access_key"), value.get("secret_key")
    token = value.get("token")
    if scheme == "az":
        access, secret = None, value.get("account_key")
        token = token or value.get("sas_token")
    elif bool(access) != bool(secret):
        raise ValueError(
            f"storage_options[{scheme!r}] needs both access_key and secret_key, or none."
        )
    return (
        _text("access_key", access),
        _text("secret key", secret),
        _text("token", token),
        _seconds(value.get("expires")),
    )


def _of_session(session: Any) -> Secrets:
    credentials = session.get_credentials()
    if credentials is None:
        raise LookupError("the session has no credentials")
    return _of_amazon(credentials.get_frozen_credentials())


def _of_amazon(frozen: Any) -> Secrets:
    """Credentials of botocore, which renews them itself when it is asked for them."""
    return (
        _text("access_key", frozen.access_key),
        _text("secret_key", frozen.secret_key),
        _text("token", getattr(frozen, "token", None)),
        0,
    )


def _of_google(credentials: Any) -> Secrets:
    if not credentials.valid:
        # part of google-auth, which the program has; it needs the package requests
        from google.auth.transport.requests import Request  # type: ignore[import-untyped, unused-ignore]

        credentials.refresh(Request())
    return (
        "",
        "",
        _text("token", credentials.token),
        _seconds(getattr(credentials, "expiry", None)),
    )


def _of_azure(credentials: Any) -> Secrets:
    token = credentials.get_token(_AZURE_SCOPE)
    return ("", "", _text("token", token.token), _seconds(token.expires_on))
