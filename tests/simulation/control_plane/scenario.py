"""What the actors of a history do: drawn from a seed, small, and mostly about one thing."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from simulation.control_plane.scheduler import Event, Pace
from simulation.control_plane.store import Manner


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of one actor."""

    kind: str
    branch: str = "main"
    other: str = ""
    """The source of a merge, the origin of a branch, what a branch is rebased onto."""
    tables: str = "P"
    durable: bool = False
    keyed: bool = False
    """Whether it carries an idempotency key, with which its caller repeats it until it knows the outcome."""
    repeated: bool = False
    """Whether its caller asks for it once more with the same key, though it was told the outcome."""
    delete: bool = False
    """Of a merge: whether the source is deleted afterwards."""
    keep: int | None = None
    """Of a cleanup: how many commits stay of each branch."""
    grace: float = 0.0
    schema: str = ""
    back: int = 0
    """Of a tag, a branch, or what is picked: how many commits before the head."""
    seconds: float = 0.0
    """Of a wait: how long."""

    def __str__(self) -> str:
        told = [f"{name}={value!r}" for name, value in _shown(self) if value]
        return f"{self.kind}({', '.join(told)})"


def _shown(op: Op) -> list[tuple[str, object]]:
    return [(name, getattr(op, name)) for name in Op.__slots__ if name != "kind"]


@dataclass(frozen=True)
class Part:
    """What one actor does, and what happens to it."""

    ops: tuple[Op, ...]
    events: tuple[Event, ...] = ()
    respawns: bool = True
    """Whether after a crash another process goes on with what is left to do."""


@dataclass(frozen=True)
class Scenario:
    """A history before it happens; the schedule comes from the seed as well."""

    seed: int
    theme: str
    setup: tuple[Op, ...]
    rest: float
    """Seconds between the setup and the actors."""
    parts: tuple[Part, ...]
    pace: Pace
    manner: Manner
    wrong_liveness: float = 0.0
    """How often a living process is taken for dead, and a dead one for living."""
    turns: float = 0.5
    """How often a writer believes that it is its turn."""
    prepare_retries: int = 4
    publish_retries: int = 2

    @property
    def drops_history(self) -> bool:
        """Say whether some cleanup may drop commits."""
        ops = [*self.setup, *(op for part in self.parts for op in part.ops)]
        return any(op.kind == "cleanup" and op.keep is not None for op in ops)

    def describe(self) -> list[str]:
        """Return what happens, for people."""
        lines = [f"seed {self.seed}, theme {self.theme}, {self.pace}, {self.manner}"]
        lines.append(
            f"wrong liveness {self.wrong_liveness}, retries {self.prepare_retries}/{self.publish_retries}"
        )
        lines.append(f"setup: {', '.join(map(str, self.setup))}; then {self.rest:g} s")
        for index, part in enumerate(self.parts):
            lines.append(f"actor {index}: {', '.join(map(str, part.ops))}")
            lines += [f"    at call {event.call}: {event}" for event in part.events]
        return lines


@dataclass
class _Draw:
    """Choices from a seed."""

    rng: random.Random
    setup: list[Op] = field(default_factory=list)
    parts: list[list[Op]] = field(default_factory=list)
    events: list[tuple[int, Event]] = field(default_factory=list)
    """What happens to which part, besides what happens anyway."""
    rest: float | None = None
    tick: int | None = None
    liveness: float | None = None

    def one(self, *items: object) -> object:
        return items[int(self.rng.random() * len(items))]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def tables(self) -> str:
        return str(self.one("P", "P", "Q", "PQ"))

    def write(self, *branches: str, durable: float = 0.3) -> Op:
        kind = str(self.one("append", "append", "append", "update"))
        branch, lasting, keyed = str(self.one(*branches)), self.chance(durable), self.chance(0.3)
        again = keyed and self.chance(0.3)
        return Op(kind, branch, tables=self.tables(), durable=lasting, keyed=keyed, repeated=again)

    def cleanup(self, limited: float = 0.5) -> Op:
        keep = int(self.one(1, 1, 2)) if self.chance(limited) else None  # type: ignore[call-overload]
        return Op("cleanup", keep=keep, grace=float(self.one(0, 0, 50, 3_600)))  # type: ignore[arg-type]

    def merge(self, source: str, into: str = "main") -> Op:
        return Op("merge", into, source, delete=self.chance(0.5))

    def any(self) -> Op:
        """Return any operation at all."""
        names = ("main", "a", "b", "c")
        some = str(self.one("a", "b", "c"))
        other = str(self.one(*(name for name in names if name != some)))
        makers: Sequence[Callable[[], Op]] = (
            lambda: self.write(*names),
            lambda: self.write(*names),
            lambda: self.write(*names),
            lambda: self.merge(some, other),
            lambda: self.merge(some, other),
            lambda: Op("create", some, other),
            lambda: Op("create", some, other),
            lambda: Op("fork", some, other, tables=self.tables()),
            lambda: Op("delete", some),
            lambda: Op("restore", some),
            lambda: Op("rebase", some, other),
            lambda: Op("tag", str(self.one(*names)), str(self.one("t", "u")), back=self.rng.randint(0, 2)),
            lambda: Op("untag", other=str(self.one("t", "u"))),
            lambda: Op("schema", str(self.one(*names)), schema=str(self.one("A", "B"))),
            lambda: Op("optimize", str(self.one(*names)), tables=self.tables()),
            lambda: Op("read", str(self.one(*names))),
            lambda: Op("recover"),
            self.cleanup,
            self.cleanup,
            lambda: Op("wait", seconds=float(self.one(1, 400, 1_000))),  # type: ignore[arg-type]
        )
        return makers[int(self.rng.random() * len(makers))]()


