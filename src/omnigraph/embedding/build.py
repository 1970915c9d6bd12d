"""From a configuration to a provider."""

from __future__ import annotations

from omnigraph.base.errors import EmbeddingNotConfigured
from omnigraph.base.settings import Settings
from omnigraph.embedding.config import PROVIDER_KINDS, PROVIDER_VARIABLE, EmbeddingConfig
from omnigraph.embedding.mock import MockProvider
from omnigraph.embedding.provider import Provider
from omnigraph.embedding.sentence_transformers import SentenceTransformersProvider


def build_provider(config: EmbeddingConfig, settings: Settings) -> Provider:
    """Return the provider; nothing is sent or loaded yet."""
    match config.kind:
        case "none":
            raise not_configured()
        case "mock":
            return MockProvider(config.model_name)
        case "sentence-transformers":
            return SentenceTransformersProvider(config.model_name)
    return _build_http(config, settings)


def _build_http(config: EmbeddingConfig, settings: Settings) -> Provider:
    # The HTTP library takes a while to import; a graph without a provider never needs it.
    from omnigraph.embedding.endpoint import Endpoint
    from omnigraph.embedding.gemini import GeminiProvider
    from omnigraph.embedding.openai import OpenAIProvider

    key = _key(config)
    if config.kind == "gemini":
        headers = {"x-goog-api-key": key} if key else {}
        return GeminiProvider(config.model_name, Endpoint(config.address, headers, key, settings))
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    endpoint = Endpoint(config.address, headers, key, settings)
    return OpenAIProvider(config.kind, config.model_name, endpoint, config.send_dimension)


def not_configured() -> EmbeddingNotConfigured:
    """Return the error of a graph without a provider."""
    kinds = ", ".join(kind for kind in PROVIDER_KINDS if kind != "none")
    return EmbeddingNotConfigured(
        f"no embedding provider is configured: set {PROVIDER_VARIABLE} to one of {kinds}, open the graph "
        "with embedding=…, or give a vector",
        setting=PROVIDER_VARIABLE,
    )


def _key(config: EmbeddingConfig) -> str | None:
    key = config.key()
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key):
        raise EmbeddingNotConfigured(
            f"the key of the embedding provider {config.kind} contains spaces or characters that keys cannot "
            f"have: check {config.key_variables()[0]}"
        )
    if key is None and config.address == PROVIDER_KINDS[config.kind].base_url:
        raise EmbeddingNotConfigured(
            f"the embedding provider {config.kind} needs a key: set {' or '.join(config.key_variables())}",
            setting=config.key_variables()[0],
        )
    return key  # a server of one's own may need none
