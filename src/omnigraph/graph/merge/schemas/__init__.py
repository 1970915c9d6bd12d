"""Merging schemas: which one the result has, and the tables of either side brought to it."""
