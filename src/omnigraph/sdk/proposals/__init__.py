"""Proposals as users see them, with the checks that are stored queries."""
