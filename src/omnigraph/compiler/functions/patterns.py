"""Whether a text is a regular expression of RE2, and how many optional parts it has."""

from __future__ import annotations

import re

from omnigraph.base.errors import ResourceLimit

_REPETITION = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_FLAGS = re.compile(r"\(\?(?:[imsU]*(?:-[imsU]+)?)([:)])")
_NAMED_GROUP = re.compile(r"\(\?P?<(\w+)>")
_ESCAPE = re.compile(r"\\(?:[1-7][0-7]{1,2}|0[0-7]{0,2}|x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]+\}|[afnrtv])")
_CLASS_OF_NAME = re.compile(r"\\[pP](?:\{\^?([^}]*)\}|([^{]))", re.DOTALL)
_CATEGORY = re.compile(r"C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?|[A-Z][A-Za-z_]{2,}")
"""Categories of characters, and what may be the name of a script: which there are changes with RE2."""
_CLASS_ESCAPE = re.compile(r"\\[dDsSwW]")
_POSITION = re.compile(r"\\[bBAzC]")
_POSIX = re.compile(r"\[:\^?(.*?):\]", re.DOTALL)
_POSIX_NAME = re.compile(
    "alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit"
)
_MOST_REPEATS = 1000
MOST_OPTIONS = 10_000
"""Optional parts that a pattern may have: RE2 takes time that grows with their square, here 0.1 s."""
_LAST_CHARACTER = 0x10FFFF
_SINGLE = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class _Wrong(Exception):
    """The text is not a regular expression; the message says why."""


def find_pattern_problem(pattern: str) -> str | None:
    """Return why a text is not a regular expression, or None.

    What would take too much memory as an automaton is not found: that is known when the pattern is built.
    """
    try:
        _Pattern(pattern).read()
    except _Wrong as wrong:
        return str(wrong)
    return None


def require_few_options(pattern: str) -> None:
    """Raise ResourceLimit if a regular expression has too many optional parts; other texts pass."""
    read = _Pattern(pattern)
    try:
        read.read()
    except _Wrong:
        return
    if read.options > MOST_OPTIONS:
        raise ResourceLimit(
            f"the pattern has {read.options} optional parts, counted with their repetitions, and may have "
            f"{MOST_OPTIONS}: repeat them less often, or without a bound (* and +)",
            resource="pattern_options",
            limit=MOST_OPTIONS,
            actual=read.options,
        )


