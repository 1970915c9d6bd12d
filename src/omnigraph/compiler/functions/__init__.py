"""The operators and functions of the query language, over plain values."""
