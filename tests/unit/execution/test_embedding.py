"""Texts become vectors in queries, mutations, loads and backfills: once, in batches, with the right model."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base.errors import EmbeddingUnavailable
from omnigraph.execution.embed.backfill import EmbedWork

SCHEMA = """
node Doc { slug: String @key  body: String?  n: I64?  vec: Vector(8)? @embed(body)  pic: Blob? }
node Need { slug: String @key  body: String  vec: Vector(8) @embed(body) }
node Model { slug: String @key  body: String  vec: Vector(8)? @embed(body, model="model-a") }
node Two { slug: String @key  a: String?  b: String?  va: Vector(3)? @embed(a)  vb: Vector(8)? @embed(b) }
"""
NEAREST = """query q($t: String?) {
  match { $d: Doc }
  return { $d.slug as slug, nearest($d.vec, $t) as far }
  order { nearest($d.vec, $t) } limit 3
}"""


class Words:
    """A provider whose vectors tell words apart, and that notes what it was asked."""

    model = "model-a"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.down = False

    @property
    def asked(self) -> list[str]:
        return [text for call in self.calls for text in call]

    def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
        if self.down:
            raise EmbeddingUnavailable("down")
        self.calls.append(list(texts))
        return [self.vector(text, dimension) for text in texts]

    @staticmethod
    def vector(text: str, dimension: int) -> list[float]:
        found = [0.01] * dimension
        for word in text.split():
            found[sum(word.encode()) % dimension] += 1.0
        return found


@pytest.fixture(autouse=True)
def no_ambient_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OMNIGRAPH_EMBEDDING")]:
        monkeypatch.delenv(name)


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def graph(tmp_path: Path, words: Words) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA, embedding=words)


@pytest.fixture
def bare(graph: og.Graph) -> og.Graph:
    """The same graph without a provider."""
    return og.open(graph.uri)


def rows(graph: og.Graph, type_name: str, *columns: str) -> list[dict[str, Any]]:
    found = graph.snapshot().table(f"node:{type_name}").scan(["slug", *columns]).to_pylist()
    return sorted(found, key=lambda row: str(row["slug"]))


def has_vector(graph: og.Graph, type_name: str, column: str = "vec") -> dict[str, bool]:
    return {row["slug"]: row[column] is not None for row in rows(graph, type_name, column)}


def assert_vector_of(graph: og.Graph, slug: str, text: str, type_name: str = "Doc") -> None:
    (stored,) = [row["vec"] for row in rows(graph, type_name, "vec") if row["slug"] == slug]
    wanted = Words.vector(text, 8)
    length = sum(value * value for value in wanted) ** 0.5
    assert stored == pytest.approx([value / length for value in wanted], abs=1e-6)


def record(slug: str, body: str | None, type_name: str = "Doc", **more: Any) -> dict[str, Any]:
    data = {"slug": slug, **more} if body is None else {"slug": slug, "body": body, **more}
    return {"type": type_name, "data": data}


DOCS = [record("k", "red kettle"), record("w", "blue whale"), record("e", None)]


def test_a_query_embeds_its_text_once(graph: og.Graph, words: Words) -> None:
    graph.load(DOCS, mode="append")
    words.calls.clear()
    found = graph.query(NEAREST, {"t": "blue"})
    assert [row["slug"] for row in found] == ["w", "k"]
    assert words.calls == [["blue"]]
    graph.query(NEAREST, {"t": "blue"})
    assert words.calls == [["blue"]]


def test_several_texts_and_places_of_one_query_are_one_request(graph: og.Graph, words: Words) -> None:
    graph.load(DOCS, mode="append")
    words.calls.clear()
    found = og.open(graph.uri, embedding=words).query(
        """query q($t: String) {
          match { $d: Doc  nearest($d.vec, "red kettle") < 0.5 or nearest($d.vec, $t) < 0.5
                  not { $d.slug = "w"  nearest($d.vec, "nothing like it") < 0.0001 } }
          return { $d.slug as slug, rrf(nearest($d.vec, $t), bm25($d.body, "whale")) as score,
                   nearest($d.vec, "red kettle") as far }
          order { slug }
        }""",
        {"t": "blue whale"},
    )
    assert [sorted(call) for call in words.calls] == [["blue whale", "nothing like it", "red kettle"]]
    assert [(row["slug"], round(row["far"], 4) == 0) for row in found] == [("k", True), ("w", False)]


def test_an_aggregate_of_distances_is_embedded(graph: og.Graph) -> None:
    graph.load(DOCS, mode="append")
    found = graph.query(
        'query q() { match { $d: Doc } return { min(nearest($d.vec, "red kettle")) as near } }'
    )
    assert found.rows[0]["near"] == pytest.approx(0, abs=1e-6)


def test_no_text_is_no_distance(graph: og.Graph, words: Words) -> None:
    graph.load(DOCS, mode="append")
    words.calls.clear()
    assert graph.query(NEAREST, {"t": None}).rows == []
    assert words.calls == []


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_text_is_refused(text: str, graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match=r"Doc\.vec has a blank text"):
        graph.query(NEAREST, {"t": text})


def test_a_text_of_each_row_is_refused_by_name(graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match=r"nearest\(\) on Doc\.vec compares with a text of each row"):
        graph.query("query q() { match { $d: Doc } return { nearest($d.vec, $d.body) as x } }")


def test_vectors_of_another_row_need_no_provider(bare: og.Graph) -> None:
    bare.load([record("a", None, vec=[1.0] * 8), record("b", None, vec=[1.0] * 8)], mode="append")
    found = bare.query(
        """query q() { match { $a: Doc { slug: "a" } $b: Doc { slug: "b" } }
                       return { nearest($a.vec, $b.vec) as x } }"""
    )
    assert found.rows[0]["x"] == pytest.approx(0, abs=1e-6)


def test_a_query_without_a_provider_says_what_to_set(bare: og.Graph) -> None:
    with pytest.raises(og.EmbeddingNotConfigured, match="OMNIGRAPH_EMBEDDING_PROVIDER"):
        bare.query(NEAREST, {"t": "x"})


def test_a_recorded_model_must_be_the_configured_one(graph: og.Graph) -> None:
    gq = 'query q() { match { $m: Model } return { nearest($m.vec, "x") as x } }'
    graph.query(gq)
    for choice in ("mock", og.EmbeddingConfig("mock", model="Model-A")):
        other = og.open(graph.uri, embedding=choice)
        head = other.snapshot().commit_id
        with pytest.raises(og.EmbeddingModelMismatch, match=r"Model\.vec.*'model-a'"):
            other.query(gq)
        with pytest.raises(og.EmbeddingModelMismatch, match=r"Model\.vec"):
            other.load([record("a", "x", "Model")], mode="append")
        with pytest.raises(og.EmbeddingModelMismatch, match=r"Model\.vec"):
            other.mutate('query q() { insert Model { slug: "a", body: "x" } }')
        with pytest.raises(og.EmbeddingModelMismatch, match=r"Model\.vec"):
            graph.load([record("a", "x", "Model")], mode="merge")
            other.embed(reembed=True)
        other.load([record("b", "x", "Model", vec=[1.0] * 8)], mode="merge")
        assert other.snapshot().commit_id != head


def test_every_source_and_mode_of_a_load_computes_what_is_missing(
    graph: og.Graph, words: Words, tmp_path: Path
) -> None:
    path = tmp_path / "docs.ndjson"
    path.write_text("\n".join(json.dumps(item) for item in [*DOCS, record("g", "x", vec=[2.0] * 8)]))
    for mode in ("append", "merge", "overwrite"):
        graph.load(path, mode=mode)
        assert has_vector(graph, "Doc") == {"e": False, "g": True, "k": True, "w": True}
        assert_vector_of(graph, "k", "red kettle")
        assert rows(graph, "Doc", "vec")[1]["vec"] == [2.0] * 8
    assert words.asked == ["red kettle", "blue whale"]
    table = pa.table({"slug": ["p", "q"], "body": ["green parrot", " "]})
    graph.load(table, type="Doc", mode="append")
    assert_vector_of(graph, "p", "green parrot")
    assert not has_vector(graph, "Doc")["q"]


@pytest.mark.parametrize("as_file", [False, True])
def test_a_load_asks_in_batches_and_not_once_a_row(
    as_file: bool, graph: og.Graph, words: Words, tmp_path: Path
) -> None:
    many = [record(f"s{number}", f"text {number}", "Need") for number in range(500)]
    source: Any = many
    if as_file:
        source = tmp_path / "many.ndjson"
        source.write_text("\n".join(json.dumps(item) for item in many))
    graph.load(source, mode="append")
    assert sorted(words.asked) == sorted(f"text {number}" for number in range(500))
    assert len(words.calls) <= 9
    assert_vector_of(graph, "s499", "text 499", "Need")


def test_a_required_vector_that_nothing_can_compute_is_named(graph: og.Graph, bare: og.Graph) -> None:
    wrong = [record("a", "fine", "Need"), record("b", " ", "Need")]
    with pytest.raises(og.ValidationError, match=r"record 2: Need\.vec is required.*a text in body"):
        graph.load(wrong, mode="append")
    with pytest.raises(og.ValidationError, match=r"record 1: Need\.vec.*OMNIGRAPH_EMBEDDING_PROVIDER"):
        bare.load(wrong[:1], mode="append")
    assert rows(graph, "Need") == []


def test_a_load_that_is_wrong_embeds_no_more(graph: og.Graph, words: Words) -> None:
    with pytest.raises(og.ValidationError):
        graph.load([record("a", "fine"), record("b", "fine too", n="seven")], mode="append")
    assert words.asked == []


def test_quarantine_knows_which_vectors_will_be_there(graph: og.Graph, words: Words, tmp_path: Path) -> None:
    wrong = [record("a", "fine", "Need"), record("b", " ", "Need")]
    done = graph.load(wrong, mode="append", on_error="quarantine", rejected_to=tmp_path / "bad")
    assert (done.nodes, done.rejected) == ({"Need": 1}, 1)
    assert words.asked == ["fine"]
    assert '"slug": "b"' in (tmp_path / "bad").read_text()


def test_without_a_provider_a_nullable_vector_waits_for_embed(graph: og.Graph, bare: og.Graph) -> None:
    bare.load(DOCS, mode="append")
    bare.mutate('query q() { insert Doc { slug: "m", body: "made" } }')
    assert not any(has_vector(graph, "Doc").values())
    done = graph.embed()
    assert done.embedded == {"Doc.vec": 3}
    assert has_vector(graph, "Doc") == {"e": False, "k": True, "m": True, "w": True}


def test_none_is_a_choice_as_well(graph: og.Graph) -> None:
    silent = og.open(graph.uri, embedding="none")
    silent.load(DOCS, mode="append")
    assert not any(has_vector(graph, "Doc").values())


def test_a_provider_that_is_down_fails_the_write_and_leaves_nothing(graph: og.Graph, words: Words) -> None:
    head = graph.snapshot().commit_id
    words.down = True
    for write in (
        lambda: graph.load(DOCS, mode="append"),
        lambda: graph.mutate('query q() { insert Doc { slug: "a", body: "x" } }'),
    ):
        with pytest.raises(og.EmbeddingUnavailable):
            write()
    assert graph.snapshot().commit_id == head


def test_an_insert_gets_the_vector_of_its_text(graph: og.Graph, words: Words) -> None:
    graph.mutate(
        """query q($t: String) {
          insert Need { slug: "a", body: $t }
          insert Need { slug: "b", body: "blue whale" }
          insert Doc { slug: "c", body: $t }
          insert Doc { slug: "d", body: "given", vec: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] }
          insert Doc { slug: "e" }
        }""",
        {"t": "red kettle"},
    )
    assert words.calls == [["red kettle", "blue whale"]]
    assert_vector_of(graph, "a", "red kettle", "Need")
    assert_vector_of(graph, "b", "blue whale", "Need")
    assert_vector_of(graph, "c", "red kettle")
    assert rows(graph, "Doc", "vec")[1]["vec"] == [1.0, *[0.0] * 7]
    assert not has_vector(graph, "Doc")["e"]


def test_an_insert_that_needs_a_vector_says_what_to_set(bare: og.Graph) -> None:
    with pytest.raises(og.ValidationError, match=r"missing required property Need\.vec.*_PROVIDER"):
        bare.mutate('query q() { insert Need { slug: "a", body: "x" } }')


def test_an_update_of_a_text_renews_its_vector(graph: og.Graph, words: Words) -> None:
    graph.load([*DOCS, record("a", "old", "Need")], mode="append")
    words.calls.clear()
    graph.mutate(
        """query q() {
          update Doc set { body: "green parrot" } where slug = "k"
          update Need set { body: "green parrot" } where slug = "a"
          update Doc set { n: 7 } where slug = "w"
        }"""
    )
    assert words.calls == [["green parrot"]]
    assert_vector_of(graph, "k", "green parrot")
    assert_vector_of(graph, "a", "green parrot", "Need")
    assert_vector_of(graph, "w", "blue whale")


def test_an_update_that_gives_the_vector_keeps_it(graph: og.Graph, words: Words) -> None:
    graph.load(DOCS, mode="append")
    words.calls.clear()
    given = [1.0, *[0.0] * 7]
    gq = 'query q($v: Vector(8)?) { update Doc set { body: "new", vec: $v } where slug = "k" }'
    for vector in (given, None):
        graph.mutate(gq, {"v": vector})
        assert rows(graph, "Doc", "vec")[1]["vec"] == vector
    assert words.calls == []


def test_an_update_to_no_text_takes_the_vector_away(graph: og.Graph) -> None:
    graph.load([*DOCS, record("a", "old", "Need")], mode="append")
    gq = "query q($t: String?) { update Doc set { body: $t } where slug = $s }".replace(
        "$t: S", "$s: String, $t: S"
    )
    for text, slug in ((None, "k"), (" ", "w")):
        graph.mutate(gq, {"t": text, "s": slug})
    assert has_vector(graph, "Doc") == {"e": False, "k": False, "w": False}
    with pytest.raises(og.ValidationError, match=r"Need\.body needs a new vector in Need\.vec.*blank"):
        graph.mutate('query q() { update Need set { body: " " } where slug = "a" }')


def test_an_update_without_a_provider_leaves_no_stale_vector(graph: og.Graph, bare: og.Graph) -> None:
    graph.load([*DOCS, record("a", "old", "Need")], mode="append")
    done = bare.mutate('query q() { update Doc set { body: "new" } where slug = "k" }')
    assert has_vector(graph, "Doc") == {"e": False, "k": False, "w": True}
    assert [text.startswith("Doc.vec is NULL now") for text in done.warnings] == [True]
    with pytest.raises(og.ValidationError, match=r"Need\.vec, and no embedding provider.*_PROVIDER"):
        bare.mutate('query q() { update Need set { body: "new" } where slug = "a" }')


def test_a_text_that_is_computed_from_its_row_gets_its_vector(graph: og.Graph, bare: og.Graph) -> None:
    graph.load([*DOCS, record("a", "old", "Need")], mode="append")
    done = graph.mutate('query q() { update Doc set { body: body + " two" } where slug != "x" }')
    assert done.warnings == ()
    assert_vector_of(graph, "k", "red kettle two")
    assert has_vector(graph, "Doc") == {"e": False, "k": True, "w": True}
    graph.mutate('query q() { upsert Doc { slug: "n" body: slug + " new" } }')
    assert_vector_of(graph, "n", "n new")
    done = bare.mutate('query q() { update Doc set { body: upper(body) } where slug = "k" }')
    assert len(done.warnings) == 1 and has_vector(graph, "Doc")["k"] is False
    with pytest.raises(og.ValidationError, match=r"Need\.vec, and no embedding provider"):
        bare.mutate('query q() { update Need set { body: upper(body) } where slug = "a" }')


def test_two_vectors_of_a_type_are_filled_each_from_its_text(graph: og.Graph, bare: og.Graph) -> None:
    items = [
        {"type": "Two", "data": {"slug": "1", "a": "x"}},
        {"type": "Two", "data": {"slug": "2", "b": "y", "vb": [1.0] * 8}},
        {"type": "Two", "data": {"slug": "3", "a": "x", "b": "y"}},
    ]
    wanted = ({"1": True, "2": False, "3": True}, {"1": False, "2": True, "3": True})
    graph.load(items, mode="overwrite")
    assert (has_vector(graph, "Two", "va"), has_vector(graph, "Two", "vb")) == wanted
    bare.load(items, mode="overwrite")
    assert graph.embed(types=["Two.va"]).embedded == {"Two.va": 2}
    assert graph.embed(types=["Two"]).embedded == {"Two.vb": 1}
    assert (has_vector(graph, "Two", "va"), has_vector(graph, "Two", "vb")) == wanted
    assert rows(graph, "Two", "vb")[1]["vb"] == [1.0] * 8


def test_a_backfill_is_one_commit_and_keeps_everything_else(graph: og.Graph, bare: og.Graph) -> None:
    bare.load(
        [record(f"s{at:04}", f"text {at % 7}", n=at, pic="base64:d29ybGQ=") for at in range(3000)]
        + [record("x", "text", vec=[3.0] * 8), record("z", None)],
        mode="append",
    )
    before = rows(graph, "Doc", "body", "n")
    done = graph.embed(message="vectors")
    assert done.embedded == {"Doc.vec": 3000}
    assert done.model == "model-a"
    newest, loaded = graph.commits.list()[:2]
    assert (newest.id, newest.operation, newest.message) == (done.commit_id, "embed", "vectors")
    assert newest.parent == loaded.id
    assert rows(graph, "Doc", "body", "n") == before
    stored = graph.snapshot().table("node:Doc").dataset
    bodies = stored.to_table(columns=["slug", "pic"], blob_handling="all_binary").to_pylist()
    assert {row["slug"]: row["pic"] for row in bodies}["s0042"] == b"world"
    assert_vector_of(graph, "s2999", f"text {2999 % 7}")
    assert rows(graph, "Doc", "vec")[-2]["vec"] == [3.0] * 8
    assert graph.embed().commit_id is None
    assert graph.embed(types=["Doc"], reembed=True).embedded == {"Doc.vec": 3001}
    assert_vector_of(graph, "x", "text")


def test_a_backfill_works_on_its_branch_only(graph: og.Graph, bare: og.Graph) -> None:
    bare.load(DOCS, mode="append")
    graph.branches.create("side")
    graph.embed(branch="side")
    assert not any(has_vector(graph, "Doc").values())
    assert has_vector(og.open(graph.uri, branch="side"), "Doc")["k"]


def test_an_interrupted_backfill_goes_on_from_its_folder(bare: og.Graph, tmp_path: Path) -> None:
    bare.load([record(f"s{at}", f"text {at}") for at in range(200)], mode="append")

    class Fails(Words):
        def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
            if "text 150" in texts:
                raise EmbeddingUnavailable("gone")
            return super().embed(texts, dimension)

    Words.kind = Fails.kind = "words"  # type: ignore[attr-defined]
    failing, working = Fails(), Words()
    with pytest.raises(og.EmbeddingUnavailable):
        og.open(bare.uri, embedding=failing).embed(cache=tmp_path / "vectors")
    graph = og.open(bare.uri, embedding=working)
    assert graph.embed(cache=tmp_path / "vectors").embedded == {"Doc.vec": 200}
    assert failing.asked
    assert not set(failing.asked) & set(working.asked)


def test_a_backfill_that_loses_a_race_takes_the_rows_as_they_are_now(
    graph: og.Graph, bare: og.Graph, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare.load(DOCS, mode="append")
    staged = EmbedWork.stage

    def overtaken(self: EmbedWork, base: Any) -> None:
        staged(self, base)
        bare.mutate(
            """query q() { update Doc set { body: "green parrot" } where slug = "k"
                           insert Doc { slug: "new", body: "brand new" } }"""
        )

    monkeypatch.setattr(EmbedWork, "stage", overtaken)
    assert graph.embed().embedded == {"Doc.vec": 3}
    assert_vector_of(graph, "k", "green parrot")
    assert_vector_of(graph, "new", "brand new")
    assert sorted(words.asked) == ["blue whale", "brand new", "green parrot", "red kettle"]


def test_a_backfill_of_what_has_no_vectors_is_refused_by_name(graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match=r"'Person'.*use Doc, Doc\.vec, Model"):
        graph.embed(types=["Person"])


def test_a_handle_for_reading_embeds_queries_and_writes_nothing(graph: og.Graph, words: Words) -> None:
    graph.load(DOCS, mode="append")
    reader = og.open(graph.uri, read_only=True, embedding=words)
    assert len(reader.query(NEAREST, {"t": "whale"})) == 2
    with pytest.raises(og.ReadOnly):
        reader.embed()


def test_an_embedding_that_is_none_is_refused_when_opening(graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="embedding"):
        og.open(graph.uri, embedding=17)  # type: ignore[arg-type]
