"""How S3 is reached: one set of settings for obstore and for Lance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from omnigraph.base.errors import BadInput
from omnigraph.base.handed.secrets import take_over

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

CREDENTIALS_FILE = "credentials_file"
"""The storage option that names a file with further options, as a JSON object."""
_ALIASES = {
    "token": "session_token",
    "default_region": "region",
    "endpoint_url": "endpoint",
    "endpoint_url_s3": "endpoint",
}
_CREDENTIALS = ("access_key_id", "secret_access_key", "session_token")
# The later of two names of one setting wins.
_ENVIRONMENT = (
    *_CREDENTIALS,
    "default_region",
    "region",
    "endpoint",
    "endpoint_url",
    "endpoint_url_s3",
    "allow_http",
    "virtual_hosted_style_request",
)
_CLIENT = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "timeout",
    "proxy_url",
    "user_agent",
)
_RETRY = ("client_max_retries", "client_retry_timeout")
_MAX_RETRIES = 5
_RETRY_SECONDS = 30


@dataclass(frozen=True, slots=True)
class S3Settings:
    """Settings by their plain names (`region`, `endpoint`); never shown, because some are secret."""

    values: Mapping[str, str] = field(repr=False)

    @classmethod
    def resolve(cls, options: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> S3Settings:
        """Merge the options over the AWS_* environment variables."""
        given = {_plain(name): str(value) for name, value in options.items()}
        if CREDENTIALS_FILE in given and not any(name in given for name in _CREDENTIALS):
            found = take_over(given[CREDENTIALS_FILE])
            given = {_plain(name): value for name, value in found.items()} | given
        ambient = {
            _plain(name): environment[f"AWS_{name.upper()}"]
            for name in _ENVIRONMENT
            if environment.get(f"AWS_{name.upper()}")
        }
        if "access_key_id" in given:
            # The parts of two identities must not be mixed.
            ambient = {name: value for name, value in ambient.items() if name not in _CREDENTIALS}
        values = ambient | given
        _check_endpoint(values.get("endpoint"))
        if values.get("endpoint", "").startswith("http://"):
            values.setdefault("allow_http", "true")
        return cls(values)

    def config(self) -> S3Config:
        """Return what obstore calls the configuration."""
        apart = (*_CLIENT, *_RETRY, CREDENTIALS_FILE)
        chosen: dict[str, Any] = {name: value for name, value in self.values.items() if name not in apart}
        # A plain DELETE is understood by every server; the request that deletes many is not.
        return cast("S3Config", {"disable_bulk_delete": "true", **chosen})

    def client_options(self) -> ClientConfig:
        """Return obstore's options of the HTTP client."""
        chosen: dict[str, Any] = {name: value for name, value in self.values.items() if name in _CLIENT}
        return cast("ClientConfig", chosen)

    def retry_config(self) -> RetryConfig:
        """Return how often and how long a request is tried again."""
        return {
            "max_retries": self._number("client_max_retries", _MAX_RETRIES),
            "retry_timeout": timedelta(seconds=self._number("client_retry_timeout", _RETRY_SECONDS)),
        }

    def lance_options(self) -> dict[str, str]:
        """Return the same settings as Lance's storage options."""
        plain = (*_CLIENT, *_RETRY, CREDENTIALS_FILE)
        return {name if name in plain else f"aws_{name}": value for name, value in self.values.items()}

    def _number(self, name: str, default: int) -> int:
        text = self.values.get(name, str(default))
        if not text.isdecimal():
            raise BadInput(f"the storage option {name} is {text!r}: use a whole number", option=name)
        return int(text)


def _check_endpoint(endpoint: str | None) -> None:
    """Refuse what is not a web address; obstore would panic over it."""
    if endpoint is None:
        return
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise BadInput(
            f"the S3 endpoint is {endpoint!r}: write it like https://host or http://host:9000",
            option="endpoint",
        )


def _plain(name: str) -> str:
    bare = name.lower().removeprefix("aws_")
    return _ALIASES.get(bare, bare)
