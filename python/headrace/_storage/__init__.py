# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
"""Credentials for object storage that the program has, instead of those that the engine looks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace import _core
from headrace._storage.providers import SCHEMES, provider

__all__ = ["storage_options"]


def storage_options(options: Mapping[str, Any]) -> None:
    """Sets who gives the credentials for object storage, from now on and for the whole process.

    ``Pipeline(storage_options=...)`` calls this. Each key is a scheme, "s3", "gs" or "az". Each value is one of:

    * a session or credentials of botocore, boto3, google-auth or azure-identity, which renew themselves;
    * a function without arguments that returns credentials: one of the above, a dictionary, a token (a string), or
      None for requests that are not signed. It is called by any thread that has to send a request, with the GIL and
      one call at a time: first when credentials are needed, then five minutes before they expire, or a minute later
      if they do not say when, and when a server has refused them;
    * a dictionary with ``access_key``, ``secret_key``, ``token``, ``expires`` (a `datetime`, or seconds since 1970);
      for "az" with ``account_key`` or ``sas_token`` instead;
    * ``False``: requests are not signed. ``None``: the engine looks for credentials itself, as at the beginning.

    Processes that are forked later have the same; others, such as those that "spawn" starts, call this themselves.

    Raises:
        TypeError, ValueError: a scheme or a value that is not known. Values are not shown.
    """
    if not isinstance(options, Mapping):
        raise TypeError(
            f"storage_options is a dictionary from schemes to credentials, not {type(options).__name__}."
        )
    unknown = [scheme for scheme in options if scheme not in SCHEMES]
    if unknown:
        raise ValueError(
            f"storage_options has the key {unknown[0]!r}; it may have {', '.join(SCHEMES)}."
        )
    ready = {
        scheme: None if value is None else provider(scheme, value)
        for scheme, value in options.items()
    }
    for scheme, function in ready.items():
        _core.provide_credentials(scheme, function)
