"""Whole files: what users name to be read and written, copies, deletions, and what survives a power cut."""
