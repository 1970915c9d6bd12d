"""Backups: copies of a graph, or of one snapshot of it, that a graph can be made from again."""
