"""Dropping old commits and removing files that nothing needs any more."""
