"""A fork server that has loaded the engine and never used it, so that a fresh process costs next to nothing.

Lance and Arrow do not survive a fork once they have run: their threads stay behind. Loaded alone, they do.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from unittest import mock

_LOADED = [
    "pytest",
    "support.graph_tasks",
    "support.object_workers",
    "omnigraph.sdk.opening",
    "support.frozen_memory",
]
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # it starts its threads when it is loaded
    "PYTHONWARNINGS": "ignore:lance is not fork-safe",
}


@cache
def fork_server() -> ForkServerContext:
    """Return the context whose processes come from the server, which is started now."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    with mock.patch.dict(os.environ, _ENVIRONMENT, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()
    return context
