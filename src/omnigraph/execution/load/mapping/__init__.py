"""Mapping files: which columns of a row make which nodes and edges."""
