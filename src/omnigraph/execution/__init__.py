"""Running compiled operations against a graph."""
