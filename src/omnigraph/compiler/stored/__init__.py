"""Queries that are kept under their names: as they are declared in files, and as callers see them."""
