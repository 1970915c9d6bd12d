"""Compaction and indexes: which are wanted, and who does the work."""
