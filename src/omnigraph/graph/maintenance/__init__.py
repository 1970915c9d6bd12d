"""Maintenance: optimize, cleanup and repair."""
