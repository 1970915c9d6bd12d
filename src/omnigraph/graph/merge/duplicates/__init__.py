"""Duplicates, one thing under two ids: how they are found and combined, and where their edges go."""
