"""Checked queries to the form that engines execute, and parameters into it."""
