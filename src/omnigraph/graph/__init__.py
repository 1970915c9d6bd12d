"""Versioned truth: commits, branches, snapshots, and the one way in which a graph changes."""