def _mixed(draw: _Draw) -> None:
    draw.setup += [Op("create", "a", "main"), draw.write("a", "main")]
    if draw.chance(0.5):
        draw.setup.append(Op("create", "b", str(draw.one("a", "main"))))
    draw.setup += [draw.any() for _ in range(draw.rng.randint(0, 4))]
    for _ in range(draw.rng.randint(2, 4)):
        draw.parts.append([draw.any() for _ in range(draw.rng.randint(1, 3))])


def _merges(draw: _Draw) -> None:
    """A branch is merged, deleted, made again and cleaned up after, all at once."""
    draw.setup += [Op("create", "a", "main"), *(draw.write("a") for _ in range(draw.rng.randint(1, 3)))]
    if draw.chance(0.3):
        draw.setup.append(draw.write("main"))
    draw.parts.append([draw.merge("a")])
    draw.parts.append([draw.cleanup(0.3)])
    if draw.chance(0.4):
        # The narrow one: the merge waits for all of a cleanup, which waits for a delete between two looks.
        draw.parts[1] = [Op("cleanup", grace=50.0)]
        draw.parts.append([Op("delete", "a")])
        draw.rest, draw.tick = 700.0, 1_000
        draw.events.append((0, Event(draw.rng.randint(2, 16), "freeze", steps=draw.rng.randint(80, 250))))
        draw.events.append((1, Event(draw.rng.randint(2, 20), "freeze", steps=draw.rng.randint(15, 60))))
        return
    extra: list[Op] = [Op("delete", "a")] if draw.chance(0.6) else []
    if draw.chance(0.3):
        extra.append(Op("create", "a", "main"))
    if draw.chance(0.3):
        extra.append(draw.write("main", "a"))
    if extra:
        draw.parts.append(extra)
    if draw.chance(0.25):
        draw.parts.append([draw.cleanup(0.3)])


def _schemas(draw: _Draw) -> None:
    """A schema goes back and forth while cleanup removes what nobody names."""
    if draw.chance(0.7):
        draw.setup += [Op("schema", schema="B"), Op("schema", schema="A")]
        if draw.chance(0.7):
            draw.setup += [Op("wait", seconds=1_000), Op("append"), Op("append")]
        if draw.chance(0.3):
            draw.setup.append(draw.cleanup(1.0))
    else:
        draw.setup.append(Op("unused_schema", schema="B"))
    draw.parts.append([Op("schema", schema="B"), *([Op("schema", schema="A")] if draw.chance(0.4) else [])])
    draw.parts.append([draw.cleanup(0.8)])
    if draw.chance(0.5):
        draw.parts.append([draw.write("main")])
    if draw.chance(0.3):
        draw.parts.append([Op("schema", schema=str(draw.one("A", "B")))])


