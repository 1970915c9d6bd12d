"""Parsing records: the strict reader, the fast one, and cells of CSV."""
