"""Whole files: what users name to be read and written, copies, deletions, and small files that are shared."""
