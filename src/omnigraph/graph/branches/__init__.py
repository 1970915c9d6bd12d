"""Branches: names, create, list, delete."""
