"""What a Python worker of Spark has loaded, and what that costs it after each task."""

from __future__ import annotations

import gc
import sys

_DAEMON = "pyspark.daemon"


def freeze_modules() -> None:
    """Leave what is loaded out of garbage collection, in a worker of Spark only.

    A worker collects after each task and each question: 60 ms for modules that stay anyway.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    if main is not None and main.name == _DAEMON:
        gc.freeze()