def _names(draw: _Draw) -> None:
    """Branches and tags get names while what they stand on is deleted or dropped."""
    draw.setup += [
        Op("create", "a", "main"),
        *(draw.write("a", "main") for _ in range(draw.rng.randint(1, 4))),
    ]
    makers: Sequence[Callable[[], Op]] = (
        lambda: Op("create", str(draw.one("b", "c")), str(draw.one("a", "a", "main"))),
        lambda: Op("create", str(draw.one("b", "c")), str(draw.one("a", "a", "main"))),
        lambda: Op("fork", "b", str(draw.one("a", "main")), tables="P"),
        lambda: Op("delete", str(draw.one("a", "a", "b"))),
        lambda: Op("restore", str(draw.one("a", "b"))),
        lambda: Op("tag", str(draw.one("a", "main")), "t", back=draw.rng.randint(0, 2)),
        lambda: Op("rebase", "a", "main"),
        draw.cleanup,
        draw.cleanup,
        lambda: draw.write("main", "a", "b"),
    )
    for _ in range(draw.rng.randint(2, 4)):
        some = [makers[int(draw.rng.random() * len(makers))]() for _ in range(draw.rng.randint(1, 2))]
        draw.parts.append(some)


def _forks(draw: _Draw) -> None:
    """A branch is made while what it begins from is deleted, or goes on and is dropped."""
    if draw.chance(0.3):
        # The narrow one: who makes the branch waits until its origin is dropped, and dies right after.
        draw.setup += [draw.write("main")]
        draw.parts += [[Op("create", "b", "main")], [draw.write("main"), Op("cleanup", keep=1)]]
        draw.rest, call = 700.0, draw.rng.randint(2, 15)
        draw.events.append((0, Event(call, "freeze", steps=draw.rng.randint(60, 200))))
        if draw.chance(0.7):
            draw.events.append((0, Event(call + draw.rng.randint(1, 4), "crash_before")))
        return
    source = str(draw.one("a", "a", "main"))
    draw.setup += [
        Op("create", "a", "main"),
        *(draw.write("a", "main") for _ in range(draw.rng.randint(1, 2))),
    ]
    making = Op("fork", "b", source) if draw.chance(0.2) else Op("create", "b", source)
    draw.parts.append([making])
    ends = source == "a" and draw.chance(0.7)
    if ends:
        draw.parts.append([Op("rebase", "a", "main") if draw.chance(0.2) else Op("delete", "a")])
    else:
        draw.parts.append([draw.write(source)])
    cleaning = draw.cleanup(0.3 if ends else 1.0)
    if draw.chance(0.6):
        draw.parts.append([cleaning])
    else:
        draw.parts[-1].append(cleaning)
    if draw.chance(0.3):
        draw.parts.append([draw.write("b", "main")])
    if draw.chance(0.5):
        kind = str(draw.one("crash_before", "crash_after", "freeze"))
        draw.events = [(0, Event(draw.rng.randint(2, 9), kind, steps=draw.rng.randint(20, 120)))]


def _recovery(draw: _Draw) -> None:
    """Writers that make plans durable, and others that take them for dead."""
    branch = str(draw.one("main", "main", "a"))
    if branch == "a":
        draw.setup += [Op("create", "a", "main")]
    if draw.chance(0.4):
        # The narrow one: a writer that only maintenance disturbs sleeps until others have settled its plan.
        table = draw.tables()
        draw.parts.append([Op("append", branch, tables=table, durable=True)])
        draw.parts.append([Op("optimize", branch, tables=table)] * 2)
        draw.parts.append([Op("recover")] * 3)
        draw.liveness = 0.9
        draw.events.append((0, Event(draw.rng.randint(8, 24), "freeze", steps=draw.rng.randint(15, 60))))
        return
    for _ in range(draw.rng.randint(1, 2)):
        draw.parts.append([draw.write(branch, durable=1.0)])
    draw.parts.append([Op("recover")] * draw.rng.randint(1, 4))
    if draw.chance(0.7):
        draw.parts.append([Op("optimize", branch, tables="PQ")] * draw.rng.randint(1, 2))
    if draw.chance(0.3):
        draw.parts.append([draw.cleanup()])
    if draw.chance(0.3):
        draw.parts.append([draw.write(branch)])
    if branch == "a" and draw.chance(0.4):
        draw.parts.append([Op("delete", "a"), *([Op("create", "a", "main")] if draw.chance(0.5) else [])])


