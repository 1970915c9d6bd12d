"""A graph as files: graph records or columns."""
