"""Where events go, as environment variables say: an HTTP endpoint or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from omnigraph.base.credentials import hide_credentials
from omnigraph.storage.files.inputs import local_path

ADDRESS_VARIABLE = "OMNIGRAPH_OPENLINEAGE"
_URL_VARIABLE, _ENDPOINT_VARIABLE = "OPENLINEAGE_URL", "OPENLINEAGE_ENDPOINT"
_DISABLED_VARIABLE, _KEY_VARIABLE = "OPENLINEAGE_DISABLED", "OPENLINEAGE_API_KEY"
_NAMESPACE_VARIABLE, _PARENT_VARIABLE = "OPENLINEAGE_NAMESPACE", "OPENLINEAGE_PARENT_ID"
_ENDPOINT = "api/v1/lineage"


@dataclass(frozen=True, slots=True)
class ParentRun:
    """The run of a scheduler that a load is part of."""

    namespace: str
    job: str
    run_id: str


@dataclass(frozen=True, slots=True)
class LineageTarget:
    """An endpoint or a file, and what every event says besides."""

    address: str
    """The whole address of an endpoint, or the path of a file."""
    namespace: str = "default"
    parent: ParentRun | None = None
    key: str | None = field(default=None, repr=False)

    @property
    def is_endpoint(self) -> bool:
        """Whether events are posted; otherwise they are lines of a file."""
        return _is_web_address(self.address)

    @property
    def shown(self) -> str:
        """The address without credentials."""
        return hide_credentials(self.address)


def find_target(environment: Mapping[str, str] = os.environ) -> LineageTarget | None:
    """Return where events go; None when nobody asks for them."""
    if environment.get(_DISABLED_VARIABLE, "").strip().lower() in ("true", "1"):
        return None
    given = environment.get(ADDRESS_VARIABLE, "").strip() or environment.get(_URL_VARIABLE, "").strip()
    if not given:
        return None
    if not _is_web_address(given):
        address = local_path(given)
    elif urlsplit(given).path in ("", "/"):
        address = f"{given.rstrip('/')}/{environment.get(_ENDPOINT_VARIABLE, _ENDPOINT).lstrip('/')}"
    else:
        address = given
    return LineageTarget(
        address,
        environment.get(_NAMESPACE_VARIABLE) or "default",
        _read_parent(environment.get(_PARENT_VARIABLE, "")),
        environment.get(_KEY_VARIABLE) or None,
    )


def _is_web_address(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))


def _read_parent(text: str) -> ParentRun | None:
    """Return the parent of `namespace/job/run id`; the names of jobs may have slashes."""
    namespace, _, rest = text.strip().partition("/")
    job, _, run_id = rest.rpartition("/")
    return ParentRun(namespace, job, run_id) if namespace and job and run_id else None