def _sleepers(draw: _Draw) -> None:
    """Writers and readers sleep while what they have seen is dropped, and its numbers become free."""
    branch = str(draw.one("main", "a"))
    draw.setup += [Op("create", "a", "main"), *(draw.write(branch) for _ in range(draw.rng.randint(1, 3)))]
    kind = str(draw.one("append", "append", "update", "read", "delete", "create", "tag", "optimize"))
    sleeper = Op(kind, "a" if kind == "delete" else branch, tables=draw.tables(), durable=draw.chance(0.3))
    if kind == "create":
        sleeper = Op("create", "b", branch)
    elif kind == "tag":
        sleeper = Op("tag", branch, "t", back=draw.rng.randint(0, 1))
    draw.parts.append([draw.write(branch), sleeper] if draw.chance(0.4) else [sleeper])
    cleaning = [Op("wait", seconds=1_000), Op("cleanup", keep=1)]
    draw.parts.append([*(draw.write(branch) for _ in range(draw.rng.randint(1, 3))), *cleaning, *cleaning])
    if draw.chance(0.3):
        draw.parts[1].append(Op("delete", "a"))
    draw.tick = int(draw.one(1_000, 100_000))  # type: ignore[call-overload]
    seconds = float(draw.one(0, 0, 400, 5_000))  # type: ignore[arg-type]
    mode = str(draw.one("stop", "suspend", "clone"))
    asleep = Event(draw.rng.randint(2, 30), "freeze", draw.rng.randint(100, 400), seconds, mode)
    draw.events.append((0, asleep))


def _rebases(draw: _Draw) -> None:
    """A branch is rebased beside writers, merges, deletes and cleanups."""
    draw.setup += [Op("create", "a", "main")]
    draw.setup += [draw.write("a", "main") for _ in range(draw.rng.randint(2, 4))]
    draw.parts.append([Op("rebase", "a", "main")])
    makers: Sequence[Callable[[], Op]] = (
        draw.cleanup,
        draw.cleanup,
        lambda: draw.write("a", "main"),
        lambda: draw.merge("a"),
        lambda: Op("delete", "a"),
        lambda: Op("restore", "a"),
        lambda: Op("create", "b", "a"),
        lambda: Op("rebase", "a", "main"),
    )
    for _ in range(draw.rng.randint(1, 3)):
        some = [makers[int(draw.rng.random() * len(makers))]() for _ in range(draw.rng.randint(1, 2))]
        draw.parts.append(some)


def _drops(draw: _Draw) -> None:
    """A table is dropped for good while others stand on its older versions, or take them over."""
    draw.setup += [Op("create", "a", "main")]
    draw.setup += [draw.write("a", "main") for _ in range(draw.rng.randint(2, 4))]
    if draw.chance(0.3):
        draw.setup.append(draw.cleanup())
    draw.parts.append([Op("drop", str(draw.one("main", "a")), tables=draw.tables())])
    makers: Sequence[Callable[[], Op]] = (
        draw.cleanup,
        lambda: Op("drop", str(draw.one("main", "a")), tables=draw.tables()),
        lambda: draw.write("a", "main"),
        lambda: draw.merge("a"),
        lambda: draw.merge("main", "a"),
        lambda: Op("create", "b", str(draw.one("a", "main"))),
        lambda: Op("tag", str(draw.one("a", "main")), "t", back=draw.rng.randint(0, 2)),
        lambda: Op("rebase", "a", "main"),
        lambda: Op("delete", "a"),
        lambda: Op("restore", "a"),
        lambda: Op("read", str(draw.one("a", "main"))),
    )
    for _ in range(draw.rng.randint(1, 3)):
        some = [makers[int(draw.rng.random() * len(makers))]() for _ in range(draw.rng.randint(1, 2))]
        draw.parts.append(some)


