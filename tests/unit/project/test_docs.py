"""What the documents say about the source is there."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from omnigraph.graph.manifest import layout
from omnigraph.pipeline.sql.system_tables import system_names, system_schema

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "src" / "omnigraph"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FOLDERS = "|".join(sorted(path.parent.name for path in SOURCE.glob("*/__init__.py")))
DOTTED = re.compile(rf"`(?:omnigraph\.)?((?:{FOLDERS})(?:\.\w+)+)[`(]")
# `graph.` is also what examples call the graph that they hold, `storage.` begins settings, `cluster.` and
# `policy.` begin failpoints, files and addresses of resources, `spark.` settings and the session of Spark.
AMBIGUOUS = {
    folder: {path.stem for path in (SOURCE / folder).iterdir()}
    for folder in ("graph", "storage", "cluster", "policy", "spark")
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_calls_a_module_or_a_name_in_one_is_there(page: Path) -> None:
    named = set(DOTTED.findall(page.read_text()))
    modules = {name for name in named if counts(name)}
    assert {name for name in modules if not is_there(f"omnigraph.{name}")} == set()


def test_a_name_that_is_not_there_is_seen() -> None:
    assert DOTTED.findall("`graph.publish.ends` and `omnigraph.base.clock`") == [
        "graph.publish.ends",
        "base.clock",
    ]
    assert not is_there("omnigraph.graph.publish.ends")
    assert is_there("omnigraph.graph.publish.chain_ends.close_chain")
    assert is_there("omnigraph.graph.manifest.truth.Truth.state")


def counts(name: str) -> bool:
    """Return whether a dotted name means something in the source: `cli.py` is a file's."""
    folder, second, *_ = name.split(".")
    return second != "py" and (folder not in AMBIGUOUS or second in AMBIGUOUS[folder])


def is_there(name: str) -> bool:
    """Return whether a dotted name is a module, or something that is defined in one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            spec = find_spec(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        if spec is None:
            continue
        found: object = importlib.import_module(".".join(parts[:end]))
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_every_page_has_a_place_in_the_site() -> None:
    placed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(placed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            found = (page.parent / path).resolve() if path else page
            assert found.exists(), target
            if anchor:
                assert anchor in anchors(found), target


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as sites make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


DOCS = ROOT / "docs"


def test_the_page_about_storage_names_every_folder_and_object_of_a_graph() -> None:
    page = (ROOT / "docs/design/commit-records.md").read_text()
    places = {value for name, value in vars(layout).items() if name.isupper() and name[0] != "_"}
    assert {place for place in places if isinstance(place, str) and place not in page} == set()


@pytest.mark.parametrize("name", system_names())
def test_the_page_about_spark_sql_names_the_columns_of_every_table_of_facts(name: str) -> None:
    schema = system_schema(name)
    assert schema is not None
    columns = ", ".join(f"`{column}`" for column in schema.names)
    assert f"| `{name}` | {columns} |" in (DOCS / "spark-sql.md").read_text()


def test_the_glossary_has_one_meaning_for_one_word() -> None:
    rows = re.findall(r"^\| ([^|]+?) \| [^|]+ \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    words = [word for row in rows for word in re.split(r", (?![^(]*\))", row) if word not in ("word", "---")]
    assert sorted({word for word in words if words.count(word) > 1}) == []


def test_the_page_about_care_names_every_finding_of_repair() -> None:
    page = (DOCS / "care.md").read_text()
    sources = (SOURCE / "graph" / "maintenance" / "verify").glob("*.py")
    # Whatever is quoted there in two words or more is the code of a finding.
    codes = {code for path in sources for code in re.findall(r'"([a-z]+(?:_[a-z]+)+)"', path.read_text())}
    assert len(codes) > 40
    assert {code for code in codes if f"`{code}`" not in page} == set()
