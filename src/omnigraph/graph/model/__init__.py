"""Rows of a type as Arrow columns, as Python values and as JSON; their ids and hashes."""
