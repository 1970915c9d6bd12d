"""Whole files: what users name to be read and written, copies, and deletions."""
