"""From what a user gives, a folder or an address, to the root of a cluster."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.base.errors import ClusterInvalid
from omnigraph.cluster.config.desired import find_config
from omnigraph.cluster.config.model import ClusterConfig
from omnigraph.cluster.config.read_config import CONFIG_FILE
from omnigraph.cluster.diagnostics import ClusterFindings


def root_of(folder: Path, config: ClusterConfig) -> str:
    """Return the root of the cluster that a folder declares."""
    if config.storage is None:
        return str(folder)
    return config.storage if "://" in config.storage else str(folder / config.storage)


def find_root(place: str | os.PathLike[str]) -> str:
    """Return the root that a folder of files declares, or the address itself."""
    text = os.fspath(place)
    if "://" in text:
        return text
    folder = Path(text)
    if not (folder / CONFIG_FILE).exists():
        return text
    findings = ClusterFindings()
    config = find_config(folder, findings)
    if config is None or findings.has_errors:
        found = tuple(findings)
        raise ClusterInvalid(
            "\n".join(item.render() for item in found), diagnostics=[item.to_json() for item in found]
        )
    return root_of(folder, config)