def _past(draw: _Draw) -> None:
    """Branches begin from old commits, and old commits are brought elsewhere, while cleanups drop them."""
    draw.setup += [Op("create", "a", "main")]
    draw.setup += [draw.write("a", "main") for _ in range(draw.rng.randint(3, 6))]
    if draw.chance(0.4):
        draw.setup += [Op("merge", "main", "a"), draw.write("main")]
    makers: Sequence[Callable[[], Op]] = (
        lambda: Op(
            "create", str(draw.one("b", "c")), str(draw.one("a", "main")), back=draw.rng.randint(1, 3)
        ),
        lambda: Op(
            "create", str(draw.one("b", "c")), str(draw.one("a", "main")), back=draw.rng.randint(1, 3)
        ),
        lambda: Op(
            "pick", str(draw.one("main", "a", "b")), str(draw.one("a", "b")), back=draw.rng.randint(0, 2)
        ),
        lambda: Op("pick", "main", "a", back=draw.rng.randint(0, 2)),
        lambda: draw.cleanup(0.8),
        lambda: draw.cleanup(0.8),
        lambda: Op("tag", str(draw.one("a", "main")), "t", back=draw.rng.randint(0, 3)),
        lambda: Op("untag", other="t"),
        lambda: draw.merge(str(draw.one("a", "b"))),
        lambda: draw.merge("main", "b"),
        lambda: draw.write("main", "a", "b"),
        lambda: Op("delete", str(draw.one("a", "b"))),
        lambda: Op("restore", str(draw.one("a", "b"))),
    )
    for _ in range(draw.rng.randint(2, 4)):
        some = [makers[int(draw.rng.random() * len(makers))]() for _ in range(draw.rng.randint(1, 3))]
        draw.parts.append(some)


def _renames(draw: _Draw) -> None:
    """A branch gets another name beside writers, makers of that name, deletes and cleanups."""
    draw.setup += [Op("create", "a", "main")]
    draw.setup += [draw.write("a", "main") for _ in range(draw.rng.randint(1, 3))]
    draw.parts.append([Op("rename", "a", "b")])
    makers: Sequence[Callable[[], Op]] = (
        draw.cleanup,
        draw.cleanup,
        lambda: draw.write("a", "b"),
        lambda: draw.write("a", "b"),
        lambda: Op("rename", "a", "b"),
        lambda: Op("rename", "b", "a"),
        lambda: Op("create", str(draw.one("a", "b", "c")), str(draw.one("main", "a"))),
        lambda: Op("delete", str(draw.one("a", "b"))),
        lambda: Op("restore", str(draw.one("a", "b"))),
        lambda: draw.merge(str(draw.one("a", "b"))),
        lambda: Op("rebase", str(draw.one("a", "b")), "main"),
    )
    if draw.chance(0.3):
        # The narrow one: several tries, some of them cut off, to another name too, and writes between them.
        tries = (("b",), ("b",), ("b", "b"), ("c",))
        for names in draw.rng.sample(tries, 3):
            draw.parts.append([draw.write("a"), *(Op("rename", "a", name) for name in names)])
            kind = draw.rng.choice(("crash_before", "crash_after", "freeze"))
            event = Event(draw.rng.randint(8, 60), kind, steps=draw.rng.randint(5, 60))
            draw.events.append((len(draw.parts) - 1, event))
        draw.parts += [[draw.cleanup()]] * draw.chance(0.5)
        return
    for _ in range(draw.rng.randint(1, 3)):
        some = [makers[int(draw.rng.random() * len(makers))]() for _ in range(draw.rng.randint(1, 3))]
        draw.parts.append(some)


def _proposals(draw: _Draw) -> None:
    """A proposal is merged, closed, taken for dead and cleaned up after; its target may be protected."""
    draw.setup += [Op("create", "a", "main"), draw.write("a"), *([draw.write("main")] * draw.chance(0.5))]
    draw.setup.append(Op("propose", "main", "a"))
    if draw.chance(0.3):
        # The narrow one: who merges sleeps until others have closed it and a cleanup has dropped that note.
        draw.setup += [Op("append", tables="P"), Op("append", "a", tables="P"), Op("propose", "main", "a")]
        draw.parts.append([Op("merge_proposal", "main", "a")])
        cleaning = [Op("append", tables="Q"), Op("cleanup", keep=1)]
        draw.parts.append([Op("close_proposal", "main", "a"), *cleaning, *cleaning])
        draw.liveness, draw.rest, draw.tick = 0.9, 700.0, 1_000
        draw.events.append((0, Event(draw.rng.randint(42, 68), "freeze", steps=draw.rng.randint(250, 500))))
        draw.events.append((1, Event(1, "freeze", steps=draw.rng.randint(38, 46))))
        return
    if draw.chance(0.5):
        draw.setup.append(Op("protect"))
    draw.parts.append([Op("merge_proposal", "main", "a")])
    makers: Sequence[Callable[[], Op]] = (
        draw.cleanup,
        draw.cleanup,
        lambda: draw.write("main"),
        lambda: draw.write("a"),
        lambda: draw.merge("a"),
        lambda: Op("protect"),
        lambda: Op("unprotect"),
        lambda: Op("protect", "a"),
        lambda: Op("propose", "main", "a"),
        lambda: Op("merge_proposal", "main", "a"),
        lambda: Op("merge_proposal", "main", "a"),
        lambda: Op("close_proposal", "main", "a"),
        lambda: Op("close_proposal", "main", "a"),
        lambda: Op("delete", "a"),
        lambda: Op("rename", "a", "b"),
        lambda: Op("recover"),
    )
    for _ in range(draw.rng.randint(1, 3)):
        some = [makers[int(draw.rng.random() * len(makers))]() for _ in range(draw.rng.randint(1, 3))]
        draw.parts.append(some)


