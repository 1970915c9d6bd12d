"""Indexes of a table: which there are, building them, how text is cut into words."""
