"""What all providers share: configuration, blank and hostile texts, models, and what is remembered."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnigraph.base.errors import (
    BadInput,
    EmbeddingError,
    EmbeddingModelMismatch,
    EmbeddingNotConfigured,
    EmbeddingUnavailable,
    InvalidEmbedding,
)
from omnigraph.base.settings import Settings
from omnigraph.embedding.config import PROVIDER_KINDS, EmbeddingConfig
from omnigraph.embedding.embedder import Embedder


class Counting:
    """A provider of one's own, that notes what it was asked."""

    model = "counting-1"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answered: list[str] = []
        self.fails_at: str | None = None

    def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
        self.asked.extend(texts)
        if self.fails_at in texts:
            raise EmbeddingUnavailable("gone")
        self.answered.extend(texts)
        return [[float(len(text))] * dimension for text in texts]


HOSTILE = [
    "\x00",
    "a" * 100_000,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 family",
    "\u202eright to left",
    "'; DROP TABLE vectors; --",
    '{"input": []}',
    "é" * 10,
    "\x00 e\u0301",
    "0",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("dimension", [1, 3, 1536])
def test_the_mock_gives_every_text_a_finite_unit_vector_that_is_always_the_same(
    text: str, dimension: int
) -> None:
    first, again = (Embedder("mock").vectors([text], dimension) for _ in range(2))
    assert np.isfinite(first).all()
    assert np.linalg.norm(first[0]) == pytest.approx(1, abs=1e-6)
    assert np.array_equal(first, again)


def test_the_mock_is_the_same_in_every_process() -> None:
    code = (
        "from omnigraph.embedding.embedder import Embedder;"
        "print(Embedder('mock').vectors(['red kettle'], 4).tobytes().hex())"
    )
    seen = {
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    }
    assert seen == {Embedder("mock").vectors(["red kettle"], 4).tobytes().hex() + "\n"}


def test_words_in_common_bring_texts_close() -> None:
    found = Embedder("mock").vectors(["a red kettle", "the red kettles", "orbital mechanics"], 256)
    assert found[0] @ found[1] > 0.35 > 0.15 > abs(found[0] @ found[2])


@pytest.mark.parametrize("text", ["", "  ", "\n\t", "　"])
def test_a_blank_text_has_no_vector(text: str) -> None:
    with pytest.raises(BadInput, match="blank"):
        Embedder("mock").vectors([text], 3)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(BadInput, match="surrogate"):
        Embedder("mock").vectors(["\ud800"], 3)


def test_no_texts_are_no_requests() -> None:
    provider = Counting()
    assert Embedder(provider).vectors([], 3).shape == (0, 3)
    assert provider.asked == []


def test_without_a_provider_the_error_says_what_to_set() -> None:
    for used in (Embedder(), Embedder("none")):
        assert not used.is_configured
        with pytest.raises(EmbeddingNotConfigured, match="OMNIGRAPH_EMBEDDING_PROVIDER"):
            used.vectors(["a"], 3)


@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-compatible", "OPENROUTER_API_KEY"),
        ("gemini", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_named(kind: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDING_PROVIDER", kind)
    assert Embedder().is_configured
    with pytest.raises(EmbeddingNotConfigured, match=f"OMNIGRAPH_EMBEDDING_API_KEY or {variable}"):
        Embedder().vectors(["a"], 3)


def test_the_environment_configures_a_provider() -> None:
    said = {
        "OMNIGRAPH_EMBEDDING_PROVIDER": "openai-compatible",
        "OMNIGRAPH_EMBEDDING_MODEL": "m",
        "OMNIGRAPH_EMBEDDING_BASE_URL": "http://localhost:1/v1",
        "OMNIGRAPH_EMBEDDING_SEND_DIMENSION": "0",
        "OMNIGRAPH_EMBEDDING_CACHE": "/x",
    }
    assert EmbeddingConfig.from_environment(said) == EmbeddingConfig(
        "openai-compatible", "m", "http://localhost:1/v1", send_dimension=False, cache="/x"
    )
    assert EmbeddingConfig.from_environment({}) is None


def test_a_key_of_openrouter_goes_to_openrouter_only() -> None:
    keys = {"OPENROUTER_API_KEY": "r", "OPENAI_API_KEY": "o"}
    assert EmbeddingConfig("openai-compatible").key(keys) == "r"
    assert EmbeddingConfig("openai-compatible", base_url="http://mine/v1").key(keys) is None
    own = {**keys, "OMNIGRAPH_EMBEDDING_API_KEY": "mine"}
    assert EmbeddingConfig("openai-compatible", base_url="http://mine/v1").key(own) == "mine"
    assert EmbeddingConfig("openai", api_key="given").key(own) == "given"


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_the_mock_variable_overrides_everything(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", value)
    monkeypatch.setenv("OMNIGRAPH_EMBEDDING_PROVIDER", "openai")
    for choice in (None, "openai", "none", EmbeddingConfig("gemini"), Counting()):
        used = Embedder(choice)
        assert used.is_configured
        assert used.model == "mock"
    monkeypatch.setenv("OMNIGRAPH_EMBEDDING_MODEL", "text-embedding-3-small")
    assert Embedder().model == "text-embedding-3-small"


@pytest.mark.parametrize("value", ["", "0", "false", "off"])
def test_the_mock_variable_can_be_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", value)
    assert not Embedder().is_configured


@pytest.mark.parametrize("wrong", ["opnai", "", EmbeddingConfig, 17, object()])
def test_what_is_no_provider_is_refused(wrong: object) -> None:
    with pytest.raises(BadInput):
        Embedder(wrong)  # type: ignore[arg-type]


def test_a_blank_model_is_refused() -> None:
    with pytest.raises(BadInput, match="model"):
        EmbeddingConfig("openai", model=" ")


def test_every_kind_has_a_default_model() -> None:
    assert all(EmbeddingConfig(kind).model_name for kind in PROVIDER_KINDS if kind != "none")


def test_models_are_not_mixed() -> None:
    used = Embedder("mock")
    used.require_model(None, "Doc.vec")
    used.require_model("mock", "Doc.vec")
    with pytest.raises(EmbeddingModelMismatch, match=r"Doc\.vec.*'Mock'.*'mock'") as caught:
        used.require_model("Mock", "Doc.vec")
    assert (caught.value.expected, caught.value.actual) == ("Mock", "mock")


def test_an_embedder_reaches_another_process_as_its_configuration() -> None:
    again = pickle.loads(pickle.dumps(Embedder("mock", Settings(embedding_batch=3))))
    assert again.model == "mock"
    assert again._settings.embedding_batch == 3


def test_zero_as_a_limit_is_one() -> None:
    settings = Settings(embedding_batch=0, embedding_requests_at_once=0, embedding_cache_bytes=0)
    assert Embedder("mock", settings).vectors(["a", "b"], 2).shape == (2, 2)


def test_a_provider_of_ones_own_is_checked_like_any_other() -> None:
    class Wrong(Counting):
        def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
            return [[float("nan")] * dimension for _ in texts]

    with pytest.raises(InvalidEmbedding, match="counting-1"):
        Embedder(Wrong()).vectors(["a"], 2)


@pytest.mark.parametrize("answer", [None, 5, True, object()])
def test_a_provider_that_answers_with_no_list_is_told_apart_by_its_model(answer: Any) -> None:
    class Wrong(Counting):
        def embed(self, texts: Sequence[str], dimension: int) -> Any:
            return answer

    with pytest.raises(InvalidEmbedding, match=r"'counting-1' answered with .* instead of a list"):
        Embedder(Wrong()).vectors(["a"], 2)


def test_a_text_is_asked_for_once_and_each_dimension_apart() -> None:
    provider = Counting()
    used = Embedder(provider)
    used.vectors(["a", "b", "a"], 2)
    used.vectors(["b", "c"], 2)
    assert provider.asked == ["a", "b", "c"]
    used.vectors(["a"], 3)
    assert provider.asked == ["a", "b", "c", "a"]


def test_memory_is_bounded() -> None:
    provider = Counting()
    used = Embedder(provider, Settings(embedding_cache_bytes=10 * (4 * 8 + 200), embedding_batch=1000))
    used.vectors([f"t{number}" for number in range(100)], 8)
    provider.asked.clear()
    used.vectors([f"t{number}" for number in range(90, 100)], 8)
    assert provider.asked == []
    used.vectors(["t89", "t99"], 8)
    assert provider.asked == ["t89"]


def test_a_run_that_failed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(50)]
    settings = Settings(embedding_batch=5, embedding_requests_at_once=1)
    provider = Counting()
    provider.fails_at = "text 32"
    with Embedder(provider, settings).cache_on_disk(tmp_path) as used, pytest.raises(EmbeddingUnavailable):
        used.vectors(texts, 3)
    assert len(provider.answered) >= 30
    again = Counting()
    with Embedder(again, settings).cache_on_disk(tmp_path) as used:
        found = used.vectors(texts, 3)
    assert sorted(again.asked) == sorted(set(texts) - set(provider.answered))
    assert np.array_equal(found, Embedder(Counting()).vectors(texts, 3))


def test_another_kind_of_provider_does_not_find_the_vectors_of_this_one(tmp_path: Path) -> None:
    config = EmbeddingConfig("mock", model="counting-1", cache=tmp_path)
    Embedder(config).vectors(["a"], 2)
    provider = Counting()
    with Embedder(provider).cache_on_disk(tmp_path) as used:
        used.vectors(["a"], 2)
    assert provider.asked == ["a"]


def test_a_folder_is_shared_by_processes_and_holds_no_texts(tmp_path: Path) -> None:
    code = (
        "import sys; from omnigraph.embedding.embedder import Embedder;"
        "from omnigraph.embedding.config import EmbeddingConfig;"
        "e = Embedder(EmbeddingConfig('mock', cache=sys.argv[1]));"
        "e.vectors([f'confidential {n} {sys.argv[2]}' for n in range(200)], 4)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number)]) for number in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    used = Embedder(EmbeddingConfig("mock", cache=tmp_path))
    keys = [used._key(f"confidential {n} {who}", 4) for n in range(200) for who in range(3)]
    assert used._folder is not None
    assert len(used._folder.get(keys)) == 600
    assert not any(b"confidential" in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["garbage", "folder"])
def test_a_damaged_folder_costs_work_and_nothing_else(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "vectors.sqlite"
    path.mkdir() if damage == "folder" else path.write_bytes(b"no database at all" * 100)
    used = Embedder(EmbeddingConfig("mock", cache=tmp_path))
    for _ in range(2):
        assert used.vectors(["a", "b"], 2).shape == (2, 2)
    assert caplog.text.count("cannot be used") == 1


def test_a_local_model_needs_its_package() -> None:
    """The package is not installed here, so this path is the real one."""
    with pytest.raises(EmbeddingNotConfigured, match="pip install sentence-transformers"):
        Embedder("sentence-transformers").vectors(["a"], 3)


def test_a_local_model_is_loaded_once_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the package: no real local model runs in the tests."""
    loaded: list[str] = []

    class Model:
        def __init__(self, name: str) -> None:
            if name == "absent":
                raise OSError("no such model")
            loaded.append(name)

        def encode(self, texts: list[str], show_progress_bar: bool) -> np.ndarray:
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    package = types.ModuleType("sentence_transformers")
    package.SentenceTransformer = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    used = Embedder(EmbeddingConfig("sentence-transformers", model="tiny"))
    assert used.vectors(["a", "bb"], 2).shape == (2, 2)
    used.vectors(["ccc"], 2)
    assert loaded == ["tiny"]
    with pytest.raises(InvalidEmbedding, match="2 numbers, the property has dimension 3"):
        used.vectors(["a"], 3)
    with pytest.raises(EmbeddingNotConfigured, match="no such model"):
        Embedder(EmbeddingConfig("sentence-transformers", model="absent")).vectors(["a"], 2)


def test_importing_the_embedder_does_not_import_the_http_library() -> None:
    code = "import sys, omnigraph.embedding.embedder; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


class Failing:
    """A provider of one's own that fails in its own way."""

    model = "failing-1"

    def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
        raise RuntimeError(f"{len(texts)} texts are too many")


def test_what_a_provider_raises_is_the_cause_of_an_error_of_ours() -> None:
    with pytest.raises(EmbeddingError, match="'failing-1' failed: RuntimeError: 2 texts") as caught:
        Embedder(Failing()).vectors(["a", "b"], 3)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.details == {"model": "failing-1"}
