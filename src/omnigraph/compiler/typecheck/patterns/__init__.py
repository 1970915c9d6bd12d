"""Patterns: traversals, and variables over several types."""
