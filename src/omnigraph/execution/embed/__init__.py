"""Embedding: texts of queries and mutations, missing vectors of rows, and files."""
