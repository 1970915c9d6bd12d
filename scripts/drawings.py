"""Draw the pictures of the documentation, `docs/drawings/*.svg`, from the words below."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "drawings"
WIDTH_PIXELS, HEIGHT_PIXELS, LINE_PIXELS = 150, 90, 16
FILLS = {"plain": "#ffffff", "good": "#dff3e4", "bad": "#fbe3e1", "note": "#eef1fb", "dim": "#f1f1f1"}


@dataclass(frozen=True, slots=True)
class Box:
    """Some words at a place of the grid."""

    words: str
    column: float
    row: float
    kind: str = "plain"
    width: float = 0.82
    height: float = 0.6


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, by their names."""

    start: str
    end: str
    words: str = ""
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes by name, and the arrows between them."""

    title: str
    boxes: dict[str, Box]
    arrows: tuple[Arrow, ...]


DRAWINGS = {
    "graph": Drawing(
        "A commit names one version of every table",
        {
            "one": Box("commit 7\nann: load", 0, 0, "note"),
            "two": Box("commit 8\nagent-7: mutation", 0, 2, "note"),
            "schema": Box("schema", 2.3, -0.3),
            "p1": Box("Person\nversion a", 2.3, 0.6),
            "k1": Box("Knows\nversion a", 2.3, 1.4),
            "k2": Box("Knows\nversion b", 2.3, 2.4, "good"),
            "files": Box("files of rows\nwritten once,\nnever changed", 4.6, 0.9, "dim", 0.9, 1.0),
            "new": Box("one new file", 4.6, 2.4, "good"),
        },
        (
            Arrow("two", "one", "parent"),
            Arrow("one", "schema"),
            Arrow("one", "p1"),
            Arrow("one", "k1"),
            Arrow("two", "p1"),
            Arrow("two", "k2"),
            Arrow("p1", "files"),
            Arrow("k1", "files"),
            Arrow("k2", "files"),
            Arrow("k2", "new"),
        ),
    ),
    "history": Drawing(
        "Branches are names of lines of commits",
        {
            "c1": Box("1", 0, 1, "note", 0.4),
            "c2": Box("2", 1, 1, "note", 0.4),
            "c3": Box("3", 2.4, 1, "note", 0.4),
            "c4": Box("4: merge", 4.2, 1, "good", 0.6),
            "r3": Box("3", 2, 0, "plain", 0.4),
            "r4": Box("4", 3, 0, "plain", 0.4),
            "main": Box("branch main", 5.5, 1, "dim", 0.8, 0.4),
            "review": Box("branch review", 4.5, 0, "dim", 0.8, 0.4),
            "tag": Box("tag v1", 1, 1.9, "dim", 0.6, 0.4),
        },
        (
            Arrow("c2", "c1"),
            Arrow("c3", "c2"),
            Arrow("c4", "c3"),
            Arrow("r3", "c2", "fork"),
            Arrow("r4", "r3"),
            Arrow("c4", "r4", "second parent"),
            Arrow("main", "c4", dashed=True),
            Arrow("review", "r4", dashed=True),
            Arrow("tag", "c2", dashed=True),
        ),
    ),
    "commit": Drawing(
        "How a write becomes visible",
        {
            "read": Box("1  read the newest\ncommit record", 0, 0, "note", 0.95),
            "check": Box("2  check every rule\nof the schema", 1.4, 0, "plain", 0.95),
            "stage": Box("3  write data files\nthat nobody names", 2.8, 0, "plain", 0.95),
            "plan": Box("4  keep the plan\n(long writes only)", 4.2, 0, "plain", 0.95),
            "put": Box("5  put record n+1\nif there is none", 5.6, 0, "good", 0.95),
            "before": Box("killed here:\nnothing has happened", 1.4, 1.4, "dim", 1.1),
            "planned": Box("killed here: the next writer\nfinishes it, or drops it", 4.2, 1.4, "dim", 1.25),
            "after": Box("killed here:\nit has happened", 5.8, 1.4, "dim", 1.1),
        },
        (
            Arrow("read", "check"),
            Arrow("check", "stage"),
            Arrow("stage", "plan"),
            Arrow("plan", "put"),
            Arrow("before", "check", dashed=True),
            Arrow("planned", "plan", dashed=True),
            Arrow("after", "put", dashed=True),
        ),
    ),
    "race": Drawing(
        "Two writers, one number",
        {
            "seven": Box("record 7", 0, 0.75, "note"),
            "a": Box("writer A\nputs record 8", 1.6, 0, "plain", 0.95),
            "b": Box("writer B\nputs record 8", 1.6, 1.5, "plain", 0.95),
            "won": Box("record 8 is A's", 3.4, 0, "good", 0.95),
            "lost": Box("8 is taken:\nwhat did A change?", 3.4, 1.5, "bad", 1.05),
            "other": Box("other tables:\nput record 9", 5.4, 0.5, "good", 1.0),
            "rows": Box("other rows: stage\nagain, put record 9", 5.4, 1.5, "good", 1.1),
            "same": Box("rows that B read or\nwrote: tell the caller", 5.4, 2.5, "bad", 1.1),
        },
        (
            Arrow("seven", "a"),
            Arrow("seven", "b"),
            Arrow("a", "won"),
            Arrow("b", "lost"),
            Arrow("won", "lost", dashed=True),
            Arrow("lost", "other"),
            Arrow("lost", "rows"),
            Arrow("lost", "same"),
        ),
    ),
    "cleanup": Drawing(
        "A cleanup beside a writer: each writes before it reads the other's note",
        {
            "list": Box("cleanup writes the\nlist of what may go", 0, 0, "note", 1.05),
            "fence": Box("cleanup puts a fence\nonto every branch", 2, 0, "note", 1.1),
            "look": Box("last look: what do\ncommits name now?", 4, 0, "note", 1.05),
            "remove": Box("remove what is listed\nand not named", 6, 0, "plain", 1.1),
            "before": Box("a writer was before\nthe fence", 2, 1.5, "plain", 1.1),
            "kept": Box("the last look sees\nits commit: files stay", 4, 1.5, "good", 1.15),
            "behind": Box("a writer comes after\nthe fence", 2, 2.5, "plain", 1.1),
            "told": Box(
                "it meets the fence, reads\nthe list, and says contention\nif a file of it is listed",
                4.3,
                2.5,
                "bad",
                1.5,
                0.75,
            ),
        },
        (
            Arrow("list", "fence"),
            Arrow("fence", "look"),
            Arrow("look", "remove"),
            Arrow("before", "kept"),
            Arrow("behind", "told"),
            Arrow("kept", "look", dashed=True),
        ),
    ),
    "pieces": Drawing(
        "The pieces, and who calls whom",
        {
            "cli": Box("command line", 0, 0),
            "python": Box("Python", 1.1, 0),
            "server": Box("server: HTTP, page", 2.3, 0, width=1.0),
            "spark": Box("Spark: tables, SQL", 3.6, 0, width=1.0),
            "languages": Box("compiler: .pg and .gq\nto plans", 0.2, 1.1, width=1.2),
            "execution": Box("execution: queries,\nmutations, loads", 1.9, 1.1, width=1.2),
            "graph": Box("graph: commits, branches,\nmerges, cleanup, repair", 1.9, 2.2, "note", 1.5),
            "policy": Box("policy: who may,\nwho sees what", 3.8, 2.2, width=1.1),
            "storage": Box("storage: Lance tables,\ncontrol objects", 1.9, 3.3, width=1.3),
            "disk": Box("local disk or S3", 1.9, 4.2, "dim", 1.1, 0.45),
        },
        (
            Arrow("cli", "execution"),
            Arrow("python", "execution"),
            Arrow("server", "execution"),
            Arrow("spark", "execution"),
            Arrow("execution", "languages"),
            Arrow("execution", "graph"),
            Arrow("graph", "policy"),
            Arrow("graph", "storage"),
            Arrow("storage", "disk"),
        ),
    ),
}


def draw(drawing: Drawing) -> str:
    """Return a drawing as SVG, with its title for people who do not see it."""
    boxes = {name: _Placed.at(box, drawing) for name, box in drawing.boxes.items()}
    width = max(box.right for box in boxes.values()) + 20
    height = max(box.bottom for box in boxes.values()) + 20
    shapes = [_arrow(arrow, boxes) for arrow in drawing.arrows]
    shapes += [box.svg() for box in boxes.values()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" role="img" font-family="sans-serif" font-size="12.5">',
            f"<title>{escape(drawing.title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
            '<rect width="100%" height="100%" rx="8" fill="#fcfcfd"/>',
            *shapes,
            "</svg>",
            "",
        ]
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    box: Box
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def at(cls, box: Box, drawing: Drawing) -> _Placed:
        first_column = min(each.column - each.width / 2 for each in drawing.boxes.values())
        first_row = min(each.row - each.height / 2 for each in drawing.boxes.values())
        middle = (box.column - first_column) * WIDTH_PIXELS + 20
        line = (box.row - first_row) * HEIGHT_PIXELS + 20
        across, down = box.width * WIDTH_PIXELS / 2, box.height * HEIGHT_PIXELS / 2
        return cls(box, middle - across, line - down, middle + across, line + down)

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def edge_towards(self, other: _Placed) -> tuple[float, float]:
        """Return where a line to another box leaves this one."""
        (x, y), (far_x, far_y) = self.middle, other.middle
        step_x, step_y = far_x - x, far_y - y
        across, down = (self.right - self.left) / 2, (self.bottom - self.top) / 2
        scale = min(
            across / abs(step_x) if step_x else float("inf"), down / abs(step_y) if step_y else float("inf")
        )
        return x + step_x * scale, y + step_y * scale

    def svg(self) -> str:
        x, y = self.middle
        lines = self.box.words.split("\n")
        first = y - (len(lines) - 1) * LINE_PIXELS / 2 + 4
        texts = "".join(
            f'<text x="{x:.0f}" y="{first + place * LINE_PIXELS:.0f}" text-anchor="middle">'
            f"{escape(line)}</text>"
            for place, line in enumerate(lines)
        )
        shape = (
            f'<rect x="{self.left:.0f}" y="{self.top:.0f}" width="{self.right - self.left:.0f}" '
            f'height="{self.bottom - self.top:.0f}" rx="6" fill="{FILLS[self.box.kind]}" stroke="#777"/>'
        )
        return shape + texts


def _arrow(arrow: Arrow, boxes: dict[str, _Placed]) -> str:
    start, end = boxes[arrow.start], boxes[arrow.end]
    (x, y), (far_x, far_y) = start.edge_towards(end), end.edge_towards(start)
    dashes = ' stroke-dasharray="5 4"' if arrow.dashed else ""
    line = (
        f'<path d="M{x:.0f},{y:.0f} L{far_x:.0f},{far_y:.0f}" stroke="#555" fill="none"{dashes} '
        'marker-end="url(#tip)"/>'
    )
    if not arrow.words:
        return line
    place = f'x="{(x + far_x) / 2 + 5:.0f}" y="{(y + far_y) / 2 - 5:.0f}"'
    return f'{line}<text {place} fill="#555" font-size="11">{escape(arrow.words)}</text>'


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, drawing in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw(drawing))
