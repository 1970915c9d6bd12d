"""Stored queries of a branch: what they become, and the commit that makes them so."""
