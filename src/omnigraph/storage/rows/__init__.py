"""Rows by their values, by a vector or by words."""