THEMES: dict[str, Callable[[_Draw], None]] = {
    "mixed": _mixed,
    "merges": _merges,
    "schemas": _schemas,
    "names": _names,
    "recovery": _recovery,
    "rebases": _rebases,
    "forks": _forks,
    "sleepers": _sleepers,
    "drops": _drops,
    "past": _past,
    "renames": _renames,
    "proposals": _proposals,
}
_WEIGHTS = (3, 3, 1, 2, 2, 2, 2, 2)
_LATER = {"drops": 0.08, "past": 0.16, "renames": 0.24}
"""Themes that came later, up to which lot; histories of others are what they were before there were any."""
_PROPOSALS = 0.08


def scenario(seed: int, theme: str | None = None) -> Scenario:
    """Return the scenario of a seed."""
    rng, given = random.Random(seed), theme
    chosen = rng.choices(list(THEMES)[: len(_WEIGHTS)], _WEIGHTS)[0]
    lot = random.Random(f"{seed} drops").random()
    theme = theme or next((name for name, below in _LATER.items() if lot < below), chosen)
    if given is None and random.Random(f"{seed} proposals").random() < _PROPOSALS:
        theme = "proposals"
    draw = _Draw(rng)
    THEMES[theme](draw)
    events = _events(rng, len(draw.parts))
    for index, event in draw.events:
        events[index].append(event)
    parts = tuple(
        Part(tuple(ops), tuple(events[index]), rng.random() < 0.6) for index, ops in enumerate(draw.parts)
    )
    liveness = rng.choice((0.0, 0.0, 0.3, 0.7)) if theme != "recovery" else rng.choice((0.0, 0.5, 0.9))
    return Scenario(
        seed,
        theme,
        tuple(draw.setup),
        draw.rest if draw.rest is not None else rng.choice((0.0, 100.0, 700.0, 4_000.0)),
        parts,
        _pace(rng, draw.tick),
        Manner(rng.choice((1, 3, 1_000)), rng.random() < 0.5, rng.random() < 0.7),
        liveness if draw.liveness is None else draw.liveness,
        rng.choice((0.0, 0.5, 1.0)),
        rng.choice((1, 4)),
        rng.choice((1, 3)),
    )


def _pace(rng: random.Random, tick: int | None) -> Pace:
    tick = tick or rng.choice((1_000, 1_000, 100_000, 3_000_000, 20_000_000))
    if rng.random() < 0.5:
        changes = tuple(sorted(rng.randint(1, 150) for _ in range(rng.randint(1, 4))))
        return Pace("priority", changes=changes, tick_us=tick)
    return Pace("runs", rng.choice((0.5, 2.0, 6.0, 20.0)), tick_us=tick)


def _events(rng: random.Random, actors: int) -> list[list[Event]]:
    found: list[list[Event]] = [[] for _ in range(actors)]
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        kind = rng.choice(
            (
                "crash_before",
                "crash_after",
                "unavailable",
                "lost",
                "own_try",
                "freeze",
                "freeze",
                "clock",
                "pass",
            )
        )
        event = Event(rng.randint(1, rng.choice((12, 30, 80))), kind)
        if kind == "freeze":
            seconds = rng.choice((0.0, 10.0, 400.0, 700.0, 5_000.0, 100_000.0))
            mode = rng.choice(("stop", "suspend", "clone"))
            event = replace(event, steps=rng.randint(5, 120), seconds=seconds, mode=mode)
        elif kind == "clock":
            event = replace(event, seconds=rng.choice((-1, 1)) * rng.choice((1.0, 400.0, 90_000.0)))
        elif kind == "pass":
            event = replace(event, seconds=rng.choice((400.0, 700.0, 5_000.0)))
        found[int(rng.random() * actors)].append(event)
    return found
