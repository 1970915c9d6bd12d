"""Which provider to use: given by the program, or by environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from omnigraph.base.errors import BadInput
from omnigraph.base.handed.secrets import take_over

PROVIDER_VARIABLE = "OMNIGRAPH_EMBEDDING_PROVIDER"
MODEL_VARIABLE = "OMNIGRAPH_EMBEDDING_MODEL"
BASE_URL_VARIABLE = "OMNIGRAPH_EMBEDDING_BASE_URL"
KEY_VARIABLE = "OMNIGRAPH_EMBEDDING_API_KEY"
SEND_DIMENSION_VARIABLE = "OMNIGRAPH_EMBEDDING_SEND_DIMENSION"
KEY_MEMBER = "api_key"
CACHE_VARIABLE = "OMNIGRAPH_EMBEDDING_CACHE"
MOCK_VARIABLE = "OMNIGRAPH_EMBEDDINGS_MOCK"


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """The defaults of a kind of provider."""

    model: str
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()


PROVIDER_KINDS: Mapping[str, ProviderKind] = {
    "mock": ProviderKind("mock"),
    "none": ProviderKind(""),
    "openai": ProviderKind("text-embedding-3-small", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
    "openai-compatible": ProviderKind(
        "openai/text-embedding-3-small", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)
    ),
    "gemini": ProviderKind(
        "gemini-embedding-001",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "sentence-transformers": ProviderKind("all-MiniLM-L6-v2"),
}


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """A provider to use. What is None is the kind's default; the key is then looked up in the environment."""

    kind: str
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    send_dimension: bool = True
    """Whether to send the dimension to an OpenAI-like server; models with one size may refuse it."""
    cache: str | os.PathLike[str] | None = None
    """A folder in which vectors are kept between runs."""
    key_file: str | None = None
    """A file with a JSON object whose `api_key` is the key, which everybody must not be able to read."""

    def __post_init__(self) -> None:
        if self.kind not in PROVIDER_KINDS:
            known = ", ".join(PROVIDER_KINDS)
            raise BadInput(f"{self.kind!r} is not an embedding provider: use one of {known}", kind=self.kind)
        if self.model is not None and (not isinstance(self.model, str) or not self.model.strip()):
            raise BadInput("the embedding model's name is blank: leave it out for the default")
        if self.base_url is not None:
            _check_address(self.base_url)

    @property
    def model_name(self) -> str:
        """The model, given or by default."""
        return self.model if self.model is not None else PROVIDER_KINDS[self.kind].model

    @property
    def address(self) -> str:
        """The address, given or by default; empty for kinds without one."""
        return self.base_url if self.base_url is not None else PROVIDER_KINDS[self.kind].base_url or ""

    def key_variables(self) -> tuple[str, ...]:
        """Return the environment variables in which a missing key is looked up, in order.

        A key of OpenRouter goes to OpenRouter and to no other address.
        """
        if self.kind == "openai-compatible" and self.address != PROVIDER_KINDS[self.kind].base_url:
            return (KEY_VARIABLE,)
        return (KEY_VARIABLE, *PROVIDER_KINDS[self.kind].key_variables)

    def key(self, environment: Mapping[str, str] | None = None) -> str | None:
        """Return the key, given or from the environment."""
        if self.api_key:
            return self.api_key
        if self.key_file is not None:
            return take_over(self.key_file).get(KEY_MEMBER)
        source = os.environ if environment is None else environment
        return next((source[name] for name in self.key_variables() if source.get(name)), None)

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> EmbeddingConfig | None:
        """Return the configuration of the environment variables, None when they name no provider."""
        source = os.environ if environment is None else environment
        kind = source.get(PROVIDER_VARIABLE) or None
        if kind is None:
            return None
        return EmbeddingConfig(
            kind,
            model=source.get(MODEL_VARIABLE) or None,
            base_url=source.get(BASE_URL_VARIABLE) or None,
            send_dimension=_is_on(source.get(SEND_DIMENSION_VARIABLE, "1")),
            cache=source.get(CACHE_VARIABLE) or None,
        )


def mock_config(environment: Mapping[str, str] | None = None) -> EmbeddingConfig | None:
    """Return the mock provider when the environment asks for it, whatever else is configured."""
    source = os.environ if environment is None else environment
    if not _is_on(source.get(MOCK_VARIABLE, "")):
        return None
    return EmbeddingConfig("mock", model=source.get(MODEL_VARIABLE) or None)


def _is_on(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "false", "no", "off")


def _check_address(address: str) -> None:
    """Refuse what is not a web address, and one that carries a secret, which the message does not repeat."""
    try:
        parts = urlsplit(address)
        right = parts.scheme in ("http", "https") and bool(parts.hostname)
    except (ValueError, AttributeError, TypeError):
        right = False
    if not right:
        raise BadInput("the address of the embedding provider must start with http:// or https://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadInput(
            "the address of the embedding provider carries a user, a password or parameters: give the "
            f"address alone, and the key as {KEY_VARIABLE}"
        )