class _Pattern:
    """Reads a pattern from its start; what is read is not kept, but for the number of optional parts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._names: set[str] = set()
        self._sums = [0]
        """Optional parts so far: of the pattern, and of each group that is open."""
        self._within = 0
        """Optional parts of what a repetition would repeat."""

    @property
    def options(self) -> int:
        """How many optional parts there are once repetitions are written out."""
        return self._sums[0]

    def read(self) -> None:
        """Read it all, or raise _Wrong."""
        open_groups: list[int] = []
        can_repeat, repeated = False, ""
        while self._at < len(self._text):
            start, letter = self._at, self._text[self._at]
            last, repeated = repeated, ""
            if letter == "(":
                if self._open_group():
                    open_groups.append(start)
                    self._sums.append(0)
                    can_repeat = False
            elif letter == ")":
                if not open_groups:
                    raise _Wrong("unexpected ): there is no ( before it")
                open_groups.pop()
                self._within = self._sums.pop()
                self._sums[-1] += self._within
                self._at, can_repeat = self._at + 1, True
            elif letter == "|":
                self._at, can_repeat = self._at + 1, False
            elif operator := self._repetition():
                if last:
                    raise _Wrong(f"two repetitions follow each other: {last}{operator}")
                if not can_repeat:
                    raise _Wrong(f"nothing stands before {operator} that it could repeat")
                repeated = operator
            else:
                self._within = 0
                can_repeat = self._one() or can_repeat
        if open_groups:
            raise _Wrong(f"missing ): {self._text[open_groups[0] :]}")

    def _take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        found = form.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _open_group(self) -> bool:
        """Read the beginning of a group, or flags that stand alone; return whether a group was opened."""
        start = self._at
        if not self._text.startswith("(?", start):
            self._at += 1
            return True
        if flags := self._take(_FLAGS):
            return flags[1] == ":"
        if named := self._take(_NAMED_GROUP):
            if named[1] in self._names:
                raise _Wrong(f"two groups are called {named[1]}")
            self._names.add(named[1])
            return True
        if self._text.startswith(("(?=", "(?!", "(?<=", "(?<!"), start):
            raise _Wrong(f"there is no look-around: {self._text[start : start + 4]}")
        raise _Wrong(f"unknown group {self._text[start : start + 4]}")

    def _repetition(self) -> str:
        """Read `*`, `+`, `?` or `{n,m}` and return it; empty if there is none."""
        start = self._at
        times, optional = 1, 1
        if self._text[start] in "*+?":
            self._at += 1
        elif counts := self._take(_REPETITION):
            low, high = int(counts[1]), int(counts[3] or counts[1])
            if max(low, high) > _MOST_REPEATS or high < low:
                rule = f"at most {_MOST_REPEATS}, the smaller number first"
                raise _Wrong(f"{counts[0]} is not a repetition: {rule}")
            times, optional = high, 1 if counts[0].endswith(",}") else high - low
        else:
            return ""
        if self._text[self._at : self._at + 1] == "?":
            self._at += 1
        # What it repeats was counted once.
        self._sums[-1] += (times - 1) * self._within + optional
        return self._text[start : self._at]

    def _one(self) -> bool:
        """Read what matches one character or position; return whether it can be repeated."""
        letter = self._text[self._at]
        if letter == "[":
            self._class()
        elif letter != "\\":
            self._at += 1
        elif self._text.startswith("\\Q", self._at):
            end = self._text.find("\\E", self._at + 2)
            quoted = self._text[self._at + 2 : end if end >= 0 else None]
            self._at = end + 2 if end >= 0 else len(self._text)
            return bool(quoted)
        elif not (self._take(_POSITION) or self._take(_CLASS_ESCAPE) or self._named_class()):
            self._escape()
        return True

    def _escape(self) -> int:
        """Read a backslash and what it makes a character of, and return that."""
        start = self._at
        if found := self._take(_ESCAPE):
            body = found[0][1:]
            if body in _SINGLE:
                return _SINGLE[body]
            code = int(body[1:].strip("{}"), 16) if body[0] == "x" else int(body, 8)
            if code > _LAST_CHARACTER:
                raise _Wrong(f"there is no character {found[0]}")
            return code
        itself = self._text[start + 1 : start + 2]
        if not itself:
            raise _Wrong("it ends in a backslash")
        if not itself.isascii() or itself.isalnum():
            hint = ": there are no back-references" if itself.isdigit() else ""
            raise _Wrong(f"\\{itself} is not an escape{hint}")
        self._at += 2
        return ord(itself)

    def _class(self) -> None:
        """Read `[…]`."""
        start = self._at
        self._at += 2 if self._text.startswith("[^", start) else 1
        is_first = True
        while is_first or self._text[self._at : self._at + 1] != "]":
            is_first = False
            if self._at >= len(self._text):
                raise _Wrong(f"missing ]: {self._text[start:]}")
            if posix := self._take(_POSIX):
                if not _POSIX_NAME.fullmatch(posix[1]):
                    raise _Wrong(f"there is no class {posix[0]}")
            elif not (self._named_class() or self._take(_CLASS_ESCAPE)):
                self._range(start)
        self._at += 1

    def _named_class(self) -> bool:
        r"""Read `\p{…}` and its like, if it is there."""
        named = self._take(_CLASS_OF_NAME)
        if named and not _CATEGORY.fullmatch(named[1] or named[2] or ""):
            raise _Wrong(f"there is no class {named[0]}")
        return named is not None

    def _range(self, start: int) -> None:
        """Read one character of a class, or two with `-` between them."""
        begin = self._at
        low = self._member(start)
        following = self._text[self._at + 1 : self._at + 2]
        if self._text[self._at : self._at + 1] != "-" or following in ("", "]"):
            return
        self._at += 1
        if self._member(start) < low:
            raise _Wrong(f"{self._text[begin : self._at]} is not a range: the smaller character comes first")

    def _member(self, start: int) -> int:
        if self._at >= len(self._text):
            raise _Wrong(f"missing ]: {self._text[start:]}")
        if self._text[self._at] == "\\":
            return self._escape()
        self._at += 1
        return ord(self._text[self._at - 1])
