"""From texts to vectors: providers, their configuration, and the cache. Nothing here knows a graph."""
