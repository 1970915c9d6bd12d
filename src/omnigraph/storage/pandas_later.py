"""Pandas is imported when somebody uses it, not when Arrow looks for it.

Arrow imports pandas, if it is installed, with the first Python value that it converts, and
`pyarrow.dataset`, which Lance needs, converts one when it is imported: more than a second for five
names. Here Arrow is given those names from the compiled parts of pandas, which take a twentieth of that.
Whoever imports pandas later gets the same module object completed, and Arrow is told.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_PANDAS = "pandas"
_PARTS = {
    "NaT": "pandas._libs.tslibs",
    "Timestamp": "pandas._libs.tslibs",
    "Timedelta": "pandas._libs.tslibs",
    "DateOffset": "pandas._libs.tslibs.offsets",
    "NA": "pandas._libs.missing",
}
"""The names that Arrow takes from pandas to tell its values from others, and the modules that have them."""


def leave_pandas_for_later() -> None:
    """Let Arrow find what it needs of pandas; a process that has imported either is left alone."""
    if _PANDAS in sys.modules or "pyarrow.dataset" in sys.modules or PathFinder.find_spec(_PANDAS) is None:
        return
    from pyarrow import lib

    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        finder.meet_arrow(lib)
    except Exception:  # a pandas that is made otherwise: Arrow gets all of it, as it would without us
        with suppress(ValueError):
            sys.meta_path.remove(finder)
        with suppress(ImportError):
            import_module(_PANDAS)
        _tell(lib)


class _Finder(MetaPathFinder):
    """Finds pandas only, before others do."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._is_refused = False
        self._is_meeting = False
        self._loader: _Loader | None = None

    @property
    def stops_half_way(self) -> bool:
        """Whether this thread imports pandas for Arrow alone; others get all of it."""
        return self._is_meeting and threading.get_ident() == self._thread

    def meet_arrow(self, lib: ModuleType) -> None:
        """Let Arrow look for pandas in both of its ways, here and now."""
        self._is_refused = True
        # Its Cython part is content to find none, and asks again when told to.
        assert not lib._pandas_api.have_pandas
        self._is_refused = False
        self._is_meeting = True
        with suppress(_Enough):
            import_module(_PANDAS)
        self._is_meeting = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return pandas with a loader that can stop half-way."""
        if fullname != _PANDAS:
            return None
        if self._is_refused and threading.get_ident() == self._thread:
            raise ImportError("pandas is imported later")
        spec = PathFinder.find_spec(_PANDAS)
        if spec is None or spec.loader is None:
            return None
        if self._loader is None:
            self._loader = _Loader(self, spec.loader)
        spec.loader = self._loader
        return spec


class _Loader(Loader):
    """Loads the parts that Arrow needs and gives up; the next time it loads the rest of the same module.

    The import system serves one thread at a time and forgets a module whose import has failed, so no thread
    ever sees pandas half-way.
    """

    def __init__(self, finder: _Finder, original: Loader) -> None:
        self._finder = finder
        self._original = original
        self._begun: ModuleType | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module that was begun."""
        return self._begun

    def exec_module(self, module: ModuleType) -> None:
        """Load some of it, or the rest."""
        from pyarrow import lib

        if self._finder.stops_half_way:
            self._begun = module
            for name, place in _PARTS.items():
                setattr(module, name, getattr(import_module(place), name))
            lib.scalar(True)  # the first value that Arrow's C++ part converts: it looks for pandas once
            raise _Enough
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._original
        self._original.exec_module(module)
        with suppress(ValueError):
            sys.meta_path.remove(self._finder)
        _tell(lib)


class _Enough(ImportError):
    """The import of pandas stops here."""


def _tell(lib: ModuleType) -> None:
    """Make Arrow's Cython part look for pandas again."""
    with suppress(ImportError):
        lib._pandas_api.pd  # noqa: B018 - the look is what imports it
