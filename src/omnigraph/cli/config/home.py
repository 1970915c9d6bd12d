"""The folder of a user's configuration: `$OMNIGRAPH_HOME`, or `~/.omnigraph`."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.base.errors import Unavailable

HOME_VARIABLE = "OMNIGRAPH_HOME"


def find_home() -> Path:
    """Return the folder, which need not exist."""
    given = os.environ.get(HOME_VARIABLE)
    return Path(given) if given else Path("~/.omnigraph").expanduser()


def make_home() -> Path:
    """Return the folder, made for its owner alone if it was not there."""
    home = find_home()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{home} cannot be made: {error.strerror}", path=str(home)) from error
    return home
