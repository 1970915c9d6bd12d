"""Vectors of texts: in queries and mutations, of rows that lack them, of files."""
