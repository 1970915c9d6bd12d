"""Storage options: what may be a credential among them is in no pickle and no `repr`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from omnigraph.base.errors import BadInput
from omnigraph.base.handed.secrets import hand_over, take_over
from omnigraph.storage.objects.settings import CREDENTIALS_FILE, S3Settings

_HARMLESS_OPTIONS = frozenset(
    {
        *("region", "default_region", "endpoint", "endpoint_url", "endpoint_url_s3"),
        *("allow_http", "virtual_hosted_style_request", "allow_invalid_certificates", "skip_signature"),
        *("connect_timeout", "timeout", "user_agent", "client_max_retries", "client_retry_timeout", "fsync"),
    }
)
"""Storage options that may be written down; any other may be a credential."""


class StorageOptions(dict[str, str]):
    """Storage options that may be sent to other processes of this machine.

    A pickle has what is harmless and names a file with the rest, which those who reach a store read.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return StorageOptions, (portable_options(self),)

    def __repr__(self) -> str:
        return f"StorageOptions({', '.join(sorted(self))})"


def portable_options(options: Mapping[str, str], owner: int | None = None) -> dict[str, str]:
    """Return options that show no secrets and mean the same on this machine, as long as their owner runs.

    What the environment says is not repeated: processes elsewhere ask their own.
    """
    harmless = {
        name: value
        for name, value in options.items()
        if is_harmless_option(name, str(value)) or name == CREDENTIALS_FILE
    }
    known = _secrets_known(options.get(CREDENTIALS_FILE))
    secrets = {name: str(value) for name, value in options.items() if name not in harmless}
    if all(known.get(name) == value for name, value in secrets.items()):
        return harmless
    # The new file takes the place of one that was named, so that it says what that says, too.
    whole = dict(S3Settings.resolve(options, {}).values)
    whole.pop(CREDENTIALS_FILE, None)
    return {**harmless, CREDENTIALS_FILE: hand_over(whole, owner)}


def is_harmless_option(name: str, value: str) -> bool:
    """Return whether a storage option is surely no credential."""
    bare = name.lower().removeprefix("aws_")
    return bare in _HARMLESS_OPTIONS and not ("://" in value and "@" in urlsplit(value).netloc)


def _secrets_known(file: str | None) -> Mapping[str, str]:
    """Return what the environment and a file of credentials say, by all names of each option."""
    found: dict[str, str] = {}
    if file is not None:
        with suppress(BadInput):
            found = take_over(file)
    plain = S3Settings.resolve(found, os.environ).values
    return {**plain, **{f"aws_{name}": value for name, value in plain.items()}, **found}
