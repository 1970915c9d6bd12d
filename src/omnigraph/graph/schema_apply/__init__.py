"""Changing a graph's schema: the planned steps carried out on the tables, in one commit."""
