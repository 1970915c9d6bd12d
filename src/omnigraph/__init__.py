"""OmniGraph: a typed property graph, versioned, branched and merged like a Git repository."""

__version__ = "0.1.0"
